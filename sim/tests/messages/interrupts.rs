//! Interrupts: behind the writes before them, and where the table sends them.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::root_complex::Dma;
use viaduct_sim::tlp::Tlp;

use super::buffer::Buffer;
use super::{count, new_eventfd, within, write, Scene};

#[test]
fn an_interrupt_comes_behind_the_writes() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(false);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    let events: Vec<File> = (0..3).map(|_| new_eventfd()).collect();
    let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
    remote.set_interrupts(&borrowed).unwrap();
    for n in 1..100 {
        scene.script(&[write(0x5000, &[n]), write(0xFEE0_0000, &[2])]);
        remote.write64(Bar::Doorbells, 0, 1).unwrap();
        within(|| count(&events[2]) == 1);
        assert_eq!(buffer.word(0), n);
    }
    assert_eq!((count(&events[0]), count(&events[1]), scene.status().bus.interrupts), (0, 0, 99));
    remote.set_interrupts(&[]).unwrap();
    scene.script(&[write(0xFEE0_0000, &[2])]);
    remote.write64(Bar::Doorbells, 0, 1).unwrap();
    within(|| scene.status().bus.interrupts == 100);
    assert_eq!(count(&events[2]), 0, "switched off");
}

#[test]
fn the_crate_s_client_gets_interrupts_in_files_mode() {
    let scene = Scene::start(Dma::Files);
    let mut client = vfio_user::Client::new(&scene.simulator.socket(0)).unwrap();
    client.region_write(7, 4, &6u16.to_le_bytes()).unwrap();
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(1 << 16).unwrap();
    client.dma_map(0, 0x10_0000, 1 << 16, memory.as_raw_fd()).unwrap();
    // This client does not look at what it is answered.
    let _ = client.dma_map(0, 0xFEE0_0000, 4096, memory.as_raw_fd());
    assert_eq!(scene.status().mappings, 1, "no memory can be there");
    let event = new_eventfd();
    const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
    client.set_irqs(2, EVENTFD_TRIGGER, 5, 1, &[event.as_raw_fd()]).unwrap();
    let mut table = [0; 16];
    client.region_read(0, 0x8050, &mut table).unwrap();
    assert_eq!(table, [0xFF; 16], "the table is the server's");
    client.region_write(0, 0x8050, &[0; 16]).unwrap();
    let mut control = [0; 2];
    client.region_read(7, 0x92, &mut control).unwrap();
    assert_eq!(control, [7, 0x80], "MSI-X is enabled");
    client.region_write(7, 0x92, &[0, 0]).unwrap();
    client.region_read(7, 0x92, &mut control).unwrap();
    assert_eq!(control, [7, 0x80], "by the server alone");
    let mut load = [0; 4];
    client.region_read(0, 0x20, &mut load).unwrap();
    let stores: Vec<(u64, u32)> = std::mem::take(&mut scene.script.lock().unwrap().got)
        .iter()
        .map(|packet| match packet {
            Tlp::Write(request, data) => (request.address & 0xFFFF, data[0]),
            packet => panic!("{packet:?}"),
        })
        .collect();
    let row = [(0x805C, 1), (0x8050, 0xFEE0_0000), (0x8054, 0), (0x8058, 5), (0x805C, 0)];
    assert_eq!(stores, row, "what the NIC has seen");
    scene.script(&[write(0x10_0000, &[7, 8]), write(0xFEE0_0000, &[5])]);
    client.region_write(2, 0, &[0; 8]).unwrap();
    within(|| count(&event) == 1);
    let mut found = [0; 8];
    memory.read_exact_at(&mut found, 0).unwrap();
    assert_eq!(found, [7, 0, 0, 0, 8, 0, 0, 0]);
    client.shutdown().unwrap();
}
