//! Settings of the DCU on which those who have run one disagree. docs/boards.md, "The bring-up ladder", says when to try which.
//!
//! The gear of the words is disputed too, and no option: one design calls 1:2 broken and runs 1:1, two others run 1:2 and train. With 1:1 a
//! word is one symbol at 250 MHz, and a block between the cell and the seam would have to join two of them. There is no such block.
//! Nor is there one of an elastic buffer: so the cell's own is used (CTC_BYPASS 0), as by all designs that we know of but one.

/// See the module's description. The default is what enumerated in a host elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DcuOptions {
    /// The receiver's termination is to ground (RXTERM_CM 10), not to its input (11).
    pub ground_termination: bool,
    /// The elastic buffer runs by the full-rate clock (FF_EBRD_CLK), and not by the half-rate one.
    pub full_rate_buffer: bool,
    /// The elastic buffer adds and drops whole SKP sets of four symbols (MATCH_4_ENABLE), and not single SKPs.
    pub whole_skp_sets: bool,
    /// Electrical idle is asked for by the port FFC_EI_EN, and not by bits of the words.
    pub idle_by_port: bool,
    /// D_RG_EN is 1, and not 0.
    pub regulator: bool,
}

/// The names of the options, as `cargo xtask fit --option` takes them.
pub const NAMES: [&str; 5] =
    ["ground-termination", "full-rate-buffer", "whole-skp-sets", "idle-by-port", "regulator"];

impl DcuOptions {
    /// Sets the option of this name; `false`: there is none.
    pub fn set(&mut self, name: &str) -> bool {
        let options = [
            &mut self.ground_termination,
            &mut self.full_rate_buffer,
            &mut self.whole_skp_sets,
            &mut self.idle_by_port,
            &mut self.regulator,
        ];
        let named = NAMES.iter().zip(options).find(|(known, _)| **known == name);
        named.map(|(_, option)| *option = true).is_some()
    }
}
