//! Decides how an order ends, once it is known what came of it: completion, answer, fault.
//!
//! ```text
//!   came ──►┌─────────┐
//!  order ──►│ Outcome │──► ending
//!           └─────────┘
//! ```
//! Contract: the block has no state; `ending` is that of the situation in the same cycle. `fails` of `came` is high where the table says
//! that the message is lost, except for Partial. `consumes` is high where the table says something of the receive.
//!
//! | situation | receive | answer of a reliable VI | event | message |
//! |---|---|---|---|---|
//! | Flush | TRANSPORT_ERROR of a send in progress, otherwise DESC_FLUSHED_ERROR | | | |
//! | Over | | the last word again | | |
//! | Behind | | ACK of the newest PSN executed | | |
//! | Gap | | NAK_SEQUENCE, the first time | | |
//! | Refuse | TRANSPORT_ERROR if a send was in progress | NAK_INVALID | CONN_LOST | lost |
//! | Partial, of a send | PARTIAL_ERROR | | | lost |
//! | Partial, of a write | | | RDMAW_ABORT | lost |
//! | NoRight | RDMA_PROT_ERROR if the packet has one | NAK_INVALID | else RDMAW_PROT | lost |
//! | NotReady, and the VI stays | | RNR_NAK with its timer | | |
//! | NotReady otherwise | | RNR_NAK | RECVQ_EMPTY | lost |
//! | Lost | ends, and the consumer cannot see it | NAK_OPERATIONAL | | lost |
//! | Malformed | FORMAT_ERROR | NAK_OPERATIONAL | | lost |
//! | Denied | RDMA_PROT_ERROR if the packet has one | NAK_ACCESS | else RDMAW_PROT | lost |
//! | TooLong | LENGTH_ERROR | NAK_INVALID | | lost |
//! | Refused | PROTECTION_ERROR | NAK_OPERATIONAL | | lost |
//! | Failed | TRANSPORT_ERROR | NAK_OPERATIONAL | | lost |
//! | Placed | done, with the packet that ends its message | ACK, if the packet asks | | |
//! | NoReading | | NAK_INVALID | RDMAR_PROT | lost |
//! | Read, Unread, Nothing | | | | |
//!
//! A reliable VI that loses a message breaks: the answer is its last word, and there is an event in any case (CONN_LOST).
//!
//! Example: a reliable VI gets a packet that does not fit into its receive: TooLong. `ending` writes LENGTH_ERROR to the receive,
//! answers NAK_INVALID as the VI's last word, raises CONN_LOST, and `breaks` is high.
//!
//! Latency: none. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{word, FrameInfo};
use crate::prims::Number;
use crate::receive::ahead::AheadMeta;
use crate::receive::contexts::{Message, Peer};
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

/// How an order ends.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Ending {
    /// There is something for the completion writer.
    pub completes: bool,
    /// The receive's status is written.
    pub write: bool,
    /// The receive is consumed.
    pub consume: bool,
    /// Error bits of the receive's status.
    pub errors: Bits<9>,
    /// The receive is completed by an RDMA write.
    pub remote: bool,
    /// The receive is completed with immediate data.
    pub immediate: bool,
    /// The VI has an answer to give to its peer.
    pub acknowledge: bool,
    /// Syndrome of that answer.
    pub syndrome: Bits<8>,
    /// Kind of that answer: see [`word`].
    pub kind: Bits<2>,
    /// There is an event.
    pub faulty: bool,
    /// Code of the event.
    pub code: Bits<8>,
    /// The packet that is missing has been refused, and is not refused again before it comes.
    pub refuses: bool,
    /// The message is lost.
    pub loses: bool,
    /// The connection is lost with the message.
    pub breaks: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Outcome {
    /// What came of the order; `Delivery` drives both inputs.
    pub came: Signal<In, Came>,
    /// The order.
    pub order: Signal<In, Order>,
    /// How the order ends: completion, answer and fault; `Report` and `Standing` go by it.
    pub ending: Signal<Out, Ending>,
    situation: Signal<Local, Situation>,
    peer: Signal<Local, Peer>,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    receive: Signal<Local, AheadMeta>,
    /// A receive ends by what came of the order.
    consumes: Signal<Local, bool>,
    /// A peer's write or its right to write was refused.
    denied: Signal<Local, bool>,
    format_error: Number<9, { status::FORMAT_ERROR as u64 }>,
    protection_error: Number<9, { status::PROTECTION_ERROR as u64 }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    partial_error: Number<9, { status::PARTIAL_ERROR as u64 }>,
    flushed_error: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport_error: Number<9, { status::TRANSPORT_ERROR as u64 }>,
    remote_error: Number<9, { status::RDMA_PROT_ERROR as u64 }>,
    ack: Number<8, { syndrome::ACK as u64 }>,
    rnr_nak: Number<8, { syndrome::RNR_NAK as u64 }>,
    nak_sequence: Number<8, { syndrome::NAK_SEQUENCE as u64 }>,
    nak_invalid: Number<8, { syndrome::NAK_INVALID as u64 }>,
    nak_access: Number<8, { syndrome::NAK_ACCESS as u64 }>,
    nak_operational: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
    connection_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    queue_empty: Number<8, { event_code::RECVQ_EMPTY as u64 }>,
    write_refused: Number<8, { event_code::RDMAW_PROT as u64 }>,
    read_refused: Number<8, { event_code::RDMAR_PROT as u64 }>,
    write_abort: Number<8, { event_code::RDMAW_ABORT as u64 }>,
    say: Number<2, { word::SAY }>,
    last_word: Number<2, { word::LAST }>,
    say_again: Number<2, { word::REPEAT }>,
}

impl Logic for Outcome {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, came.val().situation => situation; came.val().consumes => consumes;
            order.val().peer => peer; order.val().message => message; order.val().packet => packet;
            order.val().receive => receive);
        fill!(self, ending, consumes => completes, write, consume);
        self.ending.next.errors = bits::<9>(0);
        fill!(self, ending, order.val().writes => remote;
            false => immediate, acknowledge, faulty, refuses, loses, breaks; nak_operational => syndrome;
            say => kind; connection_lost => code);
        self.denied.next = false;

        match self.situation.val() {
            Situation::Flush => {
                // WQ-4: DESC_FLUSHED_ERROR, or TRANSPORT_ERROR of a message under way.
                self.ending.next.errors = self.flushed_error.val();
                // Nobody knows what became of a send in progress.
                if self.message.val().active & !self.message.val().writing {
                    self.ending.next.errors = self.transport_error.val();
                }
                self.ending.next.remote = false;
                self.ending.next.write = self.order.val().present & !self.receive.val().lost;
            }
            Situation::Over => {
                // RSP-8: the last NAK again.
                self.ending.next.kind = self.say_again.val();
                self.ending.next.acknowledge = true;
                self.ending.next.completes = true;
            }
            Situation::Behind => {
                // RSP-1: a duplicate is acknowledged again.
                self.ending.next.syndrome = self.ack.val();
                self.ending.next.acknowledge = self.peer.val().reliable;
                self.ending.next.completes = self.peer.val().reliable;
            }
            Situation::Gap => {
                // RSP-1: NAK_SEQUENCE, once.
                self.ending.next.syndrome = self.nak_sequence.val();
                self.ending.next.refuses = true;
                self.ending.next.acknowledge = !self.message.val().refused;
                self.ending.next.completes = !self.message.val().refused;
            }
            Situation::Refuse => {
                // RSP-2: NAK_INVALID.
                // The message in progress ends; the packet itself is not looked at.
                self.ending.next.syndrome = self.nak_invalid.val();
                self.ending.next.errors = self.transport_error.val();
                self.ending.next.remote = false;
            }
            Situation::Partial => {
                // UNR-3: PARTIAL_ERROR in the receive, or RDMAW_ABORT.
                self.ending.next.code = self.write_abort.val();
                self.ending.next.faulty = self.message.val().writing;
                self.ending.next.errors = self.partial_error.val();
                self.ending.next.remote = false;
            }
            Situation::NoRight => {
                // RSP-5: a right that the VI has not.
                self.ending.next.syndrome = self.nak_invalid.val();
                self.denied.next = true;
            }
            Situation::NoReading => {
                // RSP-5: the same of a read.
                self.ending.next.syndrome = self.nak_invalid.val();
                self.ending.next.code = self.read_refused.val();
            }
            Situation::NotReady => {
                // RSP-4: RNR_NAK, and the VI stays or breaks. UNR-4: RECVQ_EMPTY.
                self.ending.next.syndrome = self.rnr_nak.val();
                if self.peer.val().reliable & self.peer.val().rnr_stay {
                    self.ending.next.syndrome =
                        self.rnr_nak.val() | bit_cast::<8, 5>(self.peer.val().rnr_timer);
                    fill!(self, ending, true => refuses, acknowledge, completes);
                } else {
                    self.ending.next.code = self.queue_empty.val();
                    self.ending.next.faulty = true;
                }
            }
            Situation::Lost => {
                // RSP-3: there is no descriptor to say it.
                self.ending.next.write = false;
            }
            Situation::Malformed => {
                // RSP-3, UNR-4: FORMAT_ERROR in the receive.
                self.ending.next.errors = self.format_error.val();
            }
            Situation::Denied => {
                // RSP-5: NAK_ACCESS.
                self.ending.next.syndrome = self.nak_access.val();
                self.denied.next = true;
            }
            Situation::TooLong => {
                // RSP-3, UNR-4, RAW-2: longer than its receive.
                self.ending.next.syndrome = self.nak_invalid.val();
                self.ending.next.errors = self.length_error.val();
            }
            Situation::Refused => {
                // RSP-3, UNR-4: the receive's memory is refused.
                self.ending.next.errors = self.protection_error.val();
            }
            Situation::Failed => {
                // WQ-8: the receive's segments could not be read.
                self.ending.next.errors = self.transport_error.val();
            }
            Situation::Placed => {
                self.ending.next.syndrome = self.ack.val();
                // RSP-7: a packet that asks is acknowledged.
                if self.peer.val().reliable & self.packet.val().ack_request {
                    self.ending.next.acknowledge = true;
                    self.ending.next.completes = true;
                }
                self.ending.next.immediate = self.consumes.val() & self.order.val().immediate;
            }
            _ => {}
        }
        // RSP-5, UNR-4: how a refused write is told.
        // If the packet has a receive, its status tells the refusal; otherwise an event does.
        if self.denied.val() {
            self.ending.next.errors = self.remote_error.val();
            if !self.consumes.val() {
                self.ending.next.code = self.write_refused.val();
                self.ending.next.faulty = true;
            }
        }
        self.ending.next.loses = self.came.val().fails;
        if self.came.val().fails & self.peer.val().reliable {
            fill!(self, ending, true => breaks, acknowledge, completes, faulty; last_word => kind);
        }
    }
}
