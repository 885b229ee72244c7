//! What the agent has set for all frames that come in: the card's own addresses, and its raw channel.

#![allow(missing_docs, reason = "derive(LogicInterface) makes a method without documentation")]

use rust_hdl::prelude::*;

/// The end that has the settings: the agent's registers. The settings are levels; no pulse says that one has changed.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "StationSink"]
pub struct StationSource {
    /// Own MAC address, first byte in bits 7:0.
    pub mac: Signal<Out, Bits<48>>,
    /// Own IPv4 address, most significant byte = first on the wire.
    pub ip: Signal<Out, Bits<32>>,
    /// P_Key that frames must carry.
    pub pkey: Signal<Out, Bits<16>>,
    /// The raw channel is open: RAW_CHANNEL's fields, this and what follows.
    pub raw_open: Signal<Out, bool>,
    /// The raw channel takes broadcast frames.
    pub raw_broadcast: Signal<Out, bool>,
    /// The raw channel takes multicast frames.
    pub raw_multicast: Signal<Out, bool>,
    /// The raw channel takes frames to any address.
    pub raw_any: Signal<Out, bool>,
    /// The VI that the raw channel delivers to.
    pub raw_vi: Signal<Out, Bits<10>>,
}

/// The end that uses the settings: `Receive`, and in it `Parse`.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "StationSource"]
pub struct StationSink {
    /// Own MAC address, first byte in bits 7:0.
    pub mac: Signal<In, Bits<48>>,
    /// Own IPv4 address, most significant byte = first on the wire.
    pub ip: Signal<In, Bits<32>>,
    /// P_Key that frames must carry.
    pub pkey: Signal<In, Bits<16>>,
    /// The raw channel is open: RAW_CHANNEL's fields, this and what follows.
    pub raw_open: Signal<In, bool>,
    /// The raw channel takes broadcast frames.
    pub raw_broadcast: Signal<In, bool>,
    /// The raw channel takes multicast frames.
    pub raw_multicast: Signal<In, bool>,
    /// The raw channel takes frames to any address.
    pub raw_any: Signal<In, bool>,
    /// The VI that the raw channel delivers to.
    pub raw_vi: Signal<In, Bits<10>>,
}
