//! Interrupts of the whole NIC, as the host sees them.

use viaduct_spec::descriptor::COMPLETION_OFFSET;
use viaduct_spec::doorbell::{cq_page, encode, page};
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{control, event, event_code, registers, MSIX_PENDING, MSIX_TABLE};
use viaduct_spec::tables::{completion_queue, table};
use viaduct_spec::tlp::request_dw1;

use crate::host::{Host, DOORBELLS, PLACE, REGISTERS, TAG};
use crate::message::interrupt;

/// The error ring: queue and vector.
const ERRORS: (u64, u64) = (9, 0);

#[test]
fn an_arm_a_mask_and_an_event_reach_the_host() {
    let mut host = Host::new();
    host.open(11, 3);
    host.program(3, 0xFEE0_1000, 0x4023, true);
    assert_eq!(host.load(MSIX_TABLE + 48), 0xFEE0_1000);
    assert_eq!(host.load(MSIX_TABLE + 56), 0x1_0000_4023);

    // The consumer has seen less than there is: at once, but masked.
    host.arm(5, page::RECEIVE_ARM, 7);
    host.quiet();
    assert_eq!((host.take().len(), host.load(MSIX_PENDING)), (0, 1 << 3), "pending, and the NIC is idle");
    host.store_half(REGISTERS, MSIX_TABLE + 60, 0);
    host.quiet();
    assert_eq!(host.take(), [interrupt(0xFEE0_1000, 0x4023)]);
    assert_eq!(host.load(MSIX_PENDING), 0);

    // A queue that is not open, and half a word: ignored.
    host.arm(5, page::SEND_ARM, 7);
    host.store_half(DOORBELLS, 5 << DOORBELL_SHIFT | page::RECEIVE_ARM, 7);
    host.quiet();
    assert_eq!(host.take().len(), 0);
    assert_eq!(host.load(registers::COUNTERS + 8 * viaduct_spec::register::counter::DOORBELL_IGNORED), 2);

    // An event: a doorbell far beyond the ring. The interrupt comes behind it.
    let mut row = [0; 3];
    completion_queue::RING_OFFSET.put(&mut row, 3);
    completion_queue::RING_REGION.put(&mut row, 1);
    completion_queue::RING_LOG2.put(&mut row, 2);
    completion_queue::LIVE.put(&mut row, 1);
    completion_queue::EVENTS.put(&mut row, 1);
    completion_queue::SYSTEM_TAG.put(&mut row, TAG);
    completion_queue::VECTOR.put(&mut row, ERRORS.1);
    host.system(true);
    host.commit(table::COMPLETION_QUEUE, ERRORS.0, row);
    host.program(ERRORS.1, 0x12_FEE0_0000, 0x99, false);
    host.store(REGISTERS, registers::CONTROL, 1 << control::SEND_ENABLE.lo);
    host.store(DOORBELLS, (VIS as u64 + ERRORS.0) << DOORBELL_SHIFT | cq_page::ARM, 0xABCD << 32);
    host.store(DOORBELLS, 5 << DOORBELL_SHIFT | page::RECEIVE, encode(1, 0, 1000));
    host.quiet();
    let packets = host.take();
    let [entry, message, flushed @ ..] = &packets[..] else { panic!("{packets:x?}") };
    assert_eq!(message, &interrupt(0x12_FEE0_0000, 0x99));
    assert_eq!(entry[2], (PLACE + 3 * 64) as u32);
    assert_eq!(entry.len(), 3 + 4);
    let event = [u64::from(entry[3]) | u64::from(entry[4]) << 32];
    assert_eq!(event::CODE.get(&event), u64::from(event_code::VI_OVERRUN), "{event:x?}");
    assert_eq!(event::VI.get(&event), 5);
    // What is in the ring is flushed; its descriptors lie in the agent's memory, which no VI may write.
    for entry in flushed {
        let event = [u64::from(entry[3]) | u64::from(entry[4]) << 32];
        assert_eq!(event::CODE.get(&event), u64::from(event_code::COMP_PROT), "{event:x?}");
    }

    // The agent's reset leaves the table to the system.
    host.store(REGISTERS, registers::CONTROL, 1 << control::RESET.lo);
    host.quiet();
    assert_eq!(host.load(MSIX_TABLE), 0x12_FEE0_0000);
    host.open(11, 3);
    host.arm(5, page::RECEIVE_ARM, 1);
    host.quiet();
    assert_eq!(host.take(), [interrupt(0xFEE0_1000, 0x4023)]);
}

/// Rule WQ-1.
#[test]
fn the_interrupt_of_a_completion_comes_behind_it() {
    let mut host = Host::new();
    host.unconnected(2);
    host.program(2, 0xFEE0_2000, 0x55, false);
    host.store(REGISTERS, registers::CONTROL, 1 << control::SEND_ENABLE.lo);

    let (mut least, mut most) = (u64::MAX, 0);
    for position in 0..12 {
        // The consumer sleeps before the completion, or looks too late; every other time.
        let early = position % 2 == 0;
        if early {
            host.arm(5, page::SEND_ARM, position);
            host.quiet();
            assert_eq!(host.take().len(), 0, "nothing is behind yet");
        }
        host.store(DOORBELLS, 5 << DOORBELL_SHIFT | page::SEND, encode(1, 0, position as u16));
        for _ in 0..300 {
            host.tick();
            if let Some(read) = host.reads.pop() {
                host.complete(request_dw1::TAG.get(&[read[1].into()]), &[0; 16]);
            }
        }
        host.quiet();
        if !early {
            assert_eq!(host.posted.len(), 1, "nobody sleeps");
            host.arm(5, page::SEND_ARM, position);
            host.quiet();
        }
        let [(_, written, write), (first, _, message)] = &host.posted[..] else {
            panic!("{:x?} at position {position}", host.posted)
        };
        assert_eq!(write[2], (PLACE + COMPLETION_OFFSET) as u32);
        assert_eq!(message, &interrupt(0xFEE0_2000, 0x55));
        if early {
            least = least.min(first - written);
            most = most.max(first - written);
        }
        host.posted.clear();
    }
    println!("completion's last beat to the interrupt's first: {least} to {most} cycles");
    assert!(most < 25, "{most} cycles");
}
