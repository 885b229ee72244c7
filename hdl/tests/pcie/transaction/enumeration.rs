//! What firmware and Linux do with a function, in their order.

use viaduct_spec::profile::{BAR2_BYTES, VECTORS};
use viaduct_spec::register::{BAR0_BYTES, PCI_DEVICE, PCI_VENDOR};

use super::tlp::{completion, memory, slot_power};
use super::world::World;

const COMMAND: u16 = 0x04;
const BAR0: u16 = 0x10;
const BAR2: u16 = 0x18;
const BAR2_HIGH: u16 = 0x1C;
const POWER_CONTROL: u16 = 0x44;
const DEVICE_CONTROL: u16 = 0x58;
const MSIX: u16 = 0x90;

/// BAR 0 at FE000000, BAR 2 at 40 0000 0000, memory and bus master on.
pub fn enable(world: &mut World) {
    world.write(BAR0, 0xFE00_0000);
    world.write(BAR2, 0);
    world.write(BAR2_HIGH, 0x40);
    world.write(COMMAND, 6);
}

/// Whether a store to this address reaches the core, and which BAR it hits.
pub fn hits(world: &mut World, address: u64) -> Option<u64> {
    let given = world.given.len();
    let store = memory(address, 0, 1, Some(&[1, 2, 3, 4]));
    world.arrive(&store);
    world.drain();
    let got = world.given.get(given).map(|(given, _)| given.clone());
    got.map(|got| {
        assert_eq!(got.bytes, store);
        got.bar
    })
}

#[test]
fn linux_enumerates_the_function() {
    let mut world = World::new("pcie_enumeration");
    // The first TLP of a link.
    world.arrive(&slot_power());
    world.run(20);
    // Firmware looks under a temporary bus, and writes nothing yet: completions come from number 0.
    world.id = 0x0200;
    assert_eq!(world.read(0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
    assert_eq!(world.config("requester_id"), 0);
    assert_eq!(world.read(0x0C) >> 16 & 0x7F, 0, "a header of type 0");
    world.write(COMMAND, 0);
    assert_eq!(world.config("requester_id"), 0x0200);
    // Linux numbers the bus anew.
    world.id = 0x05A8;
    assert_eq!(world.read(8) >> 16, 0x0280);
    assert_eq!(world.config("requester_id"), 0x0200, "a read changes nothing");
    world.write(0x0C, 0x10);
    assert_eq!(world.config("requester_id"), 0x05A8);

    // Sizes, with decoding off.
    world.write(COMMAND, 0);
    let mut sizes = Vec::new();
    for register in (BAR0..0x28).step_by(4) {
        let before = world.read(register);
        world.write(register, !0);
        sizes.push(world.read(register));
        world.write(register, before);
        assert_eq!(world.read(register), before);
    }
    let bar2 = u64::from(sizes[3]) << 32 | u64::from(sizes[2] & !0xF);
    assert_eq!(u64::from(!(sizes[0] & !0xF)) + 1, BAR0_BYTES);
    assert_eq!(!bar2 + 1, BAR2_BYTES);
    assert_eq!((sizes[0] & 0xF, sizes[2] & 0xF, sizes[1], sizes[4], sizes[5]), (0, 4, 0, 0, 0));
    world.write(0x30, !0x7FF);
    assert_eq!(world.read(0x30), 0, "no expansion ROM");

    // The capabilities.
    let (mut found, mut at) = (Vec::new(), world.read(0x34) as u16 & 0xFF);
    while at != 0 {
        let header = world.read(at);
        found.push((header & 0xFF, at));
        at = (header >> 8 & 0xFF) as u16;
    }
    assert_eq!(found, [(0x01, 0x40), (0x10, 0x50), (0x11, 0x90)]);
    assert_eq!(world.read(MSIX) >> 16 & 0x7FF, VECTORS as u32 - 1);
    assert_eq!(world.read(0x100), 0, "no extended capabilities");
    assert_eq!(world.read(0x5C) & 0x3FF, 0x11, "one lane, 2.5 GT/s");

    // Addresses: nothing is taken before memory is enabled.
    world.write(BAR0, 0xFE00_0000);
    world.write(BAR2, 0);
    world.write(BAR2_HIGH, 0x40);
    assert_eq!(hits(&mut world, 0xFE00_0000), None);
    world.write(COMMAND, 2);
    assert_eq!((world.config("bus_master"), hits(&mut world, 0xFE00_0000)), (0, Some(0)));
    world.write(COMMAND, 6);
    assert_eq!(world.config("bus_master"), 1);
    for (address, bar) in [
        (0xFDFF_FFFC, None),
        (0xFE00_0000, Some(0)),
        (0xFE00_FFFC, Some(0)),
        (0xFE01_0000, None),
        (0x0000_0000, None),
        (0x40_0000_0000, Some(2)),
        (0x40_0000_0000 + BAR2_BYTES - 4, Some(2)),
        (0x40_0000_0000 + BAR2_BYTES, None),
        (0x41_0000_0000, None),
        (0x40_FE00_0000, None),
        (0x1_FE00_0000, None),
        (0x1_0040_0000_0000, None),
    ] {
        assert_eq!(hits(&mut world, address), bar, "{address:#x}");
    }
    // Firmware may put BAR 2 below 4 GiB: then addresses are short.
    world.write(BAR2, 0xC000_0000);
    world.write(BAR2_HIGH, 0);
    assert_eq!(hits(&mut world, 0xC000_0000), Some(2));
    assert_eq!(hits(&mut world, 0xC000_0000 + BAR2_BYTES), None);
    assert_eq!(hits(&mut world, 0x40_0000_0000), None);

    // MPS, MRRS, extended tags; the rest of Device Control.
    for (control, payload, read) in
        [(0x2810, 0, 2), (0x5030, 1, 5), (0x0000, 0, 0), (0x70E0, 1, 5), (0x3020, 1, 3)]
    {
        world.write(DEVICE_CONTROL, control);
        world.run(2);
        assert_eq!((world.config("max_payload"), world.config("max_read")), (payload, read), "{control:#x}");
        assert_eq!(world.bench.get("max_payload"), payload);
    }
    world.write(DEVICE_CONTROL, 0x0100);
    assert_eq!(world.config("extended_tag"), 1);
    assert_eq!(world.config("rcb"), 0);
    world.write(0x60, 8);
    assert_eq!(world.config("rcb"), 1);

    // MSI-X.
    world.write(MSIX, 0xC000_0000);
    assert_eq!((world.config("msix_enable"), world.config("msix_mask")), (1, 1));
    world.request(MSIX, 0b1000, Some(0x8000_0000));
    assert_eq!((world.config("msix_enable"), world.config("msix_mask")), (1, 0));
}

#[test]
fn a_function_in_d3hot_answers_configuration_alone() {
    let mut world = World::new("pcie_d3hot");
    enable(&mut world);
    world.drain();
    world.sent.clear();
    assert_eq!(world.bench.get("enter_l1"), 0);
    world.write(POWER_CONTROL, 3);
    world.until("the link may sleep", |world| world.bench.get("enter_l1") == 1);
    assert_eq!(world.config("bus_master"), 0);
    assert_eq!(hits(&mut world, 0xFE00_0000), None);
    world.arrive(&memory(0xFE00_0000, 9, 1, None));
    world.drain();
    assert_eq!(world.sent.pop().map(|tlp| tlp[6] >> 5), Some(1), "a load is refused");
    assert_eq!(world.bench.get("enter_l1"), 1, "and the link may sleep again");
    // A completion of before still comes, and configuration is answered; the link is awake meanwhile.
    let late = completion(world.id, 3, &[7; 4]);
    world.arrive(&late);
    world.drain();
    assert_eq!(world.given.pop().unwrap().0.bytes, late);
    world.pace.offered = 0;
    let sent = world.sent.len();
    world.arrive(&super::tlp::configuration(world.id, 0, 0xF, 1, None));
    world.run(60);
    assert_eq!(world.bench.get("enter_l1"), 0, "an answer waits");
    world.pace.offered = 100;
    world.until("an answer", |world| world.sent.len() > sent);
    // A TLP of the core that was on its way does, too.
    world.drain();
    world.pace.offered = 0;
    world.core_sends(&completion(1, 5, &[1; 4]));
    world.run(10);
    assert_eq!(world.bench.get("enter_l1"), 0);
    world.pace.offered = 100;
    world.drain();
    assert_eq!(world.bench.get("enter_l1"), 1);
    // D1 and D2 there are not.
    world.write(POWER_CONTROL, 1);
    assert_eq!(world.read(POWER_CONTROL), 0xB);
    world.write(POWER_CONTROL, 0);
    world.drain();
    assert_eq!(world.bench.get("enter_l1"), 0);
    assert_eq!(world.config("bus_master"), 1, "it has kept what it had");
    assert_eq!(hits(&mut world, 0xFE00_0000), Some(0));
}

#[test]
fn a_function_level_reset_is_the_core_s_and_ours() {
    let mut world = World::new("pcie_flr");
    enable(&mut world);
    world.write(DEVICE_CONTROL, 0x5020);
    world.write(0x60, 0x48);
    world.write(MSIX, 0x8000_0000);
    world.write(0x3C, 0x2A);
    for round in 0..2 {
        assert_eq!(world.config("function_reset"), 0);
        // The completion comes first: while it waits nothing is reset.
        world.pace.offered = 0;
        let sent = world.sent.len();
        world.arrive(&super::tlp::configuration(world.id, DEVICE_CONTROL, 2, 1, Some(0xD020)));
        world.run(100);
        assert_eq!(world.config("function_reset"), 0);
        world.pace.offered = 100;
        world.until("the reset begins", |world| world.config("function_reset") == 1);
        assert_eq!(world.sent.len(), sent + 1);
        world.run(1);
        assert_eq!((world.config("bus_master"), world.config("msix_enable")), (0, 0));
        assert_eq!(world.config("max_payload"), 1, "it keeps Max_Payload_Size");
        // Meanwhile requests wait, and completions go on to the core.
        world.arrive(&super::tlp::configuration(world.id, 4, 0xF, 2, None));
        world.arrive(&memory(0xFE00_0000, 0, 1, Some(&[0; 4])));
        let late = completion(world.id, 3, &[7; 4]);
        world.arrive(&late);
        world.run(3000);
        assert_eq!(world.sent.len(), sent + 1);
        assert_eq!(world.given.pop().unwrap().0.bytes, late);
        assert!(world.given.is_empty());
        assert_eq!(world.config("function_reset"), 1);
        world.bench.set("function_reset_done", 1);
        world.until("the reset ends", |world| world.config("function_reset") == 0);
        world.run(100);
        assert_eq!(world.sent.len(), sent + 1, "done has not fallen yet");
        world.bench.set("function_reset_done", 0);
        world.until("an answer", |world| world.sent.len() == sent + 2);
        assert_eq!(world.sent[sent + 1][12..], [0, 0, 0x10, 0], "Command is cleared");
        assert_eq!(world.config("requester_id"), u64::from(world.id));
        for (register, value) in [
            (BAR0, 0),
            (BAR2, 4),
            (BAR2_HIGH, 0),
            (0x3C, 0),
            (DEVICE_CONTROL, 0x2830),
            (0x60, 0x11_0048),
            (MSIX, (VECTORS as u32 - 1) << 16 | 0x11),
        ] {
            assert_eq!(world.read(register), value, "round {round}: {register:#x}");
        }
        enable(&mut world);
        assert_eq!(hits(&mut world, 0xFE00_0000), Some(0));
        world.given.clear();
        world.write(DEVICE_CONTROL, 0x5020);
    }
    // A bit written 0, or a byte that is not enabled, resets nothing.
    world.write(DEVICE_CONTROL, 0x5020);
    world.request(DEVICE_CONTROL, 0b1101, Some(0xFFFF_FFFF));
    world.request(0x60, 0xF, Some(0x8048));
    world.run(50);
    assert_eq!(world.config("function_reset"), 0);
}
