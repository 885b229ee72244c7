//! Every board and what can be built for it.

use super::{BoardOptions, EchoBoard, EchoWithReference, NicBoard, NicWithReference, Oscillator, Wiring};
use crate::export::{framed, verilog, with_room};

/// One top of one board. Its pins are in `constraints/<board>/<top>.lpf`.
pub struct Target {
    /// Folder in `constraints/`.
    pub board: &'static str,
    /// What is built: `mac-echo`, or `nic`, the card.
    pub top: &'static str,
    /// nextpnr-ecp5's words for the device: die, package, speed grade.
    pub device: &'static [&'static str],
    /// Most LUT4 sites it may take, as nextpnr counts them.
    pub lut4: u32,
    /// Most block RAMs.
    pub block_rams: u32,
    /// By how many percent every clock must be faster than it runs.
    pub spare_percent: u32,
    /// The seed of the placement, if none is asked for.
    pub seed: u32,
    /// Exports it, with `module top`. `mac-echo` has no options.
    pub verilog: fn(BoardOptions) -> String,
}

/// The PHY delays both directions itself (88E1512: on from power-up).
const VERSA: Wiring = Wiring { oscillator: Oscillator::Mhz100, tx_steps: 0, rx_steps: 0 };
/// The PHY (KSZ9031) delays what it sends, and wants our clock 2 ns late.
const ULX4M: Wiring = Wiring { oscillator: Oscillator::Mhz25, tx_steps: 80, rx_steps: 0 };
/// As on the ULX4M; the lights are those of the four red LEDs.
const ECPIX: Wiring = Wiring { oscillator: Oscillator::Mhz100, tx_steps: 80, rx_steps: 0 };
/// The PHY (B50612D) delays what it gets, and not what it sends.
const COLORLIGHT: Wiring = Wiring { oscillator: Oscillator::Mhz25, tx_steps: 0, rx_steps: 80 };

const CABGA381_45K: &[&str] = &["--um5g-45k", "--package", "CABGA381", "--speed", "8"];
const CABGA381_85K: &[&str] = &["--um5g-85k", "--package", "CABGA381", "--speed", "8"];
/// With a card's DCU: nextpnr has no sites for its pads, so that they cannot be located (`tests/mac/board.rs` looks that all others are).
const DCU_45K: &[&str] =
    &["--um5g-45k", "--package", "CABGA381", "--speed", "8", "--lpf-allow-unconstrained"];
const DCU_85K: &[&str] =
    &["--um5g-85k", "--package", "CABGA381", "--speed", "8", "--lpf-allow-unconstrained"];
const CABGA554_85K: &[&str] = &["--um5g-85k", "--package", "CABGA554", "--speed", "8"];
const CABGA381_25K: &[&str] = &["--25k", "--package", "CABGA381", "--speed", "6"];

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
    // What the card is to keep within, on whichever board: 80 % of the 45K device's LUT4 sites and 85 % of its block RAMs at the most.
    let card = |board, device, verilog| Target {
        lut4: 34_000,
        block_rams: 91,
        spare_percent: 5,
        ..target(board, "nic", device, verilog)
    };
    vec![
        Target {
            spare_percent: 20,
            ..target("versa-ecp5", "mac-echo", CABGA381_45K, |_| verilog(EchoBoard::<4, 0xf>::new(VERSA)))
        },
        card("versa-ecp5", DCU_45K, |options| with_room(|| verilog(NicBoard::<0xff>::new(VERSA, options)))),
        Target {
            spare_percent: 20,
            ..target("ulx4m-ld", "mac-echo", CABGA381_85K, |_| verilog(EchoWithReference::<4>::new(ULX4M)))
        },
        card("ulx4m-ld", DCU_85K, |options| {
            with_room(|| verilog(NicWithReference::<0>::new(ULX4M, options)))
        }),
        Target {
            spare_percent: 20,
            ..target("ecpix-5", "mac-echo", CABGA554_85K, |_| verilog(EchoBoard::<4, 0xf>::new(ECPIX)))
        },
        target("colorlight-i5", "mac-echo", CABGA381_25K, |_| verilog(EchoBoard::<1, 1>::new(COLORLIGHT))),
    ]
}

/// The instances that lead from a board's top to the NIC's core, where the top is a `NicBoard`, and where it has one.
const CORE: [&[&str]; 2] = [&["card", "nic", "nic"], &["board", "card", "nic", "nic"]];

/// The text of the NIC's core alone, as [`verilog`](crate::export::verilog) gives it, out of a board's top; none if there is no NIC in it.
///
/// It is the module of that instance and all modules below it, used elsewhere or not, in the order of their use. Only the outermost has
/// another name.
pub fn core_of(top: &str) -> Option<String> {
    CORE.iter().find_map(|instances| viaduct_verilog::part(top, instances)).map(|core| framed(&core))
}
