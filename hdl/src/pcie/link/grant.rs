//! What is granted to the link partner: the credits of the non-posted class, and when UpdateFC is due.
//!
//! ```text
//!  judged ──►┌───────┐──► headers, data
//!   freed ──►│ Grant │──► due
//!  active ──►│       │◄── said
//!   in_l0 ──►└───────┘──► quiet
//! ```
//! Contract: 8 headers and 8 units of data are granted at first, the other classes without limit. `freed` grants a header again. Not every
//! request has data, and requests need not be freed in order; so a unit of data is granted again as soon as more of them are held than there
//! are requests in the queue. Then data is never scarcer than headers, and never more than 8 units are out.
//!
//! UpdateFC is `due` when something was granted, and 28.8 us after the last one; the time passes in L0. `said` says that `headers` and
//! `data` were taken over in this cycle. `quiet`: three UpdateFC have been made since a TLP has come or L0 was entered.
//!
//! Latency: `due` 1 cycle from `freed`.
//!
//! Example: two reads and a configuration write come, and one request is freed: 9 headers and 8 units. All are freed: 11 and 9.
//!
//! Tests: `tests/pcie/link/grants.rs`.

use super::packet::Judged;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Grant {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// As at first.
    pub reset: Signal<In, bool>,
    /// L0: time passes; from `mac`.
    pub in_l0: Signal<In, bool>,
    /// DL_Active: UpdateFC may be due; from `Activity`.
    pub active: Signal<In, bool>,
    /// What became of a TLP; from `TlpJudge`.
    pub judged: Signal<In, Judged>,
    /// A non-posted request has left its queue; from `transaction`.
    pub freed: Signal<In, bool>,
    /// UpdateFC is made; from `DllpSender`.
    pub said: Signal<In, bool>,
    /// UpdateFC is due.
    pub due: Signal<Out, bool>,
    /// Headers that were granted since the link came up.
    pub headers: Signal<Out, Bits<8>>,
    /// Units of data that were granted since the link came up.
    pub data: Signal<Out, Bits<12>>,
    /// Nothing has come for some time.
    pub quiet: Signal<Out, bool>,
    headers_out: DFF<Bits<8>>,
    data_out: DFF<Bits<12>>,
    /// Requests that are not freed.
    waiting: DFF<Bits<4>>,
    /// Units of data that are not granted again.
    held: DFF<Bits<4>>,
    passed: DFF<Bits<12>>,
    changed: DFF<bool>,
    wanted: DFF<bool>,
    /// How often the time has passed.
    calm: DFF<Bits<2>>,
    comes: Signal<Local, bool>,
    goes: Signal<Local, bool>,
    gives: Signal<Local, bool>,
    takes: Signal<Local, bool>,
    tick: Signal<Local, bool>,
    first_headers: Number<8, 8>,
    first_data: Number<12, 8>,
    interval: Number<12, 3600>,
}

impl Logic for Grant {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, headers_out, data_out, waiting, held, passed, changed, wanted, calm);
        drive!(self, headers_out.q => headers; data_out.q => data; wanted.q => due);
        self.comes.next = self.judged.val().taken & self.judged.val().non_posted;
        self.takes.next = self.comes.val() & self.judged.val().with_data;
        self.goes.next = self.freed.val() & self.waiting.q.val().any();
        self.gives.next = self.held.q.val() > self.waiting.q.val();
        self.tick.next = self.passed.q.val() == self.interval.val();
        self.wanted.d.next = self.active.val() & (self.changed.q.val() | self.tick.val());
        if self.in_l0.val() & self.active.val() & !self.tick.val() {
            self.passed.d.next = self.passed.q.val() + 1;
        }
        if self.said.val() {
            self.passed.d.next = bits::<12>(0);
            drive!(self, false => changed.d, wanted.d);
            if !self.calm.q.val().all() {
                self.calm.d.next = self.calm.q.val() + 1;
            }
        }
        self.quiet.next = self.calm.q.val().all();
        if self.judged.val().taken | !self.in_l0.val() {
            self.calm.d.next = bits::<2>(0);
        }

        if self.comes.val() & !self.goes.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        }
        if self.goes.val() {
            self.headers_out.d.next = self.headers_out.q.val() + 1;
            self.changed.d.next = true;
            if !self.comes.val() {
                self.waiting.d.next = self.waiting.q.val() - 1;
            }
        }
        if self.takes.val() & !self.gives.val() {
            self.held.d.next = self.held.q.val() + 1;
        }
        if self.gives.val() {
            self.data_out.d.next = self.data_out.q.val() + 1;
            self.changed.d.next = true;
            if !self.takes.val() {
                self.held.d.next = self.held.q.val() - 1;
            }
        }
        if self.reset.val() {
            self.headers_out.d.next = self.first_headers.val();
            self.data_out.d.next = self.first_data.val();
            self.waiting.d.next = bits::<4>(0);
            self.held.d.next = bits::<4>(0);
            self.passed.d.next = bits::<12>(0);
            self.calm.d.next = bits::<2>(0);
            drive!(self, false => changed.d, wanted.d);
        }
    }
}
