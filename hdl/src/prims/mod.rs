//! The few building blocks everything else is made of: memories, streams, arbitration, byte packing, CRC.
//!
//! A *stream* is `valid`, `ready` and data: a word moves at a clock edge where both are high; `valid` never waits
//! for `ready`, and once high stays high with the same data until the word has moved.
//!
//! Sizes on ECP5 in LUT4 sites (a carry cell takes 2, a 16x4 distributed RAM takes 6), flip-flops and DP16KD, as
//! `cargo xtask budget` measures them:
//!
//! | block | what for | instance | LUT4 | FF | DP16KD |
//! |---|---|---|---|---|---|
//! | [`Ram`] | one write port, one registered read port | 72 bit x 512 | 0 | 0 | 2 |
//! | [`LutRam`] | small memory, combinational read | 18 bit x 32 | 80 | 0 | |
//! | [`ShallowRam`] | the same with a registered read port | 16 bit x 64 | 148 | 16 | |
//! | [`BitRam`] | the same for rows of one bit | 1 bit x 64 | 19 | 0 | |
//! | [`Fifo`] | stream queue of up to 32 words | 72 bit x 16 | 129 | 13 | |
//! | | (two rows of distributed RAM cost a multiplexer) | 72 bit x 32 | 317 | 16 | |
//! | [`FifoSlice`] | the same with its output in a register | 72 bit x 17 | 131 | 86 | |
//! | [`RamFifo`] | deep stream queue | 72 bit x 512 | 53 | 31 | 2 |
//! | [`Skid`] | cuts both directions of a stream | 72 bit | 77 | 146 | |
//! | [`Arbiter`] | round robin | 8 | 42 | 8 | |
//! | | | 64 | 394 | 64 | |
//! | [`Successor`] | round robin without a carry chain, the turn kept outside | 4 | 11 | 0 | |
//! | [`RunQueue`] | each identifier at most once | 64 | 161 | 36 | |
//! | [`Packer`] | byte runs into full words | 64 bit | 352 | 130 | |
//! | [`Crc32`] | CRC-32 of 64 or 32 bits a cycle | 64 bit | 412 | 32 | |
//! | [`NarrowCrc32`] | the same of a few bits a cycle | 8 or 16 bit | | 32 | |
//! | [`ParityMatrix`] | a linear function over GF(2): steps of a CRC | 32 bit | | | |

mod arbiter;
mod bit_ram;
mod cast;
mod crc32;
mod fifo;
mod fifo_slice;
mod lanes;
mod lut_ram;
mod narrow_crc32;
mod number;
mod packer;
mod parity_matrix;
mod parity_shares;
mod ram;
mod ram_fifo;
mod region_row_number;
mod run_queue;
mod shallow_ram;
mod skid;
mod successor;
mod unpack;
mod wire_order;

pub use arbiter::Arbiter;
pub use bit_ram::BitRam;
pub use cast::Cast;
pub use crc32::Crc32;
pub(crate) use crc32::{crc32_steps, ICRC_START, POLYNOMIAL};
pub use fifo::Fifo;
pub use fifo_slice::FifoSlice;
pub use lanes::{Keep, LaneCount};
pub use lut_ram::LutRam;
pub use narrow_crc32::NarrowCrc32;
pub use number::Number;
pub use packer::Packer;
pub use parity_matrix::ParityMatrix;
pub use ram::Ram;
pub use ram_fifo::RamFifo;
pub use region_row_number::RegionRowNumber;
pub use run_queue::RunQueue;
pub use shallow_ram::ShallowRam;
pub use skid::Skid;
pub use successor::Successor;
pub use unpack::Unpack;
pub use wire_order::WireOrder;
