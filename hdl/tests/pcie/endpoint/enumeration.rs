//! What firmware and Linux do with a function, in their order, on a real link.

use viaduct_link::tlp::{from_bytes, Tlp};
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::{BAR0_BYTES, PCI_DEVICE, PCI_VENDOR};

use super::traffic::{memory, Traffic};
use super::world::{quick, seed, World, BAR0, BAR2, ID, PERIODS};
use crate::transaction::tlp::{slot_power, turn_off, turn_off_ack};

pub const COMMAND: u16 = 0x04;
pub const DEVICE_CONTROL: u16 = 0x58;

/// Linux finds the function on a link that has just come up.
fn enumerate(world: &mut World) {
    // The first TLP of a link.
    world.send(from_bytes(&slot_power()).expect("a TLP"), None);
    // Firmware's number of the bus, then Linux'. What was not written yet answers as before.
    (world.id, world.target) = (0, 0x0200);
    assert_eq!(world.read(0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
    world.write(COMMAND, 0);
    assert_eq!(world.read(0x08) >> 16, 0x0280);
    world.target = ID;
    assert_eq!(world.read(0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
    world.write(COMMAND, 0);
    let sizes = [0x10, 0x18, 0x1C].map(|register| {
        let before = world.read(register);
        world.write(register, !0);
        let size = world.read(register);
        world.write(register, before);
        size
    });
    assert_eq!(u64::from(!(sizes[0] & !0xF)) + 1, BAR0_BYTES);
    assert_eq!(!(u64::from(sizes[2]) << 32 | u64::from(sizes[1] & !0xF)) + 1, BAR2_BYTES);
    let (mut found, mut at) = (Vec::new(), world.read(0x34) as u16 & 0xFF);
    while at != 0 {
        let header = world.read(at);
        found.push((header & 0xFF, at));
        at = (header >> 8 & 0xFF) as u16;
    }
    assert_eq!(found, [(0x01, 0x40), (0x10, 0x50), (0x11, 0x90)]);
    assert_eq!(world.read(0x100), 0, "no extended capabilities");
    assert_eq!(
        world.read(0x5C) >> 16 & 0x3FF,
        0x40,
        "ASPM Optionality Compliance; the link's status has a register of its own"
    );
    assert_eq!(world.read(0x60) >> 16 & 0x3FF, 0x11, "one lane, 2.5 GT/s");
    world.map();
}

impl World {
    /// A load of the host's, on a link without other traffic.
    #[track_caller]
    pub fn load(&mut self, bar: u64, address: u64) -> Vec<u32> {
        self.host.reads.insert(9, 1);
        self.send(memory(0, address, 9, 1, vec![]), Some(bar));
        self.until(20_000, |world| world.host.is_empty());
        self.host.last.clone()
    }

    /// A store of the host's.
    #[track_caller]
    pub fn store(&mut self, bar: u64, address: u64, data: u32) {
        self.send(memory(0x4000_0000, address, 0, 1, vec![data]), Some(bar));
    }

    /// A function-level reset, and the addresses again.
    #[track_caller]
    pub fn function_reset(&mut self) {
        let (control, resets) = (self.read(DEVICE_CONTROL), self.core.resets);
        self.write(DEVICE_CONTROL, control & 0xFFFF | 0x8000);
        self.until(20_000, |world| world.core.resets > resets);
        assert_eq!(self.read(COMMAND) & 7, 0, "what is asked meanwhile waits");
        for register in [0x10, 0x18, 0x1C] {
            assert_eq!(self.read(register) & !0xF, 0);
        }
        assert_eq!(self.read(DEVICE_CONTROL) & 0xE0, control & 0xE0, "it keeps Max_Payload_Size");
        // Answers to reads of before come still, and belong to nothing.
        self.until(50_000, |world| world.host.is_empty());
        self.map();
    }

    /// Another Max_Payload_Size (128 << n bytes), at both ends.
    #[track_caller]
    pub fn set_max_payload(&mut self, size: u32) {
        let grows = self.most < 32 << size;
        if !grows {
            self.most = 32 << size;
        }
        for end in [false, true] {
            if end == grows {
                // Max_Read_Request_Size of 512. The Ack of this write still takes the time of the size before.
                self.write(DEVICE_CONTROL, 0x2000 | size << 5);
                self.until(1000, |world| world.core.most(&world.dut) == 32 << size);
                self.run(500);
            } else {
                self.port.set_max_payload(128 << size);
                self.monitor.set_max_payload(128 << size);
            }
        }
        self.most = 32 << size;
    }
}

#[test]
fn linux_enumerates_the_function_and_uses_it() {
    let seed = seed("endpoint enumeration");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut world = World::new(quick(seed + round as u64), periods);
        world.train();
        enumerate(&mut world);
        world.store(0, BAR0 + 0x20, 0x1234_5678);
        world.store(2, BAR2 + 0x7_FFFC, 0x9ABC_DEF0);
        assert_eq!(world.load(0, BAR0 + 0x20), [0x1234_5678]);
        assert_eq!(world.load(2, BAR2 + 0x7_FFFC), [0x9ABC_DEF0]);
        for size in [1, 0, 1] {
            world.set_max_payload(size);
            world.traffic = Traffic::of(200);
            world.drain(400_000);
        }
        world.function_reset();
        assert_eq!(world.load(0, BAR0 + 0x20), [0], "the core was reset");
        world.traffic = Traffic::of(200);
        world.drain(400_000);
        world.assert_silent();
    }
}

#[test]
fn what_hits_nothing_is_refused_on_the_link() {
    let mut world = World::enumerated(quick(seed("endpoint refusals")), PERIODS[1]);
    let refused = |world: &mut World, tlp: Tlp| {
        world.send(tlp, None);
        world.until(20_000, |world| !world.host.answers.is_empty());
        let answer = world.host.answers.pop_front().expect("it is there");
        (answer[0] >> 24, answer[1] >> 13 & 7)
    };
    for address in [0x1000_0000, BAR0 - 4, BAR0 + BAR0_BYTES, BAR2 + BAR2_BYTES] {
        let answer = refused(&mut world, memory(0, address, 0xFF, 1, vec![]));
        assert_eq!(answer, (0x0A, 1), "{address:#x}");
        // A store is dropped, and nothing waits behind it.
        world.send(memory(0x4000_0000, address, 0, 1, vec![7]), None);
    }
    world.traffic = Traffic::of(100);
    world.drain(200_000);
    world.assert_silent();
}

#[test]
fn pme_turn_off_is_acknowledged_and_the_link_goes_to_rest() {
    let mut world = World::enumerated(quick(seed("endpoint turn off")), PERIODS[2]);
    world.traffic = Traffic::of(50);
    world.drain(200_000);
    world.send(from_bytes(&turn_off()).expect("a TLP"), None);
    world.until(20_000, |world| !world.host.answers.is_empty());
    assert_eq!(world.host.answers.pop_front(), from_bytes(&turn_off_ack(ID)));
    world.until_asleep();
    world.run(2000);
    assert!(world.from.tx_idle);
    world.assert_silent();
}
