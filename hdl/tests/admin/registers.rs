use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::admin::Registers;
use viaduct_hdl::bus::MmioWrite;
use viaduct_hdl::export::verilog;
use viaduct_spec::profile;
use viaduct_spec::register::{
    control, nic_kind, raw_channel, registers, state, MAGIC_VALUE, MSIX_PENDING, MSIX_TABLE, VERSION_VALUE,
};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

pub fn new() -> Bench {
    Bench::new("registers", &verilog(Registers::default()))
}

/// What a store of the host's says, to a register or to a doorbell.
pub fn say(dut: &mut Bench, doorbell: bool, address: u64, data: u64, enables: u64) {
    let fields = [("doorbell", doorbell.into()), ("address", address), ("data", data), ("enables", enables)];
    Bundle::of::<MmioWrite>("mmio_write").set(dut, &fields);
}

fn store(dut: &mut Bench, address: u64, value: u64, bytes: u64) {
    let lane = address % 8;
    let enables = ((1 << bytes) - 1) << lane;
    say(dut, false, address & !7, value << (8 * lane), enables);
    dut.set("mmio_write_valid", 1);
    dut.tick();
    dut.set("mmio_write_valid", 0);
    dut.tick();
}

pub fn load(dut: &mut Bench, address: u64) -> u64 {
    dut.set("load_valid", 1);
    dut.set("load", address);
    dut.tick();
    dut.set("load_valid", 0);
    for _ in 0..8 {
        dut.eval();
        if dut.get("answer_valid") == 1 {
            let value = dut.get("answer");
            dut.tick();
            return value >> (8 * (address % 8));
        }
        dut.tick();
    }
    panic!("the load of {address:#x} was not answered");
}

#[test]
fn identity_reads_as_the_specification_says() {
    let mut dut = new();
    for (address, value) in [
        (registers::MAGIC, MAGIC_VALUE),
        (registers::VERSION, VERSION_VALUE),
        (registers::KIND, nic_kind::RTL),
        (registers::VIS, profile::VIS as u32),
        (registers::REGIONS, profile::REGIONS as u32),
        (registers::PAGES, profile::PAGES as u32),
        (registers::DOORBELL_SHIFT, profile::DOORBELL_SHIFT as u32),
        (registers::RECEIVE_AHEAD, profile::RECEIVE_AHEAD as u32),
        (registers::READ_DEPTH, profile::READ_DEPTH as u32),
    ] {
        assert_eq!(load(&mut dut, address) as u32, value, "register {address:#x}");
    }
}

#[test]
fn what_is_stored_is_read_back_by_halves_and_whole() {
    let mut dut = new();
    for address in [registers::STAGE0, registers::STAGE1, registers::STAGE2] {
        store(&mut dut, address, 0x0123_4567_89AB_CDEF, 8);
        assert_eq!(load(&mut dut, address), 0x0123_4567_89AB_CDEF);
        store(&mut dut, address + 4, 0xFEED_F00D, 4);
        assert_eq!(load(&mut dut, address), 0xFEED_F00D_89AB_CDEF);
        store(&mut dut, address, 0x1111_2222, 4);
        assert_eq!(load(&mut dut, address), 0xFEED_F00D_1111_2222);
        store(&mut dut, address, 0xFF, 1);
        assert_eq!(load(&mut dut, address), 0xFEED_F00D_1111_2222, "a byte store changes nothing");
    }
    store(&mut dut, registers::MAC, 0x0605_0403_0201, 8);
    store(&mut dut, registers::IP, 0x0A00_0001, 4);
    store(&mut dut, registers::PKEY, 0x1234, 4);
    assert_eq!(load(&mut dut, registers::MAC), 0x0605_0403_0201);
    assert_eq!(load(&mut dut, registers::IP) as u32, 0x0A00_0001);
    assert_eq!(load(&mut dut, registers::PKEY) as u32, 0x1234);
    assert_eq!(dut.get("station_mac"), 0x0605_0403_0201);
    assert_eq!(dut.get("station_ip"), 0x0A00_0001);
    assert_eq!(dut.get("station_pkey"), 0x1234);
}

/// Any value in any register, by halves and whole, in any order: each keeps what it got last, and no other changes.
#[test]
fn registers_keep_what_they_got_last() {
    let mut dut = new();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let staged = [registers::STAGE0, registers::STAGE1, registers::STAGE2];
    let mut stages = [0u64; 3];
    // The default partition, until the agent says otherwise.
    let (mut mac, mut ip, mut pkey, mut commands) = (0u64, 0u64, 0xFFFF_u64, 0);
    for round in 0..3000 {
        let value: u64 = random.random();
        match random.random_range(0..7) {
            n @ 0..3 => {
                let (half, bytes) = [(0, 4), (4, 4), (0, 8)][random.random_range(0..3)];
                store(
                    &mut dut,
                    staged[n] + half,
                    if bytes == 4 { value & 0xFFFF_FFFF } else { value },
                    bytes,
                );
                let mask = if bytes == 8 { u64::MAX } else { 0xFFFF_FFFF << (8 * half) };
                stages[n] = stages[n] & !mask | value << (8 * half) & mask;
            }
            3 => {
                mac = value & 0xFFFF_FFFF_FFFF;
                store(&mut dut, registers::MAC, mac, 8);
            }
            4 => {
                ip = value & 0xFFFF_FFFF;
                store(&mut dut, registers::IP, ip, 4);
            }
            5 => {
                pkey = value & 0xFFFF;
                store(&mut dut, registers::PKEY, pkey, 4);
            }
            _ => {
                let word = value & 0xFFFF_FFFF;
                say(
                    &mut dut,
                    false,
                    registers::COMMAND & !7,
                    word << (8 * (registers::COMMAND % 8)),
                    0xF << (registers::COMMAND % 8),
                );
                dut.set("mmio_write_valid", 1);
                dut.tick();
                dut.set("mmio_write_valid", 0);
                dut.eval();
                assert_eq!((dut.get("command_valid"), dut.get("command")), (1, word), "round {round}");
                dut.tick();
                dut.eval();
                assert_eq!(dut.get("command_valid"), 0, "one command a store");
                commands += 1;
            }
        }
        for _ in 0..random.random_range(0..3) {
            dut.tick();
        }
        dut.eval();
        assert_eq!([dut.get("stage0"), dut.get("stage1"), dut.get("stage2")], stages, "round {round}");
        assert_eq!(
            [dut.get("station_mac"), dut.get("station_ip"), dut.get("station_pkey")],
            [mac, ip, pkey],
            "round {round}"
        );
        if round % 8 == 0 {
            let n = random.random_range(0..3);
            assert_eq!(load(&mut dut, staged[n]), stages[n], "round {round}");
            let own =
                [registers::MAC, registers::IP, registers::PKEY].map(|register| load(&mut dut, register));
            assert_eq!(
                (own[0], own[1] as u32, own[2] as u32),
                (mac, ip as u32, pkey as u32),
                "round {round}"
            );
        }
    }
    assert!(commands > 300);
}

#[test]
fn the_raw_channel_is_set_beside_the_read_depth() {
    let mut dut = new();
    let fields = [
        ("station_raw_vi", raw_channel::VI),
        ("station_raw_open", raw_channel::ENABLE),
        ("station_raw_broadcast", raw_channel::BROADCAST),
        ("station_raw_multicast", raw_channel::MULTICAST),
        ("station_raw_any", raw_channel::PROMISCUOUS),
    ];
    for (port, field) in fields {
        let mut word = [0];
        field.put(&mut word, field.mask());
        store(&mut dut, registers::RAW_CHANNEL, word[0], 4);
        dut.eval();
        for (other, _) in fields {
            assert_eq!(dut.get(other), if other == port { field.mask() } else { 0 }, "{port}: {other}");
        }
        assert_eq!(load(&mut dut, registers::RAW_CHANNEL), word[0]);
        assert_eq!(load(&mut dut, registers::READ_DEPTH) as u32, profile::READ_DEPTH as u32);
        store(&mut dut, registers::READ_DEPTH, 0xFFFF_FFFF, 4);
        assert_eq!(load(&mut dut, registers::READ_DEPTH) as u32, profile::READ_DEPTH as u32);
    }
    dut.set("reset", 1);
    dut.tick();
    dut.set("reset", 0);
    dut.eval();
    assert_eq!(dut.get("station_raw_any"), 0);
}

#[test]
fn control_enables_and_resets_and_state_is_shown() {
    let mut dut = new();
    dut.set("command_error", 1);
    dut.set("read_timeout", 1);
    let shown = 1 << state::COMMAND_ERROR.lo | 1 << state::READ_TIMEOUT.lo;
    for (receive, send) in [(1, 0), (0, 1), (0, 0), (1, 1)] {
        let word = receive << control::RECEIVE_ENABLE.lo | send << control::SEND_ENABLE.lo;
        store(&mut dut, registers::CONTROL, word, 4);
        assert_eq!((dut.get("receive_enable"), dut.get("send_enable")), (receive, send));
        assert_eq!(load(&mut dut, registers::CONTROL), shown << 32 | word);
    }
    say(&mut dut, false, registers::CONTROL, 1 << control::RESET.lo, 0xF);
    dut.set("mmio_write_valid", 1);
    dut.tick();
    dut.set("mmio_write_valid", 0);
    dut.eval();
    assert_eq!(dut.get("soft_reset"), 1);
    dut.tick();
    dut.eval();
    assert_eq!(dut.get("soft_reset"), 0, "a pulse of one cycle");
}

#[test]
fn a_doorbell_store_is_not_a_register_store() {
    let mut dut = new();
    say(&mut dut, true, registers::CONTROL, 3, 0xFF);
    dut.set("mmio_write_valid", 1);
    dut.tick();
    dut.eval();
    assert_eq!(dut.get("receive_enable"), 0);
}

#[test]
fn the_table_and_its_pending_bits_are_read_from_their_owner() {
    let mut dut = new();
    dut.set("vectors_pending", 0xA5);
    assert_eq!(load(&mut dut, MSIX_PENDING), 0xA5);
    assert_eq!(load(&mut dut, MSIX_PENDING + 8), 0);
    for (address, row) in [(MSIX_TABLE, 0), (MSIX_TABLE + 8, 1), (MSIX_TABLE + 0x7C, 15)] {
        dut.set("load_valid", 1);
        dut.set("load", address);
        dut.tick();
        dut.set("load_valid", 0);
        dut.tick();
        for _ in 0..5 {
            dut.eval();
            assert_eq!((dut.get("vector_row_valid"), dut.get("vector_row")), (1, row));
            dut.tick();
        }
        dut.set("vector_value_valid", 1);
        dut.set("vector_value", 0x1234_5678_9ABC_DEF0 + row);
        dut.tick();
        dut.set("vector_value_valid", 0);
        dut.set("vector_value", 0);
        dut.eval();
        assert_eq!((dut.get("answer_valid"), dut.get("answer")), (1, 0x1234_5678_9ABC_DEF0 + row));
        dut.tick();
    }
    for address in [MSIX_TABLE - 8, MSIX_TABLE + 0x80] {
        assert_eq!(load(&mut dut, address), 0, "no vector at {address:#x}");
    }
}
