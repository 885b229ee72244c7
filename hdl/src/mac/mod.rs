//! The gigabit Ethernet MAC: from the NIC's frame edge to the pins of an RGMII PHY. See docs/boards.md.

mod async_fifo;
mod beat;
mod control;
mod counters;
mod crossing;
mod ddr;
mod delay;
mod fcs;
mod handover;
mod intake;
mod mdio;
mod port;
mod receive;
mod rgmii;
mod synchronizer;
mod transmit;

pub use async_fifo::AsyncFifo;
pub use beat::{counter, reason, MacBeat, LONGEST};
pub use control::Control;
pub use counters::Counters;
pub use crossing::Crossing;
pub use ddr::{DdrIn, DdrOut};
pub use delay::Delay;
pub use fcs::Fcs;
pub use handover::Handover;
pub use intake::Intake;
pub use mdio::Mdio;
pub use port::Mac;
pub use receive::Receive;
pub use rgmii::Rgmii;
pub use synchronizer::Synchronizer;
pub use transmit::Transmit;
