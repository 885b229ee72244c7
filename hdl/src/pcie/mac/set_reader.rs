//! Reads training sets.
//!
//! ```text
//!   aligned ──►┌───────────┐──► found
//!    number ──►│ SetReader │──► broken
//!              └───────────┘
//! ```
//! Contract: `found` is given for each training set that came whole: COM, link, lane, N_FTS, rate, control, and ten equal identifiers of
//! TS1 or TS2, or those of an inverted lane. It is `again` if it has link, lane, control bits and kind of the one before, and nothing but
//! SKP sets stood between them. `broken` pulses for each word of something else, EIOS among it: what counts of that is the electrical idle behind it.
//!
//! N_FTS is not looked at, since L0s is not offered, nor are the data rates: a partner may know more of them than this one.
//!
//! Latency: 2 cycles from the word with the last symbol.
//!
//! Example: two TS1 with link 3 and lane PAD come: `found` is given twice with `named` and `number` 3, the second time with `again`.
//!
//! Tests: with the whole, `tests/pcie/mac/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::symbol::{Aligned, PAD};
use crate::prims::{Cast, Number};
use crate::rows::pcie_link::TrainingControl;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// A training set.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TrainingSet {
    /// The set is TS2.
    pub second: bool,
    /// The lane is inverted.
    pub inverted: bool,
    /// The set is equal to the one just before it.
    pub again: bool,
    /// Link and lane are PAD.
    pub unnamed: bool,
    /// The lane is PAD.
    pub lane_pad: bool,
    /// The link has a number, the lane is PAD.
    pub named: bool,
    /// The link has our number, and the lane is 0.
    pub ours: bool,
    /// Control bit 0.
    pub hot_reset: bool,
    /// Control bit 1.
    pub disabled: bool,
    /// Control bit 3.
    pub no_scramble: bool,
    /// The link's number.
    pub number: Bits<8>,
}

/// What two symbols are.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Seen {
    low: Bits<8>,
    high: Bits<8>,
    com: bool,
    low_data: bool,
    high_data: bool,
    low_pad: bool,
    high_pad: bool,
    /// `low` is 0.
    low_zero: bool,
    /// `low` is an identifier, and `high` is the same.
    identifier: bool,
    /// The identifier is that of TS2.
    second: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SetReader {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Two symbols, from `Align`.
    pub aligned: FlowSink<Aligned>,
    /// Our link's number, from the LTSSM.
    pub number: Signal<In, Bits<8>>,
    /// A training set, for `Progress`.
    pub found: FlowSource<TrainingSet>,
    /// A word came that is no part of a good set.
    pub broken: Signal<Out, bool>,
    seen: DFF<Seen>,
    comes: DFF<bool>,
    low_good: Signal<Local, bool>,
    high_good: Signal<Local, bool>,
    value: Signal<Local, Bits<8>>,
    identity: Signal<Local, Bits<4>>,
    control: Signal<Local, Bits<8>>,
    /// Words of the training set so far; 0: outside.
    place: DFF<Bits<3>>,
    /// A set has ended, and nothing came behind it.
    alive: DFF<bool>,
    /// So far this set is equal to the one before.
    same: DFF<bool>,
    /// The link's number, or PAD, and the same of the lane.
    link: DFF<Bits<8>>,
    link_pad: DFF<bool>,
    lane_pad: DFF<bool>,
    lane_zero: DFF<bool>,
    flags: DFF<Bits<4>>,
    flag_fields: Cast<Bits<4>, TrainingControl>,
    second: DFF<bool>,
    inverted: DFF<bool>,
    inverts: Signal<Local, bool>,
    fits: Signal<Local, bool>,
    ends: DFF<bool>,
    breaks: DFF<bool>,
    repeats: DFF<bool>,
    pad: Number<8, PAD>,
    zero: Number<8, 0>,
}

impl Logic for SetReader {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, seen, comes, place, alive, same, link, link_pad, lane_pad, lane_zero);
        dff_setup!(self, clock, flags, second, inverted, ends, breaks, repeats);
        // What the symbols are.
        self.comes.d.next = self.aligned.valid.val();
        self.low_good.next = !self.aligned.data.val().low_error;
        self.high_good.next = !self.aligned.data.val().high_error;
        fill!(self, seen.d, aligned.data.val().low => low; aligned.data.val().high => high;
            aligned.data.val().com => com);
        self.seen.d.next.low_data = self.low_good.val() & !self.aligned.data.val().low_k;
        self.seen.d.next.high_data = self.high_good.val() & !self.aligned.data.val().high_k;
        self.seen.d.next.low_pad = self.low_good.val()
            & self.aligned.data.val().low_k
            & (self.aligned.data.val().low == self.pad.val());
        self.seen.d.next.high_pad = self.high_good.val()
            & self.aligned.data.val().high_k
            & (self.aligned.data.val().high == self.pad.val());
        self.seen.d.next.low_zero = self.aligned.data.val().low == self.zero.val();
        // 4A and 45 are TS1 and TS2; B5 and BA are their complements.
        self.value.next = self.aligned.data.val().low;
        self.identity.next = self.value.val().get_bits::<4>(0);
        if self.value.val().get_bit(7) {
            self.identity.next = self.value.val().get_bits::<4>(0) ^ 0xf;
        }
        self.seen.d.next.identifier = (self.aligned.data.val().low == self.aligned.data.val().high)
            & (self.value.val().get_bit(7) ^ self.value.val().get_bit(6))
            & (self.value.val().get_bit(7) == self.value.val().get_bit(5))
            & (self.value.val().get_bit(7) == self.value.val().get_bit(4))
            & ((self.identity.val() == bits::<4>(0xa)) | (self.identity.val() == bits::<4>(5)));
        self.seen.d.next.second = self.identity.val() == bits::<4>(5);

        // Where in a set they are.
        drive!(self, seen.q.val().high => control; false => fits, ends.d, breaks.d);
        self.inverts.next = self.seen.q.val().low >= bits::<8>(0x80);
        self.repeats.d.next = self.same.q.val();
        if self.comes.q.val() {
            self.place.d.next = self.place.q.val() + 1;
            match self.place.q.val().index() {
                0 => {
                    self.fits.next = false;
                }
                1 => {
                    self.fits.next = (self.seen.q.val().low_data | self.seen.q.val().low_pad)
                        & self.seen.q.val().high_data;
                    self.lane_pad.d.next = self.seen.q.val().low_pad;
                    self.lane_zero.d.next = self.seen.q.val().low_data & self.seen.q.val().low_zero;
                    self.same.d.next = self.same.q.val()
                        & (self.lane_pad.q.val() == self.seen.q.val().low_pad)
                        & (self.lane_zero.q.val()
                            == (self.seen.q.val().low_data & self.seen.q.val().low_zero));
                }
                2 => {
                    self.fits.next = self.seen.q.val().low_data & self.seen.q.val().high_data;
                    self.flags.d.next = self.control.val().get_bits::<4>(0);
                    self.same.d.next =
                        self.same.q.val() & (self.flags.q.val() == self.control.val().get_bits::<4>(0));
                }
                3 => {
                    self.fits.next = self.seen.q.val().identifier
                        & self.seen.q.val().low_data
                        & self.seen.q.val().high_data;
                    self.second.d.next = self.seen.q.val().second;
                    self.inverted.d.next = self.inverts.val();
                    self.same.d.next = self.same.q.val()
                        & (self.second.q.val() == self.seen.q.val().second)
                        & (self.inverted.q.val() == self.inverts.val());
                }
                _ => {
                    self.fits.next = self.seen.q.val().identifier
                        & self.seen.q.val().low_data
                        & self.seen.q.val().high_data
                        & (self.second.q.val() == self.seen.q.val().second)
                        & (self.inverted.q.val() == self.inverts.val());
                }
            }
            if self.seen.q.val().com {
                // A set that was under way is cut; if none was, the one before still counts.
                self.breaks.d.next = self.place.q.val() != bits::<3>(0);
                self.place.d.next = bits::<3>(1);
                self.link.d.next = self.seen.q.val().high;
                self.link_pad.d.next = self.seen.q.val().high_pad;
                self.same.d.next = self.alive.q.val()
                    & (self.link_pad.q.val() == self.seen.q.val().high_pad)
                    & (self.link.q.val() == self.seen.q.val().high);
                self.alive.d.next = false;
                if !self.seen.q.val().high_data & !self.seen.q.val().high_pad {
                    self.place.d.next = bits::<3>(0);
                    self.breaks.d.next = true;
                }
            } else if !self.fits.val() {
                self.breaks.d.next = true;
                self.place.d.next = bits::<3>(0);
                self.alive.d.next = false;
            } else if self.place.q.val() == bits::<3>(7) {
                self.ends.d.next = true;
                self.alive.d.next = true;
            }
        }

        drive!(self, breaks.q => broken; ends.q => found.valid; flags.q => flag_fields.from);
        fill!(self, found.data, second.q => second; inverted.q => inverted; repeats.q => again;
            lane_pad.q => lane_pad; link.q => number;
            flag_fields.to.val().hot_reset => hot_reset; flag_fields.to.val().disabled => disabled;
            flag_fields.to.val().no_scramble => no_scramble);
        self.found.data.next.unnamed = self.link_pad.q.val() & self.lane_pad.q.val();
        self.found.data.next.named = !self.link_pad.q.val() & self.lane_pad.q.val();
        self.found.data.next.ours =
            !self.link_pad.q.val() & self.lane_zero.q.val() & (self.link.q.val() == self.number.val());
    }
}
