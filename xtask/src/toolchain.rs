//! Toolchains of Rust beside the machine's own: rustup fetches them, where it is there.

use crate::command::Cmd;

/// rustup, as if nobody had called this command by one of its toolchains.
fn rustup() -> Cmd {
    Cmd::new("rustup").env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC")
}

/// Whether the machine has rustup.
pub fn can_fetch() -> bool {
    rustup().arg("--version").probe().is_some()
}

/// A program of a toolchain's.
pub fn run(toolchain: &str, program: &str) -> Cmd {
    rustup().args(["run", toolchain, program])
}

/// Fetches a toolchain, with these components beside compiler and cargo.
pub fn fetch(toolchain: &str, components: &[&str]) -> Cmd {
    let components = components.iter().flat_map(|component| ["--component", component]);
    rustup().args(["toolchain", "install", toolchain, "--profile", "minimal"]).args(components)
}
