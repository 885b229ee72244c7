//! Every row of the table of control calls: what it names has to be the session's or its user's, and what it costs is charged. A row that is new needs
//! a request here.

use std::{os::fd::AsFd, path::Path};

use viaduct_driver::{
    address::{ConnectionInfo, Service},
    cm::{ConnectionId, Discriminator, Target},
    kernel_agent::{
        connection_agent::Ask, control::control_calls, AgentError, CqName, ErrorClass, MemoryAttributes,
        ViAttributes, ViName,
    },
    memory::Mapping,
    viad::{
        place::{Place, Way},
        protocol::{self, Answer, Refusal, Request},
    },
};
use viaduct_spec::handle::queue_pair;
use viaduct_viad_tests::{child::user, hand::vi_attributes, raw::Raw, skip::skip, stage::Stage};

/// Bytes of a region, and of a pool.
const PAGE: u64 = 4096;
/// The index of a VI that nobody has here.
const NOBODYS_VI: u64 = 33;

/// A row: its request, the names and types of its arguments, and of what its objects and its costs are.
struct Row {
    request: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    of: &'static [&'static str],
    costs: &'static [&'static str],
}

macro_rules! rows {
    (() $(
        $(#[$doc:meta])*
        $trait:ident fn $method:ident $(($($argument:ident: $type:ty),+))? $(-> $result:ty)?
            as $request:ident => $answer:ident $(and $files:ident)? $(, with $sent:ident)?
            $(, of [$($object:ident $(($value:expr))?),+])? $(, costs [$($quota:ident),+])?;
    )*) => {
        const ROWS: &[Row] = &[$(Row {
            request: stringify!($request),
            arguments: &[$($((stringify!($argument), stringify!($type))),+)?],
            of: &[$($(stringify!($object)),+)?],
            costs: &[$($(stringify!($quota)),+)?],
        }),*];
    };
}

control_calls!(rows);

/// What a request may name.
#[derive(Clone, Copy)]
struct Names {
    tag: u16,
    /// Where the region's memory is, and its handle.
    memory: u64,
    region: u32,
    vi: ViName,
    /// For its peer.
    info: ConnectionInfo,
    cq: CqName,
    /// Those of the queues of a VI that is to be made.
    cqs: [u16; 2],
    pool: u32,
    discriminator: Discriminator,
    session: u64,
}

/// A discriminator of the sessions' user, and one of another user's.
fn discriminators() -> [Discriminator; 2] {
    [&b"row"[..], b"another's"].map(|bytes| Discriminator::try_from(bytes).expect("short"))
}

/// A session that has handed over no memory.
fn without_memory(socket: &Path) -> Raw {
    Raw::hello_at(&Place { way: Way::Pools, ..Place::at(socket) }).0
}

/// A session of another user's, which listens.
fn stranger(socket: &Path, uid: u32) -> Raw {
    let listen = || {
        // SAFETY: three numbers. The kernel changes the user of this thread alone, which is what viad sees of who connects.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) };
        assert_eq!(changed, 0);
        let raw = without_memory(socket);
        let listen = Request::Listen(discriminators()[1]);
        assert!(matches!(ask(&raw, &listen), Ok(Answer::Listener(_))));
        raw
    };
    std::thread::scope(|scope| scope.spawn(listen).join()).expect("it listens")
}

fn ask(raw: &Raw, request: &Request) -> Result<Answer, Refusal> {
    let file = request.has_file().then(|| Mapping::shared("pool", PAGE as usize).expect("memory").1);
    let files: Vec<_> = file.iter().map(AsFd::as_fd).collect();
    raw.ask_with(request, &files).0
}

fn refused(class: ErrorClass, text: String) -> AgentError {
    AgentError::Remote { class, text }
}

impl Names {
    /// A session makes one of each, and listens.
    fn make(raw: &Raw, memory: &Mapping) -> Self {
        let memory = memory.start().as_ptr() as u64;
        let made =
            |request: Request| ask(raw, &request).unwrap_or_else(|error| panic!("{request:?}: {error:?}"));
        let Answer::Tag(tag) = made(Request::CreateTag) else { panic!("no tag") };
        let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: false };
        let Answer::Handle(region) = made(Request::Register(memory, PAGE, attributes)) else {
            panic!("no region")
        };
        let Answer::Vi { name: vi, info, .. } = made(Request::CreateVi(attributes_of(tag, None))) else {
            panic!("no VI")
        };
        let Answer::Cq { name: cq, .. } = made(Request::CreateCq(8)) else { panic!("no queue") };
        let Answer::Pool(pool) = made(Request::SharePool(PAGE)) else { panic!("no pool") };
        let [discriminator, _] = discriminators();
        made(Request::Listen(discriminator));
        let cqs = [cq.index; 2];
        Self { tag, memory, region, vi, info, cq, cqs, pool, discriminator, session: 1 }
    }

    /// The same, but the object at this place of a row is another's, or nobody's; and what viad says of that.
    fn with(mut self, other: &Self, row: &Row, at: usize) -> (Self, AgentError) {
        let error = match row.of[at] {
            "Tag" => {
                self.tag = other.tag;
                AgentError::UnknownTag(other.tag)
            }
            "Region" => {
                self.region = other.region;
                AgentError::UnknownHandle(other.region)
            }
            "Vi" => {
                self.vi = other.vi;
                AgentError::UnknownVi(other.vi.index)
            }
            "Cq" => {
                self.cq = other.cq;
                AgentError::UnknownCq(other.cq.index)
            }
            "CqAt" => {
                let before = row.of[..at].iter().filter(|object| **object == "CqAt").count();
                self.cqs[before] = other.cq.index;
                AgentError::UnknownCq(other.cq.index)
            }
            "Pool" => {
                self.pool = other.pool;
                refused(ErrorClass::Parameter, format!("there is no pool {} in this session", other.pool))
            }
            // Whoever asks has handed over none.
            "Private" => refused(
                ErrorClass::Parameter,
                format!(
                    "the memory at {:#x} is not the library's, and this session (way=pools) has handed over no other: Nic::allocate and \
                     VipExtAllocateMem make memory that can be registered, and so does malloc(3) with libvipl_heap.so preloaded. With way=trusted, if viad trusts the user, any can; so it can without a way where the NIC is behind vfio-user",
                    self.memory
                ),
            ),
            // It has none.
            "Lease" => refused(ErrorClass::State, "this session has no lease, or has ended it".into()),
            "Function" => refused(
                ErrorClass::Parameter,
                format!(
                    "viad does not trust user {} with the function: `users` of [trusted] in its configuration names those whom it does. With \
                     way=pools a program registers memory that the library has allocated",
                    rustix::process::getuid().as_raw()
                ),
            ),
            "Peer" => {
                let mut queue_pair = [self.info.queue_pair.into()];
                queue_pair::VI.put(&mut queue_pair, NOBODYS_VI);
                self.info.queue_pair = queue_pair[0] as u32;
                refused(
                    ErrorClass::Reject,
                    format!(
                        "virtual interface {NOBODYS_VI} of this NIC is not this user's: connect with it by its discriminator, so that it is asked"
                    ),
                )
            }
            "Name" | "NameIfAny" => {
                [_, self.discriminator] = discriminators();
                refused(
                    ErrorClass::Resource,
                    format!("the discriminator {:?} is that of another user", self.discriminator),
                )
            }
            "Session" => {
                self.session = u64::MAX;
                refused(
                    ErrorClass::Parameter,
                    format!("there is no session {}, or it is another user's", u64::MAX),
                )
            }
            unknown => panic!("{unknown} is no object that this test knows"),
        };
        (self, error)
    }

    /// A row's request of these.
    fn request(&self, row: &Row) -> Request {
        let Self { tag, memory, region, vi, info, cq, cqs, pool, discriminator, session } = *self;
        let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: false };
        let ask = Ask {
            vi,
            target: Target::Ip(info.ip),
            from: discriminator,
            to: discriminator,
            data: Vec::new(),
            timeout: None,
        };
        let id: ConnectionId = protocol::decode(&[7]).expect("a number");
        match row.request {
            "CreateTag" => Request::CreateTag,
            "DestroyTag" => Request::DestroyTag(tag),
            "Register" => Request::Register(memory, PAGE, attributes),
            "Deregister" => Request::Deregister(region),
            "SetMemoryAttributes" => Request::SetMemoryAttributes(region, attributes),
            "MemoryAttributes" => Request::MemoryAttributes(region),
            "CreateVi" => Request::CreateVi(attributes_of(tag, Some(cqs))),
            "SetViAttributes" => Request::SetViAttributes(vi, attributes_of(tag, None), true),
            "ConnectVi" => Request::ConnectVi(vi, info),
            "BreakVi" => Request::BreakVi(vi),
            "IdleVi" => Request::IdleVi(vi),
            "ViState" => Request::ViState(vi),
            "DestroyVi" => Request::DestroyVi(vi),
            "CreateCq" => Request::CreateCq(8),
            "ResizeCq" => Request::ResizeCq(cq, 16),
            "DestroyCq" => Request::DestroyCq(cq),
            "Listen" => Request::Listen(discriminator),
            "ListenForAll" => Request::ListenForAll(discriminator, 1),
            "Connect" => Request::Connect(ask),
            "PeerRequest" => Request::PeerRequest(ask),
            "Accept" => Request::Accept(id, vi, Vec::new()),
            "Vis" => Request::Vis(session, 0),
            "SharePool" => Request::SharePool(PAGE),
            "DropPool" => Request::DropPool(pool),
            "RegisterShared" => Request::RegisterShared(pool, 0, memory, PAGE, attributes),
            "RegisterLeased" => Request::RegisterLeased(0, memory, PAGE, false, attributes),
            "Function" => Request::Function,
            "EndLease" => Request::EndLease,
            unknown => panic!("{unknown} has no request in this test"),
        }
    }
}

fn attributes_of(tag: u16, cqs: Option<[u16; 2]>) -> ViAttributes {
    let [send_cq, receive_cq] = [0, 1].map(|n| cqs.map(|cqs| cqs[n]));
    ViAttributes { send_cq, receive_cq, ..vi_attributes(tag, Service::ReliableDelivery) }
}

fn memory() -> Mapping {
    Mapping::new(PAGE as usize).expect("memory")
}

#[test]
fn no_argument_names_what_is_not_looked_at() {
    for row in ROWS {
        for argument in row.arguments {
            let object = match argument {
                (_, "ViName" | "Ask") => "Vi",
                (_, "CqName") => "Cq",
                (_, "Discriminator") => "Name",
                (_, "ConnectionInfo") => "Peer",
                ("session", _) => "Session",
                ("iova", _) => "Lease",
                ("tag", _) | (_, "MemoryAttributes" | "ViAttributes") => "Tag",
                ("handle", _) => "Region",
                ("pool", _) => "Pool",
                // One of another session's is as one that is over: `connections_of_others_do_not_exist_and_what_is_too_much_is_refused`.
                (_, "ConnectionId" | "ListenerId") => continue,
                // Numbers and bytes. A row that registers private memory names its address, the others have the client's for it.
                ("address" | "offset" | "length" | "bytes" | "entries" | "backlog" | "from" | "data", _) => {
                    continue
                }
                (_, "bool") => continue,
                unknown => panic!("{}: {unknown:?} names nothing that this test knows", row.request),
            };
            assert!(row.of.contains(&object), "{}: {argument:?} is not among {:?}", row.request, row.of);
        }
    }
}

#[test]
fn what_a_row_names_is_the_session_s_own() {
    let Some(another) = user(8) else {
        return skip("we are not root, and cannot be another user");
    };
    let stage = Stage::new(1);
    let [(owner, ..), (thief, ..)] = [(); 2].map(|()| Raw::hello(stage.socket(0)));
    let bare = without_memory(&stage.socket(0));
    let _listens = stranger(&stage.socket(0), another);
    let memories = [memory(), memory()];
    let mut others = Names::make(&owner, &memories[0]);
    let own = Names::make(&thief, &memories[1]);
    // Pools are numbered by session.
    let Ok(Answer::Pool(pool)) = ask(&owner, &Request::SharePool(PAGE)) else { panic!("no pool") };
    others.pool = pool;
    let mut asked = 0;
    for row in ROWS {
        for at in 0..row.of.len() {
            let (names, error) = own.with(&others, row, at);
            let request = names.request(row);
            let asker = if row.of[at] == "Private" { &bare } else { &thief };
            let refusal = ask(asker, &request).expect_err("it is not this session's");
            assert_eq!((refusal.class, refusal.text), (error.class(), error.to_string()), "{request:?}");
            asked += 1;
        }
    }
    assert!(asked > 20, "{asked} rows name something");
    // All of it is there.
    for request in [
        Request::DestroyVi(others.vi),
        Request::DestroyCq(others.cq),
        Request::Deregister(others.region),
        Request::DropPool(others.pool),
        Request::DestroyTag(others.tag),
    ] {
        assert_eq!(ask(&owner, &request), Ok(Answer::Done), "{request:?}");
    }
}

#[test]
fn what_a_row_costs_is_charged() {
    let mut quotas: Vec<&str> = ROWS.iter().flat_map(|row| row.costs).copied().collect();
    quotas.sort_unstable();
    quotas.dedup();
    for quota in quotas {
        // What a session has that has one of each, and no more than that may be had. Arena, region and ring have a row of each table.
        let (key, has, of) = match quota {
            "Tag" => ("tags", 1, "protection tags"),
            "Vi" => ("vis", 1, "virtual interfaces"),
            "Cq" => ("cqs", 1, "completion queues"),
            "Region" => ("regions", 1, "regions"),
            "Row" => ("rows", 3, "rows of the region table"),
            "Page" => ("pages", 3, "rows of the page table"),
            "Listener" => ("listeners", 1, "listeners and undecided requests"),
            "Pool" => ("pools", 1, "pools"),
            unknown => panic!("{unknown} is no quota that this test knows"),
        };
        let stage = Stage::with(1, &format!("[user]\n{key} = {has}\n"));
        let (raw, ..) = Raw::hello(stage.socket(0));
        let memory = memory();
        let own = Names::make(&raw, &memory);
        // No session has a lease here: viad refuses those rows before it charges for them.
        let may = |row: &&Row| !row.of.contains(&"Lease");
        for row in ROWS.iter().filter(may).filter(|row| row.costs.contains(&quota)) {
            let request = own.request(row);
            let refusal = ask(&raw, &request).expect_err("there is no more");
            let reason = format!("has {has} {of} and asks for 1 more: viad's limit is {has}");
            assert_eq!(refusal.class, ErrorClass::Resource, "{request:?}");
            assert!(refusal.text.ends_with(&reason), "{request:?}: {}", refusal.text);
        }
    }
}

#[test]
fn hello_is_said_once() {
    let stage = Stage::new(1);
    let (raw, ..) = Raw::hello(stage.socket(0));
    let hello = Request::Hello { magic: protocol::MAGIC, version: protocol::VERSION };
    assert_eq!(ask(&raw, &hello).expect_err("it has").class, ErrorClass::State);
    assert_eq!(ask(&raw, &Request::Check), Ok(Answer::Done), "the session goes on");
}
