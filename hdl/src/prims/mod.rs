//! The few building blocks everything else is made of: memories, streams, arbitration, byte packing, CRC.
//!
//! A *stream* is `valid`, `ready` and data: a word moves at a clock edge where both are high; `valid` never waits
//! for `ready`, and once high stays high with the same data until the word has moved.
//!
//! | block | what for | LUT4 | FF | block RAM |
//! |---|---|---|---|---|
//! | [`Ram`] | one write port, one registered read port | | | yes |
//! | [`LutRam`] | small memory, combinational read | | | |
//! | [`Fifo`] | stream queue of up to 32 words | | | |
//! | [`RamFifo`] | deep stream queue | | | yes |
//! | [`Skid`] | cuts both directions of a stream | | | |
//! | [`Arbiter`] | round robin | | | |
//! | [`RunQueue`] | each identifier at most once | | | |
//! | [`Packer`] | byte runs into full words | | | |
//! | [`Crc32`] | CRC-32 of 64 or 32 bits a cycle | | | |

mod arbiter;
mod crc32;
mod fifo;
mod lut_ram;
mod packer;
mod ram;
mod ram_fifo;
mod run_queue;
mod skid;

pub use arbiter::Arbiter;
pub use crc32::Crc32;
pub use fifo::Fifo;
pub use lut_ram::LutRam;
pub use packer::Packer;
pub use ram::Ram;
pub use ram_fifo::RamFifo;
pub use run_queue::RunQueue;
pub use skid::Skid;
