//! Keeps what the agent sets for all frames: MAC, IP, PKEY and RAW_CHANNEL.
//!
//! ```text
//!   store ──►┌──────────────────┐──► station
//!            │ StationRegisters │──► mac, ip, pkey, raw_channel (as loads read them)
//!            └──────────────────┘
//! ```
//! Contract: each of these registers holds what was stored to it last. After a reset the P_Key is the default one, and all else is 0: the
//! raw channel is closed. Reserved bits read 0.
//!
//! Latency: 1 cycle.
//!
//! Example: a store to RAW_CHANNEL with ENABLE, BROADCAST and VI 5: in the next cycle `station` says that the raw channel is open, takes
//! broadcast frames, and delivers to VI 5.
//!
//! Tests: with `Registers`, `tests/admin/registers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::{RegisterStore, StoredRegister};
use crate::prims::Cast;
use crate::receive::StationSource;
use crate::rows::register::RawChannelRegister;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::register::registers;
use viaduct_spec::wire::DEFAULT_PKEY;

/// The MAC address as two registers.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct MacParts {
    low: Bits<32>,
    high: Bits<16>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct StationRegisters {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Sets the registers to what they are after a reset.
    pub reset: Signal<In, bool>,
    /// A store, from [`RegisterStores`](super::RegisterStores).
    pub store: Signal<In, RegisterStore>,
    /// The NIC's own addresses, and the raw channel, for `receive`.
    pub station: StationSource,
    /// The low register of MAC.
    pub mac_low: Signal<Out, Bits<32>>,
    /// The high register of MAC: 16 bits.
    pub mac_high: Signal<Out, Bits<16>>,
    /// The register IP.
    pub ip: Signal<Out, Bits<32>>,
    /// The register PKEY.
    pub pkey: Signal<Out, Bits<16>>,
    /// The register RAW_CHANNEL.
    pub raw_channel: Signal<Out, Bits<32>>,
    low: StoredRegister<32, { registers::MAC }, 0>,
    high: StoredRegister<16, { registers::MAC + 4 }, 0>,
    own_ip: StoredRegister<32, { registers::IP }, 0>,
    own_pkey: StoredRegister<16, { registers::PKEY }, { DEFAULT_PKEY as u64 }>,
    channel: StoredRegister<32, { registers::RAW_CHANNEL }, 0>,
    mac: Cast<MacParts, Bits<48>>,
    held: Cast<Bits<32>, RawChannelRegister>,
    shown: Cast<RawChannelRegister, Bits<32>>,
    raw: Signal<Local, RawChannelRegister>,
}

impl Logic for StationRegisters {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, low, high, own_ip, own_pkey, channel);
        drive!(self, reset => low.reset, high.reset, own_ip.reset, own_pkey.reset, channel.reset);
        drive!(self, store => low.store, high.store, own_ip.store, own_pkey.store, channel.store);
        fill!(self, mac.from, low.value => low; high.value => high);
        drive!(self, mac.to => station.mac; own_ip.value => station.ip, ip;
            own_pkey.value => station.pkey, pkey);
        drive!(self, low.value => mac_low; high.value => mac_high);

        drive!(self, channel.value => held.from; held.to => raw);
        drive!(self, raw.val().enable => station.raw_open; raw.val().broadcast => station.raw_broadcast;
            raw.val().multicast => station.raw_multicast; raw.val().promiscuous => station.raw_any;
            raw.val().vi => station.raw_vi);
        self.shown.from.next = self.raw.val();
        self.shown.from.next.reserved_10 = bits::<6>(0);
        self.shown.from.next.reserved_20 = bits::<12>(0);
        drive!(self, shown.to => raw_channel);
    }
}
