//! Makes a program that fails small: leaves operations out, in ever smaller groups, as long as it still fails; then
//! connections, faults and habits of the root complexes.

use viaduct_sim::root_complex::Conditions;

use crate::fault_injection::Rates;
use crate::operation::{Bell, Operation};
use crate::program::{CompletionQueue, Program};

/// The smallest program that is found in so many attempts. `fails` says whether one still does.
pub fn shrink(program: &Program, mut attempts: usize, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let before = best.clone();
        leave_out(&mut best, &mut attempts, &mut fails);
        for simpler in simplifications(&best) {
            try_one(&mut best, simpler, &mut attempts, &mut fails);
        }
        if best == before || attempts == 0 {
            return best;
        }
    }
}

fn try_one(
    best: &mut Program,
    candidate: Program,
    attempts: &mut usize,
    fails: &mut impl FnMut(&Program) -> bool,
) -> bool {
    if *attempts == 0 || candidate == *best {
        return false;
    }
    *attempts -= 1;
    let does = fails(&candidate);
    if does {
        *best = candidate;
    }
    does
}

/// Delta debugging over the operations.
fn leave_out(best: &mut Program, attempts: &mut usize, fails: &mut impl FnMut(&Program) -> bool) {
    let mut group = best.operations.len().div_ceil(2);
    while group > 0 {
        let mut at = 0;
        while at < best.operations.len() {
            let mut candidate = best.clone();
            let end = (at + group).min(candidate.operations.len());
            candidate.operations.drain(at..end);
            if !try_one(best, candidate, attempts, fails) {
                at += group;
            }
        }
        group /= 2;
    }
}

/// Programs that are simpler in one thing each.
fn simplifications(program: &Program) -> Vec<Program> {
    let mut simpler = Vec::new();
    let mut with = |change: &dyn Fn(&mut Program)| {
        let mut changed = program.clone();
        change(&mut changed);
        simpler.push(changed);
    };
    with(&|program| program.conditions.rates = Rates::default());
    with(&|program| program.conditions.rates.lose = 0);
    with(&|program| program.conditions.rates.repeat = 0);
    with(&|program| program.conditions.rates.flip = 0);
    with(&|program| program.conditions.rates.damage = 0);
    with(&|program| program.conditions.rates.delay = 0);
    with(&|program| program.conditions.link.storms = 0);
    with(&|program| {
        let bus = &mut program.conditions.bus;
        (bus.passed, bus.torn, bus.withheld, bus.changes, bus.time_base) = (0, 0, 0, 0, 0);
    });
    with(&|program| program.conditions.bus = Conditions::default());
    for connection in 0..program.connections.len() {
        with(&|program| program.connections[connection].scattered = false);
        with(&|program| program.connections[connection].high = false);
        with(&|program| program.connections[connection].completion_queues = [[CompletionQueue::None; 2]; 2]);
    }
    for number in 0..program.operations.len() {
        let Operation::Post(post) = &program.operations[number] else { continue };
        let mut change = |change: &dyn Fn(&mut crate::operation::Post)| {
            with(&|program| {
                if let Operation::Post(post) = &mut program.operations[number] {
                    change(post);
                }
            });
        };
        change(&|post| post.bell = Bell::Token);
        change(&|post| post.fence = false);
        change(&|post| post.immediate = None);
        change(&|post| post.flaw = crate::operation::Flaw::None);
        change(&|post| post.pieces.truncate(1));
        for piece in 0..post.pieces.len() {
            change(&|post| {
                post.pieces.remove(piece);
            });
            change(&|post| post.pieces[piece].slot = 0);
            change(&|post| post.pieces[piece].length /= 2);
        }
    }
    simpler
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator;

    #[test]
    fn what_does_not_matter_goes() {
        let mut programs = (1..).map(generator::program);
        let program = programs.find(|program| program.operations.len() > 20).expect("many are");
        let fails = |program: &Program| {
            let has = |wanted: &Operation| program.operations.iter().any(|operation| operation == wanted);
            has(&Operation::Connect(0)) && has(&Operation::Settle)
        };
        assert!(fails(&program));
        let small = shrink(&program, 10_000, fails);
        assert_eq!(small.operations.len(), 2);
        assert_eq!(shrink(&program, 0, fails), program, "no attempt");
    }
}
