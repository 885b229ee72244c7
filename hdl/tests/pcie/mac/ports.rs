//! The ports of the layer, and how a packet goes in.

use viaduct_link::symbol::Symbol;
use viaduct_verilate::{Dut, Handle};

use crate::seam::Seam;

/// The layer's ports.
pub struct Ports {
    pub reset: Handle,
    pub seam: Seam,
    pub symbols: [Handle; 2],
    pub line: Handle,
    pub line_valid: Handle,
    pub line_ready: Handle,
    pub levels: [Handle; 3],
    pub wishes: [Handle; 3],
    pub state: Handle,
    pub deepest: Handle,
}

impl Ports {
    /// Found once.
    pub fn of(dut: &Dut) -> Self {
        let port = |name: &str| dut.port(name);
        Self {
            reset: port("reset"),
            seam: Seam::of(dut, "seam_"),
            symbols: ["symbols", "symbols_valid"].map(port),
            line: port("line"),
            line_valid: port("line_valid"),
            line_ready: port("line_ready"),
            levels: ["link_up", "in_l0", "hot_reset"].map(port),
            wishes: ["retrain", "sleep", "wake"].map(port),
            state: port("state"),
            deepest: port("deepest"),
        }
    }
}

/// A packet as words of `line`.
pub fn words(symbols: &[Symbol]) -> Vec<u64> {
    let word = |pair: &[Symbol]| {
        pair.iter().zip(0..).fold(0, |word, (symbol, place)| {
            word | u64::from(symbol.value) << (8 * place) | u64::from(symbol.k) << (16 + place)
        })
    };
    let mut words: Vec<_> = symbols.chunks(2).map(word).collect();
    if let Some(last) = words.last_mut() {
        *last |= 1 << 18;
    }
    words
}
