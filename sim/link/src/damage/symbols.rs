//! What happens to the symbols of one direction.

/// What happens to the symbols. The default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// Symbols in a million that cannot be decoded.
    pub flagged: u32,
    /// Symbols in a million that become another valid symbol.
    pub silent: u32,
    /// Symbols in a million that are lost.
    pub lost: u32,
    /// Symbols in a million that come twice.
    pub doubled: u32,
    /// SKP ordered sets come with 1 to 5 SKP, as elastic buffers make them.
    pub skp: bool,
    /// COM begins in the high byte.
    pub odd: bool,
    /// The lane's two wires are exchanged.
    pub inverted: bool,
    /// Cycles in a million in which the level of electrical idle begins to lie, for 1 to 7 cycles.
    pub glitches: u32,
}

impl Damage {
    /// Everything at once.
    pub const ALL: Self = Self {
        flagged: 40,
        silent: 40,
        lost: 40,
        doubled: 40,
        skp: true,
        odd: true,
        inverted: true,
        glitches: 2000,
    };

    /// The chances of what happens to single symbols.
    pub(super) fn symbols(&self) -> [u32; 4] {
        [self.flagged, self.silent, self.lost, self.doubled]
    }
}
