//! Times of the transport: ticks of the time base, and InfiniBand's receiver-not-ready timer codes.

use crate::clock::{Cycle, CYCLE_NS, TICK_LOG2};

/// Ten microseconds, the unit of the codes, in cycles.
const UNIT: Cycle = 10_000 / CYCLE_NS;

/// Times of the 32 codes in units of ten microseconds (InfiniBand Architecture 1.4 volume 1, table 45).
const CODES: [Cycle; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

/// How long to wait after a receiver-not-ready answer with this code.
pub fn receiver_not_ready(code: u8) -> Cycle {
    CODES[usize::from(code & 31)] * UNIT
}

/// When a time-out of `ticks` that starts now ends; 0 ticks: never.
pub fn timeout(now: Cycle, ticks: u64) -> Option<Cycle> {
    (ticks != 0).then(|| now + (ticks << TICK_LOG2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_infiniband_s() {
        let ms = |code| receiver_not_ready(code) as f64 * CYCLE_NS as f64 / 1e6;
        assert_eq!([ms(0), ms(1), ms(20), ms(26), ms(31)], [655.36, 0.01, 10.24, 81.92, 491.52]);
    }
}
