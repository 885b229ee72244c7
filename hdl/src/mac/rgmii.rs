//! Bytes to the pins of an RGMII and back: four bits at each edge of a clock.
//!
//! ```text
//! tx_data, tx_enable, tx_error ──►┌───────┐──► pads_tx_clock, pads_tx_data, pads_tx_control
//!                                 │ Rgmii │
//!                 rx, rx_error ◄──└───────┘◄── rx_clock, pads_rx_data, pads_rx_control
//! ```
//! Contract: a byte a cycle of 125 MHz, its low half at the rising edge. Control is valid (enable) at the rising edge and valid xor
//! error at the falling edge. The transmit clock leaves as the data do, so one of them needs the 2 ns between them: from the PHY, or
//! from the steps given to [`Rgmii::new`]; so does the receive side.
//!
//! Latency: 2 cycles of each clock.
//!
//! Example: `tx_data` 0xA5 with `tx_enable` shows 5 on the pads at the rising edge and 0xA at the falling one, with control high at both.
//!
//! Tests: with the MAC, `tests/mac/`; each board's steps are in its README.

use super::{DdrIn, DdrOut, Delay};
use crate::stream::FlowSource;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Rgmii {
    /// Rising edge, 125 MHz; the clock of the transmit side.
    pub tx_clock: Signal<In, Clock>,
    /// The byte to send.
    pub tx_data: Signal<In, Bits<8>>,
    /// The byte belongs to a frame or to its preamble.
    pub tx_enable: Signal<In, bool>,
    /// The byte is to arrive as an error.
    pub tx_error: Signal<In, bool>,
    /// The clock to the PHY.
    pub pads_tx_clock: Signal<Out, Bits<1>>,
    /// Data to the PHY, four bits at each edge.
    pub pads_tx_data: Signal<Out, Bits<4>>,
    /// Control to the PHY.
    pub pads_tx_control: Signal<Out, Bits<1>>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// Data from the PHY, four bits at each edge.
    pub pads_rx_data: Signal<In, Bits<4>>,
    /// Control from the PHY.
    pub pads_rx_control: Signal<In, Bits<1>>,
    /// A byte of a frame or of its preamble; while `valid` is low, `data` is the PHY's status.
    pub rx: FlowSource<Bits<8>>,
    /// The PHY marks an error in the byte.
    pub rx_error: Signal<Out, bool>,
    clock_out: DdrOut<1>,
    clock_delay: Delay<1>,
    data_out: DdrOut<4>,
    control_out: DdrOut<1>,
    data_delay: Delay<4>,
    data_in: DdrIn<4>,
    control_delay: Delay<1>,
    control_in: DdrIn<1>,
    /// The byte received.
    octet: DFF<Bits<8>>,
    /// `rx.valid`.
    valid: DFF<bool>,
    /// `rx_error`.
    error: DFF<bool>,
}

impl Rgmii {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self {
            clock_delay: Delay::new(tx_steps),
            data_delay: Delay::new(rx_steps),
            control_delay: Delay::new(rx_steps),
            ..Self::default()
        }
    }
}

impl Logic for Rgmii {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, rx_clock, octet, valid, error);
        clock!(self, tx_clock, clock_out, data_out, control_out);
        clock!(self, rx_clock, data_in, control_in);
        // Out.
        self.clock_out.rise.next = bits::<1>(1);
        self.clock_out.fall.next = bits::<1>(0);
        self.clock_delay.in_data.next = self.clock_out.pad.val();
        self.pads_tx_clock.next = self.clock_delay.out_data.val();
        self.data_out.rise.next = self.tx_data.val().get_bits::<4>(0);
        self.data_out.fall.next = self.tx_data.val().get_bits::<4>(4);
        self.pads_tx_data.next = self.data_out.pad.val();
        self.control_out.rise.next = bits::<1>(0);
        if self.tx_enable.val() {
            self.control_out.rise.next = bits::<1>(1);
        }
        self.control_out.fall.next = bits::<1>(0);
        if self.tx_enable.val() ^ self.tx_error.val() {
            self.control_out.fall.next = bits::<1>(1);
        }
        self.pads_tx_control.next = self.control_out.pad.val();
        // In.
        self.data_delay.in_data.next = self.pads_rx_data.val();
        self.data_in.pad.next = self.data_delay.out_data.val();
        self.octet.d.next =
            (bit_cast::<8, 4>(self.data_in.fall.val()) << 4) | bit_cast::<8, 4>(self.data_in.rise.val());
        self.control_delay.in_data.next = self.pads_rx_control.val();
        self.control_in.pad.next = self.control_delay.out_data.val();
        self.valid.d.next = self.control_in.rise.val().any();
        self.error.d.next = self.control_in.rise.val().any() ^ self.control_in.fall.val().any();
        self.rx.data.next = self.octet.q.val();
        self.rx.valid.next = self.valid.q.val();
        self.rx_error.next = self.error.q.val();
    }
}
