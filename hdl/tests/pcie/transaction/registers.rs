//! Every register of the table, with every byte enable.

use viaduct_spec::config_space::{word, CONFIG_BYTES, DEVICE_CONTROL, POWER_CONTROL, TABLE};

use super::tlp::{memory, turn_off_ack};
use super::world::World;

/// What a write makes of a double word, from the table's columns.
fn written(offset: u16, before: u32, data: u32, enables: u8) -> u32 {
    let Some(row) = word(offset) else { return 0 };
    let mut after = before;
    for byte in (0..4).filter(|byte| enables >> byte & 1 == 1) {
        if offset == POWER_CONTROL && byte == 0 && [1, 2].contains(&(data & 3)) {
            continue;
        }
        for bit in 8 * byte..8 * byte + 8 {
            if row.writable >> bit & 1 == 1 {
                after = after & !(1 << bit) | data & 1 << bit;
            }
            if row.clearable & data & 1 << bit != 0 {
                after &= !(1 << bit);
            }
        }
    }
    after
}

#[test]
fn every_register_reads_and_is_written_as_the_table_says() {
    let mut world = World::new("pcie_registers");
    for offset in (0..CONFIG_BYTES as u16).step_by(4) {
        let reset = word(offset).map_or(0, |row| row.reset);
        assert_eq!(world.read(offset), reset, "{offset:#x}");
    }
    for row in TABLE.iter().map(|row| row.offset).chain([0x14, 0x20, 0x24, 0x30, 0x6C, 0x78, 0x100, 0xFFC]) {
        let mut value = world.read(row);
        for enables in 0..16u8 {
            for data in [!0u32, 0, 0xA5A5_5A5A, 0x5A5A_A5A5, 0x0000_0001, 0x0000_0002] {
                // A function-level reset is another test's.
                let data = if row == DEVICE_CONTROL { data & !0x8000 } else { data };
                value = written(row, value, data, enables);
                world.request(row, enables, Some(data));
                assert_eq!(world.read(row), value, "{row:#x}: {data:#x}, enables {enables:04b}");
            }
        }
    }
    // What was written has reached no other register: each holds what was left in it, the fixed ones what they are.
    for row in TABLE.iter().filter(|row| row.writable == 0) {
        assert_eq!(world.read(row.offset), row.reset, "{:#x}", row.offset);
    }
    assert!(world.given.is_empty());
}

#[test]
fn each_writable_bit_is_held_alone() {
    let mut world = World::new("pcie_register_bits");
    for row in TABLE.iter().filter(|row| row.writable != 0) {
        for bit in (0..32).filter(|bit| row.writable >> bit & 1 == 1) {
            if row.offset == POWER_CONTROL {
                continue;
            }
            let fixed = row.reset & !row.writable;
            world.write(row.offset, 1 << bit);
            assert_eq!(world.read(row.offset), fixed | 1 << bit, "{}: bit {bit}", row.name);
        }
        world.write(row.offset, 0);
        for other in TABLE.iter().filter(|other| other.writable != 0 && other.offset < row.offset) {
            assert_eq!(world.read(other.offset), other.reset & !other.writable, "{}", other.name);
        }
    }
}

#[test]
fn device_status_is_set_by_faults_and_cleared_by_ones() {
    let mut world = World::new("pcie_device_status");
    let control = word(DEVICE_CONTROL).unwrap().reset;
    // A store that hits nothing: Non-Fatal, Unsupported Request.
    world.arrive(&memory(0x1234_0000, 0, 1, Some(&[0; 4])));
    world.run(20);
    assert_eq!(world.read(DEVICE_CONTROL), control | 0xA << 16);
    // A load that hits nothing: Correctable, because it is answered.
    world.arrive(&memory(0x1234_0000, 7, 1, None));
    world.until("refused", |world| !world.sent.is_empty());
    world.sent.clear();
    assert_eq!(world.read(DEVICE_CONTROL), control | 0xB << 16);
    // Neither a byte beside it nor zeros clear it.
    world.request(DEVICE_CONTROL, 0b1011, Some(!0x8000));
    world.request(DEVICE_CONTROL, 0b0100, Some(0));
    assert_eq!(world.read(DEVICE_CONTROL) >> 16, 0xB);
    world.request(DEVICE_CONTROL, 0b0100, Some(0x0009_0000));
    assert_eq!(world.read(DEVICE_CONTROL) >> 16, 0x2);
    // Too short: malformed, Fatal.
    world.arrive(&memory(0x1234_0000, 0, 1, Some(&[0; 2])));
    world.run(20);
    assert_eq!(world.read(DEVICE_CONTROL) >> 16, 0x6);
    world.request(DEVICE_CONTROL, 0b0100, Some(0x00FF_0000));
    assert_eq!(world.read(DEVICE_CONTROL) >> 16, 0);
    assert!(!world.sent.contains(&turn_off_ack(world.id)));
}
