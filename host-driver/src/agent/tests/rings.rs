//! Completion queues and the error ring tell what has happened, at once or in time.

use std::{sync::atomic::AtomicPtr, time::Duration};

use viaduct_spec::{
    doorbell::cq_page,
    register::{event, event_code},
};

use super::*;

/// Where the ring is that was committed last as that of queue `cq`, and log2 of its entries, as a NIC finds it.
fn ring_of(deeds: &[Deed], cq: u16) -> (*mut u8, u32) {
    let mut regions = std::collections::BTreeMap::new();
    let mut ring = None;
    for deed in deeds {
        match deed {
            Deed::Command { op: command_op::COMMIT, table: table::REGION, row, words } => {
                assert_eq!(region::SYSTEM.get(words), u64::from(region::LIVE.get(words) == 1));
                regions.insert(u64::from(*row), region::BASE.get(words));
            }
            Deed::Command { op: command_op::COMMIT, table: table::COMPLETION_QUEUE, row, words }
                if *row == u32::from(cq) && completion_queue::LIVE.get(words) == 1 =>
            {
                assert_eq!(completion_queue::RING_OFFSET.get(words), 0);
                let base = regions[&completion_queue::RING_REGION.get(words)];
                ring = Some((base as *mut u8, completion_queue::RING_LOG2.get(words) as u32));
            }
            _ => {}
        }
    }
    ring.expect("a row of the queue")
}

#[test]
fn events_wake_who_waits_for_them() {
    let (ledger, agent) = open();
    let (start, log2) = ring_of(&ledger.take_deeds(), cqs::ERROR_RING);
    assert_eq!(agent.wait_events(Duration::ZERO).ok(), Some(vec![]));
    assert_eq!(agent.wait_events(Duration::from_millis(20)).ok(), Some(vec![]));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| agent.wait_events(Duration::from_secs(60)));
        // Who waits has asked for the interrupt.
        let page = (4 + u64::from(cqs::ERROR_RING)) << 12;
        let arm = Deed::Doorbell { offset: page + cq_page::ARM, token: 3 << 32 };
        while !ledger.books().deeds.contains(&arm) {
            std::thread::yield_now();
        }
        let mut word = [0];
        event::CODE.put(&mut word, event_code::RECVQ_EMPTY.into());
        event::VI.put(&mut word, 3);
        event::BROKE.put(&mut word, 1);
        crate::queues::entries::tests::write(
            start,
            log2,
            0,
            CqEntry { token: word[0], vi: 3, receive: false },
        );
        ledger.interrupt(0);
        let events = waiter.join().expect("no panic").expect("the ledger answers");
        assert_eq!(
            events,
            [Event { code: event_code::RECVQ_EMPTY, vi: 3, life: 0, receive: false, broke: true }]
        );
    });
    assert_eq!(agent.take_events().ok(), Some(vec![]));
}

/// It is not slept through, although it came with no interrupt: one that came before the wait had read the vector's generation counts as seen.
#[test]
fn an_event_that_is_there_before_the_sleep_is_found_without_an_interrupt() {
    let (ledger, agent) = open();
    let (start, log2) = ring_of(&ledger.take_deeds(), cqs::ERROR_RING);
    let ring = AtomicPtr::new(start);
    let mut word = [0];
    event::CODE.put(&mut word, event_code::RECVQ_EMPTY.into());
    let entry = CqEntry { token: word[0], vi: 0, receive: false };
    let write = move || crate::queues::entries::tests::write(ring.into_inner(), log2, 0, entry);
    ledger.books().at_doorbell = Some(Box::new(write));
    let checks = ledger.books().checks;
    assert_eq!(agent.wait_events(Duration::from_secs(60)).expect("it is there").len(), 1);
    // Who has slept in vain asks whether the device lives.
    assert_eq!(ledger.books().checks, checks);
}

/// An event of a VI that is gone is not one of the VI that has its index now.
#[test]
fn an_event_is_of_the_vi_that_was_there_when_it_was_told() {
    let (ledger, agent) = open();
    let (start, log2) = ring_of(&ledger.take_deeds(), cqs::ERROR_RING);
    let tag = agent.create_tag().expect("a tag");
    let mut place = 0;
    let mut tell = |vi: u16| {
        let mut word = [0];
        event::CODE.put(&mut word, event_code::CONN_LOST.into());
        event::VI.put(&mut word, vi.into());
        let entry = CqEntry { token: word[0], vi, receive: false };
        crate::queues::entries::tests::write(start, log2, place, entry);
        place += 1;
    };
    let first = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    tell(first.index());
    first.destroy().expect("idle");
    // The others come first.
    let others: Vec<_> = (0..3).map(|_| create_vi(&agent, vi_attributes(tag)).expect("a free VI")).collect();
    let second = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    assert_eq!((second.index(), others.len()), (first.index(), 3));
    tell(second.index());
    let lives: Vec<u64> = agent.take_events().expect("two").iter().map(|event| event.life).collect();
    assert_eq!(lives, [first.name().life, second.name().life].map(u64::from));
    assert_ne!(lives[0], lives[1]);
}

#[test]
fn a_holdoff_is_a_row_in_ticks_rounded_up() {
    let (ledger, agent) = open();
    assert_eq!(agent.vectors(), 4);
    ledger.take_deeds();
    for (micros, ticks) in [(0, 0), (1, 1), (2, 2), (1024, 1000), (1025, 1001), (33_553, 0x7FFF)] {
        agent.hold_off(3, Duration::from_micros(micros)).expect("up to 33 ms");
        let deeds = ledger.take_deeds();
        let row = deeds.iter().find_map(|deed| match deed {
            Deed::Command { op: command_op::COMMIT, table: table::MODERATION, row: 3, words } => {
                Some(words[0])
            }
            _ => None,
        });
        assert_eq!(row, Some(ticks), "{micros} us");
    }
    assert!(matches!(agent.hold_off(3, Duration::from_millis(34)), Err(AgentError::Holdoff(_))));
    assert!(matches!(agent.hold_off(4, Duration::ZERO), Err(AgentError::UnknownVector(4))));
}

#[test]
fn a_completion_queue_is_armed_told_and_resized() {
    let (ledger, agent) = open();
    let first = ledger.take_deeds();
    let events = first.iter().find_map(|deed| match deed {
        Deed::Command { table: table::COMPLETION_QUEUE, row: 0, words, .. } => Some(*words),
        _ => None,
    });
    let events = events.expect("the error ring's row");
    assert_eq!((completion_queue::EVENTS.get(&events), completion_queue::VECTOR.get(&events)), (1, 0));

    assert!(matches!(create_cq(&agent, 0), Err(AgentError::Entries(0))));
    let mut cq = create_cq(&agent, 10).expect("a queue");
    assert_eq!((cq.index(), cq.vector()), (1, 2), "behind the error ring; three vectors for queues");
    let (start, log2) = ring_of(&ledger.take_deeds(), 1);
    assert_eq!(log2, 4);
    let entry = |n: u32| CqEntry { token: 1000 + u64::from(n), vi: 2, receive: n & 1 == 1 };
    for n in 0..9 {
        crate::queues::entries::tests::write(start, log2, n, entry(n));
    }
    for n in 0..7 {
        assert_eq!(cq.take().ok(), Some(Some(entry(n))));
    }
    cq.arm().expect("the ledger takes it");
    let page = (4 + 1) << 12;
    let stores = [
        // Six may be taken and not told.
        Deed::Doorbell { offset: page, token: 1 << 32 | 6 },
        Deed::Doorbell { offset: page + 8, token: 2 << 32 | 7 },
    ];
    assert_eq!(ledger.take_deeds(), stores);

    // What the old ring has left comes before what is in the new one.
    ledger.books().registers.insert(registers::RESULT, 9);
    cq.resize(100).expect("a size");
    let deeds = ledger.take_deeds();
    let (start, log2) = ring_of(&deeds, 1);
    assert_eq!(log2, 7);
    assert!(matches!(deeds.last(), Some(Deed::Unmap { .. })), "the old ring is given back");
    crate::queues::entries::tests::write(start, log2, 0, entry(9));
    for n in 7..10 {
        assert_eq!(cq.take().ok(), Some(Some(entry(n))));
    }
    assert_eq!(cq.take().ok(), Some(None));

    // One that is used stays.
    let tag = agent.create_tag().expect("a tag");
    let with = |send_cq, receive_cq| ViAttributes { send_cq, receive_cq, ..vi_attributes(tag) };
    assert!(matches!(create_vi(&agent, with(Some(1), Some(2))), Err(AgentError::UnknownCq(2))));
    assert!(matches!(create_vi(&agent, with(Some(0), None)), Err(AgentError::UnknownCq(0))));
    ledger.take_deeds();
    let vi = create_vi(&agent, with(None, Some(1))).expect("a VI");
    for deed in ledger.take_deeds() {
        let Deed::Command { table: table::WORK_QUEUE, row, words, .. } = deed else { continue };
        if work_queue::OPEN.get(&words) == 1 {
            let to = (work_queue::TO_CQ.get(&words), work_queue::CQ.get(&words));
            assert_eq!(to, if row == 1 { (1, 1) } else { (0, 0) });
        }
    }
    assert!(matches!(cq.destroy(), Err(AgentError::CqInUse { cq: 1, users: 1 })));
    vi.destroy().expect("it exists");
    let maps = ledger.books().maps.len();
    cq.destroy().expect("nobody has it");
    assert_eq!(ledger.books().maps.len(), maps - 1);
    assert!(matches!(cq.destroy(), Err(AgentError::UnknownCq(1))));
    let both = [create_cq(&agent, 1), create_cq(&agent, 1)];
    assert!(both.iter().all(Result::is_ok));
    assert!(matches!(create_cq(&agent, 1), Err(AgentError::Full(2, "completion queue"))));
}
