//! Every block with its budget: what `export` writes, `lint` checks and `budget` measures.
//!
//! A block that is not here is not checked. Budgets are the measured size and a little room; one that is exceeded
//! fails the build, so that growth is a decision. The whole core is to fit 26 120 LUT4 and 77 block RAMs.

use rust_hdl::prelude::*;

use crate::export::verilog;
use crate::{
    admin, board, complete, dma, doorbell, echo, edge, fetch, interrupt, mac, nic, prims, protect, receive,
    reply, send, vi,
};

/// The name of the whole NIC; it is exported as `top.v`, the others as `blocks/<name>.v`.
pub const CORE: &str = "core";

/// One block.
pub struct Entry {
    /// Folder and block.
    pub name: &'static str,
    /// Exports it, with `module top`.
    pub verilog: fn() -> String,
    /// Most LUT4 sites it may take: LUT4, two for a carry cell, six for a 16x4 distributed RAM.
    pub lut4: u32,
    /// Most block RAMs (DP16KD) it may take.
    pub dp16kd: u32,
    /// Least speed alone, placed and routed on an LFE5UM5G-45F of speed grade 8, MHz; 0: none is promised.
    pub mhz: u32,
}

fn entry(name: &'static str, verilog: fn() -> String, lut4: u32, dp16kd: u32, mhz: u32) -> Entry {
    Entry { name, verilog, lut4, dp16kd, mhz }
}

/// All blocks, primitives first, in the order of the folders.
pub fn all() -> Vec<Entry> {
    vec![
        // Primitives, in a size the NIC uses.
        entry("prims/ram", || verilog(prims::Ram::<Bits<72>, 9>::default()), 0, 2, 394),
        entry("prims/lut_ram", || verilog(prims::LutRam::<Bits<18>, 5>::default()), 80, 0, 321),
        entry("prims/fifo", || verilog(prims::Fifo::<Bits<72>, 4, 5>::default()), 135, 0, 296),
        entry("prims/fifo_slice", || verilog(prims::FifoSlice::<Bits<72>, 4, 5>::default()), 140, 0, 294),
        entry("prims/ram_fifo", || verilog(prims::RamFifo::<Bits<72>, 9, 10>::default()), 60, 2, 240),
        entry("prims/skid", || verilog(prims::Skid::<Bits<72>>::default()), 80, 0, 476),
        entry("prims/arbiter", || verilog(prims::Arbiter::<8, 3>::default()), 45, 0, 185),
        entry("prims/successor", || verilog(prims::Successor::default()), 15, 0, 0),
        entry("prims/run_queue", || verilog(prims::RunQueue::<6, 7>::default()), 200, 0, 215),
        entry("prims/packer", || verilog(prims::Packer::default()), 360, 0, 217),
        entry("prims/crc32", || verilog(prims::Crc32::default()), 460, 0, 142),
        // What the agent sees.
        entry("admin/broadcast", || verilog(admin::Broadcast::default()), 45, 0, 391),
        entry("admin/command", || verilog(admin::Command::default()), 110, 0, 234),
        entry("admin/counters", || verilog(admin::Counters::default()), 770, 1, 262),
        entry("admin/registers", || verilog(admin::Registers::default()), 550, 0, 191),
        // The virtual interfaces.
        entry("vi/settle", || verilog(vi::Settle::default()), 30, 0, 0),
        entry("vi/state", || verilog(vi::ViState::default()), 285, 0, 169),
        // The edge: TLPs and the host's loads and stores.
        entry("edge/receive", || verilog(edge::TlpReceive::default()), 280, 0, 261),
        entry("edge/complete", || verilog(edge::TlpComplete::default()), 130, 0, 303),
        entry("edge/transmit", || verilog(edge::TlpTransmit::default()), 410, 0, 232),
        entry("dma/read", || verilog(dma::DmaRead::default()), 1090, 4, 161),
        entry("dma/write", || verilog(dma::DmaWrite::default()), 1050, 0, 148),
        // Work queues and protection.
        entry("doorbell", || verilog(doorbell::Doorbell::default()), 775, 2, 148),
        entry("doorbell/cq_pages", || verilog(doorbell::CqPages::default()), 20, 0, 469),
        entry("fetch", || verilog(fetch::Fetch::default()), 1260, 8, 141),
        entry("fetch/landing", || verilog(fetch::Landing::default()), 355, 2, 247),
        entry("protect", || verilog(protect::Protect::default()), 1830, 8, 181),
        // Sending, receiving, completing.
        entry("send/gather", || verilog(send::Gather::default()), 3500, 8, 157),
        entry("send/transmit", || verilog(send::Transmit::default()), 1850, 3, 122),
        entry("send/flush_read", || verilog(send::FlushRead::default()), 180, 0, 221),
        entry("send/ack", || verilog(send::Ack::default()), 800, 2, 145),
        entry("send/egress", || verilog(send::Egress::default()), 150, 0, 211),
        entry("complete/sends", || verilog(complete::Sends::default()), 2290, 10, 143),
        entry("complete/indices", || verilog(complete::Indices::default()), 600, 0, 130),
        entry("complete/queues", || verilog(complete::Queues::default()), 1040, 1, 129),
        entry("complete/writer", || verilog(complete::Writer::default()), 610, 0, 218),
        entry("receive/untag", || verilog(receive::Untag::default()), 140, 0, 260),
        entry("receive/ingress", || verilog(receive::Ingress::default()), 580, 4, 199),
        entry("receive/icrc", || verilog(receive::Icrc::default()), 550, 0, 245),
        entry("receive/parse", || verilog(receive::Parse::default()), 1290, 0, 191),
        entry("receive/roster", || verilog(receive::Roster::default()), 545, 0, 0),
        entry("receive/store", || verilog(receive::Store::default()), 815, 8, 175),
        entry("receive/ahead", || verilog(receive::Ahead::default()), 230, 6, 261),
        entry("receive/contexts", || verilog(receive::Contexts::default()), 460, 5, 290),
        entry("receive/flush", || verilog(receive::Flush::default()), 300, 0, 162),
        entry("receive/judge", || verilog(receive::Judge::default()), 280, 0, 184),
        entry("receive/lookup", || verilog(receive::Lookup::default()), 400, 0, 163),
        entry("receive/outcome", || verilog(receive::Outcome::default()), 60, 0, 0),
        entry("receive/standing", || verilog(receive::Standing::default()), 275, 0, 0),
        entry("receive/report", || verilog(receive::Report::default()), 70, 0, 0),
        entry("receive/tally", || verilog(receive::Tally::default()), 27, 0, 0),
        entry("receive/delivery", || verilog(receive::Delivery::default()), 815, 0, 203),
        entry("receive/closing", || verilog(receive::Closing::default()), 15, 0, 312),
        entry("receive/matcher", || verilog(receive::Matcher::default()), 2545, 8, 146),
        entry("receive/scatter", || verilog(receive::Scatter::default()), 1040, 0, 178),
        entry("receive/path", || verilog(receive::Receive::default()), 6440, 26, 122),
        entry("receive/reads", || verilog(receive::Reads::default()), 565, 3, 214),
        // Answering RDMA reads.
        entry("reply/requests", || verilog(reply::Requests::default()), 1395, 3, 186),
        // Interrupts.
        entry("interrupt/notify", || verilog(interrupt::Notify::default()), 140, 1, 271),
        entry("interrupt/vectors", || verilog(interrupt::Vectors::default()), 600, 0, 149),
        // The Ethernet MAC.
        entry("mac/async_fifo", || verilog(mac::AsyncFifo::<mac::MacBeat, 4, 5>::default()), 156, 0, 0),
        entry("mac/receive", || verilog(mac::Receive::default()), 177, 0, 0),
        entry("mac/control", || verilog(mac::Control::default()), 90, 0, 0),
        entry("mac/transmit", || verilog(mac::Transmit::default()), 427, 0, 0),
        entry("mac/counters", || verilog(mac::Counters::default()), 210, 0, 0),
        entry("mac/mdio", || verilog(mac::Mdio::default()), 82, 0, 0),
        entry("mac/rgmii", || verilog(mac::Rgmii::new(80, 80)), 4, 0, 0),
        entry("mac", || verilog(mac::Mac::default()), 1265, 0, 0),
        // A board's first light: ARP and ping.
        entry("echo/question", || verilog(echo::Question::default()), 730, 0, 0),
        entry("echo/answer", || verilog(echo::Answer::default()), 541, 4, 0),
        entry("echo/finder", || verilog(echo::Finder::default()), 20, 0, 0),
        entry("mac-echo", || verilog(echo::Echo::default()), 2495, 4, 0),
        // What stands round a design on a board.
        entry("board/start", || verilog(board::Start::default()), 36, 0, 0),
        entry("board/boundary", || verilog(board::Boundary::default()), 80, 0, 0),
        entry("board/mac-echo", || verilog(board::EchoBoard::<4, 0xf>::default()), 2295, 4, 0),
        // All of it.
        entry(CORE, || verilog(nic::Nic::default()), 26_120, 77, 0),
    ]
}

/// Whole tops that have the core in them: checked as the blocks are, and measured where they are built (`cargo xtask fit`).
pub fn tops() -> Vec<Entry> {
    vec![entry("board/nic", || verilog(board::NicBoard::default()), 0, 0, 0)]
}
