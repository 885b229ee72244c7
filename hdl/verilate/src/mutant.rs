//! Mutants: models of what a block is with one fault in it.
//!
//! `cargo xtask mutate` writes, into a folder, the Verilog of a block with many faults behind an input [`SELECT`], of
//! which a number turns one on and 0 none. The file is named by the SHA-256 of the Verilog that it stands for. While
//! [`MUTANT`] is set, a test that asks for a model of that Verilog gets a model of the file, and does not see the input. `cargo xtask rules
//! --break` does the same with one fault, which needs no input.

use std::path::{Path, PathBuf};

use crate::{digest, Error, Port, Result};

/// The environment variable that chooses a mutant: `FOLDER:NUMBER`.
pub const MUTANT: &str = "VIADUCT_MUTANT";

/// The input that turns a fault on.
pub(crate) const SELECT: &str = "mutsel";

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    folder: PathBuf,
    number: u16,
}

impl Mutant {
    /// The one that the environment chooses, if it does.
    pub(crate) fn chosen() -> Result<Option<Self>> {
        let Some(text) = std::env::var_os(MUTANT) else { return Ok(None) };
        let text = text.to_string_lossy();
        Self::parse(&text).map(Some).ok_or_else(|| Error::Mutant { text: text.into_owned() })
    }

    fn parse(text: &str) -> Option<Self> {
        let (folder, number) = text.rsplit_once(':')?;
        Some(Self { folder: Path::new(folder).to_owned(), number: number.parse().ok()? })
    }

    /// The Verilog that stands for this one, if there is one. Then it prints so, because `cargo xtask mutate` must know which tests have
    /// met the mutant.
    pub(crate) fn instead_of(&self, verilog: &str, block: &str) -> Result<Option<String>> {
        let file = self.folder.join(format!("{}.v", digest::sha256(verilog)));
        if !file.exists() {
            return Ok(None);
        }
        eprintln!("mutant {} in block {block}", self.number);
        std::fs::read_to_string(&file).map(Some).map_err(Error::io(&file))
    }
}

/// Takes the input that turns a fault on out of the ports; says whether it was there.
pub(crate) fn take(ports: &mut Vec<Port>) -> bool {
    let before = ports.len();
    ports.retain(|port| port.name != SELECT);
    ports.len() < before
}

/// The function of the shim that reads the number.
pub(crate) fn cpp() -> String {
    format!(
        r#"
#include <cstdlib>
static uint16_t chosen_mutant() {{
  const char* text = std::getenv("{MUTANT}");
  const char* number = text ? std::strrchr(text, ':') : nullptr;
  return number ? static_cast<uint16_t>(std::atoi(number + 1)) : 0;
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_a_folder_and_a_number() {
        let mutant = Mutant::parse("/a:b/c:17").unwrap();
        assert_eq!((mutant.folder.as_path(), mutant.number), (Path::new("/a:b/c"), 17));
        for wrong in ["", "/a", "/a:", "/a:-1", "/a:65536", "/a:x"] {
            assert_eq!(Mutant::parse(wrong), None, "{wrong}");
        }
    }
}
