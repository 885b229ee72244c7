//! scapy as a judge: it computes every ICRC anew.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A RoCEv2 frame's ICRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icrc {
    /// The frame's number in the capture, from 1.
    pub number: u64,
    /// What the frame carries.
    pub carried: u32,
    /// What scapy computes.
    pub computed: u32,
}

/// The project's own Python, where the set-up has put scapy.
fn python() -> PathBuf {
    std::env::var_os("VIADUCT_VENV")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.viaduct/venv"), PathBuf::from)
        .join("bin/python")
}

/// The ICRCs of a capture.
///
/// # Panics
/// Python or scapy is missing or fails; the message says so.
pub fn icrcs(capture: &Path) -> Vec<Icrc> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/icrc.py");
    let out = Command::new(python()).arg(script).arg(capture).output();
    let out = out.unwrap_or_else(|e| panic!("{}: {e}; `cargo xtask setup` installs it", python().display()));
    assert!(out.status.success(), "scapy: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).lines().map(icrc).collect()
}

fn icrc(line: &str) -> Icrc {
    let columns: Vec<&str> = line.split(' ').collect();
    let [number, carried, computed] = columns[..] else { panic!("the script printed {line:?}") };
    let hex = |text| u32::from_str_radix(text, 16).expect("hexadecimal");
    Icrc { number: number.parse().expect("a number"), carried: hex(carried), computed: hex(computed) }
}
