//! Completions in order, and which answers count.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::profile::{REGION_LOG2, SEND_WINDOW};
use viaduct_spec::wire::syndrome;

use crate::requester::{Settings, Told, World};

/// Rule UNR-1.
#[test]
fn unreliable_and_failed_messages_complete_at_once_in_order() {
    let mut world = World::new();
    let told = |offset, errors, lost| Told { vi: 5, offset, errors, lost, ..Told::default() };
    world.told(told(1, 0, false));
    world.told(told(2, status::PROTECTION_ERROR, false));
    world.told(told(3, 0, true));
    world.told(told(4, 0, false));
    assert_eq!(
        world.drain(),
        [(1, status::DONE), (2, status::DONE | status::PROTECTION_ERROR), (4, status::DONE)]
    );
    assert_eq!(world.position(5), 4, "a lost descriptor takes its place");
    assert_eq!(world.lost, [5], "and its end is told, though nothing is written");
    assert_eq!(world.again, [5; 4]);
}

/// Of a descriptor's place and a message's length every bit counts, also of completions that wait for each other.
#[test]
fn a_completion_says_what_its_message_said() {
    let mut world = World::new();
    world.writes_every = 7;
    let mut random = ChaCha8Rng::seed_from_u64(world.dut.seed());
    for _ in 0..60 {
        let messages: Vec<Told> = (0..4)
            .map(|_| Told {
                vi: 5,
                region: random.random_range(0..1 << REGION_LOG2),
                offset: random.random_range(0..1 << 34),
                length: random.random_range(0..1 << 32),
                ..Told::default()
            })
            .collect();
        messages.iter().for_each(|message| world.told(*message));
        world.settle();
        let regions = std::mem::take(&mut world.regions);
        let seen = world.completed.drain(..).zip(regions);
        let said = messages.iter().map(|message| {
            ((message.vi, message.offset, message.length, status::DONE.into()), message.region)
        });
        assert_eq!(seen.collect::<Vec<_>>(), said.collect::<Vec<_>>());
    }
}

#[test]
fn a_completion_stays_as_it_is_until_it_is_taken() {
    let mut world = World::new();
    world.writes_every = 50;
    for offset in 1..=4 {
        world.told(Told { vi: 5, offset, ..Told::default() });
    }
    assert_eq!(world.drain(), [1, 2, 3, 4].map(|offset| (offset, status::DONE)));
    assert_eq!(world.position(5), 4);
}

/// Rule WQ-3.
#[test]
fn every_error_keeps_its_bit_and_an_rdma_write_its_operation() {
    let mut world = World::new();
    let errors = [
        status::FORMAT_ERROR,
        status::LENGTH_ERROR,
        status::PROTECTION_ERROR,
        status::DESC_FLUSHED_ERROR,
        status::TRANSPORT_ERROR,
    ];
    for (offset, errors) in (0..).zip(errors) {
        world.told(Told { vi: 6, offset, errors, length: 5, ..Told::default() });
    }
    let operation = control::OP_RDMAWRITE.into();
    world.told(Told { vi: 6, offset: 9, length: 7, operation, ..Told::default() });
    world.settle();
    let ends: Vec<_> =
        world.completed.drain(..).map(|(_, _, length, status)| (length, status as u32)).collect();
    assert_eq!(ends[..5], errors.map(|errors| (0, status::DONE | errors)));
    assert_eq!(ends[5], (7, status::DONE | status::OP_RDMA_WRITE));
}

/// Rule REQ-2.
#[test]
fn reliable_messages_wait_for_their_psn_and_a_failed_one_behind_them_waits_too() {
    let mut world = World::new();
    world.create(1, Settings { psn: 0xFF_FFFD, ..Settings::default() });
    world.packet(1, 0xFF_FFFD, 1);
    world.send(1, 1, 0xFF_FFFE);
    world.packet(1, 0xFF_FFFF, 2);
    world.packet(1, 0, 2);
    world.send(1, 2, 0x00_0001);
    world.told(Told { vi: 1, offset: 3, errors: status::FORMAT_ERROR, ..Told::default() });
    assert_eq!(world.drain(), []);
    world.answer(1, 0xFF_FFFD, syndrome::ACK);
    assert_eq!(world.drain(), [], "one short");
    world.answer(1, 0x00_0000, syndrome::ACK);
    assert_eq!(world.drain(), [(1, status::DONE)], "past the first, short of the second, over the wrap");
    world.answer(1, 0xFF_FFFE, syndrome::ACK);
    assert_eq!(world.drain(), [], "an old acknowledgement takes nothing back");
    assert_eq!(world.counts[3], 1, "it is a ghost");
    world.answer(1, 0x00_0001, syndrome::ACK);
    assert_eq!(world.drain(), [(2, status::DONE), (3, status::DONE | status::FORMAT_ERROR)]);
    assert_eq!(world.counts[0], 3);
}

/// Rule REQ-2.
#[test]
fn an_answer_of_no_packet_in_flight_changes_nothing() {
    let answers = [syndrome::ACK, syndrome::NAK_SEQUENCE, syndrome::RNR_NAK | 3, syndrome::NAK_ACCESS, 0x5f];
    for code in answers {
        let mut world = World::new();
        world.create(2, Settings { psn: 10, ..Settings::default() });
        world.answer(2, 10, code);
        world.send(2, 1, 10);
        world.packet(2, 11, 2);
        for psn in [9, 12, 13, 10 + (1 << 23)] {
            world.answer(2, psn, code);
        }
        assert_eq!(world.drain(), []);
        assert_eq!((world.counts, world.broken.len()), ([0, 0, 0, 5, 0, 0, 1], 0), "{code:#x}");
        assert_eq!(world.rewinds(), []);
        // And what is in flight still counts, a packet in mid-message too.
        world.answer(2, 11, syndrome::ACK);
        assert_eq!(world.drain(), [(1, status::DONE)]);
    }
}

#[test]
fn a_commit_starts_anew() {
    let mut world = World::new();
    world.send(3, 1, 0);
    world.settle();
    world.tell = Some(3);
    world.drain();
    assert_eq!(world.position(3), 1);
    world.create(3, Settings { psn: 3, ..Settings::default() });
    assert_eq!(world.position(3), 0);
    world.send(3, 8, 3);
    assert_eq!(world.drain(), [], "acknowledgements of the former life are forgotten");
    world.answer(3, 3, syndrome::ACK);
    assert_eq!(world.drain(), [(8, status::DONE)]);
}

#[test]
fn windows_of_many_vis_fill_and_empty_in_any_mixture() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.dut.seed());
    for vi in 0..64 {
        world.create(vi, Settings { psn: 0xFF_FF00, timeout: 1, ..Settings::default() });
    }
    let mut next = [0xFF_FF00u64; 64];
    let mut open: Vec<VecDeque<(u64, u64)>> = vec![VecDeque::new(); 64];
    let mut expected = 0;
    let mut done = [0u64; 64];
    for message in 0..3000u64 {
        let vi = random.random_range(0..64u64);
        let ring = &mut open[vi as usize];
        if ring.len() == SEND_WINDOW || random.random_bool(0.3) && !ring.is_empty() {
            let upto = random.random_range(0..ring.len());
            let psn = ring[upto].1;
            ring.drain(..=upto);
            expected += upto + 1;
            world.answer(vi, psn, syndrome::ACK);
            // As fetch does: there is room when the position has moved on, step by step.
            let mut position = done[vi as usize];
            done[vi as usize] += upto as u64 + 1;
            while position != done[vi as usize] {
                let next = world.position(vi);
                assert!((position..=done[vi as usize]).contains(&next), "VI {vi}: {next} after {position}");
                position = next;
            }
        } else {
            for _ in 0..random.random_range(0..4) {
                let psn = next[vi as usize];
                next[vi as usize] = (psn + 1) & 0xFF_FFFF;
                world.packet(vi, psn, message);
            }
            let psn = next[vi as usize];
            next[vi as usize] = (psn + 1) & 0xFF_FFFF;
            open[vi as usize].push_back((message, psn));
            world.send(vi, message, psn);
        }
    }
    world.settle();
    assert_eq!(world.completed.len(), expected);
    let mut last = [None; 64];
    for (vi, offset, length, status) in world.completed.drain(..) {
        assert!(last[vi as usize] < Some(offset), "VI {vi}: {offset} after {:?}", last[vi as usize]);
        last[vi as usize] = Some(offset);
        assert_eq!((length, status as u32), (1000 + offset, status::DONE));
    }
}

/// Who asks how many reads of a VI are complete is told so, modulo 8; and no other VI's.
#[test]
fn reads_are_counted_as_they_complete() {
    let mut world = World::new();
    let operation = u64::from(control::OP_RDMAREAD);
    for (vi, others) in (0..6).map(|bit| (1 << bit, 63 ^ 1 << bit)) {
        for n in 0..10 {
            for (asked, done) in [(vi, n % 8), (others, 0)] {
                world.dut.set("reads_index", asked);
                world.dut.eval();
                assert_eq!(world.dut.get("reads_row"), done, "VI {asked} after {n} reads of {vi}");
            }
            world.packet_of(vi, n, 0, operation);
            world.told(Told { vi, offset: n, psn: Some(n), operation, ..Told::default() });
            world.answer(vi, n, syndrome::ACK);
            assert_eq!(world.drain().len(), 1);
        }
        world.create(vi, Settings::default());
        world.settle();
    }
}
