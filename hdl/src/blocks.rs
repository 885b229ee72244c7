//! Every block with its budget: what `export` writes, `lint` checks and `budget` measures.
//!
//! A block that is not here is not checked. Budgets are the measured size and a little room; one that is exceeded
//! fails the build, so that growth is a decision. The whole core is to fit 26 050 LUT4 and 88 block RAMs.

use rust_hdl::prelude::*;

use crate::export::{reference, verilog};
use crate::{
    admin, arithmetic, board, clocks, complete, dma, doorbell, echo, edge, fetch, interrupt, mac, nic, pcie,
    prims, protect, quiet, receive, reply, send, vi,
};

/// The name of the whole NIC; it is exported as `top.v`, the others as `blocks/<name>.v`.
pub const CORE: &str = "core";

/// A block, how it is exported, and its budget.
pub struct Entry {
    /// The block's folder and name.
    pub name: &'static str,
    /// Exports the block's Verilog, with `module top`.
    pub verilog: fn() -> String,
    /// The same Verilog from RustHDL's own writer, with which `equal` compares it.
    pub reference: fn() -> String,
    /// Most LUT4 sites it may take: LUT4, two for a carry cell, six for a 16x4 distributed RAM.
    pub lut4: u32,
    /// Most block RAMs (DP16KD) it may take.
    pub dp16kd: u32,
    /// Least speed alone, placed and routed on an LFE5UM5G-45F of speed grade 8, MHz; 0: none is promised.
    pub mhz: u32,
}

/// An entry: name, block, LUT4 sites, block RAMs, MHz.
macro_rules! entry {
    ($name:expr, $block:expr, $lut4:expr, $dp16kd:expr, $mhz:expr) => {
        Entry {
            name: $name,
            verilog: || verilog($block),
            reference: || reference($block),
            lut4: $lut4,
            dp16kd: $dp16kd,
            mhz: $mhz,
        }
    };
}

/// All blocks, primitives first, in the order of the folders.
pub fn all() -> Vec<Entry> {
    vec![
        // Primitives, in a size the NIC uses.
        entry!("prims/ram", prims::Ram::<Bits<72>, 9>::default(), 0, 2, 394),
        entry!("prims/lut_ram", prims::LutRam::<Bits<18>, 5>::default(), 80, 0, 321),
        entry!("prims/shallow_ram", prims::ShallowRam::<Bits<16>, 6>::default(), 155, 0, 0),
        entry!("prims/bit_ram", prims::BitRam::<6>::default(), 20, 0, 0),
        entry!("prims/fifo", prims::Fifo::<Bits<72>, 4, 5>::default(), 135, 0, 296),
        entry!("prims/fifo_slice", prims::FifoSlice::<Bits<72>, 4, 5>::default(), 140, 0, 294),
        entry!("prims/ram_fifo", prims::RamFifo::<Bits<72>, 9, 10>::default(), 60, 2, 240),
        entry!("prims/skid", prims::Skid::<Bits<72>>::default(), 80, 0, 476),
        entry!("prims/arbiter", prims::Arbiter::<8, 3>::default(), 45, 0, 185),
        entry!("prims/successor", prims::Successor::default(), 15, 0, 0),
        entry!("prims/run_queue", prims::RunQueue::<6, 7>::default(), 165, 0, 210),
        entry!("prims/packer", prims::Packer::default(), 390, 0, 217),
        entry!("prims/crc32", prims::Crc32::default(), 420, 0, 142),
        // Quantities, in the widths that the NIC uses.
        entry!("arithmetic/distance", arithmetic::Distance::<24>::default(), 45, 0, 0),
        entry!("arithmetic/in_flight", arithmetic::InFlight::<24>::default(), 92, 0, 0),
        entry!("arithmetic/path_mtu", arithmetic::PathMtu::default(), 6, 0, 0),
        entry!("arithmetic/portion", arithmetic::Portion::default(), 48, 0, 0),
        entry!("arithmetic/segment_piece", arithmetic::SegmentPiece::default(), 65, 0, 0),
        entry!("arithmetic/ring_slot", arithmetic::RingSlot::<14, 4>::default(), 40, 0, 0),
        entry!("arithmetic/ring_level", arithmetic::RingLevel::<14, 4>::default(), 42, 0, 0),
        // The agent's side: registers, commands and counters.
        entry!("admin/broadcast", admin::Broadcast::default(), 45, 0, 391),
        entry!("admin/command", admin::Command::default(), 110, 0, 234),
        entry!("admin/counters", admin::Counters::default(), 405, 1, 262),
        entry!("admin/registers", admin::Registers::default(), 550, 0, 191),
        // The virtual interfaces.
        entry!("vi/settle", vi::Settle::default(), 30, 0, 0),
        entry!("vi/state", vi::ViState::default(), 285, 0, 169),
        // The edge: TLPs and the host's loads and stores.
        entry!("edge/receive", edge::TlpReceive::default(), 280, 0, 261),
        entry!("edge/complete", edge::TlpComplete::default(), 130, 0, 303),
        entry!("edge/transmit", edge::TlpTransmit::default(), 360, 0, 232),
        entry!("dma/read", dma::DmaRead::default(), 1095, 4, 161),
        entry!("dma/write", dma::DmaWrite::default(), 1085, 0, 148),
        entry!("quiet", quiet::Quiet::default(), 4, 0, 0),
        // Work queues and protection.
        entry!("doorbell", doorbell::Doorbell::default(), 720, 2, 148),
        entry!("doorbell/cq_pages", doorbell::CqPages::default(), 20, 0, 469),
        entry!("fetch", fetch::Fetch::default(), 1240, 10, 141),
        entry!("fetch/landing", fetch::Landing::default(), 355, 2, 247),
        entry!("protect/shared_port", protect::SharedPort::default(), 180, 0, 0),
        entry!("protect", protect::Protect::default(), 1980, 8, 181),
        // Sending, receiving, completing.
        entry!("send/gather", send::Gather::default(), 3700, 8, 157),
        entry!("send/transmit", send::Transmit::default(), 1960, 2, 122),
        entry!("send/flush_read", send::FlushRead::default(), 180, 0, 221),
        entry!("send/ack", send::Ack::default(), 770, 2, 145),
        entry!("send/egress", send::Egress::default(), 150, 0, 211),
        entry!("send/eth_transmit", send::EthTransmit::default(), 10, 0, 0),
        entry!("complete/sends", complete::Sends::default(), 2290, 16, 143),
        entry!("complete/indices", complete::Indices::default(), 600, 0, 130),
        entry!("complete/queues", complete::CompletionQueues::default(), 1040, 1, 129),
        entry!("complete/writer", complete::Writer::default(), 620, 0, 218),
        entry!("receive/eth_receive", receive::EthReceive::default(), 10, 0, 0),
        entry!("receive/untag", receive::Untag::default(), 140, 0, 260),
        entry!("receive/ingress", receive::Ingress::default(), 580, 4, 199),
        entry!("receive/icrc", receive::Icrc::default(), 345, 0, 230),
        entry!("receive/parse", receive::Parse::default(), 1110, 0, 191),
        entry!("receive/roster", receive::Roster::default(), 545, 0, 0),
        entry!("receive/store", receive::Store::default(), 815, 8, 175),
        entry!("receive/ahead", receive::Ahead::default(), 230, 10, 261),
        entry!("receive/contexts", receive::Contexts::default(), 460, 5, 290),
        entry!("receive/flush", receive::Flush::default(), 275, 0, 162),
        entry!("receive/packet_kind", receive::PacketKind::default(), 40, 0, 0),
        entry!("receive/judge", receive::Judge::default(), 280, 0, 184),
        entry!("receive/lookup", receive::Lookup::default(), 400, 0, 163),
        entry!("receive/delivery/opening", receive::Opening::default(), 60, 0, 0),
        entry!("receive/delivery/placement", receive::Placement::default(), 20, 0, 0),
        entry!("receive/delivery/outcome", receive::Outcome::default(), 60, 0, 0),
        entry!("receive/delivery/standing", receive::Standing::default(), 245, 0, 0),
        entry!("receive/delivery/report", receive::Report::default(), 70, 0, 0),
        entry!("receive/delivery/dispatch", receive::Dispatch::default(), 150, 0, 0),
        entry!("receive/delivery/counts", receive::DeliveryCounts::default(), 32, 0, 0),
        entry!("receive/delivery", receive::Delivery::default(), 840, 0, 203),
        entry!("receive/closing", receive::Closing::default(), 15, 0, 312),
        entry!("receive/commits", receive::Commits::default(), 10, 0, 0),
        entry!("receive/scatter/far", receive::FarSegments::default(), 240, 0, 0),
        entry!("receive/scatter", receive::Scatter::default(), 875, 0, 178),
        entry!("receive/payload/start", receive::PayloadStart::default(), 40, 0, 0),
        entry!("receive/payload/mover", receive::PayloadMover::default(), 150, 0, 0),
        entry!("receive/payload", receive::PayloadQueue::default(), 300, 0, 170),
        entry!("receive", receive::Receive::default(), 6300, 31, 120),
        entry!("receive/reads/table", receive::ReadTable::default(), 120, 3, 0),
        entry!("receive/reads/check", receive::AnswerCheck::default(), 250, 0, 0),
        entry!("receive/reads/word", receive::AnswerWord::default(), 60, 0, 0),
        entry!("receive/reads", receive::Reads::default(), 575, 3, 214),
        // Answering RDMA reads.
        entry!("reply/requests", reply::Requests::default(), 1345, 3, 186),
        // Interrupts.
        entry!("interrupt/notify", interrupt::Notify::default(), 140, 1, 271),
        entry!("interrupt/vectors", interrupt::Vectors::default(), 600, 0, 149),
        // The Ethernet MAC.
        entry!("clocks/async_fifo", clocks::AsyncFifo::<mac::MacBeat, 4, 5>::default(), 156, 0, 0),
        entry!("mac/line_receiver", mac::LineReceiver::default(), 177, 0, 0),
        entry!("mac/control", mac::Control::default(), 90, 0, 0),
        entry!("mac/line_sender", mac::LineSender::default(), 427, 0, 0),
        entry!("mac/frame_counters", mac::FrameCounters::default(), 210, 0, 0),
        entry!("mac/mdio", mac::Mdio::default(), 82, 0, 0),
        entry!("mac/rgmii", mac::Rgmii::new(80, 80), 4, 0, 0),
        entry!("mac", mac::Mac::default(), 1265, 0, 0),
        // The PCI Express endpoint, layer by layer.
        entry!("pcie/phy/tx_start", pcie::phy::TxStart::default(), 60, 0, 240),
        entry!("pcie/phy/rx_start", pcie::phy::RxStart::default(), 120, 0, 140),
        entry!("pcie/phy/detector", pcie::phy::Detector::default(), 30, 0, 330),
        entry!("pcie/phy/pcs_words", pcie::phy::PcsWords::default(), 30, 0, 380),
        entry!("pcie/mac/unskip", pcie::mac::Unskip::default(), 30, 0, 400),
        entry!("pcie/mac/align", pcie::mac::Align::default(), 140, 0, 300),
        entry!("pcie/mac/descramble", pcie::mac::Descramble::default(), 90, 0, 300),
        entry!("pcie/mac/set_reader", pcie::mac::SetReader::default(), 85, 0, 240),
        entry!("pcie/mac/electrical", pcie::mac::Electrical::default(), 8, 0, 400),
        entry!("pcie/mac/steps", pcie::mac::Steps::default(), 135, 0, 200),
        entry!("pcie/mac/orders", pcie::mac::Orders::default(), 36, 0, 300),
        entry!("pcie/mac/progress", pcie::mac::Progress::default(), 66, 0, 300),
        entry!("pcie/mac/timer", pcie::mac::Timer::default(), 44, 0, 350),
        entry!("pcie/mac/ltssm", pcie::mac::Ltssm::default(), 260, 0, 170),
        entry!("pcie/mac/lane", pcie::mac::Lane::default(), 116, 0, 215),
        entry!("pcie/mac/scramble", pcie::mac::Scramble::default(), 58, 0, 350),
        entry!("pcie/mac", pcie::mac::PcieMac::new(false, false), 760, 0, 190),
        entry!("pcie/link/deframe", pcie::link::Deframe::default(), 70, 0, 280),
        entry!("pcie/link/dllps", pcie::link::Dllps::default(), 85, 0, 320),
        entry!("pcie/link/tlp_judge", pcie::link::TlpJudge::default(), 255, 1, 290),
        entry!("pcie/link/acks", pcie::link::Acks::default(), 60, 0, 280),
        entry!("pcie/link/grant", pcie::link::Grant::default(), 80, 0, 290),
        entry!("pcie/link/activity", pcie::link::Activity::default(), 22, 0, 350),
        entry!("pcie/link/credits", pcie::link::Credits::default(), 285, 0, 215),
        entry!("pcie/link/replay", pcie::link::Replay::default(), 415, 2, 195),
        entry!("pcie/link/dllp_sender", pcie::link::DllpSender::default(), 42, 0, 345),
        entry!("pcie/link/frame", pcie::link::Frame::default(), 340, 0, 225),
        entry!("pcie/link/power", pcie::link::Power::default(), 18, 0, 400),
        entry!("pcie/link", pcie::link::PcieLink::default(), 1610, 3, 180),
        entry!("pcie/transaction/kind_sort", pcie::transaction::KindSort::default(), 20, 0, 0),
        entry!("pcie/transaction/bar_match", pcie::transaction::BarMatch::default(), 70, 0, 0),
        entry!("pcie/transaction/header_reader", pcie::transaction::HeaderReader::default(), 220, 0, 0),
        entry!("pcie/transaction/inbox", pcie::transaction::Inbox::default(), 385, 0, 0),
        entry!("pcie/transaction/read_extent", pcie::transaction::ReadExtent::default(), 40, 0, 0),
        entry!("pcie/transaction/request_queue", pcie::transaction::RequestQueue::default(), 195, 0, 0),
        entry!("pcie/transaction/completer", pcie::transaction::Completer::default(), 165, 0, 0),
        entry!("pcie/transaction/config_space", pcie::transaction::ConfigSpace::default(), 190, 0, 0),
        entry!("pcie/transaction/function_reset", pcie::transaction::FunctionReset::default(), 6, 0, 0),
        entry!("pcie/transaction/outbox", pcie::transaction::Outbox::default(), 90, 0, 0),
        entry!("pcie/transaction/own_credits", pcie::transaction::OwnCredits::default(), 60, 0, 0),
        entry!("pcie/transaction/freed_count", pcie::transaction::FreedCount::default(), 12, 0, 0),
        entry!("pcie/transaction", pcie::transaction::PcieTransaction::default(), 1090, 0, 160),
        entry!("pcie/endpoint", pcie::PcieEndpoint::new(false, false), 4350, 3, 160),
        entry!("pcie/crossing", pcie::crossing::PcieCrossing::default(), 950, 0, 210),
        entry!("pcie/crossing/widen", pcie::crossing::Widen::default(), 50, 0, 0),
        entry!("pcie/crossing/arrange", pcie::crossing::Arrange::default(), 216, 0, 0),
        entry!("pcie/crossing/narrow", pcie::crossing::Narrow::default(), 82, 0, 0),
        entry!("pcie/crossing/credit_counter", pcie::crossing::CreditCounter::default(), 272, 0, 0),
        // A board's first light: ARP and ping.
        entry!("echo/question", echo::Question::default(), 730, 0, 0),
        entry!("echo/answerer", echo::Answerer::default(), 541, 4, 0),
        entry!("echo/finder", echo::Finder::default(), 20, 0, 0),
        entry!("mac-echo", echo::Echo::default(), 2495, 4, 0),
        // The blocks round a design on a board.
        entry!("board/start", board::Start::default(), 36, 0, 0),
        entry!("board/ticks", board::Ticks::default(), 70, 0, 0),
        entry!("board/lights", board::Lights::<0>::default(), 60, 0, 0),
        entry!("board/trace", board::trace::TlpTrace::new(1085), 870, 0, 0),
        entry!("board/mac-echo", board::EchoBoard::<4, 0xf>::default(), 2295, 4, 0),
        // All of it.
        entry!(CORE, nic::Nic::default(), 26_050, 88, 0),
    ]
}

/// Whole tops that have the core in them: checked as the blocks are, and measured where they are built (`cargo xtask fit`).
pub fn tops() -> Vec<Entry> {
    vec![entry!("board/nic", board::NicBoard::<0>::new(Default::default(), Default::default()), 0, 0, 0)]
}
