//! Keeps a block of a descriptor, four segments, that was not fetched ahead but read for a job.
//!
//! ```text
//!         begins, job ──►┌─────────────┐──► here
//!      block, segment ──►│ FarSegments │──► row
//!  asks, expects, beat ─►└─────────────┘──► came
//! ```
//! Contract: `here` says that the block that is kept is block number `block` of the job's descriptor; then `row` is its segment number
//! `segment`. Of a receive, block 0 is fetched ahead and counts as here, whatever is kept. `asks` says that the block is being asked for.
//! While it is expected (`expects`), the beats of its access are taken, and with the last one `came` says how it ended: from the next cycle
//! on it is here, unless it was refused or the read failed.
//!
//! In each cycle with `begins` a job may begin, so what is kept then counts as another descriptor's. But the block that was read last for
//! a read of ours counts as here for the next packet of that read, unless the job is `fresh`.
//!
//! Example: a receive has 7 segments, so its blocks are {control, 2 segments}, {4 segments}, {1 segment}. `block` is 1, and `here` is low.
//! The owner asks for 64 bytes; eight beats come. `came` is high with the last one, and then `here` is.
//!
//! Latency: 0 to `here`, `row` and `came`. Tests: with `Receive`, `tests/receive/path/descriptor.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{client, ReadBeat, Vi};
use crate::prims::{Cast, LutRam, Number};
use crate::receive::job::ScatterJob;
use crate::rows::descriptor::DataSegment;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// How the read of a block ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct BlockCame {
    /// The protection checker refused it.
    pub refused: bool,
    /// The access failed on the bus.
    pub failed: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FarSegments {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, nothing is kept.
    pub reset: Signal<In, bool>,
    /// `job` may begin in this cycle; `Scatter` drives this and the other inputs.
    pub begins: Signal<In, bool>,
    /// The job.
    pub job: Signal<In, ScatterJob>,
    /// Which 64 bytes of the descriptor are wanted.
    pub block: Signal<In, Bits<7>>,
    /// Which segment of those 64 bytes is wanted.
    pub segment: Signal<In, Bits<2>>,
    /// The block that is kept is the wanted one, or the wanted one is fetched ahead; `Scatter` listens to all outputs.
    pub here: Signal<Out, bool>,
    /// The wanted segment, if its block is kept.
    pub row: Signal<Out, DataSegment>,
    /// The wanted block is being asked for.
    pub asks: Signal<In, bool>,
    /// The wanted block was asked for and comes.
    pub expects: Signal<In, bool>,
    /// Eight bytes that a read brought, of any client, from `dma/read`; the block picks its own.
    pub beat: FlowSink<ReadBeat>,
    /// The last beat of the block has come.
    pub came: FlowSource<BlockCame>,
    addresses: LutRam<Bits<64>, 2>,
    extents: LutRam<Bits<64>, 2>,
    shown: Cast<Bits<128>, DataSegment>,
    /// The block that counts as here; of a read `no_block` if there is none.
    holds: DFF<Bits<7>>,
    /// Block `kept_block` of the read of VI `kept_vi` is kept.
    kept: DFF<bool>,
    kept_vi: DFF<Vi>,
    kept_block: DFF<Bits<7>>,
    /// Number of the word that comes next.
    word: DFF<Bits<3>>,
    fails: DFF<bool>,
    taken: Signal<Local, bool>,
    ends: Signal<Local, bool>,
    failed: Signal<Local, bool>,
    no_block: Number<7, 127>,
    me: Number<2, { client::SCATTER }>,
}

impl Logic for FarSegments {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, holds, kept, kept_vi, kept_block, word, fails);
        clock!(self, clock, addresses, extents);
        self.here.next = self.block.val() == self.holds.q.val();
        drive!(self, segment => addresses.read_address, extents.read_address; shown.to => row);
        self.shown.from.next = (bit_cast::<128, 64>(self.extents.read_data.val()) << 64)
            | bit_cast::<128, 64>(self.addresses.read_data.val());

        if self.begins.val() {
            self.holds.d.next = bits::<7>(0);
            if self.job.val().reading {
                self.holds.d.next = self.no_block.val();
                if self.kept.q.val() & !self.job.val().fresh & (self.kept_vi.q.val() == self.job.val().vi) {
                    self.holds.d.next = self.kept_block.q.val();
                }
            }
        }

        // The words of a block: address, then handle and length, of one segment after the other.
        self.taken.next =
            self.expects.val() & self.beat.valid.val() & (self.beat.data.val().client == self.me.val());
        self.addresses.write_enable.next = self.taken.val() & !self.word.q.val().get_bit(0);
        self.addresses.write_address.next = self.word.q.val().get_bits::<2>(1);
        drive!(self, beat.data.val().data => addresses.write_data, extents.write_data);
        self.extents.write_enable.next = self.taken.val() & self.word.q.val().get_bit(0);
        self.extents.write_address.next = self.word.q.val().get_bits::<2>(1);
        self.failed.next = self.fails.q.val() | self.beat.data.val().failed;
        if self.asks.val() {
            self.word.d.next = bits::<3>(0);
            self.fails.d.next = false;
            self.kept.d.next = false;
        }
        if self.taken.val() {
            self.word.d.next = self.word.q.val() + 1;
            self.fails.d.next = self.failed.val();
        }
        self.ends.next = self.taken.val() & self.beat.data.val().last;
        self.came.valid.next = self.ends.val();
        self.came.data.next.refused = self.beat.data.val().refused;
        self.came.data.next.failed = self.failed.val();
        if self.ends.val() {
            self.holds.d.next = self.block.val();
            self.kept.d.next = self.job.val().reading & !self.beat.data.val().refused & !self.failed.val();
            self.kept_vi.d.next = self.job.val().vi;
            self.kept_block.d.next = self.block.val();
        }
        if self.reset.val() {
            self.kept.d.next = false;
        }
    }
}
