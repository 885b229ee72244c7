//! Finds out, in each step that decides, what has come for the VI at hand, or how it stands.
//!
//! ```text
//!      step, cause ──►┌───────────────────┐──► packet, finding, facts   (for Effects)
//!             hand ──►│ Departed Answered │──► departure, reached, waits  (for NextWindow)
//!  row, read_after ──►│ TimedOut Oldest   │──► record, length, status
//! breaks, rewinds, ──►└───────────────────┘──► reaches, ends_read
//!   ...
//! ```
//! Contract: `packet` is Absent and `finding` Nothing, but in the steps of this table; `facts` go with them.
//!
//! | step | `finding` is of |
//! |---|---|
//! | Apply | what has come: by its cause of [`Departed`], [`Answered`] or [`TimedOut`]; Broken, if the VI is looked at and not connected |
//! | Compare | the message that has come again: [`Departed`] |
//! | Decide | the oldest message: [`Oldest`] |
//! | Emit | Completed, if no completion is `completing` |
//! | Settle | whether the VI is sent again: `rewinds`, from [`Rewinder`](super::Rewinder) |
//! | Commit | Begins |
//!
//! `row` is the window as it comes from memory in the step Load; in `hand` it stands from then on. The message of `hand` is the one that
//! is compared in Compare, the oldest in Decide and Emit; `read_after` is its PSN a cycle before.
//!
//! Latency: 0 from the step's inputs. What takes a carry chain begins in Load.
//!
//! Example: an ACK of a PSN in flight has come: in Apply `finding` is Moves, and `facts` has `taken` and `progress`. In the other steps
//! it is Nothing, until Decide finds that the oldest message Completes.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/refusals.rs`.

use super::answered::Answered;
use super::at_hand::Hand;
use super::departed::{Departed, Departure};
use super::finding::{Facts, Finding, LeftPacket};
use super::oldest::Oldest;
use super::steps::{SendCause, SendStep};
use super::timed_out::TimedOut;
use super::timers::TimerEnd;

use super::window::{SentMessage, Window};
use crate::bus::Acknowledged;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Findings {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of [`Sends`](super::Sends), which drives all inputs.
    pub step: Signal<In, SendStep>,
    /// Why the VI is looked at.
    pub cause: Signal<In, SendCause>,
    /// The VI at hand, what has come for it, its window and its message.
    pub hand: Signal<In, Hand>,
    /// The VI's window as the memory gives it, in Load.
    pub row: Signal<In, Window>,
    /// PSN behind the VI's message, a cycle before `hand` has that message.
    pub read_after: Signal<In, Bits<24>>,
    /// The VI is to break.
    pub breaks: Signal<In, bool>,
    /// The rewind under way only goes on behind what was known.
    pub resuming: Signal<In, bool>,
    /// Bytes of an answer to a read of the VI are on their way to memory, or may be soon.
    pub placing: Signal<In, bool>,
    /// Whether the VI is sent again.
    pub rewinds: Signal<In, Finding>,
    /// The completion of an earlier message waits for the writer.
    pub completing: Signal<In, bool>,
    /// Whether a packet has left.
    pub packet: Signal<Out, LeftPacket>,
    /// What has come for the VI, or how it stands.
    pub finding: Signal<Out, Finding>,
    /// Conditions of both, such as whether packets are in flight.
    pub facts: Signal<Out, Facts>,
    /// Where what has left stands.
    pub departure: Signal<Out, Departure>,
    /// The message that has left, as the ring is to remember it.
    pub record: Signal<Out, SentMessage>,
    /// The oldest PSN that the answer does not acknowledge.
    pub reached: Signal<Out, Bits<24>>,
    /// The message at hand must be acknowledged.
    pub waits: Signal<Out, bool>,
    /// The message at hand is acknowledged whole.
    pub reaches: Signal<Out, bool>,
    /// In Apply: what has come is a new message, behind others that stay as they were.
    pub stays: Signal<Out, bool>,
    /// The message at hand is a read that must be acknowledged.
    pub ends_read: Signal<Out, bool>,
    /// Length to write into the oldest message's descriptor, in bytes.
    pub length: Signal<Out, Bits<32>>,
    /// Low 20 bits of its status.
    pub status: Signal<Out, Bits<20>>,
    departed: Departed,
    answered: Answered,
    timed_out: TimedOut,
    oldest: Oldest,
    ended: Signal<Local, TimerEnd>,
    answer: Signal<Local, Acknowledged>,
    window: Signal<Local, Window>,
    flight: Signal<Local, Bits<24>>,
    flying: Signal<Local, bool>,
    /// 3 x 2^20.
    many: Number<24, { 3 << 20 }>,
}

impl Logic for Findings {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, departed, answered, oldest);
        drive!(self, hand.val().ended => ended; hand.val().answer => answer; row => departed.row;
            hand.val().window => window, departed.window; resuming => departed.resuming;
            hand.val().sent => departed.sent; hand.val().connected => departed.connected;
            hand.val().message => departed.message);
        self.departed.load.next = self.step.val() == SendStep::Load;
        // A message that is acknowledged whole waits no more.
        self.departed.waits.next = self.oldest.waits.val() & !self.oldest.reaches.val();
        drive!(self, departed.departure => departure; departed.record => record);

        self.answered.load.next = self.step.val() == SendStep::Load;
        drive!(self, row => answered.row; hand.val().window => answered.window;
            hand.val().answer => answered.answer; hand.val().connected => answered.connected;
            answered.reached => reached; answered.flight => flight);
        self.flying.next = self.flight.val().any();

        drive!(self, hand.val().ended => timed_out.ended; hand.val().connected => timed_out.connected;
            flying => timed_out.flying);

        drive!(self, hand.val().window => oldest.window; hand.val().message => oldest.message;
            read_after => oldest.read_after; hand.val().connected => oldest.connected;
            breaks => oldest.breaks; placing => oldest.placing; oldest.waits => waits;
            oldest.reaches => reaches; oldest.ends_read => ends_read; oldest.length => length;
            oldest.status => status);
        self.oldest.silent.next = (self.cause.val() == SendCause::Expired) & !self.ended.val().rested;

        self.facts.next.connected = self.hand.val().connected;
        self.facts.next.flying = self.flying.val();
        self.facts.next.long = self.flight.val() >= self.many.val();
        fill!(self, facts, departed.whole => whole; departed.closes => closes; false => taken, progress;
            answered.open => open; answer.val().frame => frame; answered.refusal => refusal;
            oldest.tells => tells);
        // The oldest message was looked at since it came. It waits for its acknowledgement, or else it would be gone.
        self.stays.next = (self.step.val() == SendStep::Apply)
            & (self.cause.val() == SendCause::Sent)
            & (self.departed.finding.val() == Finding::Enters)
            & self.window.val().known.any()
            & self.window.val().come.any()
            & !self.window.val().rewinding
            & self.flying.val()
            & self.hand.val().connected;
        self.packet.next = LeftPacket::Absent;
        self.finding.next = Finding::Nothing;
        match self.step.val() {
            SendStep::Apply => match self.cause.val() {
                SendCause::Sent => {
                    self.packet.next = self.departed.packet.val();
                    self.finding.next = self.departed.finding.val();
                }
                SendCause::Answer => {
                    self.finding.next = self.answered.finding.val();
                    self.facts.next.taken = self.answered.taken.val();
                    self.facts.next.progress = self.answered.progress.val();
                }
                SendCause::Expired => {
                    self.finding.next = self.timed_out.finding.val();
                }
                _ => {
                    if !self.hand.val().connected {
                        self.finding.next = Finding::Broken;
                    }
                }
            },
            SendStep::Compare => {
                self.finding.next = self.departed.compared.val();
            }
            SendStep::Decide => {
                self.finding.next = self.oldest.finding.val();
            }
            SendStep::Emit => {
                if !self.completing.val() {
                    self.finding.next = Finding::Completed;
                }
            }
            SendStep::Settle => {
                self.finding.next = self.rewinds.val();
            }
            SendStep::Commit => {
                self.finding.next = Finding::Begins;
            }
            _ => {}
        }
    }
}
