//! Connections on the wire: InfiniBand's communication management (InfiniBand Architecture 1.4 volume 1, chapter 12) in
//! management datagrams (13.4) to queue pair 1, the header that Linux's rdma_cm puts into their private data (annex A11),
//! and VIA's own behind it; ARP. The driver's connection manager writes and reads them (`host-driver/src/cm/`).

mod address_resolution;
mod private_data;

pub use self::{
    address_resolution::{arp, arp_operation},
    private_data::{rdma_cm, via, VIA_MAGIC, VIA_VERSION},
};
use crate::{codes, packet};

/// The queue pair of management.
pub const QUEUE_PAIR: u32 = 1;
/// Its Q_Key.
pub const QKEY: u32 = 0x8001_0000;
/// UDP source port of its frames: the one that other implementations have.
pub const SOURCE_PORT: u16 = 55410;
/// A management datagram in bytes.
pub const MAD_BYTES: usize = 256;
/// Bytes of a message behind the MAD's header.
pub const MESSAGE_BYTES: usize = MAD_BYTES - mad::BYTES;
/// Service identifiers of rdma_cm's TCP port space: the port is in the low 16 bits.
pub const TCP_SERVICE: u64 = 0x0106_0000;
/// The port under which a NIC is asked for a discriminator that is no port number.
pub const PORT: u16 = 0x5649;
/// Longest discriminator in bytes: two of them fit a REQ.
pub const MAX_DISCRIMINATOR: usize = 22;
/// Local identifier that is none: RoCE has no subnet manager.
pub const PERMISSIVE_LID: u16 = 0xffff;

packet! {
    /// Datagram extended transport header, behind the BTH.
    deth: 8 {
        /// Queue key.
        QKEY: 0, 0, 32;
        /// Source queue pair number.
        SOURCE_QP: 5, 0, 24;
    }
}

packet! {
    /// Header of a management datagram.
    mad: 24 {
        /// Base version: 1.
        BASE_VERSION: 0, 0, 8;
        /// Management class: 7 is communication management.
        CLASS: 1, 0, 8;
        /// Version of the class: 2.
        CLASS_VERSION: 2, 0, 8;
        /// Method: 3 is Send, that of all messages here.
        METHOD: 3, 0, 8;
        /// Status: 0.
        STATUS: 4, 0, 16;
        /// Transaction: one for all messages of a connection's beginning, one for those of its end.
        TRANSACTION: 8, 0, 64;
        /// Which message: see attribute.
        ATTRIBUTE: 16, 0, 16;
        /// Attribute modifier: 0.
        MODIFIER: 20, 0, 32;
    }
}

/// Base version of a management datagram.
pub const MAD_BASE_VERSION: u8 = 1;
/// Management class of communication management.
pub const MAD_CLASS: u8 = 7;
/// Version of that class.
pub const MAD_CLASS_VERSION: u8 = 2;
/// The method Send.
pub const MAD_METHOD_SEND: u8 = 3;

codes! {
    /// Messages of communication management.
    attribute: u16 {
        /// Request for a connection.
        REQ = 0x10;
        /// Message receipt acknowledgement: the answer takes longer.
        MRA = 0x11;
        /// Reject.
        REJ = 0x12;
        /// Reply to a request.
        REP = 0x13;
        /// Ready to use: the reply has come.
        RTU = 0x14;
        /// Request to disconnect.
        DREQ = 0x15;
        /// Reply to that.
        DREP = 0x16;
        /// Request for a datagram service.
        SIDR_REQ = 0x17;
        /// Reply to that.
        SIDR_REP = 0x18;
    }
}

packet! {
    /// REQ.
    req: 232 {
        /// The sender's number of the connection.
        LOCAL_ID: 0, 0, 32;
        /// What is asked for.
        SERVICE: 8, 0, 64;
        /// The sender's adapter: EUI-64 of its MAC address.
        GUID: 16, 0, 64;
        /// Q_Key, of datagram services.
        QKEY: 28, 0, 32;
        /// The sender's queue pair number.
        QUEUE_PAIR: 32, 0, 24;
        /// RDMA reads that the sender answers at a time.
        RESPONDER_RESOURCES: 35, 0, 8;
        /// End-to-end context, of reliable datagrams.
        LOCAL_EEC: 36, 0, 24;
        /// RDMA reads that the sender asks for at a time.
        INITIATOR_DEPTH: 39, 0, 8;
        /// End-to-end context of the receiver.
        REMOTE_EEC: 40, 0, 24;
        /// Within 4.096 us * 2^n the receiver is to answer.
        REMOTE_TIMEOUT: 43, 0, 5;
        /// See transport.
        TRANSPORT: 43, 5, 2;
        /// The sender does end-to-end flow control.
        FLOW_CONTROL: 43, 7, 1;
        /// Starting PSN: that of the first packet that the receiver of this message sends (IBA 12.7.31).
        PSN: 44, 0, 24;
        /// Within 4.096 us * 2^n the sender answers.
        LOCAL_TIMEOUT: 47, 0, 5;
        /// How often the receiver sends again what is not acknowledged.
        RETRIES: 47, 5, 3;
        /// Partition key.
        PKEY: 48, 0, 16;
        /// Path MTU: 1 is 256 bytes, 5 is 4096.
        MTU: 50, 0, 4;
        /// A reliable datagram channel exists.
        RDC_EXISTS: 50, 4, 1;
        /// How often the receiver sends again to a sender that is not ready; 7: without end.
        RNR_RETRIES: 50, 5, 3;
        /// How often a message of a connection's beginning is sent again.
        MAX_CM_RETRIES: 51, 0, 4;
        /// The sender's queue pair takes its receives from a shared queue.
        SRQ: 51, 4, 1;
        /// Transport beyond the two bits of TRANSPORT.
        EXTENDED_TRANSPORT: 51, 5, 3;
        /// The sender's local identifier.
        LOCAL_LID: 52, 0, 16;
        /// The receiver's local identifier.
        REMOTE_LID: 54, 0, 16;
        /// The sender's address: IPv4 mapped into IPv6.
        LOCAL_GID: 56, 0, 128;
        /// The receiver's address.
        REMOTE_GID: 72, 0, 128;
        /// Flow label.
        FLOW_LABEL: 88, 0, 20;
        /// Packet rate.
        RATE: 91, 2, 6;
        /// Traffic class.
        TRAFFIC_CLASS: 92, 0, 8;
        /// Hop limit.
        HOP_LIMIT: 93, 0, 8;
        /// Service level.
        SERVICE_LEVEL: 94, 0, 4;
        /// Sender and receiver are in one subnet.
        SUBNET_LOCAL: 94, 4, 1;
        /// The sender's time-out for acknowledgements: 4.096 us * 2^n.
        ACK_TIMEOUT: 95, 0, 5;
        /// An alternate path; 0: there is none.
        ALTERNATE: 96, 0, 352;
        /// Private data: rdma_cm, then via_req.
        PRIVATE: 140, 0, 736;
    }
}

codes! {
    /// Transport services of a REQ.
    transport: u8 {
        /// Reliable connection.
        RC = 0;
        /// Unreliable connection.
        UC = 1;
        /// Reliable datagram.
        RD = 2;
    }
}

packet! {
    /// MRA.
    mra: 232 {
        /// The sender's number of the connection.
        LOCAL_ID: 0, 0, 32;
        /// The receiver's number of the connection.
        REMOTE_ID: 4, 0, 32;
        /// What was received: see subject.
        SUBJECT: 8, 0, 2;
        /// The answer comes within 4.096 us * 2^n.
        SERVICE_TIMEOUT: 9, 0, 5;
        /// Private data.
        PRIVATE: 10, 0, 1776;
    }
}

codes! {
    /// What an MRA or a REJ is about.
    subject: u8 {
        /// A REQ.
        REQ = 0;
        /// A REP.
        REP = 1;
        /// No message (REJ), or a load alternate path (MRA).
        OTHER = 2;
    }
}

packet! {
    /// REJ.
    rej: 232 {
        /// The sender's number of the connection; 0: it made none.
        LOCAL_ID: 0, 0, 32;
        /// The receiver's number of the connection; 0: unknown.
        REMOTE_ID: 4, 0, 32;
        /// What is rejected: see subject.
        SUBJECT: 8, 0, 2;
        /// Bytes of ADDITIONAL.
        ADDITIONAL_LENGTH: 9, 0, 7;
        /// See reason.
        REASON: 10, 0, 16;
        /// Additional information: with reason TIMEOUT the sender's GUID.
        ADDITIONAL: 12, 0, 576;
        /// Private data.
        PRIVATE: 84, 0, 1184;
    }
}

codes! {
    /// Reasons of a REJ.
    reason: u16 {
        /// No queue pair.
        NO_QP = 1;
        /// No resources.
        NO_RESOURCES = 3;
        /// The other side did not answer in time, or whoever asked has given up.
        TIMEOUT = 4;
        /// The request is not supported.
        UNSUPPORTED = 5;
        /// The number of the connection is unknown.
        INVALID_ID = 6;
        /// Nobody waits for that service: VIP_NO_MATCH.
        NO_SERVICE = 8;
        /// The transport service is not offered.
        INVALID_TRANSPORT = 9;
        /// The queue pair is still that of an earlier connection, or the connection is one that the sender has forgotten.
        STALE = 10;
        /// The consumer refuses: VIP_REJECT.
        CONSUMER = 28;
        /// The path MTU is too large.
        INVALID_MTU = 26;
    }
}

packet! {
    /// REP.
    rep: 232 {
        /// The sender's number of the connection.
        LOCAL_ID: 0, 0, 32;
        /// The receiver's number of the connection.
        REMOTE_ID: 4, 0, 32;
        /// Q_Key, of datagram services.
        QKEY: 8, 0, 32;
        /// The sender's queue pair number.
        QUEUE_PAIR: 12, 0, 24;
        /// End-to-end context, of reliable datagrams.
        LOCAL_EEC: 16, 0, 24;
        /// Starting PSN: that of the first packet that the receiver of this message sends (IBA 12.7.31).
        PSN: 20, 0, 24;
        /// RDMA reads that the sender answers at a time.
        RESPONDER_RESOURCES: 24, 0, 8;
        /// RDMA reads that the sender asks for at a time.
        INITIATOR_DEPTH: 25, 0, 8;
        /// The sender acknowledges within 4.096 us * 2^n.
        ACK_DELAY: 26, 0, 5;
        /// What became of the alternate path.
        FAILOVER: 26, 5, 2;
        /// The sender does end-to-end flow control.
        FLOW_CONTROL: 26, 7, 1;
        /// How often the receiver sends again to a sender that is not ready; 7: without end.
        RNR_RETRIES: 27, 0, 3;
        /// The sender's queue pair takes its receives from a shared queue.
        SRQ: 27, 3, 1;
        /// The sender's adapter: EUI-64 of its MAC address.
        GUID: 28, 0, 64;
        /// Private data: via_rep.
        PRIVATE: 36, 0, 1568;
    }
}

packet! {
    /// RTU and DREP.
    rtu: 232 {
        /// The sender's number of the connection.
        LOCAL_ID: 0, 0, 32;
        /// The receiver's number of the connection.
        REMOTE_ID: 4, 0, 32;
        /// Private data.
        PRIVATE: 8, 0, 1792;
    }
}

packet! {
    /// DREQ.
    dreq: 232 {
        /// The sender's number of the connection.
        LOCAL_ID: 0, 0, 32;
        /// The receiver's number of the connection.
        REMOTE_ID: 4, 0, 32;
        /// The receiver's queue pair number.
        REMOTE_QUEUE_PAIR: 8, 0, 24;
        /// Private data.
        PRIVATE: 12, 0, 1760;
    }
}

packet! {
    /// SIDR_REQ.
    sidr_req: 232 {
        /// The sender's number of the request.
        REQUEST: 0, 0, 32;
        /// Partition key.
        PKEY: 4, 0, 16;
        /// What is asked for.
        SERVICE: 8, 0, 64;
        /// Private data: rdma_cm.
        PRIVATE: 16, 0, 1728;
    }
}

packet! {
    /// SIDR_REP.
    sidr_rep: 232 {
        /// The receiver's number of the request.
        REQUEST: 0, 0, 32;
        /// Status: 0 is good.
        STATUS: 4, 0, 8;
        /// Bytes of ADDITIONAL.
        ADDITIONAL_LENGTH: 5, 0, 8;
        /// The queue pair number of the service.
        QUEUE_PAIR: 8, 0, 24;
        /// What was asked for.
        SERVICE: 12, 0, 64;
        /// Its Q_Key.
        QKEY: 20, 0, 32;
        /// Additional information.
        ADDITIONAL: 24, 0, 576;
        /// Private data.
        PRIVATE: 96, 0, 1088;
    }
}
