//! Interrupts: messages of one double word, and the table that says where they go.

use std::fs::File;
use std::io::Read;

use rustix::event::EventfdFlags;
use viaduct_driver::device::Bar;
use viaduct_spec::tlp::completion_status;

use super::*;

/// The interrupt message of a vector.
pub(super) fn interrupt(vector: u32) -> Tlp {
    Tlp::Write(Request::new(0xFEE0_0000, 4, 0, NIC_ID), vec![vector])
}

/// Gives a vector an eventfd.
pub(super) fn eventfd(complex: &mut RootComplex, vector: usize) -> File {
    let flags = EventfdFlags::NONBLOCK;
    let eventfd = File::from(rustix::event::eventfd(0, flags).unwrap());
    complex.set_vectors(0, vector, vec![Some(eventfd.try_clone().unwrap())]);
    eventfd
}

/// How often it was raised since the last call.
pub(super) fn count(mut eventfd: &File) -> u64 {
    let mut value = [0; 8];
    eventfd.read(&mut value).map_or(0, |_| u64::from_ne_bytes(value))
}

#[test]
fn only_messages_of_one_double_word_are_interrupts() {
    let mut edge = Edge::new(Options::default());
    let eventfd = eventfd(&mut edge.complex, 7);
    edge.queue(&interrupt(7));
    edge.queue(&interrupt(6));
    edge.run(100);
    assert_eq!((count(&eventfd), edge.complex.counters().interrupts), (1, 2), "vector 6 is silent");
    edge.queue(&interrupt(8));
    edge.queue(&Tlp::Write(Request::new(0xFEE0_0000, 8, 0, NIC_ID), vec![7, 0]));
    edge.queue(&Tlp::Write(Request::new(0xFEE0_0000, 2, 0, NIC_ID), vec![7]));
    edge.queue(&Tlp::Read(Request::new(0xFEE0_0000, 4, 1, NIC_ID)));
    edge.run(300);
    assert_eq!((count(&eventfd), edge.complex.counters().interrupts), (0, 2));
    assert_eq!(edge.complex.counters().unsupported, 4);
    assert_eq!(edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!(edge.complex.violations(), []);
}

#[test]
fn vectors_are_written_into_the_table_and_again_after_a_reset() {
    let mut edge = Edge::new(Options::default());
    let entry = Access::new(Bar::Registers, 0x8010, 8).unwrap();
    edge.complex.store(0, entry, 0);
    let load = edge.complex.load(0, entry);
    assert_eq!(edge.complex.answer(load), Some(u64::MAX), "the table is not the driver's");
    edge.run(100);
    assert!(edge.got.is_empty());
    let _eventfd = eventfd(&mut edge.complex, 1);
    let table = |edge: &mut Edge| {
        let got = std::mem::take(&mut edge.got);
        got.iter().map(|(_, bar, p)| (*bar, p[2] & 0xFFFF, p[3])).collect::<Vec<_>>()
    };
    let row = [(0, 0x801C, 1), (0, 0x8010, 0xFEE0_0000), (0, 0x8014, 0), (0, 0x8018, 1), (0, 0x801C, 0)];
    edge.run(100);
    assert_eq!(table(&mut edge), row);
    assert!(edge.input.cfg_msix_enable && !edge.input.cfg_msix_mask);
    let now = edge.now;
    edge.complex.reset(now);
    edge.run(10);
    assert!(edge.input.cfg_function_reset && edge.got.is_empty());
    edge.run(200);
    assert_eq!(table(&mut edge), row);
    assert!(edge.input.cfg_msix_enable);
    let now = edge.now;
    edge.complex.set_vectors(now, 0, vec![None, None]);
    edge.run(100);
    assert_eq!(table(&mut edge), [(0, 0x800C, 1), (0, 0x801C, 1)]);
    assert!(!edge.input.cfg_msix_enable);
    // The pending bits are anybody's.
    let pending = Access::new(Bar::Registers, 0xC000, 8).unwrap();
    let now = edge.now;
    edge.complex.store(now, pending, 0);
    edge.run(100);
    assert_eq!(edge.got.len(), 1);
}
