//! The test of the judge: the trace of a good walk on the RTL passes, and each change of it that no schedule explains is refused and named.

use std::sync::OnceLock;

use viaduct_sim::model::Choices;
use viaduct_sim::setup::Kind;
use viaduct_sim::watch::Seen;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::service;
use viaduct_walk::fault_injection::Rates;
use viaduct_walk::follow::follow;
use viaduct_walk::generator;
use viaduct_walk::machine::{run, Run};
use viaduct_walk::memory::{DESCRIPTORS, ENDS, FIRST, SLICE, SOURCE_BYTES};
use viaduct_walk::operation::{End, Operation, Piece};
use viaduct_walk::program::{CompletionQueue, Program};
use viaduct_walk::rows;
use viaduct_walk::trace::{Moment, Trace, What};

mod support;

/// Bytes of a message.
const LENGTH: u32 = 600;

/// The NIC whose trace is changed: it receives.
const NIC: usize = 1;

fn post(end: End, receive: bool, n: u32, immediate: Option<u32>) -> Operation {
    let at = if receive { SOURCE_BYTES + n * LENGTH } else { n * 1000 };
    support::post(end, receive, n, Piece { slot: 0, at, length: LENGTH }, immediate)
}

/// Three messages to a reliable VI whose consumer waits at a completion queue; and to an unreliable one, one of two without a receive.
fn program() -> Program {
    let mut program = generator::program(1);
    let pattern = program.connections[0];
    let connection = |n, service| {
        let last = if n == 0 { CompletionQueue::Small } else { CompletionQueue::Shared(0) };
        support::connection(
            pattern,
            n,
            service,
            0,
            [[CompletionQueue::Shared(0); 2], [CompletionQueue::Shared(0), last]],
        )
    };
    program.connections = vec![connection(0, service::RELIABLE_DELIVERY), connection(1, service::UNRELIABLE)];
    program.conditions.rates = Rates::default();
    program.operations = vec![Operation::Connect(0), Operation::Connect(1)];
    program.operations.extend((0..3).map(|n| post(1, true, n, None)));
    program.operations.extend([post(3, true, 0, None), Operation::Arm(1, true), Operation::Arrive]);
    program.operations.extend((0..3).map(|n| post(0, false, n, Some(0xABCD + n))));
    program.operations.extend([post(2, false, 0, None), post(2, false, 1, None), Operation::Settle]);
    program
}

/// The program, and what NIC 1 did with it.
fn good() -> &'static (Program, Trace) {
    static GOOD: OnceLock<(Program, Trace)> = OnceLock::new();
    GOOD.get_or_init(|| {
        let program = program();
        let made = Run::of([Kind::Rtl; 2], [Choices::default(); 2]);
        let mut outcome = run(&program, &made).expect("files can be made");
        assert_eq!(outcome.faults, [""; 0]);
        let trace = std::mem::take(&mut outcome.traces[NIC]);
        assert_eq!(follow(&program, NIC, &trace), Ok(()));
        (program, trace)
    })
}

/// Moments at which the NIC wrote, so many bytes between these addresses.
fn writes(trace: &Trace, length: usize, range: std::ops::Range<u64>) -> Vec<usize> {
    let is = |moment: &Moment| match &moment.what {
        What::Seen(Seen::Write { address, data }) => data.len() == length && range.contains(address),
        _ => false,
    };
    (0..trace.moments.len()).filter(|at| is(&trace.moments[*at])).collect()
}

fn slice(end: End) -> u64 {
    FIRST[NIC] + end as u64 * u64::from(SLICE)
}

/// Statuses of end 1.
fn statuses(trace: &Trace) -> Vec<usize> {
    let found = writes(trace, 8, slice(1) + u64::from(DESCRIPTORS)..slice(2));
    assert_eq!(found.len(), 3);
    found
}

/// Writes of end 1's data.
fn data(trace: &Trace) -> Vec<usize> {
    let is = |moment: &Moment| match &moment.what {
        What::Seen(Seen::Write { address, .. }) => {
            (slice(1)..slice(1) + u64::from(DESCRIPTORS)).contains(address)
        }
        _ => false,
    };
    (0..trace.moments.len()).filter(|at| is(&trace.moments[*at])).collect()
}

/// Entries of a completion queue.
fn entries(trace: &Trace, queue: usize) -> Vec<usize> {
    let ring = FIRST[NIC] + ENDS * u64::from(SLICE) + rows::cq_ring(queue, false);
    writes(trace, 16, ring..ring + (16 << rows::cq_log2(queue, false)))
}

/// The completion queue of end 1's receive queue.
fn own_queue() -> usize {
    rows::cq_of(&good().0.connections[0], 1, 1).expect("it has one")
}

fn interrupts(trace: &Trace) -> Vec<usize> {
    writes(trace, 4, 0xFEE0_0000..0xFEF0_0000)
}

/// The bytes of a write.
fn bytes(moment: &mut Moment) -> &mut Vec<u8> {
    match &mut moment.what {
        What::Seen(Seen::Write { data, .. } | Seen::FrameOut { data, .. }) => data,
        other => panic!("{other:?}"),
    }
}

/// Moves a moment ahead of another.
fn ahead(trace: &mut Trace, from: usize, to: usize) {
    assert!(to < from);
    let mut moment = trace.moments.remove(from);
    moment.cycle = trace.moments[to].cycle;
    trace.moments.insert(to, moment);
}

/// A changed trace is refused, in these words.
fn refused(words: &[&str], change: impl Fn(&mut Trace)) {
    let (program, trace) = good();
    let mut trace = trace.clone();
    change(&mut trace);
    let why = follow(program, NIC, &trace).expect_err("no schedule of the model does this");
    assert!(words.iter().all(|word| why.contains(word)), "{why}");
}

#[test]
fn a_completion_that_is_not_there_is_missed() {
    refused(&["status or immediate data at", "missing"], |trace| {
        trace.moments.remove(statuses(trace)[1]);
    });
}

#[test]
fn a_completion_that_comes_twice_is_one_too_many() {
    refused(&["does not do what the NIC did: 8 bytes at", "Descriptor(1)"], |trace| {
        let at = statuses(trace)[1];
        trace.moments.insert(at, trace.moments[at].clone());
    });
}

#[test]
fn completions_of_a_queue_keep_their_order() {
    refused(&["does not do what the NIC did: 8 bytes at", "Descriptor(1)"], |trace| {
        let found = statuses(trace);
        ahead(trace, found[2], found[1]);
    });
}

#[test]
fn entries_that_are_exchanged_are_wrong() {
    refused(&["entry 0 of VI", "is 0x"], |trace| {
        let found = entries(trace, own_queue());
        let token = bytes(&mut trace.moments[found[0]])[..8].to_vec();
        let other: Vec<u8> = bytes(&mut trace.moments[found[1]])[..8].to_vec();
        bytes(&mut trace.moments[found[0]])[..8].copy_from_slice(&other);
        bytes(&mut trace.moments[found[1]])[..8].copy_from_slice(&token);
    });
}

#[test]
fn entries_stand_in_their_slots() {
    refused(&["an entry of queue", "in slot 1"], |trace| {
        let found = entries(trace, own_queue());
        ahead(trace, found[1], found[0]);
    });
}

#[test]
fn an_entry_says_whose_it_is() {
    refused(&["an entry of another's"], |trace| {
        let found = entries(trace, own_queue());
        // RECEIVE.
        bytes(&mut trace.moments[found[0]])[10] ^= 1;
    });
}

#[test]
fn an_entry_that_is_not_there_is_missed() {
    refused(&["entry 2 of VI", "missing"], |trace| {
        let found = entries(trace, own_queue());
        trace.moments.remove(found[2]);
    });
}

#[test]
fn bytes_of_one_message_in_another_are_wrong() {
    refused(&["data at", "is 0x"], |trace| {
        let found = data(trace);
        let last = found[found.len() - 1];
        let own = bytes(&mut trace.moments[found[0]]).clone();
        let other = bytes(&mut trace.moments[last]).clone();
        let count = own.len().min(other.len());
        bytes(&mut trace.moments[found[0]])[..count].copy_from_slice(&other[..count]);
        bytes(&mut trace.moments[last])[..count].copy_from_slice(&own[..count]);
    });
}

#[test]
fn the_status_of_another_schedule_does_not_fit_the_bytes() {
    refused(&["status or immediate data at", "is 0x"], |trace| {
        let at = statuses(trace)[2];
        let flushed = status::DONE | status::DESC_FLUSHED_ERROR | status::OP_RECEIVE;
        let word = u64::from(flushed) << 32;
        bytes(&mut trace.moments[at]).copy_from_slice(&word.to_le_bytes());
    });
}

#[test]
fn done_ahead_of_its_data_is_seen() {
    refused(&["DONE at", "ahead of its data"], |trace| {
        let (from, to) = (statuses(trace)[0], data(trace)[2]);
        ahead(trace, from, to);
    });
}

#[test]
fn done_ahead_of_its_immediate_data_is_seen() {
    refused(&["DONE at", "ahead of its data or immediate data"], |trace| {
        let immediate = writes(trace, 4, slice(1) + u64::from(DESCRIPTORS)..slice(2))[0];
        ahead(trace, statuses(trace)[0], immediate);
    });
}

#[test]
fn an_entry_ahead_of_its_status_is_seen() {
    refused(&["entry 0 of VI", "ahead of its status"], |trace| {
        ahead(trace, entries(trace, own_queue())[0], statuses(trace)[0]);
    });
}

#[test]
fn an_interrupt_ahead_of_its_entry_is_seen() {
    refused(&["interrupt 0 of vector 1", "ahead of the status or entry"], |trace| {
        ahead(trace, interrupts(trace)[0], entries(trace, own_queue())[0]);
    });
}

#[test]
fn an_interrupt_that_is_not_there_is_missed() {
    refused(&["interrupt 0 of vector 1 missing"], |trace| {
        trace.moments.remove(interrupts(trace)[0]);
    });
}

#[test]
fn an_event_that_is_not_there_is_missed() {
    refused(&["event 0 of end 3, RECVQ_EMPTY missing"], |trace| {
        trace.moments.remove(entries(trace, rows::ERROR_RING)[0]);
    });
}

fn frames(trace: &Trace) -> Vec<usize> {
    let is = |moment: &Moment| matches!(moment.what, What::Seen(Seen::FrameOut { .. }));
    (0..trace.moments.len()).filter(|at| is(&trace.moments[*at])).collect()
}

#[test]
fn an_acknowledgement_that_is_not_there_is_missed() {
    refused(&["answer frame", "missing"], |trace| {
        let last = frames(trace).pop().expect("it acknowledges");
        trace.moments.remove(last);
    });
}

#[test]
fn an_acknowledgement_ahead_of_what_it_acknowledges_is_seen() {
    refused(&["an acknowledgement left ahead of what it acknowledges"], |trace| {
        let frame = frames(trace).pop().expect("it acknowledges");
        let to = data(trace).into_iter().rev().find(|at| *at < frame).expect("data before it");
        ahead(trace, frame, to);
    });
}

#[test]
fn a_byte_of_a_frame_counts() {
    refused(&["answer frame 0 is"], |trace| {
        let first = frames(trace)[0];
        *bytes(&mut trace.moments[first]).last_mut().expect("it has bytes") ^= 1;
    });
}

#[test]
fn a_write_where_nothing_is_to_be_written_is_seen() {
    refused(&["where the NIC has nothing to write"], |trace| {
        let at = statuses(trace)[0];
        let arena = FIRST[NIC] + ENDS * u64::from(SLICE);
        let stray = What::Seen(Seen::Write { address: arena, data: vec![0; 8] });
        trace.moments.insert(at, Moment { cycle: trace.moments[at].cycle, what: stray });
    });
}
