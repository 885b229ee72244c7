//! What comes of a fault: whether it breaks its VI, and whether it makes an event.
//!
//! ```text
//!  fault, source ──►┌──────────────┐──► breaks
//!          state ──►│ FaultVerdict │──► reports
//!                   └──────────────┘
//! ```
//! Contract: a fault with `breaks` breaks a connected VI; an idle one only if the fault comes of the VI's own queues, that is of `fetch`,
//! `complete/writer` or `complete/queues`. A fault with a code makes an event, with two exceptions. CONN_LOST makes one only if the VI
//! breaks by it. Of a VI in Error no event is made of what `fetch` finds, and none of what would break the VI again, but for COMP_PROT.
//!
//! Latency: none.
//!
//! Example: VI 5 is idle and `send/transmit` has a fault of it, with `breaks` and the code CONN_LOST: the VI stays idle, and there is no
//! event. Were the VI connected, it would break, with an event.
//!
//! Tests: with `ViState`, `tests/admin/state.rs`.

use crate::bus::Fault;
use crate::prims::Number;
use crate::rows::inside::FaultSources;
use rust_hdl::prelude::*;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::vi_states;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FaultVerdict {
    /// The fault; [`ViState`](super::ViState) drives this and the other inputs.
    pub fault: Signal<In, Fault>,
    /// The block that has offered the fault.
    pub source: Signal<In, FaultSources>,
    /// State of the fault's VI: `viaduct_spec::tables::vi_states`.
    pub state: Signal<In, Bits<2>>,
    /// The VI goes into Error.
    pub breaks: Signal<Out, bool>,
    /// There is an event for the error ring.
    pub reports: Signal<Out, bool>,
    /// The fault is of the VI's own queues, not of its connection.
    own: Signal<Local, bool>,
    broke: Signal<Local, bool>,
    /// The fault would break a VI that is in Error already.
    again: Signal<Local, bool>,
    passed_over: Signal<Local, bool>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    comp_prot: Number<8, { event_code::COMP_PROT as u64 }>,
    idle: Number<2, { vi_states::IDLE as u64 }>,
    connected: Number<2, { vi_states::CONNECTED as u64 }>,
    error: Number<2, { vi_states::ERROR as u64 }>,
}

impl Logic for FaultVerdict {
    #[hdl_gen]
    fn update(&mut self) {
        self.own.next = self.source.val().fetch | self.source.val().writer | self.source.val().queues;
        // WQ-4: a connected VI breaks, once; an idle one by its own queues.
        self.broke.next = self.fault.val().breaks
            & ((self.state.val() == self.connected.val())
                | ((self.state.val() == self.idle.val()) & self.own.val()));
        self.again.next = self.fault.val().breaks & (self.fault.val().code != self.comp_prot.val());
        self.passed_over.next =
            (self.state.val() == self.error.val()) & (self.source.val().fetch | self.again.val());
        // WQ-4: one event, and none for a send's own error.
        self.reports.next = self.fault.val().code.any()
            & !self.passed_over.val()
            & (self.broke.val() | (self.fault.val().code != self.conn_lost.val()));
        self.breaks.next = self.broke.val();
    }
}
