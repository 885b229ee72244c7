//! Requests and replies, and their encoding. Both ends decode what the other process wrote: nothing that arrives
//! makes them panic or reserve more memory than it is long.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::{
    address::{ConnectionInfo, Mac},
    cm::{self, CmError, ConnectionId, Discriminator, ListenerId},
    device::Polling,
    kernel_agent::{
        connection_agent::Ask, control::control_calls, AgentError, CqName, ErrorClass, Event, Limits,
        MemoryAttributes, NicKind, ViAttributes, ViName,
    },
    queues::ViState,
};

use super::report::{SessionReport, Totals, ViReport};

/// What a client says first.
pub const MAGIC: [u8; 8] = *b"VIAduct\n";
/// The version of everything in this file.
pub const VERSION: u32 = 7;
/// The longest message in bytes.
pub const LONGEST: usize = 32 << 10;
/// The most events in one reply.
pub const MOST_EVENTS: usize = 256;
/// The most sessions or VIs that one reply tells of.
pub const MOST_REPORTS: usize = 64;
/// The most connection events in one reply: each has less than 400 bytes.
pub const MOST_CONNECTION_EVENTS: usize = 64;

/// Whether a row says that a descriptor goes with its request.
macro_rules! is_file {
    () => {
        false
    };
    (file) => {
        true
    };
}

/// Makes the requests of the rows of [`control_calls!`].
macro_rules! requests {
    (() $(
        $(#[$doc:meta])*
        $trait:ident fn $method:ident $(($($argument:ident: $type:ty),+))? $(-> $result:ty)?
            as $request:ident => $answer:ident $(and $files:ident)? $(, with $sent:ident)?
            $(, of [$($object:ident $(($value:expr))?),+])? $(, costs [$($quota:ident),+])?;
    )*) => {
        /// What a client asks.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Request {
            /// First of all, and no control call: who speaks. Descriptors: `/proc/self/mem` for reading and writing, and for reading; or none, and
            /// then private memory is not registered.
            Hello {
                /// [`MAGIC`].
                magic: [u8; 8],
                /// [`VERSION`].
                version: u32,
            },
            $(
                $(#[$doc])*
                #[doc = concat!("\n\nIt is answered with [`Answer::", stringify!($answer), "`].")]
                $request $(($($type),+))?,
            )*
        }

        impl Request {
            /// Whether one descriptor goes with it. Those of `Hello` are not meant.
            pub fn has_file(&self) -> bool {
                match self {
                    Self::Hello { .. } => false,
                    $(Self::$request { .. } => is_file!($($sent)?),)*
                }
            }
        }
    };
}

control_calls!(requests);

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
    /// A VI. Descriptor: its doorbell page, unless the client has the function.
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
    /// A completion queue. Descriptors: its ring, and its doorbell page, unless the client has the function.
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
    /// Events of the client's connections, oldest first, at most [`MOST_CONNECTION_EVENTS`].
    ConnectionEvents(Vec<cm::Event>),
    /// It will be said. Descriptor: a socket, which has a byte to read then, or several; it ends with the session.
    Watched,
    /// A piece of the hosts file; empty behind its end. None: there is no such file.
    Hosts(Option<Vec<u8>>),
    /// Sessions, at most [`MOST_REPORTS`].
    Sessions(Vec<SessionReport>),
    /// VIs, at most [`MOST_REPORTS`].
    Vis(Vec<ViReport>),
    /// What all other sessions have together.
    Totals(Totals),
    /// The connection manager refused.
    Unconnected(CmError),
    /// What to call a pool.
    Pool(u32),
    /// The function. Descriptors: its file, and its container or iommufd.
    Function(Function),
    /// How many there are.
    Number(u32),
}

/// What a trusted client learns of the function that it is handed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its PCI address.
    pub address: String,
    /// The I/O address space, if the second descriptor is an iommufd; None: it is a container.
    pub ioas: Option<u32>,
    /// The NIC's own sizes: where doorbell pages are.
    pub nic: Limits,
    /// First DMA address of the lease.
    pub first: u64,
    /// DMA addresses in the lease.
    pub bytes: u64,
    /// Maps that the client may have at a time.
    pub maps: u32,
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
mod tests;
