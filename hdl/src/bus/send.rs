//! What becomes of a send descriptor on its way out.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::{Position, Vi};
use rust_hdl::prelude::*;

/// Where a send descriptor lies; fetch tells gather.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SendHead {
    /// The VI whose descriptor it is.
    pub vi: Vi,
    /// Region that holds the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor in that region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Words of the descriptor's first 64 bytes that the region holds, 0 to 8; the rest read as 0.
    pub words: Bits<4>,
    /// The descriptor could not be read: nothing of it is valid and it cannot be completed.
    pub lost: bool,
    /// Epoch of the VI in which the descriptor was fetched: see [`EpochWrite`].
    pub epoch: bool,
    /// The descriptor is the first after a rewind: `psn` and `skip` count.
    pub restart: bool,
    /// PSN of the message's first packet that is sent.
    pub psn: Bits<24>,
    /// Number of the message's packets that are acknowledged and not sent again.
    pub skip: Bits<24>,
    /// With `restart`: nothing is sent again; the VI goes on where it was parked.
    pub resume: bool,
}

/// A VI sends again from where the [`Rewind`] says. Packets of the other epoch, between fetch and transmit, are dropped.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EpochWrite {
    /// The VI that sends again.
    pub vi: Vi,
    /// Epoch of the VI from now on.
    pub epoch: bool,
}

/// Sends are to be fetched again.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Rewind {
    /// The VI that sends again.
    pub vi: Vi,
    /// New epoch of the VI.
    pub epoch: bool,
    /// Position of the oldest message that is not complete.
    pub position: Position,
    /// Number of that message's packets that are acknowledged; never all of them.
    pub skip: Bits<24>,
    /// PSN of the first packet behind these.
    pub psn: Bits<24>,
    /// Nothing is sent again: the VI goes on where it was parked.
    pub resume: bool,
}

/// A packet to send, or the end of a message that sends nothing.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Packet {
    /// The VI that sends.
    pub vi: Vi,
    /// There is a packet to send; otherwise only the completion.
    pub send: bool,
    /// First packet of its message.
    pub first: bool,
    /// Last packet of its message: the completion follows it.
    pub last: bool,
    /// Payload bytes, 0 to 4096.
    pub length: Bits<13>,
    /// The packet carries immediate data.
    pub has_immediate: bool,
    /// Immediate data as in the descriptor.
    pub immediate: Bits<32>,
    /// With `last`: region of the descriptor.
    pub region: Bits<16>,
    /// With `last`: offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// With `last`: bytes of the whole message.
    pub message_length: Bits<32>,
    /// With `last`: error bits 8:1 of the status known so far.
    pub errors: Bits<9>,
    /// The descriptor cannot be written: complete nothing.
    pub lost: bool,
    /// Epoch of the descriptor's [`SendHead`].
    pub epoch: bool,
    /// First packet after a rewind: `psn` counts.
    pub restart: bool,
    /// PSN of the packet; it counts with `restart` and `reply`.
    pub psn: Bits<24>,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// RDMA: virtual address at the peer.
    pub remote_address: Bits<64>,
    /// RDMA: memory handle at the peer.
    pub rkey: Bits<32>,
    /// RDMA read: packets of the answer, less one. (Bytes of it are in `immediate`.)
    pub beyond: Bits<24>,
    /// RDMA read: segments of the descriptor.
    pub segments: Bits<8>,
    /// RDMA read: number of the read, see [`ReadSent`](super::ReadSent). With `parked`: number of reads that are complete.
    pub number: Bits<3>,
    /// The message may not begin before a read is complete: it, and every message behind it, comes again.
    pub parked: bool,
    /// The packet is of the answer to a peer's read: `immediate` is the AETH, `psn` counts, and the fields of the VI's queue do not.
    pub reply: bool,
    /// With a transport error: segments of the descriptor could not be read. Otherwise the descriptor has changed since it was read before.
    pub unread: bool,
}

/// A packet of a reliable VI has left, or a message has ended: in order for each VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Sent {
    /// The VI that has sent.
    pub vi: Vi,
    /// The message has left, or will never leave. Otherwise a packet that is not its last has left: only `vi`,
    /// `epoch`, `length`, `operation` and `psn` count.
    pub ends: bool,
    /// Epoch in which the packet or message left.
    pub epoch: bool,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// Error bits 8:1 of the status.
    pub errors: Bits<9>,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// The message is complete only when `psn` is acknowledged.
    pub acknowledged: bool,
    /// PSN of the packet, or of the message's last.
    pub psn: Bits<24>,
    /// The descriptor cannot be written: complete nothing.
    pub lost: bool,
    /// The message has not begun: it waits for a read to be complete, and comes again.
    pub parked: bool,
    /// With `parked`: number of reads that were complete when that was seen, modulo 8.
    pub number: Bits<3>,
}

/// Eight bytes of a packet's payload.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PayloadWord {
    /// The bytes, the first in bits 7:0.
    pub data: Bits<64>,
    /// The last word of its packet.
    pub last: bool,
}

/// All bytes of a packet's payload are there, or none of them ever will be.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Whole {
    /// `protect` refused an access to the bytes.
    pub refused: bool,
    /// The bytes could not be read.
    pub failed: bool,
}
