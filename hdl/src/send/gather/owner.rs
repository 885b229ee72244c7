//! Looks up the VI that owns the head at hand: its state, its epoch, and its RDMA reads.
//!
//! ```text
//!      head, outlived ──►┌───────┐──► now
//!        state, epoch ──►│ Owner │
//!      restart, count ──►│       │◄─► reads
//!  row, closes, opens ──►└───────┘──► counting
//! ```
//! Contract: `now` stands in registers, so it says what was true a cycle before. The block keeps a copy of each VI's state and epoch, how
//! many of its reads were sent, and whether it is parked. `restart` and `count` replace what is known of the reads of the head's VI.
//! `closes` takes the VI's READ_DEPTH out of its TRANSMIT row, and `opens` sets its reads to none.
//!
//! Latency: `now` follows head, state and epoch a cycle later, and `restart` and `count` three cycles later.
//!
//! Example: VI 3 has sent 5 reads, and 4 of them are complete. Its head comes to hand, and in the next cycle `now` says `sent` 5 and
//! `complete` 4. `count` gives `sent` 6, and three cycles later `now` says so.
//!
//! Tests: `tests/send/gather/owner.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, LookUp};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

use crate::bus::{Commit, EpochWrite, SendHead, StateWrite, Vi};
use crate::prims::{BitRam, LutRam, Number, Unpack};
use crate::rows::tables::TransmitRow;

/// The RDMA reads of a VI, as gather counts them.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadsKnown {
    /// How many were sent, modulo 8.
    pub sent: Bits<3>,
    /// The VI is parked: all its heads are dropped until one says `restart`.
    pub parked: bool,
}

/// The VI that owns the head at hand: its state and its reads, and whether the head is stale.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct OwnerNow {
    /// The VI is connected.
    pub connected: bool,
    /// The head is of another epoch or life of the VI, or behind one that is parked.
    pub stale: bool,
    /// RDMA reads that were sent, modulo 8.
    pub sent: Bits<3>,
    /// RDMA reads that are complete, modulo 8.
    pub complete: Bits<3>,
    /// RDMA reads that may be outstanding.
    pub depth: Bits<3>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Owner {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets a number of reads that is on its way into the table.
    pub reset: Signal<In, bool>,
    /// The head at hand, from the inbox.
    pub head: Signal<In, SendHead>,
    /// The head at hand is of a life of its VI that is over; the inbox drives it.
    pub outlived: Signal<In, bool>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// The VI that changes its epoch in this cycle, and the new epoch, from complete/sends.
    pub epoch: FlowSink<EpochWrite>,
    /// From check: the VI's sends come again, and this many of its reads, modulo 8, count as sent.
    pub restart: FlowSink<Bits<3>>,
    /// From cut: a read was sent, or the VI is parked.
    pub count: FlowSink<ReadsKnown>,
    /// Asks complete/sends how many RDMA reads of a VI are complete, modulo 8.
    pub reads: LookUp<Vi, Bits<3>>,
    /// The table row on gather's commit port; gather drives this and the two below.
    pub row: Signal<In, Commit>,
    /// `row` is a TRANSMIT row that waits to be taken.
    pub closes: Signal<In, bool>,
    /// `row` is taken with this cycle: its VI begins anew, if `counting` is low.
    pub opens: Signal<In, bool>,
    /// A number of reads is on its way into the table, so no VI can begin anew.
    pub counting: Signal<Out, bool>,
    /// The VI of the head at hand as it was in the cycle before, for check and cut.
    pub now: Signal<Out, OwnerNow>,
    states: LutRam<Bits<2>, { VI_LOG2 }>,
    epochs: BitRam<{ VI_LOG2 }>,
    counts: LutRam<ReadsKnown, { VI_LOG2 }>,
    /// For each VI: how many RDMA reads it may have outstanding.
    depths: LutRam<Bits<3>, { VI_LOG2 }>,
    /// `known` is to be written into the row of `count_vi`.
    writes: DFF<bool>,
    count_vi: DFF<Vi>,
    known: DFF<ReadsKnown>,
    // What `now` says. Each field is a register of its own: a register that follows a memory becomes a part of it, and yosys (0.23) says
    // of a slice of one that nothing drives it.
    is_connected: DFF<bool>,
    stale: DFF<bool>,
    sent: DFF<Bits<3>>,
    complete: DFF<Bits<3>>,
    may_wait: DFF<Bits<3>>,
    vi: Signal<Local, Vi>,
    row_vi: Signal<Local, Vi>,
    transmit_row: Unpack<Commit, TransmitRow>,
    depth: Signal<Local, Bits<4>>,
    connected: Number<2, { vi_states::CONNECTED as u64 }>,
    /// A VI has no more reads outstanding than this.
    most: Number<4, 4>,
}

impl Logic for Owner {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, writes, count_vi, known, is_connected, stale, sent, complete, may_wait);
        clock!(self, clock, states, epochs, counts, depths);
        self.vi.next = self.head.val().vi;
        self.row_vi.next = bit_cast::<VI_LOG2, 16>(self.row.val().row);

        drive!(self, state.valid => states.write_enable; state.data.val().vi => states.write_address;
            state.data.val().state => states.write_data; vi => states.read_address);
        self.is_connected.d.next = self.states.read_data.val() == self.connected.val();

        drive!(self, epoch.valid => epochs.write_enable; epoch.data.val().vi => epochs.write_address;
            epoch.data.val().epoch => epochs.write_data; vi => epochs.read_address);

        // Check and cut decide late in their cycle, so their number waits for one in a register.
        self.writes.d.next = self.restart.valid.val() | self.count.valid.val();
        self.count_vi.d.next = self.vi.val();
        self.known.d.next = self.count.data.val();
        if self.restart.valid.val() {
            self.known.d.next.sent = self.restart.data.val();
            self.known.d.next.parked = false;
        }
        drive!(self, writes.q => counting; vi => counts.read_address);
        self.counts.write_enable.next = self.writes.q.val() | self.opens.val();
        self.counts.write_address.next = self.count_vi.q.val();
        self.counts.write_data.next = self.known.q.val();
        if !self.writes.q.val() {
            self.counts.write_address.next = self.row_vi.val();
            self.counts.write_data.next.sent = bits::<3>(0);
            self.counts.write_data.next.parked = false;
        }
        self.sent.d.next = self.counts.read_data.val().sent;
        // Heads behind a message that is parked are stale: the rewind fetches them again.
        self.stale.d.next = (self.head.val().epoch != self.epochs.read_data.val())
            | (self.counts.read_data.val().parked & !self.head.val().restart)
            | self.outlived.val();

        self.reads.index.next = self.vi.val();
        self.complete.d.next = self.reads.row.val();

        drive!(self, row => transmit_row.from; transmit_row.to.val().read_depth => depth;
            closes => depths.write_enable; row_vi => depths.write_address; vi => depths.read_address);
        self.depths.write_data.next = bit_cast::<3, 4>(self.depth.val());
        if self.depth.val() > self.most.val() {
            self.depths.write_data.next = bits::<3>(4);
        }
        self.may_wait.d.next = self.depths.read_data.val();

        fill!(self, now, is_connected.q => connected; stale.q => stale; sent.q => sent;
            complete.q => complete; may_wait.q => depth);
        if self.reset.val() {
            self.writes.d.next = false;
        }
    }
}
