//! What has been received and sent in a state of the LTSSM.
//!
//! ```text
//! found, broken, idle, busy ──►┌──────────┐──► last, any, pair, eight, ready
//!            awaits, clear ──►│ Progress │──► turned, unscrambled
//!    began, began_tag, tag ──►└──────────┘──► answered, polled, idle_done
//! ```
//! Contract: all of it is since `clear`. `last` is the training set that came last, and `any`, `pair`, `eight` say how many equal ones
//! have come in a row at least: 1, 2, 8. `ready` says that eight of those that the state `awaits` have come in a row once; `turned` and
//! `unscrambled` are what they said of polarity and scrambling.
//!
//! `answered` says that 16 training sets have been begun since the first awaited one came, `polled` that 1024 have been begun at all,
//! and `idle_done` that 8 symbols of logical idle have come in a row and 16 were sent since the first.
//!
//! Latency: 1 cycle; `ready` and `idle_done` 2.
//!
//! Example: in Polling.Configuration 8 equal TS2 come: `ready`. 16 TS2 begun behind the first of them: `answered`.
//!
//! Tests: with the whole, `tests/pcie/mac/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::TrainingSet;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// The training sets that a state waits for.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Awaits {
    /// Link and lane PAD.
    pub unnamed: bool,
    /// Our link and lane.
    pub ours: bool,
    /// TS2 only.
    pub second: bool,
    /// Sets of an inverted lane count, too.
    pub inverted: bool,
    /// All sets that are begun count, not only those behind the first awaited one.
    pub polls: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Progress {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Another state was entered, from `Steps`.
    pub clear: Signal<In, bool>,
    /// What the state waits for, from `Orders`.
    pub awaits: Signal<In, Awaits>,
    /// A training set, from `SetReader`.
    pub found: FlowSink<TrainingSet>,
    /// A word that is no part of a training set, from `SetReader`.
    pub broken: Signal<In, bool>,
    /// A word of logical idle, from `Descramble`.
    pub idle: Signal<In, bool>,
    /// A word of anything but logical idle, from `Descramble`.
    pub busy: Signal<In, bool>,
    /// A training set or a word of idle is begun, from `Lane`.
    pub began: Signal<In, bool>,
    /// The tag of the order that `began` is for, from `Lane`.
    pub began_tag: Signal<In, bool>,
    /// The tag of this state's order, from `Orders`.
    pub tag: Signal<In, bool>,
    /// The set that came last; all outputs are for `Ltssm`.
    pub last: Signal<Out, TrainingSet>,
    /// A training set has come.
    pub any: Signal<Out, bool>,
    /// Two equal training sets have come.
    pub pair: Signal<Out, bool>,
    /// Eight equal training sets have come.
    pub eight: Signal<Out, bool>,
    /// Eight equal training sets that were awaited have come, once.
    pub ready: Signal<Out, bool>,
    /// The eight sets of `ready` were of an inverted lane.
    pub turned: Signal<Out, bool>,
    /// The eight sets of `ready` asked for no scrambling.
    pub unscrambled: Signal<Out, bool>,
    /// 16 sets answered the first awaited one.
    pub answered: Signal<Out, bool>,
    /// 1024 sets have been begun.
    pub polled: Signal<Out, bool>,
    /// Logical idle has come and was sent.
    pub idle_done: Signal<Out, bool>,
    shown: DFF<TrainingSet>,
    run: DFF<Bits<4>>,
    /// The last set is one that is awaited.
    fits: Signal<Local, bool>,
    fitting: DFF<bool>,
    was_ready: DFF<bool>,
    was_turned: DFF<bool>,
    was_unscrambled: DFF<bool>,
    /// The first awaited set, or idle symbol, has come.
    first: DFF<bool>,
    sent: DFF<Bits<11>>,
    many: DFF<bool>,
    /// Words of idle in a row.
    idles: DFF<Bits<3>>,
    was_idle: DFF<bool>,
    is_done: DFF<bool>,
}

impl Logic for Progress {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown, run, fitting, was_ready, was_turned, was_unscrambled, first, sent);
        dff_setup!(self, clock, many, idles, was_idle, is_done);
        drive!(self, shown.q => last; was_ready.q => ready; was_turned.q => turned;
            was_unscrambled.q => unscrambled; many.q => answered; is_done.q => idle_done);
        self.any.next = self.run.q.val().any();
        self.pair.next = self.run.q.val() >= bits::<4>(2);
        self.eight.next = self.run.q.val().get_bit(3);
        self.polled.next = self.sent.q.val().get_bit(10);

        // Training sets.
        self.fits.next = ((self.awaits.val().unnamed & self.found.data.val().unnamed)
            | (self.awaits.val().ours & self.found.data.val().ours))
            & (self.found.data.val().second | !self.awaits.val().second);
        if self.found.valid.val() {
            self.shown.d.next = self.found.data.val();
            self.fitting.d.next = self.fits.val();
            self.run.d.next = bits::<4>(1);
            if self.found.data.val().again & self.run.q.val().any() {
                self.run.d.next = self.run.q.val() + 1;
                if self.run.q.val().get_bit(3) {
                    self.run.d.next = self.run.q.val();
                }
            }
            if self.found.data.val().inverted & !self.awaits.val().inverted {
                self.run.d.next = bits::<4>(0);
            } else if self.fits.val() {
                self.first.d.next = true;
            }
        }
        if self.broken.val() {
            self.run.d.next = bits::<4>(0);
        }
        if self.run.q.val().get_bit(3) & self.fitting.q.val() & !self.was_ready.q.val() {
            self.was_ready.d.next = true;
            self.was_turned.d.next = self.shown.q.val().inverted;
            self.was_unscrambled.d.next = self.shown.q.val().no_scramble;
        }

        // Logical idle. A state that waits for it awaits no set.
        if self.busy.val() {
            self.idles.d.next = bits::<3>(0);
        }
        if self.idle.val() {
            if !self.idles.q.val().get_bit(2) {
                self.idles.d.next = self.idles.q.val() + 1;
            }
            if !self.awaits.val().unnamed & !self.awaits.val().ours {
                self.first.d.next = true;
            }
        }
        self.was_idle.d.next = self.was_idle.q.val() | self.idles.q.val().get_bit(2);
        self.is_done.d.next = self.was_idle.q.val() & (self.sent.q.val() >= bits::<11>(8));

        // What was sent.
        if self.began.val()
            & (self.began_tag.val() == self.tag.val())
            & (self.first.q.val() | self.awaits.val().polls)
            & !self.sent.q.val().get_bit(10)
        {
            self.sent.d.next = self.sent.q.val() + 1;
        }
        self.many.d.next = self.sent.q.val() >= bits::<11>(16);

        if self.clear.val() {
            self.run.d.next = bits::<4>(0);
            self.sent.d.next = bits::<11>(0);
            self.idles.d.next = bits::<3>(0);
            drive!(self, false => fitting.d, was_ready.d, first.d, many.d, was_idle.d, is_done.d);
        }
    }
}
