//! Accesses to memory, one message each.

use std::io::Write;
use std::time::Duration;

use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::root_complex::Dma;
use viaduct_spec::tlp::completion_status;

use super::buffer::Buffer;
use super::{read, ring, within, write, Scene, PAGE};
use crate::support::client::{Message, DMA_READ};
use crate::support::scripted::LOADED;

#[test]
fn memory_is_read_and_written_by_message() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(false);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    let first = buffer.word(0);
    // 256 bytes are more than this client takes at once.
    scene.script(&[
        write(0x5100, &[0xAA; 64]),
        read(0x5000, 512, 3),
        read(0x9000, 4, 4),
        write(0x9000, &[1]),
    ]);
    remote.write64(Bar::Doorbells, 0, 1).unwrap();
    let completions = scene.completions(3);
    let data: Vec<u32> = completions.iter().filter(|c| c.0 == 3).flat_map(|c| c.2.clone()).collect();
    let expected: Vec<u32> = (0..128).map(|n| if n < 64 { first + n } else { 0xAA }).collect();
    assert_eq!(data, expected, "the read sees the write before it");
    let refused = completions.iter().find(|c| c.0 == 4).unwrap();
    assert_eq!(refused.1, completion_status::UNSUPPORTED);
    within(|| remote.served() == 2 + 3 + 2);
    within(|| scene.status().bus.unsupported == 2);
    let bus = scene.status().bus;
    assert_eq!((bus.reads, bus.writes, bus.unanswered), (2, 2, 0));
    assert!(scene.status().violations.is_empty());
}

#[test]
fn a_load_sees_the_writes_before_it() {
    let scene = Scene::start(Dma::Messages);
    let remote = scene.remote(false);
    let buffer = Buffer::new();
    buffer.map(&remote, 0x5000);
    for n in 1..200 {
        scene.script(&[write(0x5000, &[n]), write(0x5FFC, &[n])]);
        assert_eq!(remote.read32(Bar::Registers, 0x20).unwrap(), LOADED);
        if scene.status().bus.overtaken == 0 {
            assert_eq!((buffer.word(0), buffer.word(PAGE - 4)), (n, n));
        }
    }
    // A machine that is very busy may keep the client longer than a load waits.
    assert!(scene.status().bus.overtaken < 20);
}

#[test]
fn the_status_waits_for_no_client() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    scene.script(&[write(0x5000, &[1])]);
    ring(&mut stream);
    let request = Message::receive(&mut stream).unwrap();
    let counters = scene.status().counters;
    assert!(counters.values().all(|&value| value == u64::from(LOADED) << 32 | u64::from(LOADED)));
    assert!(!counters.is_empty());
    stream.write_all(&request.answer(Some(&[])).bytes()).unwrap();
}

#[test]
fn nothing_spins_while_a_message_is_on_its_way() {
    let scene = Scene::start(Dma::Messages);
    let mut stream = scene.raw();
    scene.script(&[read(0x5000, 8, 1)]);
    ring(&mut stream);
    let request = Message::receive(&mut stream).unwrap();
    assert_eq!((request.command, request.access()), (DMA_READ, (0x5000, 8)));
    let before = scene.simulator.handle().status().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let after = scene.simulator.handle().status().unwrap();
    let (busy, wall) = (after.busy_ns - before.busy_ns, after.wall_ns - before.wall_ns);
    assert!(busy < wall / 4, "busy for {busy} ns of {wall}");
    assert!(after.cycles - before.cycles > 10_000_000, "time goes on");
    stream.write_all(&request.answer(Some(&[1, 0, 0, 0, 2, 0, 0, 0])).bytes()).unwrap();
    assert_eq!(scene.completions(1), [(1, 0, vec![1, 2])]);
}
