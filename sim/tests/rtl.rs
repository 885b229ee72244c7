//! The Verilated NIC on its simulated bus: what can be seen of it without a driver.

use std::path::Path;

use vfio_user::Client;
use viaduct_driver::device::{Bar, DmaAccess, PciDevice};
use viaduct_sim::directory::{nic_socket, Directory};
use viaduct_sim::in_process::{InProcess, InProcessDevice};
use viaduct_sim::live::Live;
use viaduct_sim::network::Activity;
use viaduct_sim::root_complex::{Split, CONFIG_BYTES};
use viaduct_sim::setup::Setup;
use viaduct_sim::vfio_user::serve;
use viaduct_spec::profile::{BAR2_BYTES, VIS};
use viaduct_spec::register::{
    counter, nic_kind, registers, state, BAR0_BYTES, MAGIC_VALUE, PCI_DEVICE, PCI_VENDOR, VERSION_VALUE,
};

const COMMAND: u16 = 4;

fn start(setup: &Setup) -> (InProcess, InProcessDevice) {
    let net = InProcess::new(setup.build().unwrap());
    let device = net.device(0).unwrap();
    device.config_write32(COMMAND, 6).unwrap();
    (net, device)
}

/// Steps until nothing moves; the NIC clears its tables after power-up.
fn settle(net: &InProcess) {
    for _ in 0..10_000 {
        if net.network().activity() != Activity::Busy {
            return;
        }
        net.pause();
    }
    panic!("the NIC is still busy after {} cycles", net.network().now());
}

fn check_rules(net: &InProcess) {
    let network = net.network();
    for nic in 0..network.len() {
        assert_eq!(network.violations(nic), []);
    }
}

#[test]
fn the_nic_says_who_it_is() {
    let (net, device) = start(&Setup::default());
    assert_eq!(device.config_read32(0).unwrap(), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
    let read = |offset| device.read32(Bar::Registers, offset).unwrap();
    assert_eq!(read(registers::MAGIC), MAGIC_VALUE);
    assert_eq!(read(registers::VERSION), VERSION_VALUE);
    assert_eq!(read(registers::KIND), nic_kind::RTL);
    assert_eq!(read(registers::VIS), VIS as u32);
    let both = device.read64(Bar::Registers, registers::MAGIC).unwrap();
    assert_eq!(both, u64::from(VERSION_VALUE) << 32 | u64::from(MAGIC_VALUE));
    check_rules(&net);
}

#[test]
fn after_power_up_the_nic_comes_to_rest() {
    let (net, device) = start(&Setup::default());
    settle(&net);
    assert_ne!(u64::from(device.read32(Bar::Registers, registers::STATE).unwrap()) & 1 << state::IDLE.lo, 0);
    settle(&net);
    let before = net.network().now();
    let time = device.read32(Bar::Registers, registers::TIME).unwrap();
    assert_eq!(u64::from(time), (net.network().now() - 31) >> 7, "the time base, as the answer left");
    assert!(net.network().now() - before < 200, "a load is a round trip");
    check_rules(&net);
}

#[test]
fn registers_keep_what_is_written_and_a_reset_takes_it() {
    let (net, device) = start(&Setup::default());
    settle(&net);
    device.write64(Bar::Registers, registers::MAC, 0x0605_0403_0201).unwrap();
    device.write32(Bar::Registers, registers::IP, 0x0A00_0001).unwrap();
    assert_eq!(device.read64(Bar::Registers, registers::MAC).unwrap(), 0x0605_0403_0201);
    assert_eq!(device.read32(Bar::Registers, registers::IP).unwrap(), 0x0A00_0001);
    device.reset().unwrap();
    device.config_write32(COMMAND, 6).unwrap();
    settle(&net);
    assert_eq!(device.read64(Bar::Registers, registers::MAC).unwrap(), 0);
    assert_eq!(device.read32(Bar::Registers, registers::MAGIC).unwrap(), MAGIC_VALUE);
    check_rules(&net);
}

#[test]
fn stray_doorbells_are_counted() {
    let (net, device) = start(&Setup::default());
    settle(&net);
    let ignored = registers::COUNTERS + 8 * counter::DOORBELL_IGNORED;
    assert_eq!(device.read64(Bar::Registers, ignored).unwrap(), 0);
    // Half a token: the low double word alone rings nothing.
    device.write32(Bar::Doorbells, 0, 1).unwrap();
    device.write32(Bar::Doorbells, BAR2_BYTES - 8, 1).unwrap();
    settle(&net);
    assert_eq!(device.read64(Bar::Registers, ignored).unwrap(), 2);
    check_rules(&net);
}

#[test]
fn what_is_outside_is_refused() {
    let (net, device) = start(&Setup::default());
    assert!(device.read32(Bar::Registers, BAR0_BYTES).is_err());
    assert!(device.read64(Bar::Registers, 4).is_err());
    assert!(device.write64(Bar::Doorbells, BAR2_BYTES, 0).is_err());
    assert!(device.config_read32(CONFIG_BYTES as u16).is_err());
    assert!(net.device(2).is_none());
    // SAFETY: nothing tells the NIC of this memory, and a misaligned range is refused anyway.
    unsafe {
        assert!(device.map_dma(0x1000, 0x1001, 4096, DmaAccess::Read).is_err());
        assert!(device.map_dma(0x1000, 0x1000, 0, DmaAccess::Read).is_err());
    }
    assert!(device.unmap_dma(0x1000, 4096).is_err());
}

#[test]
fn the_same_seed_gives_the_same_cycles() {
    let run = |seed| {
        let mut setup = Setup { seed, ..Setup::default() };
        (setup.network.bus.conditions.reorder, setup.network.bus.conditions.split) = (50, Split::Random);
        (setup.network.bus.conditions.stall, setup.network.bus.conditions.gap) = (200, 200);
        let (net, device) = start(&setup);
        settle(&net);
        let mut values = Vec::new();
        for n in 0..50u64 {
            device.write64(Bar::Registers, registers::STAGE0 + 8 * (n % 3), n << 32).unwrap();
            values.push(device.read64(Bar::Registers, registers::STAGE0 + 8 * (n % 3)).unwrap());
            values.push(net.network().now());
        }
        check_rules(&net);
        values
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4), "another seed stalls elsewhere");
}

#[test]
fn a_waveform_is_recorded_for_each_nic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wave.fst");
    let setup = Setup { trace: Some(path.clone()), ..Setup::default() };
    {
        let (net, device) = start(&setup);
        device.read32(Bar::Registers, registers::MAGIC).unwrap();
        drop((net, device));
    }
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(size(&path) > 1000, "{} bytes", size(&path));
    assert!(size(&folder.path().join("wave.nic1.fst")) > 1000);
    let nowhere = Setup { trace: Some("/nonexistent/wave.fst".into()), ..Setup::default() };
    assert!(nowhere.build().is_err());
}

#[test]
fn the_nic_answers_over_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let mut directory = Directory::open(&folder.path().join("sockets")).unwrap();
    let (live, handle) = Live::new(Setup::default().build().unwrap());
    let stepping = std::thread::spawn(|| live.run());
    for nic in 0..2 {
        serve(directory.listen(&nic_socket(nic)).unwrap(), nic, handle.clone()).unwrap();
    }
    for nic in 0..2 {
        let mut client = Client::new(&directory.path().join(nic_socket(nic))).unwrap();
        let mut word = [0; 4];
        client.region_read(0, registers::MAGIC, &mut word).unwrap();
        assert_eq!(u32::from_le_bytes(word), MAGIC_VALUE);
        client.region_write(0, registers::IP, &0x0A00_0001u32.to_le_bytes()).unwrap();
        client.region_read(0, registers::IP, &mut word).unwrap();
        assert_eq!(u32::from_le_bytes(word), 0x0A00_0001);
    }
    let status = handle.status().unwrap();
    assert_eq!(status.nics[1].counters.len(), counter::CODES.codes.len());
    assert!(status.nics.iter().all(|nic| nic.violations.is_empty()));
    handle.stop();
    stepping.join().unwrap();
}
