//! Takes in a VI's GATHER row: its tag, and what its messages and packets may have at most.
//!
//! ```text
//!  step ──►┌────────────┐──► limits
//!  late ──►│ SendLimits │──► row
//!          └────────────┘
//! ```
//! Contract: the block takes the row in the steps TailRow and Limits, in which it is in `late`. `row` is what `late` is as a row; it has a
//! meaning in these steps alone.
//!
//! Latency: 1 cycle.
//!
//! Example: a row has MTU 2 and is not RAW: from step Verdict on `limits` has `mtu` 1024 and `mtu_log2` 10. If it is RAW, `mtu` is 8191.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::check_steps::CheckStep;
use crate::arithmetic::PathMtu;
use crate::prims::{Cast, Number};
use crate::rows::tables::GatherRow;

/// The limits that a VI's GATHER row sets for its messages and packets.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ViLimits {
    /// Protection tag of the VI.
    pub tag: Bits<16>,
    /// Bytes of payload that a packet may have; of service RAW more than any frame has.
    pub mtu: Bits<13>,
    /// log2 of the path MTU.
    pub mtu_log2: Bits<4>,
    /// The VI's service is RAW.
    pub raw: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SendLimits {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of check, which drives this and `late`.
    pub step: Signal<In, CheckStep>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// The limits that the row sets.
    pub limits: Signal<Out, ViLimits>,
    /// The row, in step Limits.
    pub row: Signal<Out, GatherRow>,
    kept: DFF<ViLimits>,
    late_row: Cast<Bits<64>, GatherRow>,
    path_mtu: PathMtu,
    no_mtu: Number<13, 8191>,
}

impl Logic for SendLimits {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, kept);
        drive!(self, late => late_row.from; late_row.to.val().mtu => path_mtu.code;
            kept.q => limits; late_row.to => row);
        if (self.step.val() == CheckStep::TailRow) | (self.step.val() == CheckStep::Limits) {
            self.kept.d.next.tag = self.late_row.to.val().tag;
            self.kept.d.next.mtu = self.path_mtu.bytes.val();
            // RAW-4: a raw message is one frame.
            if self.late_row.to.val().raw {
                self.kept.d.next.mtu = self.no_mtu.val();
            }
            self.kept.d.next.mtu_log2 = bits::<4>(8) + bit_cast::<4, 3>(self.late_row.to.val().mtu);
            self.kept.d.next.raw = self.late_row.to.val().raw;
        }
    }
}
