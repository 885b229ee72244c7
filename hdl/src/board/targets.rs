//! Every board and what can be built for it.

use super::{EchoBoard, NicBoard, Oscillator, Wiring, WithReference};
use crate::export::{framed, verilog};

/// One top of one board. Its pins are in `constraints/<board>/<top>.lpf`.
pub struct Target {
    /// Folder in `constraints/`.
    pub board: &'static str,
    /// What is built: `mac-echo`, or `nic` (see [`NicBoard`]: no working card yet).
    pub top: &'static str,
    /// nextpnr-ecp5's words for the device: die, package, speed grade.
    pub device: [&'static str; 5],
    /// Most LUT4 sites it may take, as nextpnr counts them.
    pub lut4: u32,
    /// Most block RAMs.
    pub block_rams: u32,
    /// By how many percent every clock must be faster than it runs.
    pub spare_percent: u32,
    /// The seed of the placement, if none is asked for.
    pub seed: u32,
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

/// All of them, the primary board first. Budgets are the measured size and a little room.
pub fn all() -> Vec<Target> {
    let target = |board, top, device, verilog| Target {
        board,
        top,
        device,
        lut4: 2460,
        block_rams: 4,
        spare_percent: 0,
        seed: 1,
        verilog,
    };
    vec![
        Target {
            spare_percent: 20,
            ..target("versa-ecp5", "mac-echo", CABGA381_45K, || verilog(EchoBoard::<4, 0xf>::new(VERSA)))
        },
        Target {
            lut4: 28_000,
            block_rams: 92,
            spare_percent: 5,
            // Of seeds 1 to 3 the one that is routed soonest: docs/boards.md.
            seed: 2,
            ..target("versa-ecp5", "nic", CABGA381_45K, || verilog(NicBoard::new(VERSA)))
        },
        Target {
            spare_percent: 20,
            ..target("ulx4m-ld", "mac-echo", CABGA381_85K, || verilog(WithReference::<4>::new(ULX4M)))
        },
        Target {
            spare_percent: 20,
            ..target("ecpix-5", "mac-echo", CABGA554_85K, || verilog(EchoBoard::<4, 0xf>::new(ECPIX)))
        },
        target("colorlight-i5", "mac-echo", CABGA381_25K, || verilog(EchoBoard::<1, 1>::new(COLORLIGHT))),
    ]
}

/// The instances that lead from a board's top to the NIC's core.
const CORE: [&str; 2] = ["card", "nic"];

/// The text of the NIC's core alone, as [`verilog`](crate::export::verilog) gives it, out of a board's top; none if there is no NIC in it.
///
/// It is the module of that instance and all modules below it, used elsewhere or not, in the order of their use. Only the outermost has
/// another name.
pub fn core_of(top: &str) -> Option<String> {
    viaduct_verilog::part(top, &CORE).map(|core| framed(&core))
}
