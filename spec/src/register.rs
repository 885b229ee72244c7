//! Registers: BAR 0, little-endian, naturally aligned accesses of 4 or 8 bytes.

use crate::{codes, layout};

/// Size of BAR 0 in bytes.
pub const BAR0_BYTES: u64 = 0x1_0000;
/// What [`registers::MAGIC`] reads as: "VIAD" in ASCII, last letter in the low byte.
pub const MAGIC_VALUE: u32 = 0x5649_4144;
/// Byte offset of the MSI-X table in BAR 0: for each vector address 8, data 4, control 4 (bit 0: masked).
pub const MSIX_TABLE: u64 = 0x8000;
/// Byte offset of the MSI-X pending bits in BAR 0.
pub const MSIX_PENDING: u64 = 0xC000;
/// The layout version that this crate describes.
pub const VERSION_VALUE: u32 = 1;
/// PCI vendor identifier of the function: one that is assigned to nobody, and that QEMU's own
/// experimental devices use too.
pub const PCI_VENDOR: u16 = 0x1234;
/// PCI device identifier.
pub const PCI_DEVICE: u16 = 0x5649;

codes! {
    /// Byte offsets of the registers in BAR 0. RO: read only. RW: read and write. WO: write only.
    registers: u64 {
        /// RO 32: MAGIC_VALUE.
        MAGIC = 0x000;
        /// RO 32: VERSION_VALUE.
        VERSION = 0x004;
        /// RO 32: which NIC this is: see nic_kind.
        KIND = 0x008;
        /// RO 32: virtual interfaces.
        VIS = 0x00C;
        /// RO 32: rows of the region table; row 0 is never used.
        REGIONS = 0x010;
        /// RO 32: rows of the page table.
        PAGES = 0x014;
        /// RO 32: log2 of the doorbell page stride in bytes.
        DOORBELL_SHIFT = 0x018;
        /// RO 32: receive descriptors fetched ahead for a VI.
        RECEIVE_AHEAD = 0x01C;
        /// RW 32: see control.
        CONTROL = 0x020;
        /// RO 32: see state.
        STATE = 0x024;
        /// RW 64: own MAC address in wire order, first byte in bits 7:0.
        MAC = 0x028;
        /// RW 32: own IPv4 address, most significant byte = first byte on the wire.
        IP = 0x030;
        /// RW 32: P_Key that frames must carry; the membership bit (15) is not compared.
        PKEY = 0x034;
        /// RW 64: staged row, bits 63:0.
        STAGE0 = 0x040;
        /// RW 64: staged row, bits 127:64.
        STAGE1 = 0x048;
        /// RW 64: staged row, bits 191:128.
        STAGE2 = 0x050;
        /// WO 64: runs a command: see command. A write while COMMAND_BUSY is ignored and counted.
        COMMAND = 0x058;
        /// RO 64: what the last query answered, or the last commit of a completion queue.
        RESULT = 0x060;
        /// RO 32: the time base as the NIC sees it, in ticks of 1.024 us.
        TIME = 0x070;
        /// RO 32: completion queues; queue n has doorbell page VIS + n.
        CQS = 0x074;
        /// RO 32: RDMA reads that a VI may have outstanding in each direction.
        READ_DEPTH = 0x078;
        /// RW 32: see raw_channel.
        RAW_CHANNEL = 0x07C;
        /// RO 64 each: counter n is at COUNTERS + 8 n: see counter.
        COUNTERS = 0x400;
    }
}

codes! {
    /// Which NIC answers.
    nic_kind: u32 {
        /// The RTL.
        RTL = 1;
        /// The functional model.
        MODEL = 2;
    }
}

layout! {
    /// CONTROL register.
    control: 32 {
        /// Frames are received.
        RECEIVE_ENABLE: 0, 1;
        /// Work queues are served.
        SEND_ENABLE: 1, 1;
        /// Write 1: resets everything but the PCIe edge; reads 0.
        RESET: 31, 1;
    }
}

layout! {
    /// RAW_CHANNEL register: the VI that sends and receives whole frames, and which it receives. Its
    /// TRANSMIT and RECEIVE rows have service RAW, its GATHER row has RAW.
    raw_channel: 32 {
        /// Index of the VI.
        VI: 0, 10;
        /// The channel is open.
        ENABLE: 16, 1;
        /// Broadcast frames are received.
        BROADCAST: 17, 1;
        /// Multicast frames are received.
        MULTICAST: 18, 1;
        /// Frames to any address are received.
        PROMISCUOUS: 19, 1;
    }
}

layout! {
    /// STATE register.
    state: 32 {
        /// A command is running.
        COMMAND_BUSY: 0, 1;
        /// The last command named no table or row: nothing was done.
        COMMAND_ERROR: 1, 1;
        /// Nothing is in flight and nothing waits.
        IDLE: 2, 1;
        /// A read of host memory had no completion for 50.3 ms: its tag is out of use until reset. The data of all later reads waited that long.
        READ_TIMEOUT: 3, 1;
    }
}

layout! {
    /// A command.
    command: 64 {
        /// What to do: see command_op.
        OP: 0, 8;
        /// For COMMIT and QUERY: see table.
        TABLE: 8, 8;
        /// Row.
        ROW: 16, 16;
    }
}

codes! {
    /// Commands.
    command_op: u8 {
        /// Writes the staged row into a table, at once as seen by every reader.
        COMMIT = 1;
        /// Waits until every event of before is in the error ring or lost, and every access granted before has ended: reads answered, writes out at the TLP edge. After a commit that clears LIVE, nothing reaches the region any more once the answer to a later register read is in.
        DRAIN = 2;
        /// Puts a VI's state into RESULT; TABLE is VI_STATE.
        QUERY = 3;
    }
}

layout! {
    /// An event for the agent, in the error ring: something that no descriptor can report.
    event: 64 {
        /// See event_code; never 0.
        CODE: 0, 8;
        /// Index of the VI.
        VI: 8, 10;
        /// 1: receive queue, 0: send queue.
        RECEIVE: 18, 1;
        /// The VI went into Error because of it.
        BROKE: 19, 1;
    }
}

codes! {
    /// Events: VIP_ERROR_CODE plus 1, because 0 is no event.
    event_code: u8 {
        /// A descriptor's place is not valid memory of the VI's tag.
        POST_DESC = 1;
        /// The connection was lost: the peer refused a packet.
        CONN_LOST = 2;
        /// A message found no receive descriptor and was dropped.
        RECVQ_EMPTY = 3;
        /// A doorbell or ring position outside the ring.
        VI_OVERRUN = 4;
        /// A remote peer's RDMA write was refused: key, range, tag or right.
        RDMAW_PROT = 5;
        /// A remote peer's RDMA write broke off: its data was damaged or a part of it is missing.
        RDMAW_ABORT = 7;
        /// A remote peer's RDMA read was refused: key, range, tag or right.
        RDMAR_PROT = 8;
        /// A completion could not be written: its memory is no longer valid.
        COMP_PROT = 9;
        /// An RDMA read of ours failed in transport.
        RDMA_TRANSPORT = 10;
        /// A completion queue had no room: its entry is lost. The VI field holds the queue (VIP_ERROR_CATASTROPHIC on it); the VI breaks with CONN_LOST.
        CQ_OVERRUN = 11;
    }
}

codes! {
    /// Counters, 36 bits each, never cleared but by reset.
    counter: u64 {
        /// Frames sent, loopback included.
        FRAMES_SENT = 0;
        /// Frames that arrived, loopback included.
        FRAMES_RECEIVED = 1;
        /// Acknowledgements sent.
        ACKS_SENT = 2;
        /// Acknowledgements taken.
        ACKS_RECEIVED = 3;
        /// Messages sent whole.
        MESSAGES_SENT = 4;
        /// Messages delivered.
        MESSAGES_RECEIVED = 5;
        /// Frames dropped: the MAC reported damage, or the frame is shorter than its headers or lengths say.
        DROP_MALFORMED = 6;
        /// Frames dropped: ICRC wrong.
        DROP_ICRC = 7;
        /// Frames dropped: not IPv4/UDP port 4791 to our own MAC and IP address.
        DROP_NOT_OURS = 8;
        /// Frames dropped: BTH version, P_Key or opcode not taken.
        DROP_BTH = 9;
        /// Frames dropped: no such queue pair, wrong generation, wrong peer, or the VI is not connected.
        DROP_NO_VI = 10;
        /// Frames dropped: PSN not the one expected (duplicate or gap).
        DROP_PSN = 11;
        /// Messages dropped: no receive descriptor.
        DROP_NO_RECEIVE = 12;
        /// Frames dropped: no room in the receive buffer.
        DROP_OVERFLOW = 13;
        /// Accesses refused by the protection checker.
        ACCESS_REFUSED = 14;
        /// Doorbell stores ignored: partial, or to no queue.
        DOORBELL_IGNORED = 15;
        /// TLPs not taken: unsupported, poisoned or an unexpected completion.
        TLP_DROPPED = 16;
        /// Commands ignored: written while busy.
        COMMAND_IGNORED = 17;
        /// Events lost: there was no error ring, or no room in it or before it.
        EVENT_LOST = 18;
        /// Negative acknowledgements sent; receiver-not-ready answers have their own counter.
        NAKS_SENT = 19;
        /// Negative acknowledgements taken; receiver-not-ready answers have their own counter.
        NAKS_RECEIVED = 20;
        /// Frames of a message dropped because it will not be whole: an earlier one was lost, or one does not fit (Unreliable Delivery).
        DROP_PARTIAL = 21;
        /// Request packets sent again.
        RETRANSMITTED = 22;
        /// Retransmission timers that ended.
        TIMEOUTS = 23;
        /// Receiver-not-ready answers taken.
        RNR_RECEIVED = 24;
        /// Receiver-not-ready answers sent.
        RNR_SENT = 25;
        /// Frames that were duplicates of ones already executed, and were answered again.
        DUPLICATES = 26;
        /// Answers dropped: their PSN is not one that is waited for.
        DROP_RESPONSE = 27;
        /// Congestion notification packets, and frames marked congestion experienced.
        CONGESTION = 28;
        /// Frames of the raw channel delivered.
        RAW_RECEIVED = 29;
        /// Frames for the raw channel dropped: no receive was posted.
        RAW_DROPPED = 30;
        /// RDMA read requests taken, duplicates again; whether their memory may be read shows later.
        READS_SERVED = 31;
        /// Bytes of payload sent, retransmissions included.
        BYTES_SENT = 32;
        /// Bytes of payload delivered to memory.
        BYTES_RECEIVED = 33;
        /// Completion queue entries lost.
        CQ_OVERRUNS = 34;
        /// Interrupts sent.
        INTERRUPTS = 35;
        /// Descriptors completed with an error bit, flushed ones included.
        DESCRIPTOR_ERRORS = 36;
        /// VIs that an error has put into Error.
        VIS_BROKEN = 37;
        /// Reads of host memory whose completion never came: see state.
        READS_LOST = 38;
    }
}
