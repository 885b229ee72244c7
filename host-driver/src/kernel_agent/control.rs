//! The control calls, each defined once: [`control_calls!`] is the table of them. Who makes something of a call makes it of its row.
//!
//! ```text
//!                     control_calls!, one row a call
//!      ┌────────────┬───────────┴──┬─────────────────┬──────────────────┐
//!   methods of    Agent:        Request:          Client:            viad's table:
//!   the traits    forwarders    what goes over    stubs that ask     who may, what it costs,
//!                               the socket        viad               and which method answers it
//! ```
//!
//! A row reads so; what is in brackets may be missing:
//!
//! ```text
//! /// What it does.
//! TRAIT fn METHOD(ARGUMENT: TYPE, ...) [-> RESULT] as REQUEST => ANSWER [and files]
//!     [, with file] [, of [OBJECT[(VALUE)], ...]] [, costs [QUOTA, ...]];
//! ```
//!
//! - `TRAIT` is `KernelAgent` or `ConnectionAgent`: the trait's method and the client's are made of the row, and the embedded agent's of a `KernelAgent`'s. It
//!   is `by_hand` where a library does more for the call than to ask, or asks by no trait: then the row has no result. viad serves all rows alike.
//! - `REQUEST` and `ANSWER` are the variants of `viad::protocol`'s `Request` and `Answer`. Requests are numbered on the socket by the order of the rows: a
//!   new one goes to the end. `and files`: descriptors come with the answer. `with file`: one goes with the request.
//! - `of` says who may: it names what has to be the session's or its user's, by what the arguments say. viad looks before anything else.
//!   `host-driver/viad/src/table/own.rs` has the rule of each. Listeners and connections are not among them: one of another session's is as one that is over,
//!   which is no error to all calls.
//! - `costs` is what the call takes one of, out of what viad lets its user have. What depends on a length, which is yet to be checked, is charged where
//!   it is known.

/// Hands all rows to a macro, behind the words that are to come first.
#[macro_export]
macro_rules! control_calls {
    ($made:ident $($word:ident)*) => { $made! { ($($word)*)
        /// Makes a protection tag; never 0.
        KernelAgent fn create_tag -> Result<u16, AgentError>
            as CreateTag => Tag, costs [Tag];
        /// Destroys a protection tag that no region and no VI uses.
        KernelAgent fn destroy_tag(tag: u16) -> Result<(), AgentError>
            as DestroyTag => Done, of [Tag(tag)];
        /// Registers private memory of the client's: so many bytes from an address on.
        by_hand fn register(address: u64, length: u64, attributes: MemoryAttributes)
            as Register => Handle, of [Private(address), Tag(attributes.tag)], costs [Region, Row];
        /// Ends a registration.
        by_hand fn deregister(handle: u32)
            as Deregister => Done, of [Region(handle)];
        /// Gives a registered region another tag and other rights; its handle stays. When it returns without an error, nobody
        /// reaches the memory by what it was registered for before.
        ///
        /// # Errors
        /// No such handle or tag; a right to write read-only memory.
        KernelAgent fn set_memory_attributes(handle: u32, attributes: MemoryAttributes) -> Result<(), AgentError>
            as SetMemoryAttributes => Done, of [Region(handle), Tag(attributes.tag)];
        /// What a handle was registered with.
        KernelAgent fn memory_attributes(handle: u32) -> Result<MemoryAttributes, AgentError>
            as MemoryAttributes => Attributes, of [Region(handle)];

        /// Creates a VI, idle.
        by_hand fn create_vi(attributes: ViAttributes)
            as CreateVi => Vi and files,
            of [Tag(attributes.tag), CqAt(attributes.send_cq), CqAt(attributes.receive_cq)], costs [Vi];
        /// Gives an idle VI other attributes; the sizes of its rings and its completion queues stay. With `anew` both rings start
        /// anew at position 0: nothing may be posted that is not complete. Without it what is posted to receive stays posted, and
        /// the tag is to be the same. It answers what its next peer is to know.
        ///
        /// # Errors
        /// Not idle; as [`create_vi`](crate::kernel_agent::KernelAgent::create_vi).
        KernelAgent fn set_vi_attributes(vi: ViName, attributes: ViAttributes, anew: bool) -> Result<ConnectionInfo, AgentError>
            as SetViAttributes => Info, of [Vi(vi), Tag(attributes.tag)];
        /// Connects an idle VI to the one that `peer` describes. The send ring starts anew at position 0, so nothing
        /// may be posted to it that is not complete; posted receives stay.
        KernelAgent fn connect_vi(vi: ViName, peer: ConnectionInfo) -> Result<(), AgentError>
            as ConnectVi => Done, of [Vi(vi), Peer(peer)];
        /// Breaks a VI: everything posted to either queue is completed, FLUSHED at the latest.
        KernelAgent fn break_vi(vi: ViName) -> Result<(), AgentError>
            as BreakVi => Done, of [Vi(vi)];
        /// Makes a broken VI idle again, with both rings empty at position 0. To be called when all that was posted is
        /// complete; what is not then is lost to its owner. What it answers is for the next connection: frames of the
        /// one that was match nothing.
        KernelAgent fn idle_vi(vi: ViName) -> Result<ConnectionInfo, AgentError>
            as IdleVi => Info, of [Vi(vi)];
        /// A VI's state in the NIC.
        KernelAgent fn vi_state(vi: ViName) -> Result<ViState, AgentError>
            as ViState => State, of [Vi(vi)];
        /// Destroys a VI. To be called when all that was posted is complete.
        KernelAgent fn destroy_vi(vi: ViName) -> Result<(), AgentError>
            as DestroyVi => Done, of [Vi(vi)];

        /// Creates a completion queue of so many entries.
        by_hand fn create_cq(entries: u32)
            as CreateCq => Cq and files, costs [Cq, Row, Page];
        /// Gives a completion queue a ring of so many entries. It has both rings for a moment.
        by_hand fn resize_cq(cq: CqName, entries: u32)
            as ResizeCq => Resized and files, of [Cq(cq)], costs [Row, Page];
        /// Destroys a completion queue that no work queue has.
        KernelAgent fn destroy_cq(cq: CqName) -> Result<(), AgentError>
            as DestroyCq => Done, of [Cq(cq)];

        /// Takes what the NIC reported that no descriptor can tell, oldest first; of VIs of this process only.
        KernelAgent fn take_events -> Result<Vec<Event>, AgentError>
            as TakeEvents => Events;
        /// Whether the NIC still answers. Who waits asks now and then.
        KernelAgent fn check -> Result<(), AgentError>
            as Check => Done;
        /// Device time in ticks of 1.024 us; it wraps.
        KernelAgent fn time -> Result<u32, AgentError>
            as Time => Time;
        /// The NIC's counters.
        by_hand fn counters
            as Counters => Counters;

        /// Waits for the next who asks for a discriminator: [`Incoming`](crate::cm::Event::Incoming). Of several listeners for one
        /// discriminator the oldest gets the request.
        ///
        /// # Errors
        /// The agent's: the discriminator is another user's; too many listeners.
        ConnectionAgent fn listen(discriminator: Discriminator) -> Result<ListenerId, AgentError>
            as Listen => Listener, of [Name(discriminator)], costs [Listener];
        /// Waits for all who ask for a discriminator, until [`unlisten`](crate::kernel_agent::connection_agent::ConnectionAgent::unlisten): each
        /// is an [`Incoming`](crate::cm::Event::Incoming). Of those that are not decided on `backlog` wait at most; more are refused.
        ///
        /// # Errors
        /// As [`listen`](crate::kernel_agent::connection_agent::ConnectionAgent::listen).
        ConnectionAgent fn listen_for_all(discriminator: Discriminator, backlog: u32) -> Result<ListenerId, AgentError>
            as ListenForAll => Listener, of [Name(discriminator)], costs [Listener];
        /// Waits no longer.
        by_hand fn unlisten(listener: ListenerId)
            as Unlisten => Done;
        /// Asks somebody who listens.
        ///
        /// # Errors
        /// No such VI; data that has no room; a discriminator that is another user's.
        ConnectionAgent fn connect(ask: Ask) -> Result<ConnectionId, ConnectorError>
            as Connect => Connection, of [Vi(ask.vi), NameIfAny(ask.from)];
        /// Asks somebody who asks us.
        ///
        /// # Errors
        /// As [`connect`](crate::kernel_agent::connection_agent::ConnectionAgent::connect).
        ConnectionAgent fn peer_request(ask: Ask) -> Result<ConnectionId, ConnectorError>
            as PeerRequest => Connection, of [Vi(ask.vi), Name(ask.from)];
        /// Accepts a request with a VI and the consumer's own.
        by_hand fn accept(id: ConnectionId, vi: ViName, data: Vec<u8>)
            as Accept => Done, of [Vi(vi)];
        /// Refuses a request, with the consumer's own.
        by_hand fn reject(id: ConnectionId, data: Vec<u8>)
            as Reject => Done;
        /// Ends a connection, an attempt at one, or a request.
        by_hand fn disconnect(id: ConnectionId)
            as Disconnect => Done;
        /// Takes events of the session's connections, oldest first.
        by_hand fn take_connection_events
            as TakeConnectionEvents => ConnectionEvents;

        /// The hosts file, from this byte on.
        by_hand fn hosts(from: u32)
            as Hosts => Hosts;
        /// Says when a vector is raised, or something in the session's own page, once in a session.
        by_hand fn watch
            as Watch => Watched and files;
        /// Sessions that this user may know of, from this number on.
        by_hand fn sessions(from: u64)
            as Sessions => Sessions;
        /// VIs of such a session, from this index on.
        by_hand fn vis(session: u64, from: u16)
            as Vis => Vis, of [Session(session)];
        /// What all other sessions have together, whoever asks.
        by_hand fn totals
            as Totals => Totals;

        /// Takes memory that the client's library has made, so many bytes. Descriptor: its memfd.
        by_hand fn share_pool(bytes: u64)
            as SharePool => Pool, with file, costs [Pool];
        /// A pool without regions is not used any more.
        by_hand fn drop_pool(pool: u32)
            as DropPool => Done, of [Pool(pool)];
        /// Registers memory in a pool, from this byte of it on; the address is the client's.
        by_hand fn register_shared(pool: u32, offset: u64, address: u64, length: u64, attributes: MemoryAttributes)
            as RegisterShared => Handle, of [Pool(pool), Tag(attributes.tag)], costs [Region, Row];
        /// The function itself, for a client that viad trusts, before it has anything.
        by_hand fn function
            as Function => Function and files, of [Function];
        /// Registers memory that the client has mapped at a DMA address of its lease; the address is the client's, which may only read there
        /// if it is `read_only`.
        by_hand fn register_leased(iova: u64, address: u64, length: u64, read_only: bool, attributes: MemoryAttributes)
            as RegisterLeased => Handle, of [Tag(attributes.tag), Lease], costs [Region, Row];
        /// The client has unmapped all in its lease, and maps nothing more there.
        by_hand fn end_lease
            as EndLease => Done, of [Lease];

        /// How many connections the manager has for this user: those that are asked for, made, being ended, and those that are over but that
        /// the peer may still send something about (the TimeWait of IBA 12.9.8).
        ///
        /// # Errors
        /// The agent's.
        ConnectionAgent fn count_connections -> Result<u32, AgentError>
            as CountConnections => Number;
    } };
}

/// Hands each row of one trait to a macro: `control_calls! { methods_of TRAIT MACRO }`.
macro_rules! methods_of {
    (($of:ident $made:ident) $(
        $(#[$doc:meta])*
        $trait:ident fn $method:ident $(($($argument:ident: $type:ty),+))? $(-> $result:ty)?
            as $request:ident => $answer:ident $(and $files:ident)? $(, with $sent:ident)?
            $(, of [$($object:ident $(($value:expr))?),+])? $(, costs [$($quota:ident),+])?;
    )*) => { $(
        $crate::kernel_agent::control::method_of! {
            $of $trait $made {
                $(#[$doc])* fn $method($($($argument: $type),+)?) $(-> $result)?
                    as $request $(($($argument),+))? => $answer
            }
        }
    )* };
}

/// Hands a row to a macro, if it is of this trait.
macro_rules! method_of {
    (KernelAgent KernelAgent $made:ident { $($row:tt)* }) => { $made! { $($row)* } };
    (ConnectionAgent ConnectionAgent $made:ident { $($row:tt)* }) => { $made! { $($row)* } };
    ($of:ident $trait:ident $made:ident $row:tt) => {};
}

/// Declares the method of a row: in a trait.
macro_rules! declare {
    ($(#[$doc:meta])* fn $method:ident($($argument:ident: $type:ty),*) -> $result:ty as $($asked:tt)*) => {
        $(#[$doc])*
        fn $method(&self, $($argument: $type),*) -> $result;
    };
}

pub use control_calls;
pub(crate) use {declare, method_of, methods_of};
