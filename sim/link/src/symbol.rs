//! A symbol: eight bits and the flag that tells control from data (section 4.2.1, appendix B).

use std::fmt;

/// A symbol as it is before 8b/10b coding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// The eight bits.
    pub value: u8,
    /// A control (K) symbol; otherwise a data (D) symbol.
    pub k: bool,
}

impl Symbol {
    /// Comma: begins every ordered set and resets the scrambler.
    pub const COM: Self = Self::control(0xBC);
    /// Start of a TLP.
    pub const STP: Self = Self::control(0xFB);
    /// Start of a DLLP.
    pub const SDP: Self = Self::control(0x5C);
    /// End of a packet.
    pub const END: Self = Self::control(0xFD);
    /// End of a nullified TLP.
    pub const EDB: Self = Self::control(0xFE);
    /// Stands for a link or lane number that is not given.
    pub const PAD: Self = Self::control(0xF7);
    /// Skip: what rate matching adds and removes.
    pub const SKP: Self = Self::control(0x1C);
    /// Announces electrical idle.
    pub const IDL: Self = Self::control(0x7C);
    /// Fast training sequence; only L0s uses it.
    pub const FTS: Self = Self::control(0x3C);
    /// Logical idle before scrambling.
    pub const IDLE: Self = Self::data(0);
    /// All control symbols of table B-2 that have a name.
    pub const CONTROLS: [Self; 9] =
        [Self::COM, Self::STP, Self::SDP, Self::END, Self::EDB, Self::PAD, Self::SKP, Self::IDL, Self::FTS];

    /// A data symbol.
    pub const fn data(value: u8) -> Self {
        Self { value, k: false }
    }

    /// A control symbol.
    pub const fn control(value: u8) -> Self {
        Self { value, k: true }
    }

    /// What a receiver decodes when the two wires of the lane are exchanged.
    ///
    /// All ten bits are then complemented. The two codes of an unbalanced sub-block are each other's
    /// complement, so it decodes as before. The code of a balanced sub-block becomes that of the
    /// complemented value. Control symbols are all of the first kind (tables B-1 and B-2).
    pub const fn inverted(self) -> Self {
        if self.k {
            return self;
        }
        /// Values of the 5-bit block whose 6-bit code is balanced and unique.
        const BALANCED: u32 =
            1 << 3 | 1 << 5 | 1 << 6 | 0b111111 << 9 | 0b111111 << 17 | 1 << 25 | 1 << 26 | 1 << 28;
        let (low, high) = (self.value & 0x1F, self.value >> 5);
        let low = if BALANCED >> low & 1 == 1 { 31 - low } else { low };
        let high = if matches!(high, 1 | 2 | 5 | 6) { 7 - high } else { high };
        Self::data(high << 5 | low)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 9] = ["COM", "STP", "SDP", "END", "EDB", "PAD", "SKP", "IDL", "FTS"];
        match Self::CONTROLS.iter().position(|control| control == self) {
            Some(index) => f.write_str(NAMES[index]),
            None => write!(f, "{}{:02X}", if self.k { "K" } else { "" }, self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverted_lane_shows_the_complements_of_the_training_sets() {
        assert_eq!(Symbol::data(0x4A).inverted(), Symbol::data(0xB5));
        assert_eq!(Symbol::data(0x45).inverted(), Symbol::data(0xBA));
        assert_eq!(Symbol::COM.inverted(), Symbol::COM);
        assert_eq!(Symbol::data(0).inverted(), Symbol::data(0));
    }

    #[test]
    fn inverting_twice_changes_nothing() {
        for value in 0..=255 {
            assert_eq!(Symbol::data(value).inverted().inverted(), Symbol::data(value));
        }
    }
}
