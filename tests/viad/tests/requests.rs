//! Any sequence of requests that are well formed, true or not: each is answered, nothing panics, nothing is left when those who asked have
//! gone, and viad has no more memory than before.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use rand::{seq::IndexedRandom, Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::{ConnectionInfo, Mac, Mtu, Service},
    cm::{ConnectionId, Discriminator, Event, Host, ListenerId, NotReady, Target},
    consumer::{Cq, Vi},
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent},
        CqName, KernelAgent, MemoryAttributes, ViAttributes, ViName,
    },
    memory::Mapping,
    viad::{
        protocol::{Answer, Request},
        Client,
    },
};
use viaduct_spec::profile::{CQS, REGIONS, VIS};
use viaduct_viad_tests::{
    hand::vi_attributes,
    honest::honest,
    raw::Raw,
    stage::{until, Stage, LONG},
};
use vipl::Nic;

/// Sessions at a time, requests of each, and how often.
const SESSIONS: usize = 3;
const REQUESTS: usize = 250;
const ROUNDS: usize = 4;
/// What viad may have more than after the first round, which makes what it keeps: what the allocator has not used again.
const GROWTH: u64 = 8 << 20;
/// Tags and listeners of a user.
const TAGS: usize = 40;
const LISTENERS: usize = 20;
/// Bytes of a pool.
const POOL: u64 = 8192;
/// viad's own queues and regions, and those of the session that looks whether all is there.
const OWN_CQS: usize = 1;
const OWN_REGIONS: usize = 5;
/// Its raw channel.
const OWN_VIS: usize = 1;

/// All that viad has ever told anybody: of the asker's own, of others', and of what is gone.
#[derive(Default)]
struct Known {
    tags: Vec<u16>,
    handles: Vec<u32>,
    vis: Vec<ViName>,
    infos: Vec<ConnectionInfo>,
    cqs: Vec<CqName>,
    pools: Vec<u32>,
    listeners: Vec<ListenerId>,
    connections: Vec<ConnectionId>,
}

impl Known {
    /// Something of a list, mostly of its end: that is new, and may be there still.
    fn some<T: Copy>(list: &[T], random: &mut ChaCha8Rng) -> Option<T> {
        let recent = list.len().saturating_sub(6);
        if random.random_ratio(3, 4) { &list[recent..] } else { list }.choose(random).copied()
    }

    fn learn(&mut self, answer: &Answer) {
        match answer {
            Answer::Tag(tag) => self.tags.push(*tag),
            Answer::Handle(handle) => self.handles.push(*handle),
            Answer::Vi { name, info, .. } => {
                self.vis.push(*name);
                self.infos.push(*info);
            }
            Answer::Info(info) => self.infos.push(*info),
            Answer::Cq { name, .. } => self.cqs.push(*name),
            Answer::Pool(pool) => self.pools.push(*pool),
            Answer::Listener(id) => self.listeners.push(*id),
            Answer::Connection(id) => self.connections.push(*id),
            Answer::ConnectionEvents(events) => self.connections.extend(events.iter().map(Event::id)),
            _ => {}
        }
    }
}

fn discriminator(random: &mut ChaCha8Rng) -> Discriminator {
    let text = ["", "a", "b", "c", "the longest that can b"].choose(random).expect("some");
    Discriminator::try_from(text.as_bytes()).expect("short")
}

fn service(random: &mut ChaCha8Rng) -> Service {
    *[Service::UnreliableDelivery, Service::ReliableDelivery, Service::ReliableReception]
        .choose(random)
        .expect("some")
}

fn data(random: &mut ChaCha8Rng) -> Vec<u8> {
    vec![7; *[0, 0, 1, 30, 300].choose(random).expect("some")]
}

/// A request, of things that there are mostly.
fn request(known: &Known, memory: &Mapping, random: &mut ChaCha8Rng) -> Request {
    let tag = Known::some(&known.tags, random).unwrap_or(0);
    let attributes = MemoryAttributes { tag, rdma_write: random.random(), rdma_read: random.random() };
    let handle = Known::some(&known.handles, random).unwrap_or(0);
    let vi = Known::some(&known.vis, random).unwrap_or(ViName { index: 0, life: 0 });
    let cq = Known::some(&known.cqs, random).unwrap_or(CqName { index: 0, life: 0 });
    let connection = Known::some(&known.connections, random);
    let mut queue = || Known::some(&known.cqs, random).filter(|_| random.random()).map(|cq| cq.index);
    let (send_cq, receive_cq) = (queue(), queue());
    let stays = |timer, retries| NotReady::Stay { timer, retries };
    let vi_attributes = ViAttributes {
        tag,
        service: service(random),
        mtu: *[Mtu::DEFAULT, Mtu::MAX].choose(random).expect("some"),
        max_transfer: *[0, 1, 4096, 1 << 20, u32::MAX].choose(random).expect("some"),
        send_log2: random.random_range(2..12),
        receive_log2: random.random_range(2..12),
        rdma_write: random.random(),
        rdma_read: random.random_ratio(1, 4),
        not_ready: *[NotReady::Break, stays(1, 7), stays(32, 0), stays(0, 8)].choose(random).expect("some"),
        send_cq,
        receive_cq,
    };
    let entries = *[0, 1, 8, 100, 5000, u32::MAX].choose(random).expect("some");
    let pool = Known::some(&known.pools, random).unwrap_or(0);
    match random.random_range(0..40) {
        0 | 1 => Request::CreateTag,
        2 => Request::DestroyTag(tag),
        3..6 => {
            // Its own memory; and addresses where there is none.
            let length = *[0, 1, 100, 5000, 65_536, u64::MAX].choose(random).expect("some");
            let address = memory.start().as_ptr() as u64 + random.random_range(0..4096);
            let address = if random.random_ratio(1, 8) { random.random() } else { address };
            Request::Register(address, length, attributes)
        }
        6 => Request::Deregister(handle),
        7 => Request::SetMemoryAttributes(handle, attributes),
        8 => Request::MemoryAttributes(handle),
        9..12 => Request::CreateVi(vi_attributes),
        12 => Request::SetViAttributes(vi, vi_attributes, random.random()),
        13 | 14 => match Known::some(&known.infos, random) {
            Some(info) => Request::ConnectVi(vi, info),
            None => Request::ViState(vi),
        },
        15 => Request::BreakVi(vi),
        16 => Request::IdleVi(vi),
        17 => Request::DestroyVi(vi),
        18 => Request::ViState(vi),
        19 => Request::CreateCq(entries),
        20 => Request::ResizeCq(cq, entries),
        21 => Request::DestroyCq(cq),
        22 => Request::TakeEvents,
        23 => [Request::Check, Request::Time, Request::Counters].choose(random).expect("some").clone(),
        24 => Request::Listen(discriminator(random)),
        25 => Request::ListenForAll(discriminator(random), random.random_range(0..3)),
        26 => match Known::some(&known.listeners, random) {
            Some(listener) => Request::Unlisten(listener),
            None => Request::TakeConnectionEvents,
        },
        27 | 28 => {
            let mac = Mac([2, 0, 0, 0, 0, random.random_range(1..3)]);
            let ip = std::net::Ipv4Addr::new(10, 0, 0, random.random_range(1..4));
            let target = match random.random_range(0..3) {
                0 => Target::Mac(mac),
                1 => Target::Ip(ip),
                _ => Target::Host(Host { mac, ip }),
            };
            let ask = Ask {
                vi,
                target,
                from: discriminator(random),
                to: discriminator(random),
                data: data(random),
                timeout: [None, Some(Duration::ZERO), Some(Duration::from_millis(30)), Some(Duration::MAX)]
                    .choose(random)
                    .copied()
                    .flatten(),
            };
            if random.random() {
                Request::Connect(ask)
            } else {
                Request::PeerRequest(ask)
            }
        }
        29 => connection.map_or(Request::TakeConnectionEvents, |id| Request::Accept(id, vi, data(random))),
        30 => connection.map_or(Request::TakeConnectionEvents, |id| Request::Reject(id, data(random))),
        31 => connection.map_or(Request::TakeConnectionEvents, Request::Disconnect),
        32 => {
            [Request::TakeConnectionEvents, Request::CountConnections].choose(random).expect("some").clone()
        }
        33 => Request::Watch,
        34 => Request::SharePool(*[0, 1, POOL, 2 * POOL].choose(random).expect("some")),
        35 | 36 => {
            let offset = random.random_range(0..POOL);
            let length = *[0, 1, 100, POOL - offset, POOL, u64::MAX].choose(random).expect("some");
            let address =
                (0x7f00_0000_0000 + offset) ^ if random.random_ratio(1, 8) { random.random() } else { 0 };
            Request::RegisterShared(pool, offset, address, length, attributes)
        }
        37 => Request::DropPool(pool),
        38 => [Request::Function, Request::EndLease].choose(random).expect("some").clone(),
        39 => {
            let (address, length) = (memory.start().as_ptr() as u64, 4096);
            Request::RegisterLeased(random.random(), address, length, random.random(), attributes)
        }
        _ => match random.random_range(0..4) {
            0 => Request::Hosts(random.random_range(0..100)),
            1 => Request::Sessions(random.random_range(0..20)),
            2 => Request::Totals,
            _ => Request::Vis(random.random_range(0..20), random.random_range(0..64)),
        },
    }
}

/// The descriptor of a pool.
fn pool_file() -> OwnedFd {
    Mapping::shared("pool", POOL as usize).expect("memory").1
}

/// Sessions of this process that ask what comes to mind, and end in the middle of it.
fn round(socket: &Path, memory: &Mapping, random: &mut ChaCha8Rng) -> [usize; 2] {
    let sessions: Vec<Raw> = (0..SESSIONS).map(|_| Raw::hello(socket).0).collect();
    let mut known = Known::default();
    let mut answers = [0; 2];
    for _ in 0..SESSIONS * REQUESTS {
        let session = sessions.choose(random).expect("some");
        let request = request(&known, memory, random);
        let files = matches!(request, Request::SharePool(_)).then(pool_file);
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        // It answers, whatever it is.
        let (reply, _files) = session.ask_with(&request, &files);
        answers[usize::from(reply.is_ok())] += 1;
        if let Ok(answer) = &reply {
            known.learn(answer);
        }
    }
    answers
}

/// What viad's process has: resident bytes, descriptors, threads.
fn has(pid: u32) -> (u64, usize, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).expect("it lives").count();
    (kilobytes << 10, count("fd"), count("task"))
}

/// Everything that the NIC has, and that the user may have, is there to be had.
fn nothing_is_lost(socket: &Path) {
    let client = Client::open(socket).expect("it serves");
    let tags: Vec<u16> = (0..TAGS).map(|_| client.create_tag().expect("all tags came back")).collect();
    let attributes = vi_attributes(tags[0], Service::UnreliableDelivery);
    let create = |n| Vi::create(client.clone(), attributes).unwrap_or_else(|error| panic!("VI {n}: {error}"));
    let vis: Vec<_> = (0..VIS - OWN_VIS).map(create).collect();
    let create = |n| Cq::create(client.clone(), 5).unwrap_or_else(|error| panic!("queue {n}: {error}"));
    let cqs: Vec<_> = (0..CQS - OWN_CQS).map(create).collect();
    // Their rings are regions too.
    vis.iter().for_each(|vi| vi.destroy().expect("idle"));
    cqs.iter().for_each(|cq| cq.destroy().expect("unused"));
    let memory = Mapping::new(4096).expect("memory");
    let start = memory.start().as_ptr() as usize;
    let attributes = MemoryAttributes { tag: tags[0], rdma_write: false, rdma_read: false };
    let regions: Vec<u32> = (0..REGIONS - OWN_REGIONS)
        .map(|n| {
            // SAFETY: nobody reaches it, and it is deregistered before it goes.
            let made = unsafe { client.register(start, 4096, attributes) };
            made.unwrap_or_else(|error| panic!("region {n}: {error}"))
        })
        .collect();
    for name in ["a", "b", "c"].into_iter().cycle().take(LISTENERS) {
        let name = Discriminator::try_from(name.as_bytes()).expect("short");
        client.listen(name).expect("all listeners came back");
    }
    regions.iter().for_each(|handle| client.deregister(*handle).expect("it is there"));
}

#[test]
fn any_sequence_of_requests_is_answered_and_leaves_nothing() {
    let config = format!(
        "[client]\nvis = {VIS}\n[user]\nvis = {VIS}\ncqs = {CQS}\nregions = {REGIONS}\ntags = {TAGS}\nlisteners = {LISTENERS}\n\
         requests = 1000000\nburst = 1000000\n"
    );
    let stage = Stage::with(1, &config);
    let socket = stage.socket(0);
    let pid = stage.viads[0].0.id();
    let seed: u64 = rand::random();
    println!("seed {seed:#x}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let memory = Arc::new(Mapping::new(1 << 18).expect("memory"));
    let ended = || {
        let over = |log: &str| log.matches("a client pid").count() == log.matches("session ended").count();
        assert!(until(LONG, || over(&stage.log(0))), "{}", stage.log(0));
    };
    let mut first = None;
    for n in 0..ROUNDS {
        let start = Instant::now();
        let [refused, done] = round(&socket, &memory, &mut random);
        ended();
        // Threads of sessions end behind their last word.
        let first = *first.get_or_insert_with(|| has(pid));
        assert!(until(LONG, || has(pid).2 <= first.2), "{:?} after {first:?}", has(pid));
        let now = has(pid);
        println!("round {n}: {done} done, {refused} refused, {now:?}, {:?}", start.elapsed());
        assert!(now.1 <= first.1, "descriptors: {now:?} after {first:?}");
        assert!(now.0 <= first.0 + GROWTH, "memory: {now:?} after {first:?}");
        // Both happen, or nothing was tested.
        assert!(done > SESSIONS * REQUESTS / 10 && refused > SESSIONS * REQUESTS / 10, "{done}, {refused}");
    }
    nothing_is_lost(&socket);
    honest(&Nic::open(&stage.name(0)).expect("it serves"), 5);
    let log = stage.log(0);
    assert!(!log.contains("panicked") && !log.contains("not everything was given back"), "{log}");
}
