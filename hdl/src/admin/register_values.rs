//! Says what the agent's loads read from the registers.
//!
//! ```text
//!                         place ──►┌────────────────┐
//!  control, state, mac, ip, ... ──►│ RegisterValues │──► value
//!                                  └────────────────┘
//! ```
//! Contract: `value` is the two registers at `place`, in the same cycle. A place without registers reads 0, and so do those of the
//! counters and the MSI-X table, which other blocks keep.
//!
//! Latency: none.
//!
//! Example: at the place of MAGIC `value` has MAGIC_VALUE below and VERSION_VALUE above.
//!
//! Tests: with `Registers`, `tests/admin/registers.rs`.

use super::RegisterPair;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{CQS, DOORBELL_SHIFT, PAGES, READ_DEPTH, RECEIVE_AHEAD, REGIONS, VECTORS, VIS};
use viaduct_spec::register::{nic_kind, registers, MAGIC_VALUE, MSIX_PENDING, VERSION_VALUE};

// Which registers share 8 bytes: the table below has them in pairs.
const _: () = {
    assert!(registers::VERSION == registers::MAGIC + 4 && registers::MAGIC % 8 == 0);
    assert!(registers::VIS == registers::KIND + 4 && registers::KIND % 8 == 0);
    assert!(registers::PAGES == registers::REGIONS + 4 && registers::REGIONS % 8 == 0);
    assert!(registers::RECEIVE_AHEAD == registers::DOORBELL_SHIFT + 4 && registers::DOORBELL_SHIFT % 8 == 0);
    assert!(registers::STATE == registers::CONTROL + 4 && registers::CONTROL % 8 == 0);
    assert!(registers::PKEY == registers::IP + 4 && registers::IP % 8 == 0);
    assert!(registers::CQS == registers::TIME + 4 && registers::TIME % 8 == 0);
    assert!(registers::RAW_CHANNEL == registers::READ_DEPTH + 4 && registers::READ_DEPTH % 8 == 0);
};

/// See the module's description. [`Registers`](super::Registers) drives the inputs.
#[derive(LogicBlock, Default)]
pub struct RegisterValues {
    /// Which 8 bytes of BAR 0 are read.
    pub place: Signal<In, Bits<17>>,
    /// The two registers at `place`.
    pub value: Signal<Out, RegisterPair>,
    /// The register CONTROL.
    pub control: Signal<In, Bits<32>>,
    /// The register STATE.
    pub state: Signal<In, Bits<32>>,
    /// The low half of the register MAC.
    pub mac_low: Signal<In, Bits<32>>,
    /// The high half of the register MAC.
    pub mac_high: Signal<In, Bits<16>>,
    /// The register IP.
    pub ip: Signal<In, Bits<32>>,
    /// The register PKEY.
    pub pkey: Signal<In, Bits<16>>,
    /// The register RAW_CHANNEL.
    pub raw_channel: Signal<In, Bits<32>>,
    /// The register STAGE0.
    pub stage0: Signal<In, Bits<64>>,
    /// The register STAGE1.
    pub stage1: Signal<In, Bits<64>>,
    /// The register STAGE2.
    pub stage2: Signal<In, Bits<64>>,
    /// The register RESULT.
    pub result: Signal<In, Bits<64>>,
    /// The register TIME: device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// The MSI-X pending bits, one for each vector.
    pub vectors_pending: Signal<In, Bits<VECTORS>>,
    /// The register of 64 bits that is read.
    wide: Cast<Bits<64>, RegisterPair>,
    magic: Number<32, { MAGIC_VALUE as u64 }>,
    version: Number<32, { VERSION_VALUE as u64 }>,
    kind: Number<32, { nic_kind::RTL as u64 }>,
    vis: Number<32, { VIS as u64 }>,
    regions: Number<32, { REGIONS as u64 }>,
    pages: Number<32, { PAGES as u64 }>,
    doorbell_shift: Number<32, { DOORBELL_SHIFT as u64 }>,
    receive_ahead: Number<32, { RECEIVE_AHEAD as u64 }>,
    cqs: Number<32, { CQS as u64 }>,
    read_depth: Number<32, { READ_DEPTH as u64 }>,
    at_magic: Number<17, { registers::MAGIC / 8 }>,
    at_kind: Number<17, { registers::KIND / 8 }>,
    at_regions: Number<17, { registers::REGIONS / 8 }>,
    at_doorbell_shift: Number<17, { registers::DOORBELL_SHIFT / 8 }>,
    at_control: Number<17, { registers::CONTROL / 8 }>,
    at_mac: Number<17, { registers::MAC / 8 }>,
    at_ip: Number<17, { registers::IP / 8 }>,
    at_stage0: Number<17, { registers::STAGE0 / 8 }>,
    at_stage1: Number<17, { registers::STAGE1 / 8 }>,
    at_stage2: Number<17, { registers::STAGE2 / 8 }>,
    at_result: Number<17, { registers::RESULT / 8 }>,
    at_time: Number<17, { registers::TIME / 8 }>,
    at_read_depth: Number<17, { registers::READ_DEPTH / 8 }>,
    at_pending: Number<17, { MSIX_PENDING / 8 }>,
}

impl Logic for RegisterValues {
    #[hdl_gen]
    fn update(&mut self) {
        // Registers of 64 bits.
        self.wide.from.next = bits::<64>(0);
        if self.place.val() == self.at_stage0.val() {
            self.wide.from.next = self.stage0.val();
        } else if self.place.val() == self.at_stage1.val() {
            self.wide.from.next = self.stage1.val();
        } else if self.place.val() == self.at_stage2.val() {
            self.wide.from.next = self.stage2.val();
        } else if self.place.val() == self.at_result.val() {
            self.wide.from.next = self.result.val();
        } else if self.place.val() == self.at_pending.val() {
            self.wide.from.next = bit_cast::<64, VECTORS>(self.vectors_pending.val());
        }
        // Registers of 32 bits, in pairs.
        self.value.next = self.wide.to.val();
        if self.place.val() == self.at_magic.val() {
            self.value.next.low = self.magic.val();
            self.value.next.high = self.version.val();
        } else if self.place.val() == self.at_kind.val() {
            self.value.next.low = self.kind.val();
            self.value.next.high = self.vis.val();
        } else if self.place.val() == self.at_regions.val() {
            self.value.next.low = self.regions.val();
            self.value.next.high = self.pages.val();
        } else if self.place.val() == self.at_doorbell_shift.val() {
            self.value.next.low = self.doorbell_shift.val();
            self.value.next.high = self.receive_ahead.val();
        } else if self.place.val() == self.at_control.val() {
            self.value.next.low = self.control.val();
            self.value.next.high = self.state.val();
        } else if self.place.val() == self.at_mac.val() {
            self.value.next.low = self.mac_low.val();
            self.value.next.high = bit_cast::<32, 16>(self.mac_high.val());
        } else if self.place.val() == self.at_ip.val() {
            self.value.next.low = self.ip.val();
            self.value.next.high = bit_cast::<32, 16>(self.pkey.val());
        } else if self.place.val() == self.at_time.val() {
            self.value.next.low = self.time_now.val();
            self.value.next.high = self.cqs.val();
        } else if self.place.val() == self.at_read_depth.val() {
            self.value.next.low = self.read_depth.val();
            self.value.next.high = self.raw_channel.val();
        }
    }
}
