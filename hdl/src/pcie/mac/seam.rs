//! The symbol seam as ports: what the endpoint and the transceiver below it say to each other.
//!
//! ```text
//!   rx_data, rx_k, rx_error, rx_idle, phy_ready ──►┌──────┐──► tx_data, tx_k, tx_idle
//!                  detect_done, detect_present ──►│ Seam │──► detect_request, rx_invert
//!                                                 └──────┘
//! ```
//! Contract: docs/pcie.md, "The symbol seam". The fields are seen from the endpoint. A block that passes them on links them,
//! `Seam::link(&mut self.seam, &mut self.inner.seam)`. In the exported Verilog a port `seam` is `seam_rx_data`, `seam_rx_k` and so on.
//!
//! Latency: none; these are wires. Tests: `tests/pcie/mac/`.

#![allow(missing_docs, reason = "derive(LogicInterface) makes a method without documentation")]

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "PhySeam"]
pub struct Seam {
    /// The transceiver runs, from the transceiver; until then nothing of the seam means anything.
    pub phy_ready: Signal<In, bool>,
    /// Two symbols received, from the transceiver; the first one is in the low byte.
    pub rx_data: Signal<In, Bits<16>>,
    /// Which symbols of `rx_data` are K, from the transceiver.
    pub rx_k: Signal<In, Bits<2>>,
    /// Which symbols of `rx_data` are damaged, from the transceiver: their value and K mean nothing.
    pub rx_error: Signal<In, Bits<2>>,
    /// Electrical idle, not filtered, from the transceiver.
    pub rx_idle: Signal<In, bool>,
    /// The lane's polarity is to be inverted.
    pub rx_invert: Signal<Out, bool>,
    /// Two symbols to send, the first one in the low byte.
    pub tx_data: Signal<Out, Bits<16>>,
    /// Which of them are K.
    pub tx_k: Signal<Out, Bits<2>>,
    /// Electrical idle in place of both symbols.
    pub tx_idle: Signal<Out, bool>,
    /// Look for a receiver; it holds until `detect_done`.
    pub detect_request: Signal<Out, bool>,
    /// The look for a receiver has ended, from the transceiver.
    pub detect_done: Signal<In, bool>,
    /// There is a receiver, from the transceiver; it counts with `detect_done`.
    pub detect_present: Signal<In, bool>,
}

/// The other end of [`Seam`]: the transceiver's.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "Seam"]
pub struct PhySeam {
    /// The transceiver runs; until then nothing of the seam means anything.
    pub phy_ready: Signal<Out, bool>,
    /// Two symbols received, the first one in the low byte.
    pub rx_data: Signal<Out, Bits<16>>,
    /// Which of them are K.
    pub rx_k: Signal<Out, Bits<2>>,
    /// Which of them are damaged: value and K mean nothing.
    pub rx_error: Signal<Out, Bits<2>>,
    /// Electrical idle, not filtered.
    pub rx_idle: Signal<Out, bool>,
    /// The lane's polarity is to be inverted, from the endpoint.
    pub rx_invert: Signal<In, bool>,
    /// Two symbols to send, from the endpoint; the first one is in the low byte.
    pub tx_data: Signal<In, Bits<16>>,
    /// Which symbols of `tx_data` are K, from the endpoint.
    pub tx_k: Signal<In, Bits<2>>,
    /// Electrical idle in place of both symbols, from the endpoint.
    pub tx_idle: Signal<In, bool>,
    /// Look for a receiver, from the endpoint; it holds until `detect_done`.
    pub detect_request: Signal<In, bool>,
    /// The look has ended.
    pub detect_done: Signal<Out, bool>,
    /// There is a receiver; it counts with `detect_done`.
    pub detect_present: Signal<Out, bool>,
}
