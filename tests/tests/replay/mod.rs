//! Linux's soft-RoCE as the peer, from its captures: sends, RDMA writes and RDMA reads, through losses, duplicates,
//! refusals, a receiver that is not ready, and the end of the PSNs.
//!
//! * Linux asks: its requests come to our NIC in the order in which they came to Linux, and our answers are Linux's,
//!   byte for byte but for the identification (see `linux.rs`).
//! * Linux answers: our NIC posts what its client had posted; each answer of Linux's comes when the requests before it
//!   are out. Where no frame was lost, our requests are Linux's; everywhere, the bytes and the completions are right.
//!
//! Where we go another way than Linux, and why:
//! * A send that is longer than its receive is NAK_INVALID, as the InfiniBand specification has it (volume 1, 9.9.6);
//!   Linux says NAK_OPERATIONAL.
//! * A queue pair that broke answers each further request with its last NAK: the first one may have been lost. Linux
//!   says nothing, and its peer finds out by its time-outs.
//! * After a time-out we begin at the first packet that is not acknowledged, Linux at the first of its message.
//! * The rest of a read, asked for again, is a request of its own: its answer begins with FIRST or is an ONLY. Linux goes on
//!   with the opcodes of the whole. We take both.
//! * A gap in the answers to a read is an implied NAK (volume 1, 9.7.5.2.8); Linux waits for its time-out.
//! * One acknowledgement may stand for several requests that ask, as InfiniBand lets it, and a packet in every sixteen asks; Linux acknowledges each
//!   that asks, and only a message's last packet does.
//! * An unreliable FIRST or ONLY behind the expected PSN is dropped, so that no message comes twice (design: VIA forbids it); Linux takes it at
//!   any PSN. After a hole in a message the next whole one is delivered; Linux loses it too.
//! * BTH's MigReq is 0 as Linux has it, and not looked at: there is no path migration.
//!
//! Atomic operations are not VIA's: captures end here before the first one. So `rc_loss_responses_10pct`, which has
//! them throughout, is not used: `loss.rs` and `bulk.rs` lose more.

mod answers;
mod asks;
mod case;
mod part;
mod play;
mod stage;

use viaduct_driver::device_protocol::rows::Rights;

/// Where the server's buffer is in its host's memory, and its bytes: receives and writes go there, reads come from
/// there, as in the program that Linux ran.
const BUFFER: usize = 0x8000;
const BYTES: usize = 0x4000;
/// Ticks without progress after which our client sends again.
const TIMEOUT: u32 = 64;
/// Cycles after which it has.
const LATE: u64 = 4 * 64 * 128;
/// All that a peer may be allowed.
const ALL: Rights = Rights { write: true, read: true, reads: 4 };
