//! The `vfio_user` crate's client: a PCI function with memory and interrupts.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{eventfd, EventfdFlags};
use vfio_user::Client;
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::{BAR0_BYTES, PCI_DEVICE, PCI_VENDOR};

use super::dead::{config32, dead};
use super::raw::{ask, reply};

#[test]
fn the_crate_s_client_finds_a_pci_function() {
    let simulator = dead(2);
    for nic in 0..2 {
        let mut client = Client::new(&simulator.socket(nic)).unwrap();
        let sizes: Vec<u64> = (0..9).map(|n| client.region(n).unwrap().size).collect();
        assert_eq!(sizes, [BAR0_BYTES, 0, BAR2_BYTES, 0, 0, 0, 0, 4096, 0]);
        assert_eq!(config32(&mut client, 0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
        client.region_write(7, 4, &6u16.to_le_bytes()).unwrap();
        assert_eq!(config32(&mut client, 4) & 0xFFFF, 6);
        let irqs: Vec<u32> = (0..5).map(|n| client.get_irq_info(n).unwrap().count).collect();
        assert_eq!(irqs, [0, 0, 8, 0, 0]);
        client.reset().unwrap();
        assert_eq!(config32(&mut client, 4) & 0xFFFF, 2, "a reset takes Bus Master away");
    }
}

#[test]
fn memory_is_mapped_and_goes_with_its_client() {
    let simulator = dead(1);
    let mappings = || simulator.handle().status().unwrap().nics[0].mappings;
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let mut client = Client::new(&simulator.socket(0)).unwrap();
    for n in 0..16 {
        client.dma_map(n * 4096, 0x10_0000 + n * 4096, 4096, file.as_raw_fd()).unwrap();
    }
    assert_eq!(mappings(), 16);
    client.dma_unmap(0x10_0000, 8 * 4096).unwrap();
    assert_eq!(mappings(), 8);
    client.shutdown().unwrap();
    drop(client);
    let start = Instant::now();
    while mappings() != 0 {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_load_that_the_nic_does_not_answer_reads_as_ones_and_harms_nobody() {
    let simulator = dead(2);
    let mut dead = Client::new(&simulator.socket(0)).unwrap();
    let mut data = [0; 8];
    dead.region_read(0, 0x28, &mut data).unwrap();
    assert_eq!(data, [0xFF; 8]);
    let mut other = Client::new(&simulator.socket(1)).unwrap();
    assert_eq!(config32(&mut other, 0) >> 16, u32::from(PCI_DEVICE));
}

#[test]
fn eventfds_are_taken_and_triggered() {
    let simulator = dead(1);
    let mut client = Client::new(&simulator.socket(0)).unwrap();
    let eventfds: Vec<OwnedFd> = (0..2).map(|_| eventfd(0, EventfdFlags::NONBLOCK).unwrap()).collect();
    let raw: Vec<i32> = eventfds.iter().map(|fd| fd.as_raw_fd()).collect();
    const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
    const NONE_TRIGGER: u32 = 1 << 0 | 1 << 5;
    client.set_irqs(2, EVENTFD_TRIGGER, 3, 2, &raw).unwrap();
    client.set_irqs(2, NONE_TRIGGER, 4, 1, &[]).unwrap();
    let count = |fd: &OwnedFd| {
        let mut value = [0; 8];
        rustix::io::read(fd, &mut value).map_or(0, |_| u64::from_ne_bytes(value))
    };
    assert_eq!((count(&eventfds[0]), count(&eventfds[1])), (0, 1));
    client.set_irqs(2, NONE_TRIGGER, 0, 0, &[]).unwrap();
    client.set_irqs(2, NONE_TRIGGER, 3, 2, &[]).unwrap();
    assert_eq!((count(&eventfds[0]), count(&eventfds[1])), (0, 0), "switched off");
}

#[test]
fn a_second_client_is_refused_and_the_first_goes_on() {
    let simulator = dead(1);
    let mut first = Client::new(&simulator.socket(0)).unwrap();
    let mut second = simulator.raw();
    let (error, _) = ask(&mut second, 1, &[0, 0, 1, 0]).unwrap();
    assert_eq!(error, 16, "EBUSY");
    assert_eq!(reply(&mut second), None, "and closed");
    // One that says nothing is sent away too.
    let mut silent = simulator.raw();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(config32(&mut first, 0) >> 16, u32::from(PCI_DEVICE));
    first.shutdown().unwrap();
    simulator.check();
}
