//! Fills in what others hear of a packet: that it or its message has ended, that a read leaves, that a VI breaks, that an answer is
//! refused.
//!
//! ```text
//!   packet, vi, psn ──►┌──────────┐──► sent
//!             ended ──►│ Announce │──► read
//!         forbidden ──►│          │──► fault
//!                      └──────────┘──► failed
//! ```
//! Contract: the block fills in what each of the four says, for `Transmit`, which says when. The block has no state.
//!
//! Latency: none.
//!
//! Example: the last packet of an RDMA write of 5000 bytes has left with PSN 104: `sent` has `ends`, `length` 5000 and `psn` 104.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

use crate::bus::{word, AckRequest, Fault, Packet, ReadSent, Sent, Vi};
use crate::prims::{Number, Unpack};
use crate::rows::wire::Aeth;

/// How a packet or its message has ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PacketEnd {
    /// Error bits 8:1 of the status.
    pub errors: Bits<9>,
    /// The VI is reliable.
    pub reliable: bool,
    /// The last PSN of the packet.
    pub psn: Bits<24>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Announce {
    /// The packet at hand, from gather.
    pub packet: Signal<In, Packet>,
    /// VI of the packet, from the sender.
    pub vi: Signal<In, Vi>,
    /// PSN of the packet, from the PSN count.
    pub psn: Signal<In, Bits<24>>,
    /// How the packet has ended, from the steps.
    pub ended: Signal<In, PacketEnd>,
    /// An answer cannot be sent because the peer may not read there; otherwise, because its bytes could not be read. The steps drive it.
    pub forbidden: Signal<In, bool>,
    /// A packet that has left, or a message that has ended; complete/sends hears it.
    pub sent: Signal<Out, Sent>,
    /// A read that leaves; receive/reads hears it.
    pub read: Signal<Out, ReadSent>,
    /// Why the VI breaks; `vi/state` hears it.
    pub fault: Signal<Out, Fault>,
    /// The NAK to the peer's read; reply/requests hears it.
    pub failed: Signal<Out, AckRequest>,
    aeth: Unpack<Bits<32>, Aeth>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
    post_desc: Number<8, { event_code::POST_DESC as u64 }>,
    read_prot: Number<8, { event_code::RDMAR_PROT as u64 }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    nak_access: Number<8, { syndrome::NAK_ACCESS as u64 }>,
    nak_operational: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
    last_word: Number<2, { word::LAST }>,
}

impl Logic for Announce {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        fill!(self, sent, vi => vi; packet.val().region => region; packet.val().offset => offset);
        self.sent.next.length = bits::<32>(0);
        self.sent.next.acknowledged = false;
        if !self.ended.val().errors.any() {
            self.sent.next.length = self.packet.val().message_length;
            self.sent.next.acknowledged = self.ended.val().reliable & !self.packet.val().lost;
        }
        fill!(self, sent, ended.val().errors => errors; packet.val().last => ends;
            packet.val().epoch => epoch; packet.val().operation => operation; ended.val().psn => psn;
            packet.val().lost => lost; packet.val().parked => parked; packet.val().number => number);

        fill!(self, read, vi => vi; packet.val().number => number; packet.val().region => region;
            packet.val().offset => offset; packet.val().segments => segments;
            packet.val().message_length => length; psn => psn);

        self.fault.next.vi = self.vi.val();
        self.fault.next.code = bits::<8>(0);
        // REQ-7: what is sent again is not the same. (WQ-8: of segments that could not be read the descriptor's own status tells.)
        if !self.packet.val().send
            & !self.packet.val().unread
            & (self.packet.val().errors == self.transport.val())
        {
            self.fault.next.code = self.post_desc.val();
        }
        self.fault.next.receive = false;
        if self.packet.val().reply {
            self.fault.next.receive = true;
            self.fault.next.code = self.conn_lost.val();
            if self.forbidden.val() {
                self.fault.next.code = self.read_prot.val();
            }
        }
        self.fault.next.breaks = true;

        self.failed.next.vi = self.vi.val();
        self.failed.next.psn = self.packet.val().psn;
        // RSP-7: MSN counts the messages executed.
        // The read was counted when its request was taken; it is not executed after all.
        self.aeth.from.next = self.packet.val().immediate;
        self.failed.next.msn = self.aeth.to.val().msn - 1;
        // WQ-8: NAK_OPERATIONAL. RSP-5, RSP-6: NAK_ACCESS, if it is the memory that is refused.
        self.failed.next.syndrome = self.nak_operational.val();
        if self.forbidden.val() {
            self.failed.next.syndrome = self.nak_access.val();
        }
        self.failed.next.kind = self.last_word.val();
        self.failed.next.reception = false;
    }
}
