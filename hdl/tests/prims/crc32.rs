//! The CRC against an independent bitwise one and the standard's check value.

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::Crc32;
use viaduct_verilate::Bench;

/// CRC-32 most significant bit first with the normal polynomial and mirrored bits: the definition, not the block's
/// way.
fn reference(mut state: u32, bytes: &[u8]) -> u32 {
    state = state.reverse_bits();
    for byte in bytes {
        for bit in 0..8 {
            let feedback = (state >> 31) ^ u32::from(byte >> bit & 1);
            state = (state << 1) ^ (feedback * 0x04c1_1db7);
        }
    }
    state.reverse_bits()
}

#[test]
fn the_reference_is_crc32() {
    assert_eq!(!reference(!0, b"123456789"), 0xcbf4_3926);
}

#[test]
fn follows_words_halves_presets_and_gaps() {
    let mut bench = Bench::new("crc32", &verilog(Crc32::default()));
    let mut rng = super::random(&bench);
    let mut state = 0;
    assert_eq!(bench.get("value"), 0);
    for _ in 0..5000 {
        let word: [u8; 8] = rng.random();
        let (valid, half, preset) = (rng.random_bool(0.8), rng.random_bool(0.3), rng.random_bool(0.1));
        let (value, reset): (u32, bool) = (rng.random(), rng.random_bool(0.02));
        bench.set("reset", reset.into());
        bench.set("sink_valid", valid.into());
        bench.set("sink", u64::from_le_bytes(word));
        bench.set("in_half", half.into());
        bench.set("preset", preset.into());
        bench.set("preset_value", value.into());
        if reset {
            state = 0;
        } else if preset {
            state = value;
        } else if valid {
            state = reference(state, &word[..if half { 4 } else { 8 }]);
        }
        bench.tick();
        assert_eq!(bench.get("value"), u64::from(state));
    }
}

#[test]
fn gives_known_check_sums() {
    let mut bench = Bench::new("crc32", &verilog(Crc32::default()));
    let text = b"123456789012";
    let low = u64::from_le_bytes(text[..8].try_into().unwrap());
    let high = u32::from_le_bytes(text[8..].try_into().unwrap());
    bench.set("preset", 1);
    bench.set("preset_value", 0xffff_ffff);
    bench.tick();
    bench.set("preset", 0);
    bench.set("sink_valid", 1);
    bench.set("sink", low);
    bench.tick();
    assert_eq!(!bench.get("value") as u32, 0x9ae0daaf);
    bench.set("in_half", 1);
    bench.set("sink", high.into());
    bench.tick();
    assert_eq!(!bench.get("value") as u32, 0x5d34eb96);
}
