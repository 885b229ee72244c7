//! The layouts of `viaduct_spec::register`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// CONTROL register.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ControlRegister {
    /// Frames are received.
    pub receive_enable: bool,
    /// Work queues are served.
    pub send_enable: bool,
    /// Reserved, 0.
    pub reserved_2: Bits<29>,
    /// Write 1: resets everything but the PCIe edge; reads 0.
    pub reset: bool,
}

/// RAW_CHANNEL register: the VI that sends and receives whole frames, and which it receives. Its TRANSMIT and RECEIVE rows have service RAW, its GATHER row has RAW.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RawChannelRegister {
    /// Index of the VI.
    pub vi: Bits<10>,
    /// Reserved, 0.
    pub reserved_10: Bits<6>,
    /// The channel is open.
    pub enable: bool,
    /// Broadcast frames are received.
    pub broadcast: bool,
    /// Multicast frames are received.
    pub multicast: bool,
    /// Frames to any address are received.
    pub promiscuous: bool,
    /// Reserved, 0.
    pub reserved_20: Bits<12>,
}

/// STATE register.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct StateRegister {
    /// A command is running.
    pub command_busy: bool,
    /// The last command named no table or row: nothing was done.
    pub command_error: bool,
    /// Nothing is in flight and nothing waits.
    pub idle: bool,
    /// A read of host memory had no completion for 50.3 ms: its tag is out of use until reset. The data of all later reads waited that long.
    pub read_timeout: bool,
    /// Reserved, 0.
    pub reserved_4: Bits<28>,
}

/// A command.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CommandWord {
    /// What to do: see command_op.
    pub op: Bits<8>,
    /// For COMMIT and QUERY: see table.
    pub table: Bits<8>,
    /// Row.
    pub row: Bits<16>,
    /// Reserved, 0.
    pub reserved_32: Bits<32>,
}

/// An event for the agent, in the error ring: something that no descriptor can report.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EventWord {
    /// See event_code; never 0.
    pub code: Bits<8>,
    /// Index of the VI.
    pub vi: Bits<10>,
    /// 1: receive queue, 0: send queue.
    pub receive: bool,
    /// The VI went into Error because of it.
    pub broke: bool,
    /// Reserved, 0.
    pub reserved_20: Bits<44>,
}

/// Counters, 36 bits each, never cleared but by reset. The code is the field's place.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CounterPulses {
    /// Frames sent, loopback included.
    pub frames_sent: bool,
    /// Frames that arrived, loopback included.
    pub frames_received: bool,
    /// Acknowledgements sent.
    pub acks_sent: bool,
    /// Acknowledgements taken.
    pub acks_received: bool,
    /// Messages sent whole.
    pub messages_sent: bool,
    /// Messages delivered.
    pub messages_received: bool,
    /// Frames dropped: the MAC reported damage, or the frame is shorter than its headers or lengths say.
    pub drop_malformed: bool,
    /// Frames dropped: ICRC wrong.
    pub drop_icrc: bool,
    /// Frames dropped: not IPv4/UDP port 4791 to our own MAC and IP address.
    pub drop_not_ours: bool,
    /// Frames dropped: BTH version, P_Key or opcode not taken.
    pub drop_bth: bool,
    /// Frames dropped: no such queue pair, wrong generation, wrong peer, or the VI is not connected.
    pub drop_no_vi: bool,
    /// Frames dropped: PSN not the one expected (duplicate or gap).
    pub drop_psn: bool,
    /// Messages dropped: no receive descriptor.
    pub drop_no_receive: bool,
    /// Frames dropped: no room in the receive buffer.
    pub drop_overflow: bool,
    /// Accesses refused by the protection checker.
    pub access_refused: bool,
    /// Doorbell stores ignored: partial, or to no queue.
    pub doorbell_ignored: bool,
    /// TLPs not taken: unsupported, poisoned or an unexpected completion.
    pub tlp_dropped: bool,
    /// Commands ignored: written while busy.
    pub command_ignored: bool,
    /// Events lost: there was no error ring, or no room in it or before it.
    pub event_lost: bool,
    /// Negative acknowledgements sent; receiver-not-ready answers have their own counter.
    pub naks_sent: bool,
    /// Negative acknowledgements taken; receiver-not-ready answers have their own counter.
    pub naks_received: bool,
    /// Frames of a message dropped because it will not be whole: an earlier one was lost, or one does not fit (Unreliable Delivery).
    pub drop_partial: bool,
    /// Request packets sent again.
    pub retransmitted: bool,
    /// Retransmission timers that ended.
    pub timeouts: bool,
    /// Receiver-not-ready answers taken.
    pub rnr_received: bool,
    /// Receiver-not-ready answers sent.
    pub rnr_sent: bool,
    /// Frames that were duplicates of ones already executed, and were answered again.
    pub duplicates: bool,
    /// Answers dropped: their PSN is not one that is waited for.
    pub drop_response: bool,
    /// Congestion notification packets, and frames marked congestion experienced.
    pub congestion: bool,
    /// Frames of the raw channel delivered.
    pub raw_received: bool,
    /// Frames for the raw channel dropped: no receive was posted.
    pub raw_dropped: bool,
    /// RDMA read requests taken, duplicates again; whether their memory may be read shows later.
    pub reads_served: bool,
    /// Bytes of payload sent, retransmissions included.
    pub bytes_sent: bool,
    /// Bytes of payload delivered to memory.
    pub bytes_received: bool,
    /// Completion queue entries lost.
    pub cq_overruns: bool,
    /// Interrupts sent.
    pub interrupts: bool,
    /// Descriptors completed with an error bit, flushed ones included.
    pub descriptor_errors: bool,
    /// VIs that an error has put into Error.
    pub vis_broken: bool,
    /// Reads of host memory whose completion never came: see state.
    pub reads_lost: bool,
}
