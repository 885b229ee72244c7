//! A reset while everything moves, by the agent, of the function or with the link: the NIC answers, comes up again and works.

use viaduct_sim::model::Choices;
use viaduct_sim::root_complex::{Conditions, Split};
use viaduct_sim::setup::Kind;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::service;
use viaduct_walk::fault_injection::Rates;
use viaduct_walk::generator;
use viaduct_walk::judge::judge;
use viaduct_walk::machine::{run, Run};
use viaduct_walk::memory::SOURCE_BYTES;
use viaduct_walk::operation::{End, Operation, Piece, Reset};
use viaduct_walk::program::{CompletionQueue, Program};

mod support;

/// Bytes of a message.
const LENGTH: u32 = 1500;

/// A message from or to an end, the n-th.
fn post(end: End, receive: bool, n: u32) -> Operation {
    let at = if receive { SOURCE_BYTES + n * LENGTH } else { n * 100 };
    support::post(end, receive, n, Piece { slot: 0, at, length: LENGTH }, None)
}

/// Both ways over all connections, as many messages as said.
fn burst(program: &mut Program, from: u32, count: u32) {
    for receive in [true, false] {
        for n in from..from + count {
            for end in 0..2 * program.connections.len() {
                program.operations.push(post(end, receive, n));
            }
        }
        program.operations.push(Operation::Arrive);
    }
}

/// A reset of NIC 0 when so many frames of what moves have passed; then all is made anew and used.
fn program(frames: u32, how: Reset) -> Program {
    let mut program = generator::program(1);
    let pattern = program.connections[0];
    let connection =
        |n, service| support::connection(pattern, n, service, 1, [[CompletionQueue::None; 2]; 2]);
    program.connections = vec![connection(0, service::UNRELIABLE), connection(1, service::RELIABLE_DELIVERY)];
    let conditions = &mut program.conditions;
    (conditions.seed, conditions.rates) = (u64::from(frames), Rates::default());
    // Slow enough that a packet is half way over the edge more often than not.
    conditions.bus = Conditions {
        stall: 400,
        gap: 100,
        reorder: 100,
        split: Split::Boundary,
        round_trip: 60,
        ..Conditions::default()
    };
    program.operations = vec![Operation::Connect(0), Operation::Connect(1)];
    burst(&mut program, 0, 4);
    program.operations.push(Operation::Pause(frames));
    program.operations.push(Operation::Reset(0, how));
    program.operations.extend([Operation::Connect(0), Operation::Connect(1)]);
    burst(&mut program, 4, 4);
    program.operations.push(Operation::Settle);
    program
}

fn leaves_no_half_packet_and_takes_no_old_answer(how: Reset) {
    for frames in (0..24).step_by(2) {
        let program = program(frames, how);
        let made = Run::of([Kind::Rtl; 2], [Choices::default(); 2]);
        let outcome = run(&program, &made).expect("files can be made");
        let judged = judge(&program, [Kind::Rtl; 2], false, &outcome);
        assert_eq!(judged.map_err(|found| found.text), Ok(2), "{how:?} behind {frames} frames");
        let reset = program.operations.iter().position(|operation| *operation == Operation::Reset(0, how));
        for connection in 0..2 {
            let own = outcome.completions.iter().filter(|completion| completion.end / 2 == connection);
            let after = own.filter(|completion| Some(completion.operation) > reset);
            let done = after.filter(|completion| {
                completion.status & (status::DONE | status::ERROR_MASK) == status::DONE
                    && completion.length == LENGTH
            });
            assert_eq!(done.count(), 16, "{how:?} behind {frames} frames: {:#?}", outcome.completions);
        }
    }
}

#[test]
fn the_agents_reset_leaves_no_half_packet_and_takes_no_old_answer() {
    leaves_no_half_packet_and_takes_no_old_answer(Reset::Agent);
}

#[test]
fn a_reset_of_the_function_leaves_no_half_packet_and_takes_no_old_answer() {
    leaves_no_half_packet_and_takes_no_old_answer(Reset::Function);
}

#[test]
fn a_reset_with_the_link_takes_no_old_answer() {
    leaves_no_half_packet_and_takes_no_old_answer(Reset::Link(40));
}
