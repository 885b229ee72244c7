//! The write engine against a model that cuts the same commands.

mod command;
mod host;
mod packet;
mod source;

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::bus::client;

use crate::beat::Collector;
use command::Command;
use host::Host;
use source::Source;

#[test]
fn packets_carry_exactly_the_bytes_of_the_commands() {
    for max_payload in 0..=5 {
        let mut host = Host::new(max_payload);
        for round in 0..6 {
            (host.tx_rate, host.data_rate) = [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3)][round % 3];
            host.calm = round >= 3;
            for _ in 0..80 {
                let command = host.random_command();
                host.command(command);
            }
            host.finish();
        }
        assert!(host.retired > 256);
    }
}

#[test]
fn large_writes_go_at_full_rate() {
    // Cycles for each packet beyond one for each 8 bytes: header, and what does not fill a beat.
    for (base, extra) in [(0x1000, 3), (0x1003, 4), (0x1_0000_0000, 2), (0x1_0000_0005, 4)] {
        for max_payload in [0, 1, 5] {
            let mut host = Host::new(max_payload);
            host.calm = true;
            for n in 0..20 {
                let address = base + n * 4096;
                host.command(Command { address, length: 4096, client: client::SCATTER, epoch: false });
            }
            host.finish();
            assert_eq!(host.payload, 20 * 4096);
            let most = host.payload / 8 + host.sent * extra + 10;
            assert!(
                host.busy_cycles <= most,
                "{base:#x}: {} cycles, {} packets, at most {most}",
                host.busy_cycles,
                host.sent
            );
        }
    }
}

#[test]
fn reset_forgets_what_is_half_done() {
    let mut host = Host::new(0);
    for _ in 0..50 {
        for _ in 0..5 {
            let command = host.random_command();
            host.command(command);
        }
        for _ in 0..host.rng.random_range(0..300) {
            host.step();
        }
        host.bench.set("command_valid", 0);
        host.bench.set("scatter_valid", 0);
        host.bench.set("complete_valid", 0);
        host.bench.reset();
        let rng = host.rng.clone();
        host = Host { commands: VecDeque::new(), packets: VecDeque::new(), ..host };
        host.scatter = Source::default();
        host.complete = Source::default();
        host.collector = Collector::default();
        (host.retire_due, host.retired, host.rng) = (None, 0, rng);
        let command = host.random_command();
        host.command(command);
        host.finish();
    }
}

/// The system may set another size at any time: no packet is larger than what the edge counts credits for, and the new size is in force for
/// the next command, however many wait.
#[test]
fn another_max_payload_under_load_is_obeyed_from_the_next_command_on() {
    let mut host = Host::new(2);
    for round in 0..400 {
        for _ in 0..3 {
            let command = host.random_command();
            host.command(command);
        }
        (host.tx_rate, host.data_rate) = [(1.0, 1.0), (0.2, 1.0), (1.0, 0.3)][round % 3];
        for _ in 0..host.rng.random_range(0..600) {
            host.step();
        }
        let max_payload = host.rng.random_range(0..=5);
        host.ask(max_payload);
    }
    host.finish();
    assert!(host.retired == 1200, "{}", host.retired);
}
