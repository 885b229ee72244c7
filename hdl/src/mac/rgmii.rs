//! Carries bytes to the pins of an RGMII and back: four bits at each edge of a clock.
//!
//! ```text
//! tx ──►┌───────┐◄─► pads
//! rx ◄──│ Rgmii │◄── rx_clock
//!       └───────┘◄── tx_clock
//! ```
//! Contract: a byte moves in each cycle of 125 MHz, its low half at the rising edge. Control is valid (enable) at the rising edge and valid
//! xor error at the falling edge. The transmit clock leaves together with the data, so one of the two must be delayed by 2 ns: by the PHY,
//! or by the steps given to [`Rgmii::new`]. The same holds for the receive side.
//!
//! Latency: 2 cycles of each clock.
//!
//! Example: the byte 0xA5, valid, at `tx` shows 5 on the pads at the rising edge and 0xA at the falling one, with control high at both.
//!
//! Tests: with the MAC, `tests/mac/`; each board's steps are in its README.

use super::{DdrIn, DdrOut, LineByte, PadDelay, RgmiiPads};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Rgmii {
    /// Rising edge, 125 MHz; the clock of the transmit side.
    pub tx_clock: Signal<In, Clock>,
    /// The byte to send, from `LineSender`.
    pub tx: Signal<In, LineByte>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// The byte received, for `LineReceiver`.
    pub rx: Signal<Out, LineByte>,
    /// The pins of the PHY.
    pub pads: RgmiiPads,
    clock_out: DdrOut<1>,
    clock_delay: PadDelay<1>,
    data_out: DdrOut<4>,
    control_out: DdrOut<1>,
    data_delay: PadDelay<4>,
    data_in: DdrIn<4>,
    control_delay: PadDelay<1>,
    control_in: DdrIn<1>,
    /// The byte received.
    kept: DFF<LineByte>,
    /// The byte to send.
    octet: Signal<Local, Bits<8>>,
}

impl Rgmii {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self {
            clock_delay: PadDelay::new(tx_steps),
            data_delay: PadDelay::new(rx_steps),
            control_delay: PadDelay::new(rx_steps),
            ..Self::default()
        }
    }
}

impl Logic for Rgmii {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, rx_clock, kept);
        clock!(self, tx_clock, clock_out, data_out, control_out);
        clock!(self, rx_clock, data_in, control_in);
        // Out.
        self.clock_out.rise.next = bits::<1>(1);
        self.clock_out.fall.next = bits::<1>(0);
        drive!(self, clock_out.pad => clock_delay.in_data; clock_delay.out_data => pads.tx_clock;
            tx.val().data => octet; data_out.pad => pads.tx_data; control_out.pad => pads.tx_control);
        self.data_out.rise.next = self.octet.val().get_bits::<4>(0);
        self.data_out.fall.next = self.octet.val().get_bits::<4>(4);
        self.control_out.rise.next = bits::<1>(0);
        if self.tx.val().valid {
            self.control_out.rise.next = bits::<1>(1);
        }
        self.control_out.fall.next = bits::<1>(0);
        if self.tx.val().valid ^ self.tx.val().error {
            self.control_out.fall.next = bits::<1>(1);
        }
        // In.
        drive!(self, pads.rx_data => data_delay.in_data; data_delay.out_data => data_in.pad;
            pads.rx_control => control_delay.in_data; control_delay.out_data => control_in.pad; kept.q => rx);
        self.kept.d.next.data =
            (bit_cast::<8, 4>(self.data_in.fall.val()) << 4) | bit_cast::<8, 4>(self.data_in.rise.val());
        self.kept.d.next.valid = self.control_in.rise.val().any();
        self.kept.d.next.error = self.control_in.rise.val().any() ^ self.control_in.fall.val().any();
    }
}
