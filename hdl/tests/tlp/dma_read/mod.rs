//! The read engine against a model of host memory that answers in its own order and time.

mod answers;
mod command;
mod data;
mod host;
mod requests;

pub use answers::{completion, REQUESTER};

use crate::beat::beats;
use command::{Command, Fate};
use host::Host;

#[test]
fn reads_come_back_in_order_whatever_the_completions_do() {
    for max_read in [0, 1, 2, 3, 4, 5] {
        let mut host = Host::new(max_read);
        for round in 0..3 {
            (host.tx_rate, host.rx_rate) = [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3)][round % 3];
            host.accesses(60);
            host.finish();
        }
        assert!(host.requests > 300);
        assert_eq!(host.bench.get("timed_out"), 0);
    }
}

#[test]
fn a_fault_fails_its_own_access_only() {
    let mut host = Host::new(2);
    host.poison = 6;
    host.bogus = 0.1;
    for _ in 0..4 {
        host.accesses(100);
        host.finish();
    }
    assert!(host.unexpected > 100);
    assert!(host.early > 20, "{}", host.early);
}

#[test]
fn a_lost_completion_times_out_and_its_tag_is_not_used_again() {
    let mut host = Host::new(1);
    host.missing = 6;
    host.poison = 20;
    host.bogus = 0.02;
    while host.missing > 0 {
        host.accesses(50);
        host.finish();
    }
    assert_eq!(host.bench.get("timed_out"), 1);
    assert_eq!((host.dead.iter().filter(|d| **d).count(), host.seen_lost), (6, 6));
    // What comes too late is dropped.
    let tag = host.dead.iter().position(|d| *d).unwrap() as u64;
    host.unexpected += 1;
    host.delivering = beats(&completion(tag, 0x40, 0x80, 0x80)).into();
    host.accesses(20);
    host.finish();
}

#[test]
fn latencies_are_as_described() {
    let mut host = Host::new(2);
    let command = Command {
        address: 0x1234_5640,
        length: 64,
        client: 0,
        user: 7,
        epoch: false,
        last: true,
        refused: false,
    };
    for _ in 0..20 {
        host.rx_rate = 0.0;
        host.command(command);
        let start = host.bench.cycles();
        while host.sent == 0 {
            host.step();
        }
        // Command in cycle 0, beats of the request in cycles 3 and 4.
        assert_eq!(host.bench.cycles() - start, 5);
        host.rx_rate = 1.0;
        assert!(!host.answers.is_empty());
        while !host.delivering.is_empty() || !host.answers.is_empty() {
            host.step();
        }
        // All but the last beat of data leave while the completion comes.
        let last = host.bench.cycles() - 1;
        while !host.pieces.is_empty() {
            host.step();
        }
        assert_eq!(host.bench.cycles() - 1 - last, 2);
        host.finish();
    }
}

#[test]
fn with_all_tags_lost_reads_fail_at_once() {
    let mut host = Host::new(2);
    let mut command = host.random_command(true);
    (command.length, command.refused) = (4, false);
    command.address &= !0xFFF;
    host.rx_rate = 0.0;
    for _ in 0..16 {
        host.command(command);
    }
    for _ in 0..200 {
        host.step();
    }
    assert_eq!(host.requests, 16);
    for piece in &mut host.pieces {
        piece.fate = Fate::Missing;
    }
    host.answers.clear();
    host.finish();
    for _ in 0..40 {
        host.command(command);
        host.pieces.back_mut().unwrap().fate = Fate::Open;
    }
    host.finish();
    assert_eq!(host.requests, 16);
    // Reset brings them back.
    host.bench.reset();
    host.dead = [false; 16];
    host.rx_rate = 1.0;
    host.accesses(50);
    host.finish();
}

/// The agent's reset leaves the edge alone: the rest of a completion that it meets goes on coming, and may look like anything.
#[test]
fn the_rest_of_a_completion_that_a_reset_meets_is_no_header() {
    let mut host = Host::new(2);
    let command =
        Command { address: 0x1000, length: 64, client: 0, user: 7, epoch: false, last: true, refused: false };
    for cut in 1..4 {
        // A stray, for a tag that is not open, whose data are the answer to the first read of after the reset.
        let mut stray = completion(9, 0x1000, 0x1080, 0x1080);
        stray.truncate(2 * cut + 2);
        stray.extend(completion(0, 0x1000, 0x1040, 0x1040));
        stray[2 * cut + 5..].fill(0xBAD0_BAD0);
        host.bench.set("command_valid", 0);
        for (n, beat) in beats(&stray).iter().enumerate() {
            if n == cut + 1 {
                // The read of the next life is out before the rest comes.
                host.bench.set("completion_valid", 0);
                host.rx_rate = 0.0;
                host.command(command);
                let before = host.requests;
                while host.requests == before {
                    host.step();
                }
                for _ in 0..4 {
                    host.step();
                }
            }
            host.bench.set("completion_valid", 1);
            beat.set(&mut host.bench, "completion");
            host.bench.set("reset", (n == cut).into());
            host.bench.set("tx_ready", 1);
            host.bench.tick();
            host.bench.set("reset", 0);
            assert_eq!(host.bench.get("beat_valid"), 0, "reset at beat {cut}: data of a stray's");
        }
        host.bench.set("completion_valid", 0);
        for _ in 0..4 {
            host.bench.tick();
            assert_eq!(host.bench.get("beat_valid"), 0, "reset at beat {cut}: data of a stray's");
        }
        host.seen_unexpected = host.unexpected;
        host.rx_rate = 1.0;
        host.finish();
        host.bench.set("completion_valid", 0);
        host.bench.reset();
    }
}

/// Before a reset: what has been sent is waited for no longer than one request may take, all of it together, and what has not been sent
/// is not waited for at all.
#[test]
fn all_that_is_outstanding_ends_within_one_time_out() {
    for requests in [0, 1, 16] {
        let mut host = Host::new(2);
        let mut command = host.random_command(true);
        (command.length, command.refused) = (4, false);
        command.address &= !0xFFF;
        host.rx_rate = 0.0;
        for _ in 0..requests {
            host.command(command);
        }
        for _ in 0..200 {
            host.step();
        }
        assert_eq!(host.requests, requests);
        // These find no credits.
        host.tx_rate = 0.0;
        for _ in 0..3 {
            host.command(command);
        }
        for _ in 0..20 {
            host.step();
        }
        assert_eq!(host.bench.get("busy"), 1);
        assert_eq!(host.bench.get("outstanding"), u64::from(requests != 0));
        host.time += 40_000;
        host.bench.set("draining", 1);
        for piece in host.pieces.range_mut(..requests as usize) {
            piece.fate = Fate::Missing;
        }
        host.answers.clear();
        for _ in 0..20 {
            host.step();
        }
        assert_eq!(host.bench.get("outstanding"), u64::from(requests != 0));
        host.time += 9152;
        for _ in 0..16 * 8 {
            host.step();
        }
        assert_eq!((host.seen_lost, host.bench.get("outstanding")), (requests, 0));
    }
}
