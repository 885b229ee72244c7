//! Decides what an order's verdict leads to: what is to be done for it, or what came of it at once.
//!
//! ```text
//!  order ──►┌─────────┐──► course
//!           │ Opening │──► came, dropped
//!           └─────────┘
//! ```
//! Contract: if the `course` is Close, `came` is what came of the order. If it is Ask, `came` is Nothing and stays so. For the other
//! courses, what came of the order is found out later.
//!
//! | verdict | course, or what came |
//! |---|---|
//! | (a receive to flush) | Flush |
//! | Answer | Ask |
//! | Read; Behind, of a read | Request |
//! | Take, Continue | see below |
//! | Behind, of a malformed read request | Unread |
//! | Over, Behind, Gap, Refuse, Partial | the same |
//! | Stray | Nothing, but the PSN is done with |
//! | Unknown, Early | Nothing |
//!
//! For a packet that may be taken, the block looks in this order: the VI does not give the right that the packet needs (NoRight); the
//! packet needs a receive and none is there (NotReady; for a raw frame Nothing, and `dropped`); the receive could not be read (Lost), or is
//! Malformed. Otherwise the payload is placed (the course is Place), or there is none (Placed). The packets that need a receive are the
//! first one of a send, and the last one of an RDMA write with immediate data.
//!
//! Example: the verdict is Take, of a send with payload, and a receive is there: the course is Place. Without a receive it is Close, and
//! `came` is NotReady; it fails unless the VI stays.
//!
//! Latency: none, no state. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

use crate::bus::FrameInfo;
use crate::receive::ahead::AheadMeta;
use crate::receive::contexts::{Message, Peer};
use crate::receive::judge::Verdict;
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What is to be done for an order.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Course {
    /// Nothing: the order closes.
    Close,
    /// `Reads` is asked what the answer is.
    Ask,
    /// `reply/requests` is asked whether it keeps the read.
    Request,
    /// Scatter places the payload.
    Place,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Opening {
    /// The order; `Delivery` drives it.
    pub order: Signal<In, Order>,
    /// What is to be done for it; `Delivery` listens to this and the other outputs.
    pub course: Signal<Out, Course>,
    /// If that is Close: what came of it.
    pub came: Signal<Out, Came>,
    /// The order's raw frame finds no receive.
    pub dropped: Signal<Out, bool>,
    verdict: Signal<Local, Verdict>,
    peer: Signal<Local, Peer>,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    receive: Signal<Local, AheadMeta>,
    /// The packet begins a message.
    begins: Signal<Local, bool>,
    /// The packet needs a receive.
    needs: Signal<Local, bool>,
    /// The packet is of a message that may be taken.
    takes: Signal<Local, bool>,
    /// The message is lost.
    fails: Signal<Local, bool>,
    /// The packet's PSN is done with, unless the message is lost.
    passes: Signal<Local, bool>,
}

impl Logic for Opening {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, order.val().verdict => verdict; order.val().peer => peer; order.val().message => message;
            order.val().packet => packet; order.val().receive => receive);
        self.begins.next = self.verdict.val() == Verdict::Take;
        // WIRE-1: a send takes a receive with its first packet, a write with its immediate data.
        self.needs.next = (self.order.val().writes & self.order.val().immediate)
            | (!self.order.val().writes & self.begins.val());

        self.course.next = Course::Close;
        self.came.next.situation = Situation::Nothing;
        self.came.next.consumes = false;
        drive!(self, false => fails, passes, takes, dropped);
        match self.verdict.val() {
            Verdict::Over => {
                self.came.next.situation = Situation::Over;
            }
            Verdict::Answer => {
                self.course.next = Course::Ask;
            }
            Verdict::Read => {
                self.course.next = Course::Request;
            }
            Verdict::Behind => {
                // RSP-1: a duplicate is not executed, except a read.
                // A read that comes again is answered from what its request says; a malformed request is not looked at.
                self.came.next.situation = Situation::Behind;
                if self.order.val().reads {
                    self.came.next.situation = Situation::Nothing;
                    self.course.next = Course::Request;
                } else if self.order.val().reading {
                    self.came.next.situation = Situation::Unread;
                }
            }
            Verdict::Gap => {
                self.came.next.situation = Situation::Gap;
            }
            Verdict::Refuse => {
                // A send in progress ends with its receive.
                self.came.next.situation = Situation::Refuse;
                self.fails.next = true;
                self.came.next.consumes = self.message.val().active & !self.message.val().writing;
            }
            Verdict::Partial => {
                self.came.next.situation = Situation::Partial;
                self.came.next.consumes = !self.message.val().writing;
            }
            Verdict::Take => {
                self.takes.next = true;
            }
            Verdict::Continue => {
                self.takes.next = true;
            }
            Verdict::Stray => {
                self.passes.next = true;
            }
            _ => {}
        }
        if self.order.val().flush {
            self.course.next = Course::Close;
            self.came.next.situation = Situation::Flush;
            self.came.next.consumes = true;
            self.fails.next = false;
            self.passes.next = false;
            self.takes.next = false;
        }
        if self.takes.val() {
            self.came.next.situation = Situation::Placed;
            self.came.next.consumes =
                self.order.val().ends & (!self.order.val().writes | self.order.val().immediate);
            self.passes.next = true;
            // RSP-5: first the VI's right, then the receive, then the range and the data.
            if self.order.val().writes & self.begins.val() & !self.message.val().writable {
                self.came.next.situation = Situation::NoRight;
                self.came.next.consumes =
                    self.order.val().immediate & self.order.val().present & !self.receive.val().lost;
                self.fails.next = true;
            } else if self.needs.val() & !self.order.val().present {
                // RSP-4, UNR-4: no receive is posted.
                self.came.next.situation = Situation::NotReady;
                self.came.next.consumes = false;
                self.fails.next = !(self.peer.val().reliable & self.peer.val().rnr_stay);
                self.passes.next = false;
                // RAW-2: a raw frame without a receive is dropped and counted.
                if self.packet.val().raw {
                    self.came.next.situation = Situation::Nothing;
                    self.fails.next = false;
                    self.dropped.next = true;
                }
            } else if self.needs.val() & self.receive.val().lost {
                // RSP-3: the receive's place in the ring is wrong.
                self.came.next.situation = Situation::Lost;
                self.came.next.consumes = true;
                self.fails.next = true;
            } else if self.needs.val() & self.receive.val().malformed {
                // RSP-3, UNR-4: the receive is malformed.
                self.came.next.situation = Situation::Malformed;
                self.came.next.consumes = true;
                self.fails.next = true;
            } else if self.order.val().some {
                self.course.next = Course::Place;
            }
        }
        // UNR-3, UNR-4: the connection stays.
        // An unreliable VI goes on behind what it has lost.
        self.came.next.fails = self.fails.val();
        self.came.next.advances = self.passes.val();
        if self.fails.val() {
            self.came.next.advances = !self.peer.val().reliable;
        }
    }
}
