//! Gather against a model of what a descriptor means, with a memory that answers late; and blocks inside it alone.

mod alone;
mod descriptor;
mod expected;
mod head_check;
mod latency;
mod length_check;
mod lives;
mod memory;
mod message_judge;
mod message_rest;
mod messages;
mod owner;
mod packet_count;
mod reads;
mod replies;
mod traffic;
mod word_reader;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Gather;
use viaduct_spec::tables::{gather, table, vi_states};
use viaduct_verilate::Bench;

use crate::port;

/// A VI, as its table row says.
struct Context {
    tag: u64,
    mtu: u64,
    max_transfer: u64,
    connected: bool,
    /// The raw channel's.
    raw: bool,
}

struct Setup {
    bench: Bench,
    rng: ChaCha8Rng,
    contexts: Vec<Context>,
    /// Packets of answers to make beside the messages.
    replies: replies::Replies,
    /// Cycles of the run in which `transmit` takes no packet.
    transmit_takes_after: u64,
}

fn setup() -> Setup {
    let mut bench = Bench::new("gather", &verilog(Gather::default()));
    let mut rng = crate::random(&bench);
    let contexts: Vec<Context> = (0..64)
        .map(|_| Context {
            tag: rng.random_range(1..1 << 16),
            mtu: rng.random_range(0..5),
            max_transfer: rng.random_range(20_000..60_000),
            connected: rng.random_bool(0.9),
            raw: rng.random_bool(0.15),
        })
        .collect();
    for (vi, context) in contexts.iter().enumerate() {
        let mut row = [0; 3];
        gather::TAG.put(&mut row, context.tag);
        gather::MTU.put(&mut row, context.mtu);
        gather::MAX_TRANSFER.put(&mut row, context.max_transfer);
        if context.raw {
            gather::RAW.put(&mut row, 1);
        }
        port::commit(&mut bench, table::TRANSMIT, vi as u64, [0; 3]);
        port::commit(&mut bench, table::GATHER, vi as u64, row);
        let state = if context.connected { vi_states::CONNECTED } else { vi_states::ERROR };
        port::state(&mut bench, vi as u64, state);
        port::epoch(&mut bench, vi as u64, false);
    }
    Setup { bench, rng, contexts, replies: replies::Replies::default(), transmit_takes_after: 0 }
}
