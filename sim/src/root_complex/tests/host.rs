//! Loads and stores of the host.

use viaduct_driver::device::Bar;

use super::*;
use crate::tlp::Completion;

#[test]
fn completions_never_pass_stores_and_reads_let_them_pass() {
    let mut edge = Edge::new(Options::default());
    edge.np_ready = false;
    let doorbell = Access::new(Bar::Doorbells, 0x1000, 8).unwrap();
    let register = Access::new(Bar::Registers, 0x28, 8).unwrap();
    edge.run(2);
    let load = edge.complex.load(edge.now, register);
    edge.queue(&read(0, 4, 1));
    edge.run(31);
    // Arrives just before the completion does.
    edge.complex.store(edge.now, doorbell, 0x1122_3344_5566_7788);
    edge.run(200);
    let kinds: Vec<u32> = edge.got.iter().map(|(_, _, packet)| packet[0] >> 24).collect();
    assert_eq!(kinds, [0x60, 0x4A], "the load waits and holds nobody up");
    assert_eq!(edge.got[0].1, 2);
    assert_eq!(edge.got[0].2[3..], [0x1000, 0x5566_7788, 0x1122_3344]);
    assert_eq!(edge.complex.answer(load), None);
    edge.np_ready = true;
    edge.run(20);
    let Ok(Tlp::Read(request)) = Tlp::decode(&edge.got[2].2) else { panic!("the load") };
    assert_eq!(edge.got[2].1, 0);
    let (_, byte_count) = request.bytes();
    edge.queue(&Tlp::Completion(Completion {
        status: 0,
        byte_count,
        lower_address: (request.address & 0x7F) as u8,
        tag: request.tag,
        requester: HOST_ID,
        completer: NIC_ID,
        poisoned: false,
        data: vec![3, 4],
    }));
    edge.run(100);
    assert_eq!(edge.complex.answer(load), Some(0x4_0000_0003));
    assert!(edge.complex.is_quiet(edge.now));
}

#[test]
fn a_load_that_nobody_answers_reads_as_ones() {
    let mut edge = Edge::new(Options { load_timeout: 1000, ..Options::default() });
    let load = edge.complex.load(0, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(900);
    assert_eq!(edge.complex.answer(load), None);
    edge.run(400);
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
}

#[test]
fn a_disabled_function_answers_nothing() {
    let mut edge = Edge::new(Options::default());
    edge.complex.config_write(0, 4, &[0, 0]);
    let access = Access::new(Bar::Registers, 0x20, 4).unwrap();
    edge.complex.store(0, access, 1);
    let load = edge.complex.load(0, access);
    edge.run(100);
    assert!(edge.got.is_empty());
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
    assert_eq!(edge.complex.counters().unsupported, 2);
}
