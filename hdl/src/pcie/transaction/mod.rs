//! The transaction layer: what arrives goes to the core or is answered here; what the core sends goes to the link.
//!
//! ```text
//!    arrived ──►┌───────┐─────────────────────────────────────────────► to_core
//!               │ Inbox │──►┌──────────────┐──►┌───────────┐
//!               └───────┘   │ RequestQueue │   │ Completer │◄─► ConfigSpace ──► core_config, max_payload
//!               ┌────────┐  └──────────────┘   └───────────┘──► FunctionReset
//!    offered ◄──│ Outbox │◄──────────────────────────┘  └─────► FreedCount ──► freed
//!               └────────┘◄────────────────────────────────────────────  from_core
//!     limits ──► OwnCredits ──► core_limits
//! ```
//! Contract: docs/pcie.md, "What crosses between the layers".
//!
//! - Memory requests that hit a BAR, and completions, go to the core, in order. What is wrong within them (poison, a size that no register
//!   has) the core finds, and counts.
//! - Configuration requests of type 0 to function 0 are carried out. Every other non-posted request is answered as unsupported. Both wait
//!   in a queue of 8, so they hold nothing else.
//! - PME_Turn_Off is answered by PME_TO_Ack; after that nothing of the core's begins, and `enter_l23` is high. Other messages are dropped.
//! - Posted requests that hit nothing, and malformed TLPs, are dropped. Device Status says so.
//! - In D3hot only configuration requests are carried out, and `enter_l1` is high while nothing is under way.
//! - A function-level reset begins when the completion of the write that asks for it is in `Outbox`, where it may wait behind a TLP of the core's.
//!   Until the reset is over no request is answered: they wait.
//! - While the link is down, or in Hot Reset, everything is as after power-up.
//!
//! There is no Transactions Pending bit and there are no error messages: both read as never.
//!
//! Latency: 6 cycles from a TLP's last word, or its 16th, to the core; 1 cycle from the core to the link, 2 from `Completer`.
//!
//! Example: the first configuration write after the link is up gives the function its number, and the core's `cfg` has it.
//!
//! Tests: `tests/pcie/transaction/`.
//!
//! | block | what for |
//! |---|---|
//! | [`Inbox`] | sorts what arrives |
//! | [`HeaderReader`] | reads headers, decides fates |
//! | [`KindSort`] | format and type |
//! | [`BarMatch`] | which BAR an address hits |
//! | [`RequestQueue`] | requests that are answered here |
//! | [`Completer`] | carries them out, or refuses them |
//! | [`ReadExtent`] | the bytes that a refused read asks for |
//! | [`ConfigSpace`] | the registers; [`ConfigWord`] is one double word |
//! | [`FunctionReset`] | the function-level reset at the core |
//! | [`Outbox`] | merges what leaves |
//! | [`OwnCredits`] | the core's share of the credits |
//! | [`FreedCount`] | credits of non-posted requests |

mod bar_match;
mod completer;
mod config_space;
mod config_word;
pub mod fate;
mod faults;
mod freed_count;
mod function_reset;
mod half_word;
mod header_reader;
mod inbox;
mod kind_sort;
mod outbox;
mod own_credits;
mod read_extent;
mod request_queue;

pub use bar_match::BarMatch;
pub use completer::Completer;
pub use config_space::ConfigSpace;
pub use config_word::ConfigWord;
pub use faults::Faults;
pub use freed_count::FreedCount;
pub use function_reset::FunctionReset;
pub use header_reader::HeaderReader;
pub use inbox::Inbox;
pub use kind_sort::KindSort;
pub use outbox::Outbox;
pub use own_credits::OwnCredits;
pub use read_extent::ReadExtent;
pub use request_queue::RequestQueue;

use super::bus::{CoreConfig, CoreWord, Limits, TlpWord};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PcieTransaction {
    /// Rising edge; `pclk`, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// Power-up.
    pub reset: Signal<In, bool>,
    /// LinkUp, from the MAC.
    pub link_up: Signal<In, bool>,
    /// The link is in Hot Reset, or disabled; from the MAC.
    pub hot_reset: Signal<In, bool>,
    /// TLPs from the link.
    pub arrived: FlowSink<TlpWord>,
    /// TLPs to the link.
    pub offered: Source<TlpWord>,
    /// The link may carry packets; from the link.
    pub active: Signal<In, bool>,
    /// What the link partner has allowed, from the link.
    pub limits: Signal<In, Limits>,
    /// The credits of a non-posted request are free again; to the link.
    pub freed: Pulse,
    /// Max_Payload_Size in force, to the link.
    pub max_payload: Signal<Out, Bits<3>>,
    /// Ask the link partner for L1.
    pub enter_l1: Signal<Out, bool>,
    /// Ask the link partner for L2/L3 Ready.
    pub enter_l23: Signal<Out, bool>,
    /// TLPs for the core, over the crossing.
    pub to_core: FlowSource<CoreWord>,
    /// TLPs of the core, over the crossing.
    pub from_core: Sink<TlpWord>,
    /// The core has taken up a non-posted request; over the crossing.
    pub read_freed: Signal<In, bool>,
    /// What the core may send, over the crossing.
    pub core_limits: Signal<Out, Limits>,
    /// The core's `cfg`, over the crossing.
    pub core_config: Signal<Out, CoreConfig>,
    /// The core's function-level reset is done; over the crossing.
    pub function_reset_done: Signal<In, bool>,
    /// The core's `link_down`, over the crossing.
    pub core_reset: Signal<Out, bool>,
    inbox: Inbox,
    requests: RequestQueue,
    completer: Completer,
    space: ConfigSpace,
    resetter: FunctionReset,
    outbox: Outbox,
    own_credits: OwnCredits,
    freed_count: FreedCount,
    /// Everything is as after power-up.
    fresh: DFF<bool>,
    shown_config: DFF<CoreConfig>,
    sleeps: DFF<bool>,
    parts: DFF<bool>,
    faults: Signal<Local, Faults>,
}

impl Logic for PcieTransaction {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fresh, shown_config, sleeps, parts);
        clock!(self, clock, inbox, requests, completer, space, resetter, outbox, own_credits, freed_count);
        self.fresh.d.next = self.reset.val() | self.hot_reset.val() | !self.link_up.val();
        drive!(self, fresh.q => inbox.reset, requests.reset, completer.reset, space.reset,
            resetter.reset, outbox.reset, own_credits.reset, freed_count.reset, core_reset);

        // In.
        FlowSink::<TlpWord>::link(&mut self.arrived, &mut self.inbox.arrived);
        FlowSource::<CoreWord>::link(&mut self.to_core, &mut self.inbox.to_core);
        drive!(self, space.memory => inbox.memory; space.bar0 => inbox.bar0; space.bar2 => inbox.bar2;
            space.bar2_high => inbox.bar2_high; inbox.request.valid => requests.request.valid;
            inbox.request.data => requests.request.data; inbox.turn_off => completer.turn_off);

        // Requests.
        join!(self, Source<Bits<2>>, requests.entry => completer.entry);
        drive!(self, completer.row => requests.row; requests.word => completer.word;
            completer.index => space.index; completer.write => space.write;
            completer.enables => space.enables; completer.data => space.data; space.value => completer.value;
            space.asks_reset => completer.asks_reset; completer.identity => space.identity;
            completer.start_reset => resetter.start; function_reset_done => resetter.done;
            resetter.busy => completer.hold, space.function_reset;
            resetter.asks => space.resetting);
        // A request that found no room is a fatal error, too: the link partner had no credits for it.
        self.faults.next = self.inbox.faults.val();
        self.faults.next.fatal = self.inbox.faults.val().fatal | self.requests.overflow.val();
        drive!(self, faults => space.faults);

        // Out.
        Sink::<TlpWord>::link(&mut self.from_core, &mut self.outbox.from_core);
        Source::<TlpWord>::link(&mut self.offered, &mut self.outbox.offered);
        join!(self, Source<TlpWord>, completer.tlp => outbox.own);
        drive!(self, active => outbox.active; completer.parted => outbox.parted);
        drive!(self, limits => own_credits.limits; completer.count_completion => own_credits.count_completion;
            completer.count_data => own_credits.count_data; completer.count_message => own_credits.count_message;
            own_credits.core_limits => core_limits; completer.freed => freed_count.answered;
            read_freed => freed_count.read_freed);
        Pulse::link(&mut self.freed, &mut self.freed_count.freed);

        // Levels.
        drive!(self, space.core => shown_config.d; shown_config.q => core_config;
            shown_config.q.val().max_payload => max_payload; sleeps.q => enter_l1; parts.q => enter_l23);
        self.sleeps.d.next = self.space.asleep.val()
            & !self.completer.busy.val()
            & !self.outbox.busy.val()
            & !self.from_core.valid.val()
            & !self.fresh.q.val();
        self.parts.d.next = self.completer.leaves.val() & !self.outbox.busy.val() & !self.fresh.q.val();
    }
}
