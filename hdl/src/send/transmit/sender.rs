//! Looks up the VI whose packet or acknowledgement is at hand: its PSN and service, its state, its epoch.
//!
//! ```text
//!           choice, chooses ──►┌────────┐──► vi
//!             commit, epoch ──►│ Sender │──► now
//!   state, advance, refuses ──►└────────┘──► connected
//! ```
//! Contract: `chooses` makes `choice` the VI at hand. From two cycles later on `now` says what was true of it in the cycle before.
//! The block keeps a copy of each VI's state and epoch, and its part of the TRANSMIT row, whose PSN `advance` moves on. `refuses` says
//! that the VI has refused an answer to its peer: requests behind that one get no answer until the VI is connected again.
//!
//! Latency: 2 cycles from `chooses` to `now`.
//!
//! Example: VI 3 is chosen. Two cycles later `now` says PSN 100 and `connected`. `advance` gives 101, which `now` shows when the VI is
//! chosen again.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{service, vi_states};

use crate::bus::{Commit, EpochWrite, StateWrite, Vi};
use crate::prims::{BitRam, LutRam, Number, ShallowRam, Unpack};
use crate::rows::tables::TransmitRow;

/// Transmit's part of a TRANSMIT row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SenderRow {
    /// PSN of the next request packet.
    pub psn: Bits<24>,
    /// `viaduct_spec::tables::service`.
    pub service: Bits<2>,
    /// The peer is on this NIC.
    pub loopback: bool,
}

/// The VI at hand: its next PSN, its service, its state and its epoch.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SenderNow {
    /// PSN of the next request packet.
    pub psn: Bits<24>,
    /// The VI is reliable.
    pub reliable: bool,
    /// The VI's service is RAW.
    pub raw: bool,
    /// The peer is on this NIC.
    pub loopback: bool,
    /// The VI is connected.
    pub connected: bool,
    /// The VI is idle: it has no connection.
    pub idle: bool,
    /// The VI's epoch.
    pub epoch: bool,
    /// The VI has refused an answer, and does not answer any more.
    pub refusing: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Sender {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The VI that is to be at hand; transmit drives this and all other inputs.
    pub choice: Signal<In, Vi>,
    /// `choice` becomes the VI at hand.
    pub chooses: Signal<In, bool>,
    /// A TRANSMIT row that is taken with this cycle.
    pub commit: FlowSink<Commit>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// The VI that changes its epoch in this cycle, and the new epoch, from complete/sends.
    pub epoch: FlowSink<EpochWrite>,
    /// The next PSN of the VI at hand; never in a cycle in which a row is taken.
    pub advance: FlowSink<Bits<24>>,
    /// The VI at hand refuses an answer; never in a cycle in which a VI changes its state.
    pub refuses: Signal<In, bool>,
    /// The VI at hand, for the other blocks of transmit.
    pub vi: Signal<Out, Vi>,
    /// The VI at hand as it was in the cycle before; transmit's other blocks look at it.
    pub now: Signal<Out, SenderNow>,
    /// The VI at hand is connected, in this cycle.
    pub connected: Signal<Out, bool>,
    at_hand: DFF<Vi>,
    rows: ShallowRam<SenderRow, { VI_LOG2 }>,
    states: LutRam<Bits<2>, { VI_LOG2 }>,
    epochs: BitRam<{ VI_LOG2 }>,
    refusals: BitRam<{ VI_LOG2 }>,
    row: DFF<SenderRow>,
    was_connected: DFF<bool>,
    was_idle: DFF<bool>,
    was_epoch: DFF<bool>,
    was_refusing: DFF<bool>,
    committed: Unpack<Commit, TransmitRow>,
    connected_now: Signal<Local, bool>,
    idle_state: Number<2, { vi_states::IDLE as u64 }>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
    delivery: Number<2, { service::RELIABLE_DELIVERY as u64 }>,
    reception: Number<2, { service::RELIABLE_RECEPTION as u64 }>,
    raw: Number<2, { service::RAW as u64 }>,
}

impl Logic for Sender {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at_hand, row, was_connected, was_idle, was_epoch, was_refusing);
        clock!(self, clock, rows, states, epochs, refusals);
        self.rows.read_address.next = self.at_hand.q.val();
        if self.chooses.val() {
            self.at_hand.d.next = self.choice.val();
            self.rows.read_address.next = self.choice.val();
        }
        self.vi.next = self.at_hand.q.val();

        self.committed.from.next = self.commit.data.val();
        self.rows.write_enable.next = self.commit.valid.val() | self.advance.valid.val();
        self.rows.write_address.next = bit_cast::<{ VI_LOG2 }, 16>(self.commit.data.val().row);
        fill!(self, rows.write_data, committed.to.val().psn => psn; committed.to.val().service => service;
            committed.to.val().loopback => loopback);
        if self.advance.valid.val() {
            self.rows.write_address.next = self.at_hand.q.val();
            self.rows.write_data.next = self.row.q.val();
            self.rows.write_data.next.psn = self.advance.data.val();
        }
        self.row.d.next = self.rows.read_data.val();

        drive!(self, state.valid => states.write_enable; state.data.val().vi => states.write_address;
            state.data.val().state => states.write_data; at_hand.q => states.read_address);
        self.connected_now.next = self.states.read_data.val() == self.connected_state.val();
        self.connected.next = self.connected_now.val();
        self.was_connected.d.next = self.connected_now.val();
        self.was_idle.d.next = self.states.read_data.val() == self.idle_state.val();

        drive!(self, epoch.valid => epochs.write_enable; epoch.data.val().vi => epochs.write_address;
            epoch.data.val().epoch => epochs.write_data; at_hand.q => epochs.read_address);
        self.was_epoch.d.next = self.epochs.read_data.val();

        self.refusals.write_enable.next =
            self.state.valid.val() & (self.state.data.val().state == self.connected_state.val());
        self.refusals.write_address.next = self.state.data.val().vi;
        self.refusals.write_data.next = false;
        if self.refuses.val() {
            self.refusals.write_enable.next = true;
            self.refusals.write_address.next = self.at_hand.q.val();
            self.refusals.write_data.next = true;
        }
        self.refusals.read_address.next = self.at_hand.q.val();
        self.was_refusing.d.next = self.refusals.read_data.val();

        self.now.next.psn = self.row.q.val().psn;
        self.now.next.reliable = (self.row.q.val().service == self.delivery.val())
            | (self.row.q.val().service == self.reception.val());
        self.now.next.raw = self.row.q.val().service == self.raw.val();
        fill!(self, now, row.q.val().loopback => loopback; was_connected.q => connected; was_idle.q => idle;
            was_epoch.q => epoch; was_refusing.q => refusing);
    }
}
