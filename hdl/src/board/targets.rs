//! Every board and what can be built for it.

use super::{EchoBoard, NicBoard, Oscillator, Wiring, WithReference};
use crate::export::verilog;

/// One top of one board. Its pins are in `constraints/<board>/<top>.lpf`.
pub struct Target {
    /// Folder in `constraints/`.
    pub board: &'static str,
    /// What is built: `mac-echo`, or `nic` (see [`NicBoard`]: no working card yet).
    pub top: &'static str,
    /// nextpnr-ecp5's words for the device: die, package, speed grade.
    pub device: [&'static str; 5],
    /// Exports it, with `module top`.
    pub verilog: fn() -> String,
}

/// Both delays are the PHY's own (88E1512: on from power-up).
const VERSA: Wiring = Wiring { oscillator: Oscillator::Mhz100, tx_steps: 0, rx_steps: 0 };
/// The PHY (KSZ9031) delays what it sends, and wants our clock 2 ns late.
const ULX4M: Wiring = Wiring { oscillator: Oscillator::Mhz25, tx_steps: 80, rx_steps: 0 };
/// As on the ULX4M; the lights are those of the four red LEDs.
const ECPIX: Wiring = Wiring { oscillator: Oscillator::Mhz100, tx_steps: 80, rx_steps: 0 };
/// The PHY (B50612D) delays what it gets, and not what it sends.
const COLORLIGHT: Wiring = Wiring { oscillator: Oscillator::Mhz25, tx_steps: 0, rx_steps: 80 };

const CABGA381_45K: [&str; 5] = ["--um5g-45k", "--package", "CABGA381", "--speed", "8"];
const CABGA381_85K: [&str; 5] = ["--um5g-85k", "--package", "CABGA381", "--speed", "8"];
const CABGA554_85K: [&str; 5] = ["--um5g-85k", "--package", "CABGA554", "--speed", "8"];
const CABGA381_25K: [&str; 5] = ["--25k", "--package", "CABGA381", "--speed", "6"];

/// All of them, the primary board first.
pub fn all() -> Vec<Target> {
    let target = |board, top, device, verilog| Target { board, top, device, verilog };
    vec![
        target("versa-ecp5", "mac-echo", CABGA381_45K, || verilog(EchoBoard::<4, 0xf>::new(VERSA))),
        target("versa-ecp5", "nic", CABGA381_45K, || verilog(NicBoard::new(VERSA))),
        target("ulx4m-ld", "mac-echo", CABGA381_85K, || verilog(WithReference::<4>::new(ULX4M))),
        target("ecpix-5", "mac-echo", CABGA554_85K, || verilog(EchoBoard::<4, 0xf>::new(ECPIX))),
        target("colorlight-i5", "mac-echo", CABGA381_25K, || verilog(EchoBoard::<1, 1>::new(COLORLIGHT))),
    ]
}
