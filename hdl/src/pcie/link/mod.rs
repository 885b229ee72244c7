//! The data link layer: framing, LCRC, sequence numbers, Ack and Nak, replay, DLLPs, flow control.
//!
//! ```text
//!              symbols ──►┌──────────┐──► arrived
//!                 line ◄──│ PcieLink │◄── offered
//!       link_up, in_l0 ──►│          │──► active, limits
//! retrain, sleep, wake ◄──│          │◄── freed, max_payload, enter_l1, enter_l23
//!                         └──────────┘
//! ```
//! Contract: docs/pcie.md, "What crosses between the layers". What is damaged is dropped and nothing else. `link_up` low forgets everything;
//! Recovery, which is `in_l0` low for a time, loses nothing, and holds the timers.
//!
//! The first two words of a TLP are taken from `offered` before its credits are looked at: they say how many it needs.
//!
//! ```text
//!  symbols ─► Deframe ─┬► TlpJudge ────────────────► arrived      offered ─► Credits ─► Replay ─► Frame ─► line
//!                      │     └► Acks, Grant ─► DllpSender                      ▲          ▲        ▲
//!                      └► Dllps ─► Activity, Credits, Replay, Power             └── Dllps ─┘   DllpSender
//! ```
//! Latency: from END to the first word at `arrived` 8 cycles; from the last word of `offered` to STP on the line 5.
//!
//! Example: a TLP of 6 words at `offered` goes out as 10 words. When its Ack comes it is forgotten.
//!
//! Tests: `tests/pcie/link/`.

mod account;
mod acks;
mod activity;
mod credits;
mod deframe;
mod dllp_crc;
mod dllp_sender;
mod dllps;
mod frame;
mod grant;
mod packet;
mod power;
mod receive_buffer;
mod replay;
mod replay_timer;
mod ring;
mod symbol_kind;
mod tlp_class;
mod tlp_judge;

pub use account::Account;
pub use acks::Acks;
pub use activity::Activity;
pub use credits::Credits;
pub use deframe::Deframe;
pub use dllp_crc::DllpCrc;
pub use dllp_sender::DllpSender;
pub use dllps::Dllps;
pub use frame::Frame;
pub use grant::Grant;
pub use packet::{Heard, Judged, PacketEnding, Piece, Row};
pub use power::Power;
pub use receive_buffer::ReceiveBuffer;
pub use replay::Replay;
pub use replay_timer::ReplayTimer;
pub use ring::Ring;
pub use symbol_kind::{Meaning, SymbolKind};
pub use tlp_class::TlpClass;
pub use tlp_judge::TlpJudge;

use super::bus::{Limits, LineWord, Symbols, TlpWord};
use crate::stream::{FlowSink, FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PcieLink {
    /// Rising edge: pclk, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// As `link_up` low.
    pub reset: Signal<In, bool>,
    /// Received symbols; from `mac`, as `link_up` and `in_l0`.
    pub symbols: FlowSink<Symbols>,
    /// Packets to send; to `mac`.
    pub line: Source<LineWord>,
    /// LinkUp.
    pub link_up: Signal<In, bool>,
    /// L0: packets may be sent.
    pub in_l0: Signal<In, bool>,
    /// Go to Recovery; to `mac`, as the two below.
    pub retrain: Signal<Out, bool>,
    /// Go to L1.
    pub sleep: Signal<Out, bool>,
    /// Leave L1.
    pub wake: Signal<Out, bool>,
    /// Good TLPs; to `transaction`.
    pub arrived: FlowSource<TlpWord>,
    /// TLPs to send; from `transaction`.
    pub offered: Sink<TlpWord>,
    /// DL_Active.
    pub active: Signal<Out, bool>,
    /// What the link partner has allowed.
    pub limits: Signal<Out, Limits>,
    /// A non-posted request has left its queue; from `transaction`, as the three below.
    pub freed: Signal<In, bool>,
    /// Max_Payload_Size: 128 << n bytes.
    pub max_payload: Signal<In, Bits<3>>,
    /// L1 is wished for.
    pub enter_l1: Signal<In, bool>,
    /// L2/L3 Ready is wished for.
    pub enter_l23: Signal<In, bool>,
    deframe: Deframe,
    judge: TlpJudge,
    dllps: Dllps,
    acks: Acks,
    grant: Grant,
    activity: Activity,
    credits: Credits,
    replay: Replay,
    sender: DllpSender,
    frame: Frame,
    power: Power,
    /// The link is down.
    down: DFF<bool>,
}

impl Logic for PcieLink {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, down);
        clock!(
            self, clock, deframe, judge, dllps, acks, grant, activity, credits, replay, sender, frame, power
        );
        self.down.d.next = self.reset.val() | !self.link_up.val();
        drive!(self, down.q => deframe.reset, judge.reset, dllps.reset, acks.reset, grant.reset,
                activity.reset, credits.reset, replay.reset, sender.reset, frame.reset, power.reset;
            in_l0 => deframe.in_l0, acks.in_l0, grant.in_l0, replay.in_l0, frame.in_l0, power.in_l0;
            max_payload => acks.max_payload, replay.max_payload);

        // What comes.
        FlowSink::<Symbols>::link(&mut self.symbols, &mut self.deframe.symbols);
        FlowSource::<TlpWord>::link(&mut self.arrived, &mut self.judge.arrived);
        drive!(self, deframe.begins => judge.begins, dllps.begins;
            deframe.piece.valid => judge.piece.valid, dllps.piece.valid;
            deframe.piece.data => judge.piece.data, dllps.piece.data;
            deframe.ending.valid => judge.ending.valid, dllps.ending.valid;
            deframe.ending.data => judge.ending.data, dllps.ending.data;
            deframe.damaged => judge.damaged; activity.hears => judge.hears;
            judge.judged => acks.judged, grant.judged; judge.expected => acks.expected; freed => grant.freed;
            dllps.heard.valid => activity.heard.valid, credits.heard.valid, replay.heard.valid, power.heard.valid;
            dllps.heard.data => activity.heard.data, credits.heard.data, replay.heard.data, power.heard.data);
        self.activity.tlp.next = self.judge.judged.val().taken | self.judge.judged.val().again;

        // How it becomes active.
        drive!(self, credits.complete => activity.complete; activity.active => active, grant.active;
            activity.init1 => credits.init1, sender.init1; activity.init2 => sender.init2; activity.sort => sender.sort;
            sender.init_said => activity.init_said; credits.limits => limits);

        // What goes.
        Sink::<TlpWord>::link(&mut self.offered, &mut self.credits.offered);
        join!(self, Source<TlpWord>, credits.passed => replay.sink);
        join!(self, Source<Bits<32>>, sender.dllp => frame.dllp);
        drive!(self, replay.waits => frame.waits; replay.number => frame.number; replay.row => frame.row;
            frame.begins => replay.begins; frame.takes => replay.takes; frame.ends => replay.ends;
            acks.nak_due => sender.nak_due; acks.ack_due => sender.ack_due; acks.number => sender.number;
            sender.nak_said => acks.nak_said; sender.ack_said => acks.ack_said; grant.due => sender.update_due;
            grant.headers => sender.headers; grant.data => sender.data; sender.update_said => grant.said;
            replay.retrain => retrain);
        Source::<LineWord>::link(&mut self.line, &mut self.frame.line);

        // L1.
        drive!(self, enter_l1 => power.enter_l1; enter_l23 => power.enter_l23; offered.valid => power.offers;
            grant.quiet => power.quiet; power.ask_l1 => sender.ask_l1; power.ask_l23 => sender.ask_l23;
            power.mute => sender.mute; power.sleep => sleep; power.wake => wake);
        self.power.settled.next =
            self.activity.active.val() & self.replay.empty.val() & self.credits.idle.val();
        self.power.rests.next = self.frame.rests.val() & !self.sender.dllp.valid.val();
        self.credits.blocked.next = self.power.blocked.val() | !self.activity.active.val();
    }
}
