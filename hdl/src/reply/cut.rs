//! Cuts the next packet off an answer, and says where the answer stands behind it.
//!
//! ```text
//!    gives, vi ──►┌──────────┐──► reply
//!   place, ... ──►│ ReplyCut │──► waits, last
//!     progress ──►│          │──► next_place, next_progress
//!                 └──────────┘
//! ```
//! Contract: with `gives` the block cuts a packet of the path MTU, or of what is left, and shows it in `reply` until it is taken
//! (`waits`). `last`, `next_place` and `next_progress` are of the packet that was cut last; the owner keeps `progress` for them. The
//! owner gives nothing while a packet waits.
//!
//! Latency: 1 from `gives` to `reply`. `mtu` is as of the cycle before.
//!
//! Example: 1500 bytes are left from PSN 7 on, and the path MTU is 1024 bytes. `reply` has 1024 bytes and PSN 7, `last` is low, and
//! `next_progress` has 476 bytes and PSN 8.
//!
//! Tests: with the whole, `tests/reply/requests/`.

use super::slots::AnswerProgress;
use crate::arithmetic::{PathMtu, Portion};
use crate::bus::{Reply, Vi};
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReplyCut {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the packet that waits.
    pub reset: Signal<In, bool>,
    /// Pulse: a packet is cut; [`Requests`](super::Requests) drives this and the other inputs.
    pub gives: Signal<In, bool>,
    /// The VI whose answer the packet is of.
    pub vi: Signal<In, Vi>,
    /// Path MTU of the VI: 256 << `mtu` bytes.
    pub mtu: Signal<In, Bits<3>>,
    /// With `gives`: address of the next packet's bytes.
    pub place: Signal<In, Bits<64>>,
    /// With `gives`: the memory handle of those bytes.
    pub handle: Signal<In, Bits<32>>,
    /// Where the answer stands.
    pub progress: Signal<In, AnswerProgress>,
    /// The packet, without its bytes, for send/gather.
    pub reply: Source<Reply>,
    /// A packet waits to be taken.
    pub waits: Signal<Out, bool>,
    /// The packet is the last of its answer.
    pub last: Signal<Out, bool>,
    /// Address of the bytes behind the packet.
    pub next_place: Signal<Out, Bits<64>>,
    /// Where the answer stands behind the packet.
    pub next_progress: Signal<Out, AnswerProgress>,
    offered: DFF<bool>,
    packet: DFF<Reply>,
    room: DFF<Bits<13>>,
    path_mtu: PathMtu,
    portion: Portion,
}

impl Logic for ReplyCut {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, offered, packet, room);
        drive!(self, mtu => path_mtu.code; progress.val().left => portion.bytes; room.q => portion.room);
        self.room.d.next = self.path_mtu.bytes.val();

        drive!(self, offered.q => waits, reply.valid; packet.q.val().last => last; packet.q => reply.data);
        if self.reply.ready.val() {
            self.offered.d.next = false;
        }
        if self.gives.val() {
            self.offered.d.next = true;
            self.packet.d.next.vi = self.vi.val();
            self.packet.d.next.address = self.place.val();
            self.packet.d.next.rkey = self.handle.val();
            self.packet.d.next.span = self.progress.val().left;
            self.packet.d.next.length = self.portion.portion.val();
            self.packet.d.next.first = self.progress.val().first;
            self.packet.d.next.last = self.portion.ends_bytes.val();
            self.packet.d.next.psn = self.progress.val().psn;
            self.packet.d.next.msn = self.progress.val().msn;
        }
        self.next_place.next = self.packet.q.val().address + bit_cast::<64, 13>(self.packet.q.val().length);
        self.next_progress.next = self.progress.val();
        self.next_progress.next.psn = self.progress.val().psn + 1;
        self.next_progress.next.left =
            self.progress.val().left - bit_cast::<32, 13>(self.packet.q.val().length);
        self.next_progress.next.first = false;
        if self.reset.val() {
            self.offered.d.next = false;
        }
    }
}
