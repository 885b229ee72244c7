//! The table of the requester: what has come for a VI, what its row says, and what happens then.
//!
//! ```text
//!       packet ──►┌─────────┐──► effect
//!      finding ──►│ Effects │──► counts
//!        facts ──►└─────────┘
//! ```
//! Contract: the block has no state; `effect` and `counts` are those of `packet`, `finding` and `facts` in the same cycle.
//! [`Sends`](super::Sends) asks it in each of its steps that decide; in the others `packet` is Absent and `finding` Nothing, and nothing
//! happens.
//!
//! | packet | rule | the window | the timer | otherwise |
//! |---|---|---|---|---|
//! | First | REQ-1 | moves on by a packet; if it is long, all goes again | runs, if nothing was in flight | |
//! | Again | | | | a packet sent again is counted |
//!
//! With each of them, and with Unsent, something of the VI has come: if it is of the new epoch, the rewind is over.
//!
//! | finding | rule | the window | the timer | otherwise |
//! |---|---|---|---|---|
//! | Parks | REQ-9 | | | the message waits for a read |
//! | Unfit | REQ-7 | | | the VI breaks: POST_DESC |
//! | Enters | REQ-2 | has one message more | | the message is recorded |
//! | Known | REQ-7 | | | the message is compared |
//! | Same | REQ-7 | the message has come | | recorded, if its end is seen for the first time |
//! | Fails | WQ-4 | the message has come | | recorded with its error |
//! | Changed | REQ-7 | the message has come | | the VI breaks: POST_DESC |
//! | Ghost | REQ-2 | | | counted |
//! | Deaf | REQ-4 | | | |
//! | Moves | REQ-2 | begins at the answer's PSN | | |
//! | Missing | REQ-4 | begins there, and goes again | | |
//! | Insists | REQ-6 | begins there, and does not go again yet | | |
//! | NotReady | REQ-6 | begins there, and rests | the receiver's time | |
//! | Refused | REQ-4 | begins there, and is refused | | the VI breaks: CONN_LOST |
//! | TimeOut | REQ-5 | goes again | | counted |
//! | RestOver | REQ-6 | goes again | | |
//! | Silent | REQ-5 | | | counted; the VI breaks: CONN_LOST |
//! | NeverReady | REQ-6 | is refused | | the VI breaks: CONN_LOST |
//! | Broken | WQ-4 | | stops | |
//! | Begins | LIFE-1 | is new | takes the row's settings | the reads and the rewind of the life before are forgotten |
//! | Placing | WQ-4 | | | the VI is looked at again |
//! | Completes | REQ-2, UNR-1 | | | the oldest message is completed |
//! | Completed | REQ-2, REQ-4 | begins with the next message; a refusal that was told is forgotten | | |
//! | Breaks | WQ-4 | | | the VI breaks |
//! | ReadBreaks | REQ-5 | | | the VI breaks: RDMA_TRANSPORT |
//! | GoesBack | REQ-4, REQ-5, REQ-6 | turns its epoch, and goes again | | a rewind to the oldest packet |
//! | GoesOn | REQ-9 | turns its epoch | | a rewind to what has never left |
//! | Queues | | | | the VI is looked at again |
//! | Needless | | does not go again | | |
//!
//! An answer that moves the window also clears the timer's counts and starts it anew, or stops it if nothing is in flight (REQ-5); it
//! ends a rest (REQ-6). It counts by the frame that it was.
//!
//! Latency: none.
//!
//! Example: PSNs 5 to 9 are in flight and a NAK_SEQUENCE of 7 comes. `finding` is Missing, and `progress` is high in `facts`: the window
//! begins at 7 and is pending, the timer is cleared and runs, and `counts` has a NAK.
//!
//! Tests: `tests/complete/effects.rs`, row by row; with the whole, `sends.rs`, `refusals.rs`, `again.rs`, `rewinds.rs` there.

use super::effect::{Effect, SendCounts};
use super::finding::{Facts, Finding, LeftPacket};
use super::window::refusal;
use crate::bus::syndrome_class;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::register::event_code;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Effects {
    /// Whether a packet has left; [`Sends`](super::Sends) drives this and the other inputs.
    pub packet: Signal<In, LeftPacket>,
    /// What has come for the VI, or how it stands: a row of the second table.
    pub finding: Signal<In, Finding>,
    /// Conditions of both, such as whether packets are in flight.
    pub facts: Signal<In, Facts>,
    /// The change of the window, and what else is to be done.
    pub effect: Signal<Out, Effect>,
    /// The counters that go up.
    pub counts: Signal<Out, SendCounts>,
    ack_class: Number<2, { syndrome_class::ACK }>,
    rnr_class: Number<2, { syndrome_class::RNR }>,
    nak_class: Number<2, { syndrome_class::NAK }>,
    no_refusal: Number<3, { refusal::NONE }>,
    operational: Number<3, { refusal::OPERATIONAL }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    post_desc: Number<8, { event_code::POST_DESC as u64 }>,
    rdma_transport: Number<8, { event_code::RDMA_TRANSPORT as u64 }>,
}

impl Logic for Effects {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        fill!(self, effect, false => comes, advances, lands, moves, pends, drops, rests, wakes, refuses,
            passes, turns, begins, records, compares, parks, times, runs, clears, breaks, ends, completes,
            queues; facts.val().refusal => refusal; conn_lost => code);
        fill!(self, counts, false => message, again, ghost, timeout);
        self.counts.next.ack = self.facts.val().taken & (self.facts.val().frame == self.ack_class.val());
        self.counts.next.rnr = self.facts.val().taken & (self.facts.val().frame == self.rnr_class.val());
        self.counts.next.nak = self.facts.val().taken & (self.facts.val().frame == self.nak_class.val());

        match self.packet.val() {
            LeftPacket::Unsent => {
                self.effect.next.comes = true;
                self.counts.next.message = self.facts.val().whole;
            }
            LeftPacket::First => {
                self.effect.next.comes = true;
                self.effect.next.advances = true;
                self.counts.next.message = self.facts.val().whole;
                // REQ-1: with 3 x 2^20 PSNs in flight all may be sent again.
                self.effect.next.pends = self.facts.val().long;
                // REQ-5: TIMEOUT runs from when the first packet is in flight.
                self.effect.next.times = !self.facts.val().flying & self.facts.val().connected;
                self.effect.next.runs = true;
            }
            LeftPacket::Again => {
                self.effect.next.comes = true;
                self.counts.next.message = self.facts.val().whole;
                self.counts.next.again = true;
            }
            _ => {}
        }
        // REQ-5: progress resets the counts and the time. REQ-6: it ends the receiver's time.
        if self.facts.val().progress {
            self.effect.next.times = true;
            self.effect.next.clears = true;
            self.effect.next.runs = self.facts.val().open & self.facts.val().connected;
            self.effect.next.wakes = true;
        }

        match self.finding.val() {
            Finding::Parks => {
                // REQ-9: the message comes again when a read is complete.
                self.effect.next.parks = true;
            }
            Finding::Unfit => {
                // REQ-7: a message that had begun does not wait.
                self.effect.next.parks = true;
                self.effect.next.breaks = self.facts.val().connected;
                self.effect.next.code = self.post_desc.val();
            }
            Finding::Enters => {
                self.effect.next.lands = true;
                self.effect.next.records = true;
            }
            Finding::Known => {
                self.effect.next.compares = true;
            }
            Finding::Same => {
                self.effect.next.lands = true;
                self.effect.next.records = self.facts.val().closes;
            }
            Finding::Fails => {
                // WQ-4: the message's own error says more than the one of its VI's break.
                self.effect.next.lands = true;
                self.effect.next.records = true;
            }
            Finding::Changed => {
                // REQ-7: the message is not the same as the first time.
                self.effect.next.lands = true;
                self.effect.next.records = self.facts.val().closes;
                self.effect.next.breaks = true;
                self.effect.next.code = self.post_desc.val();
            }
            Finding::Ghost => {
                // REQ-2: a ghost is dropped and counted.
                self.counts.next.ghost = true;
            }
            Finding::Moves => {
                self.effect.next.moves = true;
            }
            Finding::Missing => {
                // REQ-4: all packets from the NAK's PSN on go again.
                self.effect.next.moves = true;
                self.effect.next.pends = true;
            }
            Finding::Insists => {
                // REQ-6: no packet goes again while the receiver's time runs.
                self.effect.next.moves = true;
                self.effect.next.drops = true;
            }
            Finding::NotReady => {
                // REQ-6: the VI rests for the time of the answer's code, in which TIMEOUT does not run.
                self.effect.next.moves = true;
                self.effect.next.drops = true;
                self.effect.next.rests = true;
                self.effect.next.times = true;
            }
            Finding::Refused => {
                // REQ-4: the packets before the NAK's PSN are acknowledged; the VI breaks when their messages are completed.
                self.effect.next.moves = true;
                self.effect.next.refuses = true;
                self.effect.next.breaks = true;
            }
            Finding::TimeOut => {
                // REQ-5: all packets from the oldest one on go again.
                self.counts.next.timeout = true;
                self.effect.next.wakes = true;
                self.effect.next.pends = true;
            }
            Finding::RestOver => {
                // REQ-6: all packets from the refused PSN on go again.
                self.effect.next.wakes = true;
                self.effect.next.pends = true;
            }
            Finding::Silent => {
                // REQ-5: RETRIES are used up.
                self.counts.next.timeout = true;
                self.effect.next.wakes = true;
                self.effect.next.breaks = true;
            }
            Finding::NeverReady => {
                // REQ-6: RNR_RETRIES are used up.
                self.effect.next.wakes = true;
                self.effect.next.breaks = true;
                self.effect.next.refuses = true;
                self.effect.next.refusal = self.operational.val();
            }
            Finding::Broken => {
                // A VI that broke needs no timer.
                self.effect.next.times = true;
            }
            Finding::Begins => {
                // LIFE-1: a life begins at position 0, with nothing in flight.
                self.effect.next.begins = true;
                self.effect.next.times = true;
                self.effect.next.clears = true;
            }
            Finding::Placing => {
                // WQ-4: a read ends when no byte of its answers is on its way to memory.
                self.effect.next.queues = true;
            }
            Finding::Completes => {
                self.effect.next.completes = true;
            }
            Finding::Completed => {
                self.effect.next.passes = true;
                // REQ-4: one message is refused, those behind it are flushed.
                self.effect.next.refuses = self.facts.val().tells;
                self.effect.next.refusal = self.no_refusal.val();
            }
            Finding::Breaks => {
                self.effect.next.ends = true;
            }
            Finding::ReadBreaks => {
                // REQ-5: RDMA_TRANSPORT if it is a read that time-outs end.
                self.effect.next.ends = true;
                self.effect.next.breaks = true;
                self.effect.next.code = self.rdma_transport.val();
            }
            Finding::GoesBack => {
                self.effect.next.turns = true;
                self.effect.next.drops = true;
            }
            Finding::GoesOn => {
                // REQ-9: the message that was parked comes again.
                self.effect.next.turns = true;
            }
            Finding::Queues => {
                self.effect.next.queues = true;
            }
            Finding::Needless => {
                self.effect.next.drops = true;
            }
            _ => {}
        }
    }
}
