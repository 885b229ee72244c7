//! The connections of a program.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::profile::VIS;
use viaduct_spec::tables::service;

use crate::program::{CompletionQueue, Connection, CONNECTIONS, SHARED};

/// One to four connections. No two ends share a VI.
pub(super) fn connections(random: &mut ChaCha8Rng) -> Vec<Connection> {
    let count = [1, 1, 1, 2, 2, 2, 3, CONNECTIONS][random.random_range(0..8)];
    let mut made: Vec<Connection> = Vec::new();
    while made.len() < count {
        let services = [service::UNRELIABLE, service::RELIABLE_DELIVERY, service::RELIABLE_RECEPTION];
        let nic = random.random_range(0..2);
        let nics = if random.random_range(0..6) == 0 { [nic, nic] } else { [nic, 1 - nic] };
        let vis = [0, 0].map(|_| random.random_range(0..VIS));
        let taken = |side: usize| {
            let end = (nics[side], vis[side]);
            made.iter().any(|other| (0..2).any(|side| (other.nics[side], other.vis[side]) == end))
        };
        if taken(0) || taken(1) || nics[0] == nics[1] && vis[0] == vis[1] {
            continue;
        }
        // Half of them wrap soon.
        let mut psn = || if random.random() { random.random_range(0..1 << 24) } else { 0xFF_FFFC };
        let psns = [psn(), psn()];
        let service = services[random.random_range(0..services.len())];
        let completion_queues = [0, 1].map(|_| [0, 1].map(|_| completion_queue(random)));
        made.push(Connection {
            nics,
            vis,
            service,
            mtu: [0, 0, 0, 1, 2, 4][random.random_range(0..6)],
            ring_log2: random.random_range(3..6),
            psns,
            // So many that nothing ends for want of them: what would is a matter of time.
            retries: (12, random.random_range(30..200)),
            // More rows of them could not be told from time-outs in any reasonable time.
            not_ready: if random.random() { 8 } else { 0 },
            depth: random.random_range(0..5),
            max_transfer: [0x1_0000, 0x1_0000, 0x1_0000, 900][random.random_range(0..4)],
            rights: [0, 1].map(|_| random.random_range(0..8) != 0),
            scattered: random.random_range(0..4) == 0,
            high: random.random_range(0..6) == 0,
            completion_queues,
        });
    }
    made
}

/// A completion queue for a work queue, or none.
fn completion_queue(random: &mut ChaCha8Rng) -> CompletionQueue {
    match random.random_range(0..16) {
        0..=7 => CompletionQueue::None,
        15 => CompletionQueue::Small,
        _ => CompletionQueue::Shared(random.random_range(0..SHARED)),
    }
}
