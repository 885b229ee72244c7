//! The ports of the whole NIC: its edges to PCI Express and to Ethernet. "The top's ports" in docs/architecture.md has their contract.
//!
//! In the exported Verilog a field `x` of a port `tlp_rx` is `tlp_rx_x`.

#![allow(missing_docs, reason = "derive(LogicInterface) makes a method without documentation")]

use rust_hdl::prelude::*;

/// Packets from the host; the PCIe endpoint drives all fields. There is no `ready`: the NIC has room.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "TlpRxSource"]
pub struct TlpRx {
    /// A beat comes in this cycle.
    pub valid: Signal<In, bool>,
    /// Two double words, the earlier in bits 31:0.
    pub data: Signal<In, Bits<64>>,
    /// Which of the two double words are there: 01 or 11; 01 only with `last`.
    pub keep: Signal<In, Bits<2>>,
    /// The beat is the last of its packet.
    pub last: Signal<In, bool>,
    /// The BAR that a request hits, 0 or 2; it counts in the first beat.
    pub bar: Signal<In, Bits<3>>,
}

/// The other end of [`TlpRx`]: an endpoint's.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "TlpRx"]
pub struct TlpRxSource {
    /// A beat comes in this cycle.
    pub valid: Signal<Out, bool>,
    /// Two double words, the earlier in bits 31:0.
    pub data: Signal<Out, Bits<64>>,
    /// Which of the two double words are there: 01 or 11; 01 only with `last`.
    pub keep: Signal<Out, Bits<2>>,
    /// The beat is the last of its packet.
    pub last: Signal<Out, bool>,
    /// The BAR that a request hits, 0 or 2; it counts in the first beat.
    pub bar: Signal<Out, Bits<3>>,
}

/// Packets to the host; the PCIe endpoint drives `ready`, and the NIC the other fields.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "TlpTxSink"]
pub struct TlpTx {
    /// A beat is offered.
    pub valid: Signal<Out, bool>,
    /// The host has room: the beat moves at the next rising edge.
    pub ready: Signal<In, bool>,
    /// Two double words, the earlier in bits 31:0.
    pub data: Signal<Out, Bits<64>>,
    /// Which of the two double words are there: 01 or 11; 01 only with `last`.
    pub keep: Signal<Out, Bits<2>>,
    /// The beat is the last of its packet.
    pub last: Signal<Out, bool>,
    /// `viaduct_spec::tlp::class` of the packet.
    pub class: Signal<Out, Bits<2>>,
}

/// The other end of [`TlpTx`]: an endpoint's.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "TlpTx"]
pub struct TlpTxSink {
    /// A beat is offered.
    pub valid: Signal<In, bool>,
    /// The host has room: the beat moves at the next rising edge.
    pub ready: Signal<Out, bool>,
    /// Two double words, the earlier in bits 31:0.
    pub data: Signal<In, Bits<64>>,
    /// Which of the two double words are there: 01 or 11; 01 only with `last`.
    pub keep: Signal<In, Bits<2>>,
    /// The beat is the last of its packet.
    pub last: Signal<In, bool>,
    /// `viaduct_spec::tlp::class` of the packet.
    pub class: Signal<In, Bits<2>>,
}

/// What may be sent to the host now; the PCIe endpoint drives all fields.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "TlpCreditsSource"]
pub struct TlpCredits {
    /// Number of headers of posted packets.
    pub ph: Signal<In, Bits<8>>,
    /// Data of posted packets, in units of 16 bytes.
    pub pd: Signal<In, Bits<12>>,
    /// Number of headers of non-posted packets.
    pub nph: Signal<In, Bits<8>>,
    /// Number of headers of completions.
    pub ch: Signal<In, Bits<8>>,
    /// Data of completions, in units of 16 bytes.
    pub cd: Signal<In, Bits<12>>,
}

/// The other end of [`TlpCredits`]: an endpoint's.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "TlpCredits"]
pub struct TlpCreditsSource {
    /// Number of headers of posted packets.
    pub ph: Signal<Out, Bits<8>>,
    /// Data of posted packets, in units of 16 bytes.
    pub pd: Signal<Out, Bits<12>>,
    /// Number of headers of non-posted packets.
    pub nph: Signal<Out, Bits<8>>,
    /// Number of headers of completions.
    pub ch: Signal<Out, Bits<8>>,
    /// Data of completions, in units of 16 bytes.
    pub cd: Signal<Out, Bits<12>>,
}

/// The function's configuration space, as far as the NIC looks at it. System software may change it at any time; the PCIe endpoint keeps it,
/// and drives all fields.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "ConfigSource"]
pub struct Config {
    /// The function's bus, device and function number.
    pub requester_id: Signal<In, Bits<16>>,
    /// MaxPayload: 128 << n bytes.
    pub max_payload: Signal<In, Bits<3>>,
    /// MaxReadRequest: 128 << n bytes.
    pub max_read: Signal<In, Bits<3>>,
    /// Read completion boundary, 1 = 128 bytes. The NIC does not look at it: its own completions are of 8 bytes at most.
    pub rcb: Signal<In, bool>,
    /// 8-bit tags are allowed.
    pub extended_tag: Signal<In, bool>,
    /// Memory requests may be sent.
    pub bus_master: Signal<In, bool>,
    /// Function-level reset; it stays high until `function_reset_done`.
    pub function_reset: Signal<In, bool>,
    /// MSI-X is enabled.
    pub msix_enable: Signal<In, bool>,
    /// All vectors are masked.
    pub msix_mask: Signal<In, bool>,
}

/// The other end of [`Config`]: an endpoint's.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Config"]
pub struct ConfigSource {
    /// The function's bus, device and function number.
    pub requester_id: Signal<Out, Bits<16>>,
    /// MaxPayload: 128 << n bytes.
    pub max_payload: Signal<Out, Bits<3>>,
    /// MaxReadRequest: 128 << n bytes.
    pub max_read: Signal<Out, Bits<3>>,
    /// Read completion boundary, 1 = 128 bytes. The NIC does not look at it: its own completions are of 8 bytes at most.
    pub rcb: Signal<Out, bool>,
    /// 8-bit tags are allowed.
    pub extended_tag: Signal<Out, bool>,
    /// Memory requests may be sent.
    pub bus_master: Signal<Out, bool>,
    /// Function-level reset; it stays high until `function_reset_done`.
    pub function_reset: Signal<Out, bool>,
    /// MSI-X is enabled.
    pub msix_enable: Signal<Out, bool>,
    /// All vectors are masked.
    pub msix_mask: Signal<Out, bool>,
}

/// Frames from the MAC, which drives all fields. There is no `ready`: a frame that finds no room is dropped whole and counted.
#[derive(Clone, Debug, Default, LogicInterface)]
pub struct EthRx {
    /// A beat comes in this cycle.
    pub valid: Signal<In, bool>,
    /// Eight bytes, the first in bits 7:0.
    pub data: Signal<In, Bits<64>>,
    /// Which of the eight bytes are there: all of them but in the last beat.
    pub keep: Signal<In, Bits<8>>,
    /// The beat is the last of its frame.
    pub last: Signal<In, bool>,
    /// With `last`: the MAC found the frame damaged.
    pub bad: Signal<In, bool>,
}

/// Frames to the MAC, which drives `ready`; the NIC drives the other fields.
#[derive(Clone, Debug, Default, LogicInterface)]
pub struct EthTx {
    /// A beat is offered.
    pub valid: Signal<Out, bool>,
    /// The MAC has room: the beat moves at the next rising edge.
    pub ready: Signal<In, bool>,
    /// Eight bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<64>>,
    /// Which of the eight bytes are there: all of them but in the last beat.
    pub keep: Signal<Out, Bits<8>>,
    /// The beat is the last of its frame.
    pub last: Signal<Out, bool>,
}

/// Frames that turn round inside, from one VI to another or to itself: for test benches, which would see nothing of loopback connections
/// otherwise.
#[derive(Clone, Debug, Default, LogicInterface)]
pub struct EthWatch {
    /// A beat is offered to the receive side.
    pub valid: Signal<Out, bool>,
    /// The receive side has room: the beat moves at the next rising edge.
    pub ready: Signal<Out, bool>,
    /// Eight bytes, the first in bits 7:0.
    pub data: Signal<Out, Bits<64>>,
    /// Which of the eight bytes are there: all of them but in the last beat.
    pub keep: Signal<Out, Bits<8>>,
    /// The beat is the last of its frame.
    pub last: Signal<Out, bool>,
}
