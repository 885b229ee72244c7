//! The test of the judge: the trace of a good walk on the RTL passes, and each change of it that no schedule explains is refused and named.

use std::sync::OnceLock;

use viaduct_sim::model::Choices;
use viaduct_sim::setup::Kind;
use viaduct_sim::watch::Seen;
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

mod entries;
mod frames;
mod interrupts;
mod memory;
#[path = "../support/mod.rs"]
mod support;
mod told;

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

/// The address of a write.
fn address(moment: &mut Moment) -> &mut u64 {
    match &mut moment.what {
        What::Seen(Seen::Write { address, .. }) => address,
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

/// A moment comes once more, just behind itself.
fn again(trace: &mut Trace, at: usize) {
    trace.moments.insert(at, trace.moments[at].clone());
}

/// A changed trace is refused, in these words.
fn refused(words: &[&str], change: impl Fn(&mut Trace)) {
    let (program, trace) = good();
    let mut trace = trace.clone();
    change(&mut trace);
    let why = follow(program, NIC, &trace).expect_err("no schedule of the model does this");
    assert!(words.iter().all(|word| why.contains(word)), "{why}");
}
