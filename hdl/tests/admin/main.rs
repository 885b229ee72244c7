//! The agent's side of the NIC and the VI states, on their exported Verilog.

mod command;
mod counters;
mod registers;
mod state;

/// Packs values, lowest field first, into the 32-bit words of a wide port.
fn pack(fields: &[(u64, usize)]) -> Vec<u32> {
    let total: usize = fields.iter().map(|(_, width)| width).sum();
    let mut words = vec![0u32; total.div_ceil(32)];
    let mut at = 0;
    for &(value, width) in fields {
        for bit in 0..width {
            words[(at + bit) / 32] |= ((value >> bit & 1) as u32) << ((at + bit) % 32);
        }
        at += width;
    }
    words
}

/// Reads `width` bits from `lo` on.
fn field(words: &[u32], lo: usize, width: usize) -> u64 {
    (0..width).fold(0, |value, bit| {
        let at = lo + bit;
        value | u64::from(words[at / 32] >> (at % 32) & 1) << bit
    })
}
