//! The pictures of the documentation, made from the design and from a run of it, so that they cannot say what is not so.
//!
//! * [`diagram`]: the blocks of the NIC and the streams between them, as RustHDL hands them on.
//! * [`timeline`]: the life of a short send, from waveforms of two RTL NICs.
//! * [`plots`]: what the bench has measured, from the sweep that is kept.

pub mod diagram;
pub mod plots;
pub mod svg;
pub mod timeline;

use std::path::{Path, PathBuf};

use anyhow::Result;

/// A picture.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// The name of its file in `docs/pictures`.
    pub file: &'static str,
    /// Makes it.
    pub make: fn() -> Result<String>,
}

/// All of them.
pub const PICTURES: &[Picture] = &[
    Picture { file: "blocks.svg", make: diagram::svg },
    Picture { file: "send.svg", make: timeline::svg },
    Picture { file: "goodput-size.svg", make: plots::goodput_by_size },
    Picture { file: "latency-size.svg", make: plots::latency_by_size },
    Picture { file: "rate-vis.svg", make: plots::rate_by_vis },
    Picture { file: "goodput-loss.svg", make: plots::goodput_by_loss },
];

/// The folder that the pictures are kept in.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is what is made now.
    fn is_fresh(file: &str) {
        let picture = PICTURES.iter().find(|picture| picture.file == file).unwrap();
        let made = (picture.make)().unwrap();
        let kept = std::fs::read_to_string(folder().join(file)).unwrap_or_default();
        assert!(made == kept, "docs/pictures/{file} is stale: `cargo xtask pictures` draws it anew");
    }

    #[test]
    fn the_block_diagram_is_fresh() {
        is_fresh("blocks.svg");
    }

    #[test]
    fn the_timeline_is_fresh() {
        is_fresh("send.svg");
    }

    #[test]
    fn the_plots_are_fresh() {
        for file in ["goodput-size.svg", "latency-size.svg", "rate-vis.svg", "goodput-loss.svg"] {
            is_fresh(file);
        }
    }

    #[test]
    fn no_other_picture_is_kept() {
        for entry in std::fs::read_dir(folder()).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(PICTURES.iter().any(|picture| *picture.file == *name), "nobody draws {name:?}");
        }
    }
}
