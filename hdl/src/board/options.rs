//! What a builder may choose of a card.

use crate::pcie::phy::{options, DcuOptions};

/// See the module's description. docs/boards.md, "The bring-up ladder", says when to choose what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoardOptions {
    /// The link is not scrambled: training sets ask the other side for it.
    pub no_scramble: bool,
    /// Receiver detection is left out: there is always one.
    pub ignore_detect: bool,
    /// Settings of the transceiver.
    pub dcu: DcuOptions,
}

impl BoardOptions {
    /// The names of all options.
    pub fn names() -> Vec<&'static str> {
        ["no-scramble", "ignore-detect"].into_iter().chain(options::NAMES).collect()
    }

    /// With the options of these names.
    ///
    /// # Errors
    /// One of them is no option's.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut made = Self::default();
        for name in names {
            match name {
                "no-scramble" => made.no_scramble = true,
                "ignore-detect" => made.ignore_detect = true,
                _ if made.dcu.set(name) => {}
                _ => return Err(format!("{name:?} is no option; there are {}", Self::names().join(", "))),
            }
        }
        Ok(made)
    }
}
