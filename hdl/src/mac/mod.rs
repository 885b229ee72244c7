//! The gigabit Ethernet MAC: from the NIC's frame edge to the pins of an RGMII PHY. See docs/boards.md.

mod async_fifo;
mod beat;
mod control;
mod crossing;
mod ddr;
pub mod ethernet;
mod fcs;
mod frame_closer;
mod frame_counters;
mod handover;
mod line_receiver;
mod line_sender;
mod mdio;
mod pad_delay;
mod pins;
mod port;
mod rgmii;
mod synchronizer;

pub use async_fifo::AsyncFifo;
pub use beat::{outcome, reason, LineByte, MacBeat, PhyStatus, LONGEST};
pub use control::Control;
pub use crossing::Crossing;
pub use ddr::{DdrIn, DdrOut};
pub use fcs::Fcs;
pub use frame_closer::FrameCloser;
pub use frame_counters::{counter, FrameCounters, FrameEvents};
pub use handover::Handover;
pub use line_receiver::LineReceiver;
pub use line_sender::LineSender;
pub use mdio::{Mdio, MdioCommand, MdioResult};
pub use pad_delay::PadDelay;
pub use pins::{ManagementBus, RgmiiPads};
pub use port::Mac;
pub use rgmii::Rgmii;
pub use synchronizer::Synchronizer;
