//! One step of a program. Each stands for itself: a program without it is a program still.

/// An end of a connection: twice the connection's number, and one more for the second end.
pub type End = usize;

/// What a descriptor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A send, or a receive.
    Message,
    /// An RDMA write.
    Write,
    /// An RDMA read.
    Read,
}

/// A data segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Which of the end's registrations its handle names.
    pub slot: usize,
    /// Where it begins in the end's memory.
    pub at: u32,
    /// Bytes.
    pub length: u32,
}

/// What is wrong with a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// Length is so much more than the sum of the segments.
    Length(u32),
    /// Status is not 0.
    Status(u32),
    /// The reserved word is not 0.
    Reserved(u32),
    /// These bits of the control word are wrong.
    Control(u16),
    /// SegCount is above what there may be.
    Count(u16),
    /// The segment's handle has another key.
    Key(usize),
    /// The segment's handle names no region.
    Dead(usize),
    /// The segment's handle is 0.
    Zero(usize),
    /// The segment's handle is the agent's arena.
    Arena(usize),
    /// The segment ends so many bytes behind its region.
    Behind(usize, u32),
    /// The remote handle has another key.
    RemoteKey,
    /// The remote range ends so many bytes behind its region.
    RemoteBehind(u32),
    /// The descriptor lies in a region of another tag.
    Foreign,
    /// The descriptor's token names no region.
    Nowhere,
}

/// How a queue's doorbell is rung for a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bell {
    /// With its token.
    Token,
    /// With the high double word alone.
    High,
    /// Not at all: the next one says it.
    Silent,
}

/// A descriptor that is posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Whose.
    pub end: End,
    /// On the receive queue.
    pub receive: bool,
    /// What it asks for.
    pub request: Request,
    /// Where it lies in the end's memory.
    pub place: u32,
    /// Data segments.
    pub pieces: Vec<Piece>,
    /// Which registration of the peer's, and where in the peer's memory.
    pub remote: (usize, u32),
    /// ImmediateData.
    pub immediate: Option<u32>,
    /// QFENCE.
    pub fence: bool,
    /// What is wrong with it.
    pub flaw: Flaw,
    /// The doorbell.
    pub bell: Bell,
}

/// How a registration is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// Where it begins in the end's memory, and its bytes.
    pub at: u32,
    /// Bytes.
    pub length: u32,
    /// It has another tag than the end's.
    pub foreign: bool,
    /// The NIC may not write.
    pub read_only: bool,
    /// Remote peers may write.
    pub remote_write: bool,
    /// Remote peers may read.
    pub remote_read: bool,
}

/// A store into a doorbell page that is no doorbell, or a wrong one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stray {
    /// The low double word alone.
    Low,
    /// A position that is so far ahead of what is posted.
    Ahead(u16),
    /// A ring slot with another position, rung for.
    Stale,
    /// Somewhere in the page where no word is.
    Beside(u64),
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Both ends of a connection are made anew, idle and empty, and connected.
    Connect(usize),
    /// A descriptor is posted.
    Post(Post),
    /// Every store reaches its NIC before the program goes on.
    Arrive,
    /// Everything comes to rest before the program goes on.
    Settle,
    /// So many more frames pass the switch before the program goes on, if so many are on their way.
    Pause(u32),
    /// The agent breaks an end off.
    Disconnect(End),
    /// A region of the end's memory is registered.
    Register(End, usize, Registration),
    /// It is registered no more.
    Deregister(End, usize),
    /// A store that is none of the end's doorbells.
    Stray(End, bool, Stray),
    /// The end's consumer asks for one interrupt of a queue, unless it waits for one: of its completion queue, if that is
    /// its own, otherwise of the queue itself.
    Arm(End, bool),
    /// This NIC is reset. Its connections are gone.
    Reset(usize, Reset),
    /// A shared completion queue of this NIC's gets a ring of another size.
    Resize(usize, usize),
}

/// How a NIC is reset (docs/architecture.md, "Resets").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// By its agent, through CONTROL.
    Agent,
    /// Its function, through configuration space.
    Function,
    /// With its link, which is down for so many cycles.
    Link(u64),
}

impl Operation {
    /// Everything is at rest behind it.
    pub fn is_rest(&self) -> bool {
        matches!(self, Self::Settle | Self::Connect(_) | Self::Reset(..))
    }

    /// Its kind, for the table of what was met.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::Post(post) if post.flaw != Flaw::None && post.receive => "flawed receive",
            Self::Post(post) if post.flaw != Flaw::None => "flawed send",
            Self::Post(Post { receive: true, .. }) => "receive",
            Self::Post(post) => match (post.request, post.immediate) {
                (Request::Message, None) => "send",
                (Request::Message, Some(_)) => "send with immediate",
                (Request::Write, None) => "RDMA write",
                (Request::Write, Some(_)) => "RDMA write with immediate",
                (Request::Read, _) => "RDMA read",
            },
            Self::Arrive => "arrive",
            Self::Settle => "settle",
            Self::Pause(_) => "pause",
            Self::Disconnect(_) => "disconnect",
            Self::Register(..) => "register",
            Self::Deregister(..) => "deregister",
            Self::Stray(..) => "stray store",
            Self::Arm(..) => "arm",
            Self::Reset(_, Reset::Agent) => "reset by the agent",
            Self::Reset(_, Reset::Function) => "reset of the function",
            Self::Reset(_, Reset::Link(_)) => "reset with the link",
            Self::Resize(..) => "completion queue resized",
        }
    }
}
