//! The protection checker, the only way from any block of the NIC to host memory: takes one access at a time, and lets
//! through what is allowed.
//!
//! ```text
//!   fetch ──►┌────────────────────────────────────────────────────────────┐
//!  gather ──►│ AccessIntake ──► Range ──────► page RAM ──┬─► CommandOut   │──► read   (DmaCommand)
//! scatter ──►│ turns,           distances,               └─► CommandQueue │──► write  (DmaCommand)
//! complete ─►│ SharedPort       limits                       Outstanding  │──► verdict
//!   flush ──►│ RegionTable                                                │──► draining
//!  commit ──►└────────────────────────────────────────────────────────────┘
//! ```
//! An access is granted if and only if
//! - its region is a row of the table other than 0, and the row is live;
//! - the row is the system's if and only if the access is;
//! - the keys are equal, or the access is by offset; the tags are equal;
//! - it does not write into a read-only region;
//! - the row gives each right of remote peers that the access names (RDMA_WRITE, RDMA_READ);
//! - from its first byte on, `length` bytes lie in the region, and of a remote peer's access `span` bytes, which may be more; with
//!   `clip`, at least one does, and `length` is shortened to those that do;
//! - the rows of the page table that it needs exist.
//!
//! No sum here is cut to a width in which it could wrap.
//!
//! Contract:
//! - Clients are served round robin. An access looked at in cycle 0 has its command, or its verdict, in cycle 6;
//!   the next one is looked up meanwhile, and follows three cycles later.
//! - A read that is taken while another one is on its way, or while the read engine is busy, stays on its client's port until its first
//!   command is issued. If the register before the engine is full, the read waits here until a write, a commit or a drain comes
//!   behind it; then it makes way, and is looked up anew in its client's turn. So reads that wait hold up neither writes nor commits. A
//!   read of two commands waits until the engine can take one at once: `read.ready` falls only with a command, so the second need not wait.
//! - A write is taken only if its commands find a place in the write engine's queue: writes that wait there hold up no reads.
//! - A read gives one command, or two if it crosses into the next page (`last` on the second), or one with
//!   `refused`. A write that is refused gives only its verdict; a write that is granted gives its verdict in the cycle of its
//!   last command. A command is *issued* when it is offered: `issued` and the epoch counters have it from that cycle.
//! - Every command, also a refused one, retires once. `drain`: see `Outstanding`.
//! - A commit is taken between accesses, and then held: while it stays, it is written again in each cycle, and no access is taken.
//!
//! Latency: 6 cycles; one access every 3.
//!
//! Example: `scatter` asks to write 100 bytes in one page of its region. In cycle 6 `verdict` grants it, `write` offers a command of 100
//! bytes, and `issued` goes up by one. Tests: `tests/protect/`.

mod access_intake;
mod command_cut;
mod command_out;
mod command_queue;
mod epoch_tally;
mod outstanding;
mod range;
mod region;
mod shared_port;

pub use access_intake::AccessIntake;
pub use epoch_tally::EpochTally;
pub use outstanding::Outstanding;
pub use range::Range;
pub use region::{Region, RegionExtent, RegionTable};
pub use shared_port::SharedPort;

use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::PAGE_LOG2;
use viaduct_spec::tables::table;

use crate::bus::{Access, ByClient, Commit, DmaCommand, WriteVerdict};
use crate::prims::{Cast, Number, Ram, Unpack};
use crate::rows::tables::PageRow;
pub use command_cut::CommandCut;
pub use command_out::CommandOut;
pub use command_queue::CommandQueue;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Protect {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is in flight; the tables stay.
    pub reset: Signal<In, bool>,
    /// An access of fetch: rings and descriptors.
    pub fetch: Sink<Access>,
    /// An access of gather: data segments of sends.
    pub gather: Sink<Access>,
    /// An access of scatter: data segments of receives.
    pub scatter: Sink<Access>,
    /// A write of `complete/writer`: completions, and entries of completion queues.
    pub complete: Sink<Access>,
    /// A read of `send/ack`, for acknowledgements of Reliable Reception. It has the turn of `complete`, behind that one's writes.
    pub flush: Sink<Access>,
    /// A table row from `admin/broadcast`; the block takes those of REGION and PAGE.
    pub commit: Sink<Commit>,
    /// Pulse: `admin/command` begins to wait for the commands issued before.
    pub drain: Signal<In, bool>,
    /// Commands issued before the `drain` are outstanding; `admin/command` waits for its end.
    pub draining: Signal<Out, bool>,
    /// A read command has ended; the data is its epoch; from `dma/read`.
    pub read_retire: FlowSink<bool>,
    /// A write command has ended; the data is its epoch; from `dma/write`.
    pub write_retire: FlowSink<bool>,
    /// A command for `dma/read`.
    pub read: Source<DmaCommand>,
    /// A command for `dma/write`.
    pub write: Source<DmaCommand>,
    /// The decision on a write access; `receive` and `complete/writer` listen, and look whose it is.
    pub verdict: FlowSource<WriteVerdict>,
    /// Write commands issued, modulo 256; compared with `retired` of `dma/write` to know when writes are done.
    pub issued: Signal<Out, Bits<8>>,
    /// An access is half way, a command waits or is outstanding, or a drain has not ended; `quiet` listens.
    pub busy: Signal<Out, bool>,
    /// Pulses when an access is refused; `admin/counters` listens.
    pub count_refused: Pulse,

    shared: SharedPort,
    intake: AccessIntake,
    range: Range,
    /// Bits 56:12 of a page's DMA address.
    pages: Ram<Bits<45>, PAGE_LOG2>,
    outstanding: Outstanding,

    // The step of the access at hand, a register each, of which one at most is high. An access that crosses into the next page takes all:
    // compare ─► place ─► issue ─► turn ─► second.
    /// The access's distances and its position are there.
    compare: DFF<bool>,
    /// Its range is known: its page is read.
    place: DFF<bool>,
    /// Its page is there: its command is issued, or waits for its place.
    issue: DFF<bool>,
    /// The next page is read.
    turn: DFF<bool>,
    /// The next page is there: the second command is issued, or waits for its place.
    second: DFF<bool>,
    /// An access is half way: one of the five before is high.
    taken: DFF<bool>,
    /// The client of the access at hand.
    client: DFF<Bits<2>>,
    /// The access at hand is a write.
    writes: DFF<bool>,
    /// `user` of the access at hand.
    user: DFF<Bits<8>>,
    /// The client on whose port the access stays until it is issued, one bit high; no bit: the access has left its port.
    owner: DFF<ByClient>,
    /// A read has waited for its engine in the cycle before.
    stuck: DFF<bool>,
    /// The read that waits is still here, and on its client's port: it may go back there.
    may_return: DFF<bool>,
    cut: CommandCut,
    /// The command for the read engine.
    read_out: CommandOut,
    /// The commands for the write engine.
    write_out: CommandQueue,
    /// A verdict is given in this cycle.
    decided: DFF<bool>,
    /// The verdict that is given.
    decision: DFF<WriteVerdict>,
    /// `issued`.
    issued_count: DFF<Bits<8>>,
    /// An access was refused in the cycle before.
    refused: DFF<bool>,
    /// No access is to be taken: a commit or a drain waits, or too many commands are outstanding.
    hold: DFF<bool>,

    idle: Signal<Local, bool>,
    /// No access is half way, nor taken in this cycle or the next one.
    between: Signal<Local, bool>,
    region_commit: Signal<Local, bool>,
    page_commit: Signal<Local, bool>,
    commit_row: Signal<Local, Bits<16>>,
    page_row: Unpack<Commit, PageRow>,
    page_address: Signal<Local, Bits<57>>,
    issuing: Signal<Local, bool>,
    /// One more command is all that the access needs.
    whole: Signal<Local, bool>,
    /// A read's command finds its register free; the first of two finds the engine ready, too.
    read_free: Signal<Local, bool>,
    /// The access at hand takes a step, its first or its last: a read's command is offered, or a write goes on.
    go: Signal<Local, bool>,
    read_goes: Signal<Local, bool>,
    write_goes: Signal<Local, bool>,
    /// A write's command is offered.
    write_offered: Signal<Local, bool>,
    /// A command is offered.
    offered: Signal<Local, bool>,
    /// A read cannot be issued.
    blocked: Signal<Local, bool>,
    /// The access at hand goes back to its client.
    back: Signal<Local, bool>,
    issued_late: Signal<Local, ByClient>,
    owner_bits: Cast<ByClient, Bits<4>>,
    shown_owner: Cast<ByClient, Bits<4>>,
    done: Signal<Local, bool>,
    look: Signal<Local, bool>,
    region_table: Number<4, { table::REGION as u64 }>,
    page_table: Number<4, { table::PAGE as u64 }>,
}

impl Logic for Protect {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, compare, place, issue, turn, second, taken, client, writes, user, owner, stuck,
            may_return
        );
        dff_setup!(self, clock, decided, decision, issued_count, refused, hold);
        clock!(self, clock, intake, pages, range, outstanding, read_out, write_out);
        drive!(self, reset => read_out.reset, write_out.reset, intake.reset, outstanding.reset;
            owner.q => owner_bits.from; intake.owner => shown_owner.from);

        // The clients.
        Sink::<Access>::link(&mut self.fetch, &mut self.intake.fetch);
        Sink::<Access>::link(&mut self.gather, &mut self.intake.gather);
        Sink::<Access>::link(&mut self.scatter, &mut self.intake.scatter);
        Sink::<Access>::link(&mut self.complete, &mut self.shared.writes);
        Sink::<Access>::link(&mut self.flush, &mut self.shared.reads);
        join!(self, Source<Access>, shared.access => intake.complete);

        // A commit is written while it is on the bus, no access is half way and none can be taken.
        self.idle.next = !self.taken.q.val() & self.intake.empty.val();
        self.between.next = self.idle.val() & !self.intake.open.val() & self.hold.q.val();
        self.region_commit.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.region_table.val());
        self.page_commit.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.page_table.val());
        self.commit.ready.next = self.between.val()
            & ((self.region_commit.val() & self.intake.written.val()) | self.page_commit.val());
        self.hold.d.next = self.region_commit.val()
            | self.page_commit.val()
            | self.outstanding.hold.val()
            | self.outstanding.full.val();
        drive!(self, hold.q => intake.hold; commit.data => intake.commit, page_row.from;
            commit.data.val().row => commit_row; page_row.to.val().address => page_address);
        self.intake.write.next = self.between.val() & self.region_commit.val();
        self.pages.write_enable.next = self.between.val()
            & self.page_commit.val()
            & (bit_cast::<16, PAGE_LOG2>(bit_cast::<PAGE_LOG2, 16>(self.commit_row.val()))
                == self.commit_row.val());
        self.pages.write_address.next = bit_cast::<PAGE_LOG2, 16>(self.commit_row.val());
        self.pages.write_data.next = bit_cast::<45, 57>(self.page_address.val() >> bits::<4>(12));

        // A read that could not be issued makes way for a write, and for what waits until no access is half way: a commit, or a drain.
        self.back.next = self.may_return.q.val()
            & (self.hold.q.val() | (self.intake.valid.val() & self.intake.access.val().write));

        // The last step of one access: a write's command goes out at once, a read's when the register before the engine is free. The cycle
        // in which the register is emptied does not count, because that is known late; the next command comes three cycles later.
        self.issuing.next = (self.issue.q.val() | self.second.q.val()) & !self.back.val();
        self.whole.next = self.second.q.val() | !self.range.crosses.val() | !self.range.granted.val();
        self.read_free.next = !self.read_out.waits.val() & (self.whole.val() | self.read.ready.val());
        self.read_goes.next = self.issuing.val() & !self.writes.q.val() & self.read_free.val();
        self.write_goes.next = self.issuing.val() & self.writes.q.val();
        self.go.next = self.read_goes.val() | self.write_goes.val();
        // A refused write has only its verdict.
        self.write_offered.next = self.write_goes.val() & self.range.granted.val();
        self.offered.next = self.read_goes.val() | self.write_offered.val();
        // `go` and `whole`, without the engine's `ready`, which comes late and makes no difference to a command that is whole.
        self.done.next =
            self.issuing.val() & self.whole.val() & (self.writes.q.val() | !self.read_out.waits.val());
        self.blocked.next = self.issue.q.val() & !self.writes.q.val() & !self.read_free.val();
        self.stuck.d.next = self.blocked.val();
        self.may_return.d.next = self.blocked.val() & self.owner_bits.to.val().any() & !self.back.val();
        // The first step of the next access.
        self.look.next = self.intake.valid.val() & (!self.taken.q.val() | self.done.val() | self.back.val());

        drive!(self, look => compare.d; compare.q => place.d);
        self.issue.d.next = self.place.q.val() | (self.issue.q.val() & !self.go.val() & !self.back.val());
        // Two steps more, if one command is not all.
        self.turn.d.next = self.issue.q.val() & self.go.val() & !self.whole.val();
        self.second.d.next = self.turn.q.val() | (self.second.q.val() & !self.done.val());
        self.taken.d.next = self.look.val() | (self.taken.q.val() & !self.done.val() & !self.back.val());
        if self.go.val() | self.back.val() {
            fill!(self, owner.d, false => fetch, gather, scatter, complete);
        }
        if self.look.val() {
            self.client.d.next = self.intake.client.val();
            self.writes.d.next = self.intake.access.val().write;
            self.user.d.next = self.intake.access.val().user;
            self.owner.d.next = self.intake.owner.val();
        }
        drive!(self, write_out.room => intake.write_room; look => intake.next_access; stuck.q => intake.stuck; owner.q => intake.away);
        self.intake.give_back.next =
            self.blocked.val() & self.intake.valid.val() & self.shown_owner.to.val().any();
        self.intake.sure.next = self.read.ready.val()
            & !self.read_out.waits.val()
            & !self.stuck.q.val()
            & (!self.taken.q.val() | self.writes.q.val());
        // Only a read stays on its client's port.
        self.issued_late.next.fetch = self.read_goes.val() & self.owner.q.val().fetch;
        self.issued_late.next.gather = self.read_goes.val() & self.owner.q.val().gather;
        self.issued_late.next.scatter = self.read_goes.val() & self.owner.q.val().scatter;
        self.issued_late.next.complete = self.read_goes.val() & self.owner.q.val().complete;
        drive!(self, issued_late => intake.issued; issued_late.val().complete => shared.issued;
            look => range.look; intake.access => range.access; intake.member => range.member;
            intake.region => range.region; intake.extent => range.extent; range.page => pages.read_address);
        drive!(self, compare.q => range.compare; place.q => range.place; turn.q => range.next_page);

        // The command, and the page, which comes late in the cycle.
        drive!(self, range.granted => cut.granted; range.offset => cut.offset; range.length => cut.length;
            range.crosses => cut.crosses; range.head => cut.head; range.rest => cut.rest;
            second.q => cut.second; client.q => cut.client; user.q => cut.user; outstanding.epoch => cut.epoch;
            cut.command => read_out.command, write_out.command;
            pages.read_data => read_out.page, write_out.page; read_goes => read_out.issue;
            write_offered => write_out.issue);
        Source::<DmaCommand>::link(&mut self.read, &mut self.read_out.engine);
        Source::<DmaCommand>::link(&mut self.write, &mut self.write_out.engine);
        if self.write_offered.val() {
            self.issued_count.d.next = self.issued_count.q.val() + 1;
        }
        self.decided.d.next = self.done.val() & self.writes.q.val();
        self.decision.d.next.ok = self.range.granted.val();
        self.decision.d.next.client = self.client.q.val();
        self.decision.d.next.user = self.user.q.val();
        self.refused.d.next = self.done.val() & !self.range.granted.val();

        drive!(self, offered => outstanding.issue; drain => outstanding.drain;
            between => outstanding.between);
        FlowSink::<bool>::link(&mut self.read_retire, &mut self.outstanding.read_retire);
        FlowSink::<bool>::link(&mut self.write_retire, &mut self.outstanding.write_retire);

        drive!(self, decided.q => verdict.valid; decision.q => verdict.data; issued_count.q => issued;
            outstanding.draining => draining; refused.q => count_refused);
        self.busy.next = !self.idle.val()
            | self.read_out.waits.val()
            | self.write_out.waits.val()
            | self.outstanding.active.val()
            | self.outstanding.draining.val();

        if self.reset.val() {
            self.compare.d.next = false;
            self.place.d.next = false;
            self.issue.d.next = false;
            self.turn.d.next = false;
            self.taken.d.next = false;
            self.second.d.next = false;
            fill!(self, owner.d, false => fetch, gather, scatter, complete);
            self.stuck.d.next = false;
            self.may_return.d.next = false;
            self.decided.d.next = false;
            self.refused.d.next = false;
            self.issued_count.d.next = bits::<8>(0);
        }
    }
}
