//! Between the endpoint's clock and the core's: packets each way, credits, and the configuration that the core looks at.
//!
//! ```text
//!            pclk                                              clock
//!      to_core ──►┌───────────────────────────────────────────┐──► tlp_rx
//!   read_freed ◄──│ Widen ──► AsyncFifo ──► Arrange           │◄── tlp_rx_np_ready
//!    from_core ◄──│ Narrow ◄── AsyncFifo ◄────────────────────│◄── tlp_tx
//!  core_limits ──►│ Mirror ──► CreditCounter                  │──► credit
//!  core_config ──►│ Mirror                                    │──► cfg
//!   core_reset ──►│ Synchronizer                              │──► link_down
//! reset_done ◄────│ Synchronizer                              │◄── function_reset_done
//!                 └───────────────────────────────────────────┘
//! ```
//! Contract: docs/pcie.md for the side of `pclk`, docs/bring-up.md ("The ports of the top") for that of `clock`. While `core_reset` is high,
//! what is under way in either direction is dropped; it stays high for 64 cycles of either clock at least, and a link takes longer to come
//! up. `clock` is at least half as fast as `pclk`.
//!
//! Latency: some 8 cycles of `clock` to the core, some 8 of `pclk` from it.
//!
//! Example: the words of a read come in `pclk`: its two beats leave at `tlp_rx` when the core takes a read, and then `read_freed` pulses.
//!
//! Tests: `tests/pcie/crossing/`, at random ratios of the clocks.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

mod arrange;
mod class_credit;
mod credit_counter;
mod mirror;
mod narrow;
mod pulse_crossing;
mod widen;

pub use arrange::Arrange;
pub use class_credit::ClassCredit;
pub use credit_counter::CreditCounter;
pub use mirror::Mirror;
pub use narrow::Narrow;
pub use pulse_crossing::PulseCrossing;
pub use widen::Widen;

use super::bus::{CoreConfig, CoreWord, Limits, TlpWord};
use crate::bus::TlpBeat;
use crate::clocks::{AsyncFifo, Synchronizer};
use crate::edge::{ConfigSource, TlpCreditsSource, TlpRxSource, TlpTxSink};
use crate::stream::{FlowSink, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// A beat of a TLP for the core.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct HostBeat {
    /// Two double words, the earlier in bits 31:0.
    pub data: Bits<64>,
    /// Which of the two double words are there.
    pub keep: Bits<2>,
    /// The beat is the last of its TLP.
    pub last: bool,
    /// The BAR that a request hits.
    pub bar: Bits<3>,
    /// The TLP is a non-posted request.
    pub non_posted: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PcieCrossing {
    /// Rising edge; the endpoint's clock.
    pub pclk: Signal<In, Clock>,
    /// TLPs for the core, from `transaction`.
    pub to_core: FlowSink<CoreWord>,
    /// The core has taken up a non-posted request.
    pub read_freed: Pulse,
    /// The core's TLPs, for `transaction`.
    pub from_core: Source<TlpWord>,
    /// What the core may send, since the link came up; from `transaction`.
    pub core_limits: Signal<In, Limits>,
    /// The configuration that the core looks at, from `transaction`.
    pub core_config: Signal<In, CoreConfig>,
    /// The core's function-level reset is done.
    pub function_reset_done: Signal<Out, bool>,
    /// The link is down, or in hot reset; from `transaction`.
    pub core_reset: Signal<In, bool>,
    /// Rising edge; the core's clock.
    pub clock: Signal<In, Clock>,
    /// To the core: packets from the host.
    pub tlp_rx: TlpRxSource,
    /// From the core: there is room for a non-posted request.
    pub tlp_rx_np_ready: Signal<In, bool>,
    /// From the core: packets to the host.
    pub tlp_tx: TlpTxSink,
    /// To the core: how much it may send now.
    pub credit: TlpCreditsSource,
    /// To the core: the function's configuration space.
    pub cfg: ConfigSource,
    /// From the core: its function-level reset is done.
    pub core_reset_done: Signal<In, bool>,
    /// To the core: the link is down, or in hot reset.
    pub link_down: Signal<Out, bool>,
    widen: Widen,
    to_fifo: AsyncFifo<HostBeat, 4, 5>,
    arrange: Arrange,
    freed: PulseCrossing,
    from_fifo: AsyncFifo<TlpBeat, 4, 5>,
    narrow: Narrow,
    limits: Mirror<Limits>,
    counter: CreditCounter,
    settings: Mirror<CoreConfig>,
    resets: DFF<bool>,
    reset_crossing: Synchronizer,
    done: DFF<bool>,
    done_crossing: Synchronizer,
    sent: Signal<Local, TlpBeat>,
    seen: Signal<Local, CoreConfig>,
    shown: Signal<Local, HostBeat>,
}

impl Logic for PcieCrossing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, pclk, resets);
        dff_setup!(self, clock, done);
        clock!(self, pclk, widen, narrow);
        clock!(self, clock, arrange, counter);
        drive!(self, pclk => to_fifo.write_clock, from_fifo.read_clock, freed.out_clock, limits.in_clock,
                settings.in_clock, done_crossing.clock;
            clock => to_fifo.read_clock, from_fifo.write_clock, freed.in_clock, limits.out_clock,
                settings.out_clock, reset_crossing.clock);

        // Resets.
        drive!(self, core_reset => resets.d, widen.reset, narrow.reset; resets.q => reset_crossing.in_data;
            reset_crossing.out_data => link_down, arrange.down, counter.down;
            core_reset_done => done.d; done.q => done_crossing.in_data; done_crossing.out_data => function_reset_done);

        // To the core.
        FlowSink::<CoreWord>::link(&mut self.to_core, &mut self.widen.words);
        drive!(self, widen.beats.valid => to_fifo.sink.valid; widen.beats.data => to_fifo.sink.data);
        join!(self, Source<HostBeat>, to_fifo.source => arrange.beats);
        drive!(self, tlp_rx_np_ready => arrange.np_ready; arrange.core.data => shown;
            arrange.core.valid => tlp_rx.valid; shown.val().data => tlp_rx.data; shown.val().keep => tlp_rx.keep;
            shown.val().last => tlp_rx.last; shown.val().bar => tlp_rx.bar;
            arrange.read_freed => freed.pulse; freed.out => read_freed);

        // From the core.
        fill!(self, sent, tlp_tx.data => data; tlp_tx.keep => keep; tlp_tx.last => last);
        drive!(self, sent => from_fifo.sink.data, counter.beat; tlp_tx.valid => from_fifo.sink.valid;
            from_fifo.sink.ready => tlp_tx.ready; tlp_tx.class => counter.sort);
        join!(self, Source<TlpBeat>, from_fifo.source => narrow.beats);
        Source::<TlpWord>::link(&mut self.from_core, &mut self.narrow.words);

        // Credits.
        drive!(self, core_limits => limits.word; limits.shown => counter.limits; limits.changed => counter.heard;
            counter.posted_headers => credit.ph; counter.posted_data => credit.pd;
            counter.non_posted_headers => credit.nph; counter.completion_headers => credit.ch;
            counter.completion_data => credit.cd);
        self.counter.moves.next = self.tlp_tx.valid.val() & self.from_fifo.sink.ready.val();

        // Configuration.
        drive!(self, core_config => settings.word; settings.shown => seen; seen.val().requester_id => cfg.requester_id;
            seen.val().max_payload => cfg.max_payload; seen.val().max_read => cfg.max_read;
            seen.val().rcb => cfg.rcb; seen.val().extended_tag => cfg.extended_tag;
            seen.val().bus_master => cfg.bus_master; seen.val().function_reset => cfg.function_reset;
            seen.val().msix_enable => cfg.msix_enable; seen.val().msix_mask => cfg.msix_mask);
    }
}
