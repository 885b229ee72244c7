//! Loads of what others show through the registers, and stores beside the registers.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::register::{counter, registers, state, MSIX_TABLE};
use viaduct_verilate::Bench;

use crate::registers::{load, new, say};

/// The load of a counter or of the MSI-X table asks its owner, which answers after some cycles; what the owner shows before is not it.
fn load_from_owner(
    dut: &mut Bench,
    address: u64,
    [valid, row]: [&str; 2],
    value: &str,
    word: u64,
    after: usize,
) {
    dut.set("load_valid", 1);
    dut.set("load", address);
    dut.tick();
    dut.set("load_valid", 0);
    dut.tick();
    for _ in 0..after {
        dut.set(value, word ^ 0xF_FFFF_FFFF);
        dut.eval();
        assert_eq!((dut.get(valid), dut.get(row)), (1, address % 0x400 / 8), "{address:#x} is asked for");
        assert_eq!(dut.get("answer_valid"), 0, "{address:#x} is not answered yet");
        dut.tick();
    }
    let answers = format!("{value}_valid");
    dut.set(&answers, 1);
    dut.set(value, word);
    dut.tick();
    dut.set(&answers, 0);
    dut.set(value, 0);
    dut.eval();
    assert_eq!((dut.get("answer_valid"), dut.get("answer")), (1, word), "{address:#x}");
    dut.tick();
}

/// Any counter, row of the MSI-X table, time, result and state, with any value.
#[test]
fn a_load_shows_what_its_owner_shows() {
    let mut dut = new();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    for round in 0..2000 {
        let word: u64 = random.random();
        let after = random.random_range(1..42);
        match random.random_range(0..5) {
            0 => {
                let address =
                    registers::COUNTERS + 8 * random.random_range(0..counter::CODES.codes.len() as u64);
                let ports = ["counter_valid", "counter"];
                load_from_owner(&mut dut, address, ports, "counter_value", word & 0xF_FFFF_FFFF, after);
            }
            1 => {
                let address = MSIX_TABLE + 8 * random.random_range(0..16);
                load_from_owner(
                    &mut dut,
                    address,
                    ["vector_row_valid", "vector_row"],
                    "vector_value",
                    word,
                    after,
                );
            }
            2 => {
                dut.set("time_now", word & 0xFFFF_FFFF);
                assert_eq!(
                    load(&mut dut, registers::TIME) & 0xFFFF_FFFF,
                    word & 0xFFFF_FFFF,
                    "round {round}"
                );
            }
            3 => {
                dut.set("result", word);
                assert_eq!(load(&mut dut, registers::RESULT), word, "round {round}");
            }
            _ => {
                let fields = [
                    ("command_busy", state::COMMAND_BUSY),
                    ("command_error", state::COMMAND_ERROR),
                    ("idle", state::IDLE),
                    ("read_timeout", state::READ_TIMEOUT),
                ];
                let mut shown = [0];
                for (number, (port, field)) in fields.into_iter().enumerate() {
                    dut.set(port, word >> number & 1);
                    field.put(&mut shown, word >> number & 1);
                }
                assert_eq!(load(&mut dut, registers::STATE) & 0xFFFF_FFFF, shown[0], "round {round}");
            }
        }
    }
}

/// A store to a place that differs from a register's in one bit of the address changes nothing, if that is not a register itself.
#[test]
fn a_store_beside_a_register_changes_nothing() {
    let mut dut = new();
    let stored = [
        registers::CONTROL,
        registers::MAC,
        registers::MAC + 4,
        registers::IP,
        registers::PKEY,
        registers::STAGE0,
        registers::STAGE0 + 4,
        registers::STAGE1,
        registers::STAGE1 + 4,
        registers::STAGE2,
        registers::STAGE2 + 4,
        registers::COMMAND,
        registers::COMMAND + 4,
        registers::RAW_CHANNEL,
    ];
    let shown = [
        "receive_enable",
        "send_enable",
        "station_mac",
        "station_ip",
        "station_pkey",
        "station_raw_open",
        "station_raw_broadcast",
        "station_raw_multicast",
        "station_raw_any",
        "station_raw_vi",
        "stage0",
        "stage1",
        "stage2",
    ];
    let look = |dut: &Bench| shown.map(|port| dut.get(port));
    let before = look(&dut);
    for address in stored {
        for bit in 2..20 {
            let beside = address ^ 1 << bit;
            if stored.contains(&beside) {
                continue;
            }
            for word in [0xFFFF_FFFF, 0x5A5A_5A5A, 0xA5A5_A5A5] {
                let lane = beside % 8;
                say(&mut dut, false, beside - lane, word << (8 * lane), 0xF << lane);
                dut.set("mmio_write_valid", 1);
                dut.tick();
                dut.set("mmio_write_valid", 0);
                dut.eval();
                assert_eq!((dut.get("command_valid"), dut.get("soft_reset")), (0, 0), "{beside:#x}");
                dut.tick();
                assert_eq!(look(&dut), before, "{beside:#x}, beside {address:#x}");
            }
        }
    }
}
