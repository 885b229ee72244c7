//! Completion queues, the error ring, arm words and interrupt vectors.

use viaduct_spec::descriptor::control;
use viaduct_spec::doorbell::{arm, page};
use viaduct_spec::layout::Field;
use viaduct_spec::register::{counter, event, event_code, registers};
use viaduct_spec::tables::{completion_queue, cq_entry, moderation, table, vi_states, work_queue};

use super::bench::{row, Bench, Descriptor, End, Level, DATA, ERROR_RING, SENT};

const A: End = (0, 1);
const B: End = (1, 2);

/// A's sends complete to queue 5 of 2^log2 entries, on vector 3.
fn pair(log2: u64) -> Bench {
    let mut bench = Bench::new(2);
    bench.cq(0, 5, log2, &[(completion_queue::VECTOR, 3)]);
    bench.connect([A, B], Level::unreliable());
    let to_cq = [(work_queue::TO_CQ, 1), (work_queue::CQ, 5), (work_queue::VECTOR, 2)];
    bench.queue(A, 0, &to_cq);
    bench.vectors(0, 0..8);
    bench.settle();
    bench
}

fn send(bench: &mut Bench) -> (u64, u64) {
    let (place, token) = bench.prepare(A, false, &Descriptor::of(DATA, 10));
    bench.ring(0, A.1, page::SEND, 8, token);
    bench.settle();
    (place, token)
}

fn interrupts(bench: &mut Bench) -> u64 {
    bench.settle();
    bench.counter(0, counter::INTERRUPTS)
}

fn get(bench: &Bench, slot: u64, field: Field) -> u64 {
    field.get(&bench.entry(0, 5, slot))
}

/// Rule CQ-1.
#[test]
fn entries_come_in_order_with_a_phase_that_turns_each_lap() {
    let mut bench = pair(2);
    for number in 0..10 {
        let (place, token) = send(&mut bench);
        assert_eq!(bench.peek(0, place).1, SENT);
        let slot = number % 4;
        assert_eq!(get(&bench, slot, cq_entry::TOKEN), token);
        assert_eq!(get(&bench, slot, cq_entry::VI), 1);
        assert_eq!(get(&bench, slot, cq_entry::RECEIVE), 0);
        assert_eq!(get(&bench, slot, cq_entry::PHASE), 1 - number / 4 % 2);
        bench.cq_word(0, 5, false, number + 1);
    }
}

/// Rule CQ-2.
#[test]
fn without_room_the_entry_is_lost_and_the_vi_breaks() {
    let mut bench = pair(2);
    let places: Vec<u64> = (0..5).map(|_| send(&mut bench).0).collect();
    assert!(places.iter().all(|place| bench.peek(0, *place).1 == SENT), "the descriptors are complete");
    assert_eq!(bench.state(A), vi_states::ERROR);
    let events = [(event_code::CQ_OVERRUN, 5, false, false), (event_code::CONN_LOST, 1, false, true)];
    assert_eq!(bench.events(0), events);
    send(&mut bench);
    assert_eq!((bench.events(0), bench.counter(0, counter::CQ_OVERRUNS)), (vec![], 2));
    assert_eq!(get(&bench, 0, cq_entry::PHASE), 1, "nothing is written over");
}

/// Rule CQ-6.
#[test]
fn an_armed_queue_interrupts_once_and_at_once_if_there_is_news() {
    let mut bench = pair(4);
    bench.cq_word(0, 5, true, 0);
    assert_eq!(interrupts(&mut bench), 0);
    for _ in 0..2 {
        send(&mut bench);
    }
    assert_eq!(interrupts(&mut bench), 1);
    assert_eq!(bench.raised(0), [3]);
    bench.cq_word(0, 5, true, 2);
    assert_eq!(interrupts(&mut bench), 1);
    bench.cq_word(0, 5, true, 1);
    assert_eq!(interrupts(&mut bench), 2);
}

/// Rule CQ-5.
#[test]
fn a_resize_tells_what_was_written_and_goes_on_in_the_new_ring() {
    let mut bench = pair(2);
    for _ in 0..3 {
        send(&mut bench);
    }
    bench.cq_word(0, 5, true, 3);
    bench.cq(0, 5, 6, &[(completion_queue::VECTOR, 3)]);
    assert_eq!(bench.load(0, registers::RESULT, 8), 3);
    assert_eq!(interrupts(&mut bench), 1, "it was armed");
    let tokens: Vec<u64> = (0..20).map(|_| send(&mut bench).1).collect();
    for (slot, token) in (0..).zip(tokens) {
        assert_eq!((get(&bench, slot, cq_entry::TOKEN), get(&bench, slot, cq_entry::PHASE)), (token, 1));
    }
}

#[test]
fn a_work_queue_that_is_armed_interrupts_when_there_is_news() {
    let mut bench = pair(6);
    let word = |position| row(&[(arm::POSITION, position), (arm::SEQUENCE, 77)])[0];
    bench.ring(0, A.1, page::SEND_ARM, 8, word(0));
    assert_eq!(interrupts(&mut bench), 0);
    for _ in 0..2 {
        send(&mut bench);
    }
    assert_eq!(interrupts(&mut bench), 1);
    assert_eq!(bench.raised(0), [2]);
    bench.ring(0, A.1, page::SEND_ARM, 8, word(1));
    assert_eq!(interrupts(&mut bench), 2, "position 1 is complete already");
}

#[test]
fn a_masked_vector_waits() {
    let mut bench = pair(6);
    bench.net.set_vectors(0, 3, vec![None]);
    bench.cq_word(0, 5, true, 0);
    send(&mut bench);
    assert_eq!(interrupts(&mut bench), 0);
    assert_eq!(bench.load(0, viaduct_spec::register::MSIX_PENDING, 8), 1 << 3);
    bench.vectors(0, 3..4);
    assert_eq!(interrupts(&mut bench), 1);
    assert_eq!(bench.raised(0), [3]);
}

#[test]
fn a_moderated_vector_rests_and_then_sends_once() {
    const TICKS: u64 = 500;
    let mut bench = pair(6);
    bench.commit(0, table::MODERATION, 3, row(&[(moderation::HOLDOFF, TICKS)]));
    let strike = |bench: &mut Bench, number| {
        bench.cq_word(0, 5, true, number);
        let (_, token) = bench.prepare(A, false, &Descriptor::of(DATA, 10));
        bench.ring(0, A.1, page::SEND, 8, token);
        bench.net.step(5000);
        bench.counter(0, counter::INTERRUPTS)
    };
    assert_eq!(strike(&mut bench, 0), 1, "the first one does not wait");
    let start = bench.net.now();
    for number in 1..4 {
        assert_eq!(strike(&mut bench, number), 1);
    }
    bench.settle();
    let waited = bench.net.now() - start;
    assert_eq!(bench.counter(0, counter::INTERRUPTS), 2);
    assert!(waited > (TICKS << 7) - 10_000 && waited < (TICKS << 7) + 10_000, "{waited} cycles");
}

/// Rule CQ-3.
#[test]
fn events_go_to_the_error_ring_or_are_lost() {
    let mut bench = pair(6);
    bench.queue(A, 0, &[]);
    let overrun = |bench: &mut Bench| {
        bench.set_state(A, vi_states::CONNECTED);
        let (_, token) = bench.prepare(A, false, &Descriptor::of(DATA, 1).flags(control::QFENCE));
        bench.ring(0, A.1, page::SEND, 8, token | 1 << 63);
        bench.settle();
    };
    overrun(&mut bench);
    assert_eq!((interrupts(&mut bench), bench.events(0).len()), (0, 1), "nobody has asked");
    // Without an error ring.
    bench.cq(0, ERROR_RING, 8, &[(completion_queue::LIVE, 0)]);
    overrun(&mut bench);
    assert_eq!((interrupts(&mut bench), bench.counter(0, counter::EVENT_LOST)), (0, 1));
    bench.cq(0, 5, 2, &[(completion_queue::EVENTS, 1), (completion_queue::VECTOR, 3)]);
    bench.cq_word(0, 5, true, 0);
    for _ in 0..5 {
        overrun(&mut bench);
    }
    assert_eq!(interrupts(&mut bench), 1);
    assert_eq!(bench.raised(0), [3]);
    let word = [get(&bench, 0, cq_entry::TOKEN)];
    assert_eq!(event::CODE.get(&word), u64::from(event_code::VI_OVERRUN));
    assert_eq!(bench.counter(0, counter::EVENT_LOST), 2, "four entries");
}

#[test]
fn commands_that_name_no_row_do_nothing() {
    let mut bench = Bench::new(1);
    for (op, table, at) in [
        (1, 0, 0),
        (1, 11, 0),
        (1, 10, 8),
        (1, 7, 64),
        (1, 9, 64),
        (1, 1, 256),
        (3, 8, 64),
        (3, 1, 0),
        (9, 1, 1),
    ] {
        bench.command(0, op, table, at);
        assert_eq!(bench.load(0, registers::STATE, 4) & 3, 2, "{op} {table} {at}");
    }
    bench.command(0, 2, 0, 0);
    assert_eq!(bench.load(0, registers::STATE, 4), 4, "drained, idle");
    assert_eq!(bench.load(0, registers::KIND, 4), 2);
}
