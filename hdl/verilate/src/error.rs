//! What can go wrong between Verilog text and a loaded model.

use std::path::{Path, PathBuf};

/// Why a model could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is not installed.
    #[error("`{tool}` is not installed or not on PATH; run `cargo xtask setup`")]
    Missing {
        /// The program looked for.
        tool: String,
    },
    /// A program ran and refused its input.
    #[error("{tool} failed for block `{block}`:\n{output}")]
    Tool {
        /// The program that failed.
        tool: String,
        /// The block it was given.
        block: String,
        /// What it printed.
        output: String,
    },
    /// The ports of `module top` could not be read.
    #[error("block `{block}`: {reason}")]
    Ports {
        /// The block whose Verilog it was.
        block: String,
        /// What was not understood.
        reason: String,
    },
    /// [`MUTANT`](crate::MUTANT) names no mutant.
    #[error("{}={text:?} is not FOLDER:NUMBER", crate::MUTANT)]
    Mutant {
        /// What it is.
        text: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The compiled model could not be loaded.
    #[error("loading the model of block `{block}`: {source}")]
    Load {
        /// The block.
        block: String,
        /// The loader's reason.
        source: libloading::Error,
    },
}

impl Error {
    /// For `map_err` on file operations.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
