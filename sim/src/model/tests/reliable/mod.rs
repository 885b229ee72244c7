//! Reliable service: what is sent again and when, and what the responder refuses.

mod by_hand;
mod refusals;
mod requester;
mod responder;

use viaduct_spec::descriptor::control;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::tables::{page, region, table};

use super::bench::{handle, row, Bench, End, Level, DATA_REGION};

const A: End = (0, 1);
const B: End = (1, 2);
const WRITE: u16 = control::OP_RDMAWRITE;
const READ: u16 = control::OP_RDMAREAD;

/// Two NICs, and a connection of theirs.
fn pair(level: Level) -> Bench {
    let mut bench = Bench::new(2);
    bench.connect([A, B], level);
    bench
}

/// A region of a NIC's behind which no memory answers: an address in it, and its handle.
fn unanswered(bench: &mut Bench, nic: usize) -> (u64, u32) {
    let base = 0x4000_0000;
    bench.region(nic, 5, &[(region::BASE, base), (region::FIRST_PAGE, 2)]);
    bench.commit(nic, table::PAGE, 2, row(&[(page::ADDRESS, 0x7000_0000)]));
    (base, handle() ^ u32::from(DATA_REGION ^ 5) << memory_handle::INDEX.lo)
}
