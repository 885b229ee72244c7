//! Requests and replies, and their encoding. Both ends decode what the other process wrote: nothing that arrives
//! makes them panic or reserve more memory than it is long.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::{
    address::{ConnectionInfo, Mac},
    agent::{vis::ViAttributes, AgentError, ErrorClass, Event, Limits, MemoryAttributes, NicKind},
    cm::{self, CmError, ConnectionId, Discriminator, ListenerId},
    connection_agent::Ask,
    device::Polling,
    kernel_agent::{CqName, ViName},
    queues::ViState,
};

use super::report::{SessionReport, ViReport};

/// What a client says first.
pub const MAGIC: [u8; 8] = *b"VIAduct\n";
/// The version of everything in this file.
pub const VERSION: u32 = 4;
/// The longest message in bytes.
pub const LONGEST: usize = 32 << 10;
/// The most events in one reply.
pub const MOST_EVENTS: usize = 256;
/// The most sessions or VIs that one reply tells of.
pub const MOST_REPORTS: usize = 64;
/// The most connection events in one reply: each has less than 400 bytes.
pub const MOST_NEWS: usize = 64;

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// First of all: who speaks. Descriptors: `/proc/self/mem` for reading and writing, and for reading.
    Hello {
        /// [`MAGIC`].
        magic: [u8; 8],
        /// [`VERSION`].
        version: u32,
    },
    /// [`Answer::Tag`].
    CreateTag,
    /// [`Answer::Done`].
    DestroyTag(u16),
    /// [`Answer::Handle`].
    Register {
        /// First byte.
        address: u64,
        /// Bytes.
        length: u64,
        /// Tag and rights.
        attributes: MemoryAttributes,
    },
    /// [`Answer::Done`].
    Deregister(u32),
    /// [`Answer::Done`].
    SetMemoryAttributes(u32, MemoryAttributes),
    /// [`Answer::Attributes`].
    MemoryAttributes(u32),
    /// [`Answer::Vi`].
    CreateVi(ViAttributes),
    /// Other attributes, and whether both rings start anew: [`Answer::Info`].
    SetViAttributes(ViName, ViAttributes, bool),
    /// [`Answer::Done`].
    ConnectVi(ViName, ConnectionInfo),
    /// [`Answer::Done`].
    BreakVi(ViName),
    /// [`Answer::Info`].
    IdleVi(ViName),
    /// [`Answer::State`].
    ViState(ViName),
    /// [`Answer::Done`].
    DestroyVi(ViName),
    /// [`Answer::Cq`].
    CreateCq(u32),
    /// [`Answer::Resized`].
    ResizeCq(CqName, u32),
    /// [`Answer::Done`].
    DestroyCq(CqName),
    /// [`Answer::Events`].
    TakeEvents,
    /// Whether the device still answers: [`Answer::Done`].
    Check,
    /// [`Answer::Time`].
    Time,
    /// [`Answer::Counters`].
    Counters,
    /// Wait for the next who asks for this discriminator: [`Answer::Listener`].
    Listen(Discriminator),
    /// [`Answer::Done`].
    Unlisten(ListenerId),
    /// Ask who listens: [`Answer::Connection`].
    Connect(Ask),
    /// Ask who asks us: [`Answer::Connection`].
    PeerRequest(Ask),
    /// With a VI and the consumer's own: [`Answer::Done`].
    Accept(ConnectionId, ViName, Vec<u8>),
    /// With the consumer's own: [`Answer::Done`].
    Reject(ConnectionId, Vec<u8>),
    /// [`Answer::Done`].
    Disconnect(ConnectionId),
    /// [`Answer::News`].
    TakeNews,
    /// The hosts file, from this byte on: [`Answer::Hosts`].
    Hosts(u32),
    /// Sessions that this user may know of, from this number on: [`Answer::Sessions`].
    Sessions(u64),
    /// VIs of such a session, from this index on: [`Answer::Vis`].
    Vis(u64, u16),
}

/// What viad answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// To [`Request::Hello`]. Descriptors: the notice page, the session's own one, the arena, the eventfd that wakes the forwarder.
    Welcome(Welcome),
    /// A protection tag.
    Tag(u16),
    /// A memory handle.
    Handle(u32),
    /// What a handle was registered with.
    Attributes(MemoryAttributes),
    /// A VI. Descriptor: its doorbell page.
    Vi {
        /// What to call it.
        name: ViName,
        /// For its first connection.
        info: ConnectionInfo,
        /// Where its rings are in the arena, in bytes: send, receive.
        rings: [u32; 2],
        /// Interrupt vectors of its send and receive queue.
        vectors: [u8; 2],
    },
    /// For a VI's next connection.
    Info(ConnectionInfo),
    /// A VI's state.
    State(ViState),
    /// A completion queue. Descriptors: its ring, its doorbell page.
    Cq {
        /// What to call it.
        name: CqName,
        /// Interrupt vector of its entries.
        vector: u8,
    },
    /// A completion queue has another ring. Descriptor: that ring.
    Resized {
        /// Entries in the old ring, modulo 2^18.
        written: u32,
    },
    /// Events of the client's VIs, oldest first, at most [`MOST_EVENTS`].
    Events(Vec<Event>),
    /// Device time in ticks of 1.024 us.
    Time(u32),
    /// The counters in the order of `register::counter`.
    Counters(Vec<u64>),
    /// Who waits for a request.
    Listener(ListenerId),
    /// What was asked for, or asks.
    Connection(ConnectionId),
    /// Events of the client's connections, oldest first, at most [`MOST_NEWS`].
    News(Vec<cm::Event>),
    /// A piece of the hosts file; empty behind its end. None: there is no such file.
    Hosts(Option<Vec<u8>>),
    /// Sessions, at most [`MOST_REPORTS`].
    Sessions(Vec<SessionReport>),
    /// VIs, at most [`MOST_REPORTS`].
    Vis(Vec<ViReport>),
    /// The connection manager refused.
    Unconnected(CmError),
}

/// What a client learns of the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// What carries out the work.
    pub kind: NicKind,
    /// What this user may have of it.
    pub limits: Limits,
    /// The NIC's Ethernet address.
    pub mac: Mac,
    /// The NIC's IPv4 address.
    pub ip: Ipv4Addr,
    /// Bytes that this user may register.
    pub bytes: u64,
    /// Interrupt vectors in the notice page.
    pub vectors: u8,
    /// Bytes of the arena.
    pub arena: u32,
    /// What a client does who polls.
    pub polling: Polling,
}

/// Why viad did not do it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What kind of error it is.
    pub class: ErrorClass,
    /// In words.
    pub text: String,
}

/// What comes back.
pub type Reply = Result<Answer, Refusal>;

impl From<AgentError> for Refusal {
    fn from(error: AgentError) -> Self {
        let mut text = error.to_string();
        // Whatever the error quotes, it fits a message.
        text.truncate((0..=1024).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0));
        Self { class: error.class(), text }
    }
}

impl From<Refusal> for AgentError {
    fn from(Refusal { class, text }: Refusal) -> Self {
        Self::Remote { class, text }
    }
}

/// What is wrong with a message.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not of the expected type.
    #[error("it cannot be decoded: {0}")]
    Encoding(#[from] postcard::Error),
    /// There is more behind it.
    #[error("{0} bytes behind its end")]
    Trailing(usize),
    /// Longer than [`LONGEST`].
    #[error("longer than {LONGEST} bytes")]
    Long,
}

/// The bytes of a message.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, Malformed> {
    let bytes = postcard::to_stdvec(message)?;
    if bytes.len() > LONGEST {
        return Err(Malformed::Long);
    }
    Ok(bytes)
}

/// A message from its bytes: all of them.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Malformed> {
    if bytes.len() > LONGEST {
        return Err(Malformed::Long);
    }
    let (message, rest) = postcard::take_from_bytes(bytes)?;
    if rest.is_empty() {
        Ok(message)
    } else {
        Err(Malformed::Trailing(rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        address::{Mtu, Service},
        cm::{end::End, event::Incoming, Host, Target},
    };
    use std::time::Duration;

    /// Names are numbers.
    fn connection() -> ConnectionId {
        postcard::from_bytes(&[7]).expect("a number")
    }

    fn samples() -> Vec<Request> {
        let attributes = MemoryAttributes { tag: 5, rdma_write: true, rdma_read: false };
        let vi = ViName { index: 3, life: 9 };
        let cq = CqName { index: 1, life: 1 << 40 };
        let info = ConnectionInfo {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            ip: Ipv4Addr::new(10, 0, 0, 1),
            queue_pair: 0x123,
            first_psn: 7,
            mtu: Mtu::DEFAULT,
            service: Service::ReliableDelivery,
            max_transfer: 1 << 20,
        };
        let vi_attributes = ViAttributes {
            tag: 5,
            service: Service::ReliableReception,
            mtu: Mtu::MAX,
            max_transfer: 77,
            send_log2: 3,
            receive_log2: 10,
            rdma_write: true,
            rdma_read: true,
            send_cq: Some(4),
            receive_cq: None,
        };
        let discriminator = Discriminator::try_from(&b"service"[..]).expect("short");
        let ask = Ask {
            vi,
            target: Target::Host(Host { mac: info.mac, ip: info.ip }),
            from: discriminator,
            to: Discriminator::of_port(7),
            data: vec![1, 2, 3],
            timeout: Some(Duration::from_millis(1)),
        };
        vec![
            Request::Hello { magic: MAGIC, version: VERSION },
            Request::CreateTag,
            Request::DestroyTag(5),
            Request::Register { address: u64::MAX, length: 1, attributes },
            Request::Deregister(9),
            Request::SetMemoryAttributes(9, attributes),
            Request::MemoryAttributes(9),
            Request::CreateVi(vi_attributes),
            Request::SetViAttributes(vi, vi_attributes, true),
            Request::ConnectVi(vi, info),
            Request::BreakVi(vi),
            Request::IdleVi(vi),
            Request::ViState(vi),
            Request::DestroyVi(vi),
            Request::CreateCq(100),
            Request::ResizeCq(cq, 200),
            Request::DestroyCq(cq),
            Request::TakeEvents,
            Request::Check,
            Request::Time,
            Request::Counters,
            Request::Listen(discriminator),
            Request::Connect(ask.clone()),
            Request::PeerRequest(Ask { target: Target::Mac(info.mac), timeout: None, ..ask }),
            Request::Disconnect(connection()),
            Request::Reject(connection(), vec![1; 136]),
            Request::Accept(connection(), vi, Vec::new()),
            Request::TakeNews,
            Request::Hosts(1 << 20),
            Request::Sessions(u64::MAX),
            Request::Vis(1, 2),
        ]
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for request in samples() {
            let bytes = encode(&request).expect("short");
            assert_eq!(decode::<Request>(&bytes).expect("it was encoded"), request);
            // Nothing more, nothing less.
            assert!(decode::<Request>(&bytes[..bytes.len() - 1]).is_err(), "{request:?}");
            let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
            assert!(matches!(decode::<Request>(&longer), Err(Malformed::Trailing(1))), "{request:?}");
        }
        let long = "ä".repeat(2000);
        let refusal = Refusal::from(AgentError::Command(long));
        assert!(refusal.text.len() <= 1024 && refusal.class == ErrorClass::Resource);
        let reply: Reply = Err(refusal);
        assert_eq!(decode::<Reply>(&encode(&reply).expect("short")).expect("it was encoded"), reply);
    }

    #[test]
    fn the_longest_news_fit_a_message() {
        let discriminator = Discriminator::try_from(&[0xff; 22][..]).expect("the longest");
        let info = ConnectionInfo {
            mac: Mac([0xff; 6]),
            ip: Ipv4Addr::BROADCAST,
            queue_pair: u32::MAX,
            first_psn: u32::MAX,
            mtu: Mtu::MAX,
            service: Service::ReliableReception,
            max_transfer: u32::MAX,
        };
        let event = cm::Event::Incoming {
            id: connection(),
            listener: postcard::from_bytes(&[7]).expect("a number"),
            once: true,
            request: Incoming {
                host: Host { mac: info.mac, ip: info.ip },
                from: discriminator,
                to: discriminator,
                peer: End::new(info, u8::MAX),
                // More than any message has.
                data: vec![0xff; 196],
            },
        };
        let news: Reply = Ok(Answer::News(vec![event; MOST_NEWS]));
        assert_eq!(decode::<Reply>(&encode(&news).expect("short")).expect("it was encoded"), news);
        // A discriminator that is too long is none.
        let bytes: Vec<u8> =
            [&encode(&Request::Listen(discriminator)).expect("short")[..1], &[23], &[1; 23]].concat();
        assert!(decode::<Request>(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(request) = decode::<Request>(&bytes) {
                prop_assert_eq!(decode::<Request>(&encode(&request).expect("short")).expect("it was encoded"), request);
            }
            let _ = decode::<Reply>(&bytes);
        }

        #[test]
        fn a_message_with_changed_bytes_is_a_message_or_an_error(
            which in any::<prop::sample::Index>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let samples = samples();
            let mut bytes = encode(which.get(&samples)).expect("short");
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let _ = decode::<Request>(&bytes);
            let _ = decode::<Reply>(&bytes);
        }
    }
}
