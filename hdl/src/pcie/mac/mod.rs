//! The physical layer's logic: what lies between the symbol seam and packets. docs/pcie.md is its design.
//!
//! ```text
//!  seam rx ─► Unskip ─► Align ─┬─► Descramble ──────────────────► symbols
//!      │                       └─► SetReader ─► Ltssm ─► levels
//!      └────► Electrical ──────────────────────►  │
//!  seam tx ◄─ Scramble ◄────────────────── Lane ◄─┘ ◄──────────── line
//! ```
//!
//! | block | what for |
//! |---|---|
//! | [`Unskip`] | takes SKP sets out |
//! | [`Align`] | COM into the low byte |
//! | [`Descramble`] | data as it was, and logical idle |
//! | [`SetReader`] | training sets and EIOS |
//! | [`Electrical`] | the level of electrical idle, filtered |
//! | [`Ltssm`] | the state machine: [`Steps`], what each state does ([`Orders`]), [`Progress`] and [`Timer`] |
//! | [`Lane`] | packets, ordered sets and idle one behind the other, with [`SetWriter`] and [`SkpDue`] |
//! | [`Scramble`] | data for the lane; with [`Keystream`], as `Descramble` |
//! | [`PcieMac`] | all of it |

mod align;
mod descramble;
mod electrical;
mod keystream;
mod lane;
mod ltssm;
mod order;
mod orders;
mod pcie_mac;
mod progress;
mod scramble;
mod seam;
mod set_reader;
mod set_writer;
mod skp_due;
pub mod state;
mod steps;
mod symbol;
mod timer;
mod unskip;

pub use align::Align;
pub use descramble::Descramble;
pub use electrical::Electrical;
pub use keystream::Keystream;
pub use lane::Lane;
pub use ltssm::Ltssm;
pub use order::LaneOrder;
pub use orders::Orders;
pub use pcie_mac::PcieMac;
pub use progress::{Awaits, Progress};
pub use scramble::Scramble;
pub use seam::{PhySeam, Seam};
pub use set_reader::{SetReader, TrainingSet};
pub use set_writer::{SetKind, SetWriter};
pub use skp_due::SkpDue;
pub use steps::Steps;
pub use symbol::{Aligned, OutgoingSymbols, Symbol};
pub use timer::Timer;
pub use unskip::Unskip;
