//! Many users of one NIC, some of them against the others: each a process of a user of its own.

use std::{
    io::Write,
    os::fd::AsFd,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rand::{seq::IndexedRandom, Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::{ConnectionInfo, Service},
    agent::MemoryAttributes,
    cm::{Discriminator, Target},
    connection_agent::{Ask, ConnectionAgent},
    device::DmaAccess,
    kernel_agent::{CqName, ViName},
    memory::Mapping,
    queues::Direction,
    viad::{
        protocol::{Answer, Request},
        Client,
    },
};
use viaduct_spec::descriptor::{control, status};
use viaduct_viad_tests::{
    child::{self, child, lines, user, wait_for},
    hand::{vi_attributes, Hand, Segment, DATA},
    honest::honest,
    raw::Raw,
    skip::skip,
    stage::{connect, until, End, Process, Stage, BUFFER, LONG},
};
use vipl::{MemAttributes, Nic, ViAttributes};

/// Honest users, one process each.
const HONEST: u32 = 8;
/// What the others do, one user and one process each.
const DEEDS: [&str; 6] = ["handles", "numbers", "rings", "requests", "messages", "connections"];
/// Bytes of the memory that nobody may touch.
const BAIT: usize = 8192;

/// What a spy has told the hostile ones of an honest one: all there is to know.
#[derive(Debug, Clone, Copy)]
struct Told {
    address: u64,
    handle: u32,
    vi: ConnectionInfo,
}

impl Told {
    fn to_text(self) -> String {
        format!("{} {} {}", self.address, self.handle, self.vi.to_json())
    }

    fn of_text(text: &str) -> Self {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().expect("three");
        Self {
            address: word().parse().expect("a number"),
            handle: word().parse().expect("a number"),
            vi: ConnectionInfo::from_json(word()).expect("an end's"),
        }
    }
}

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    let (what, rest) = role.split_once(' ').unwrap_or((&role, ""));
    if what == "honest" {
        return honest(&Nic::open(&name).expect("it serves"), rest.parse().expect("a number"));
    }
    let socket = name.strip_prefix("viad:").expect("a viad's");
    let seed: u64 = rand::random();
    println!("\n{what}: seed {seed:#x}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let told = Told::of_text(rest);
    let mut turn: Box<dyn FnMut()> = match what {
        "handles" => Box::new(handles(socket, told)),
        "numbers" => Box::new(numbers(socket, told, random)),
        "rings" => Box::new(move || rings(socket, &mut random)),
        "requests" => Box::new(requests(socket, random)),
        "messages" => Box::new(messages(socket)),
        "connections" => Box::new(connections(socket, told, random)),
        _ => panic!("{role}"),
    };
    turn();
    println!("\nhostile");
    std::io::stdout().flush().expect("a pipe");
    loop {
        turn();
    }
}

/// Descriptors with somebody else's memory in them, here and there: each completes with an error.
fn handles(socket: &str, told: Told) -> impl FnMut() {
    let client = Client::open(socket).expect("it serves");
    let [mut one, mut other] = [(); 2].map(|()| Hand::new(&client, Service::ReliableDelivery));
    let mut turn = 0u32;
    move || {
        one.connect(&other);
        let theirs = |handle: u32| (told.address + 64, handle, 100);
        // Theirs, as it is and nearly.
        let handle = if turn % 2 == 0 { told.handle } else { told.handle ^ 1 << (turn % 30) };
        let (own, own_there): (Segment, Segment) = (one.own(DATA, 100), other.own(DATA, 100));
        let (how, wrong) = match turn % 4 {
            // It sends what is theirs.
            0 => ((0, None, theirs(handle)), true),
            // It receives into what is theirs.
            1 => {
                other.post(Direction::Receive, 0, None, &[theirs(handle)]);
                ((0, None, own), true)
            }
            // Its own VI at the other end writes and reads what is theirs.
            2 => ((control::OP_RDMAWRITE, Some(theirs(handle)), own), true),
            _ => ((control::OP_RDMAREAD, Some(theirs(handle)), own), true),
        };
        let (operation, remote, local) = how;
        if turn % 4 == 0 {
            other.post(Direction::Receive, 0, None, &[own_there]);
        }
        let sent = one.post(Direction::Send, operation, remote, &[local]);
        assert!(until(LONG, || one.status(Direction::Send, sent) != 0), "turn {turn}: it is not complete");
        let is = one.status(Direction::Send, sent);
        assert_eq!(is & status::ERROR_MASK != 0, wrong, "turn {turn}: {is:#x}");
        for end in [&mut one, &mut other] {
            end.renew();
        }
        turn += 1;
    }
}

/// Requests about what is somebody else's: each is refused.
fn numbers(socket: &str, told: Told, mut random: ChaCha8Rng) -> impl FnMut() {
    let (raw, ..) = Raw::hello(socket);
    let (Ok(Answer::Tag(own)), _) = raw.ask(&Request::CreateTag) else { panic!("no tag") };
    move || {
        let tag = random.random();
        let attributes = MemoryAttributes { tag, rdma_write: true, rdma_read: true };
        let index = told.vi.queue_pair as u16 & 0x3ff;
        let vi = ViName { index: random.random_range(0..64), life: random.random_range(0..9) };
        let vi = if random.random() { vi } else { ViName { index, ..vi } };
        let cq = CqName { index: random.random_range(0..64), life: random.random_range(0..200) };
        let handle = if random.random() { told.handle } else { random.random() };
        let vi_attributes = vi_attributes(own, Service::ReliableDelivery);
        let requests = [
            Request::DestroyTag(if tag == own { 0 } else { tag }),
            Request::Deregister(handle),
            Request::SetMemoryAttributes(handle, MemoryAttributes { tag: own, ..attributes }),
            Request::MemoryAttributes(handle),
            // Its memory is not this process's; under its tag it is nobody's.
            Request::Register {
                address: told.address,
                length: 64,
                attributes: MemoryAttributes { tag: own ^ 1, ..attributes },
            },
            Request::SetViAttributes(vi, vi_attributes, true),
            Request::ConnectVi(vi, told.vi),
            Request::BreakVi(vi),
            Request::IdleVi(vi),
            Request::ViState(vi),
            Request::DestroyVi(vi),
            Request::ResizeCq(cq, 8),
            Request::DestroyCq(cq),
            Request::CreateVi(viaduct_driver::agent::vis::ViAttributes {
                send_cq: Some(cq.index),
                ..vi_attributes
            }),
        ];
        for request in requests {
            let (reply, _) = raw.ask(&request);
            assert!(reply.is_err(), "{request:?}: {reply:?}");
        }
    }
}

/// Anything at all in the rings and at every word of the doorbell pages, of VIs that are connected with each other.
fn rings(socket: &str, random: &mut ChaCha8Rng) {
    let (raw, welcome, files) = Raw::hello(socket);
    let map = |file: &std::os::fd::OwnedFd, length| {
        Mapping::of(file.as_fd(), length, DmaAccess::ReadWrite).expect("ours")
    };
    let mut places = vec![map(&files[2], welcome.arena as usize)];
    let (Ok(Answer::Tag(tag)), _) = raw.ask(&Request::CreateTag) else { panic!("no tag") };
    let (Ok(Answer::Cq { name: cq, .. }), cq_files) = raw.ask(&Request::CreateCq(8)) else {
        panic!("no queue")
    };
    places.extend([map(&cq_files[0], 64), map(&cq_files[1], 4096)]);
    let mut vis = Vec::new();
    for service in [Service::ReliableDelivery, Service::UnreliableDelivery] {
        for _ in 0..2 {
            let attributes = viaduct_driver::agent::vis::ViAttributes {
                send_cq: Some(cq.index),
                receive_cq: Some(cq.index),
                ..vi_attributes(tag, service)
            };
            let (Ok(Answer::Vi { name, info, .. }), page) = raw.ask(&Request::CreateVi(attributes)) else {
                panic!("no VI")
            };
            places.push(map(&page[0], 4096));
            vis.push((name, info));
        }
    }
    for (n, (name, _)) in vis.iter().enumerate() {
        assert!(raw.ask(&Request::ConnectVi(*name, vis[n ^ 1].1)).0.is_ok());
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        let memory = places.choose(random).expect("some");
        let word = random.random_range(0..memory.length() / 8);
        // Regions that others have, at any position; or anything.
        let value = match random.random_range(0..3) {
            0 => random.random(),
            1 => random.random_range(0..1 << 16),
            _ => {
                let region = random.random_range(0..256);
                viaduct_spec::doorbell::encode(region, random.random_range(0..64), random.random_range(0..16))
            }
        };
        // SAFETY: inside the mapping, and accessed as atomics by everybody.
        let place = unsafe { &*memory.start().as_ptr().cast::<AtomicU64>().add(word) };
        place.store(value, Ordering::Relaxed);
        if random.random_ratio(1, 64) {
            let _ = rustix::io::write(&files[3], &random.random_range(1..u64::MAX).to_ne_bytes());
        }
    }
    let _ = raw.ask(&Request::TakeEvents);
}

/// A flood of requests, of sessions, and of what is no request.
fn requests(socket: &str, mut random: ChaCha8Rng) -> impl FnMut() {
    let socket = socket.to_owned();
    move || {
        let (raw, ..) = Raw::hello(&socket);
        let bytes = viaduct_driver::viad::protocol::encode(&Request::Counters).expect("short");
        // It never reads, until its replies have no room.
        for _ in 0..300 {
            let _ = raw.send(&bytes);
        }
        for _ in 0..5 {
            let mute = Raw::connect(&socket);
            let mut garbage = vec![0; random.random_range(1..300)];
            random.fill(&mut garbage[..]);
            let _ = mute.send(&garbage);
        }
    }
}

/// Messages that nobody has posted a receive for: the NIC reports each.
fn messages(socket: &str) -> impl FnMut() {
    let client = Client::open(socket).expect("it serves");
    let [mut one, other] = [(); 2].map(|()| Hand::new(&client, Service::UnreliableDelivery));
    one.connect(&other);
    move || {
        for _ in 0..50 {
            let own = one.own(DATA, 16);
            let sent = one.post(Direction::Send, 0, None, &[own]);
            assert!(until(LONG, || one.status(Direction::Send, sent) != 0));
            assert_eq!(one.status(Direction::Send, sent) & status::ERROR_MASK, 0);
        }
    }
}

/// Connections with whoever it is not to have, and many that come to nothing.
fn connections(socket: &str, told: Told, mut random: ChaCha8Rng) -> impl FnMut() {
    let client = Client::open(socket).expect("it serves");
    let end = Hand::new(&client, Service::ReliableDelivery);
    let name = |text: String| Discriminator::try_from(text.as_bytes()).expect("short");
    move || {
        let generation = random.random_range(0..1 << 14) << 10;
        let guessed = ConnectionInfo { queue_pair: told.vi.queue_pair & 0x3ff | generation, ..told.vi };
        for peer in [told.vi, guessed] {
            end.vi.connect(&peer).expect_err("nobody has asked it");
        }
        for n in 0..50 {
            // Nobody is there, or nobody has that address.
            let mac = viaduct_driver::address::Mac([2, 0, 0, 0, 0, if n % 2 == 0 { 1 } else { 99 }]);
            let from = name(format!("from {n}"));
            let to = name(format!("to {n}"));
            let ask = Ask {
                vi: end.vi.name(),
                target: Target::Mac(mac),
                from,
                to,
                data: Vec::new(),
                timeout: Some(LONG),
            };
            if let Ok(id) = client.connect(ask) {
                client.disconnect(id).expect("it answers");
            }
        }
    }
}

#[test]
fn eight_honest_users_notice_nothing_of_six_hostile_ones() {
    if user(0).is_none() {
        return skip("we are not root, and cannot be other users");
    }
    let stage = Stage::new(1);
    // One more honest user, of whom the hostile ones know everything. It has a receive posted, and memory for RDMA.
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let ptag = nic.create_ptag().expect("a tag");
    let bait = MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..MemAttributes::new(&ptag) };
    let bait = nic.allocate(BAIT, &bait).expect("memory");
    let pattern: Vec<u8> = (0..BAIT).map(|n| (n * 7 + n / 256) as u8).collect();
    bait.write(0, &pattern).expect("inside");
    let (one, mut other) = (End::new(&nic), End::new(&nic));
    let rdma = ViAttributes { enable_rdma_write: true, enable_rdma_read: true, ..ViAttributes::new(&ptag) };
    let words = nic.allocate(1 << 20, &MemAttributes::new(&ptag)).expect("memory");
    (other.vi, other.memory) = (nic.create_vi(&rdma).expect("a VI").into(), words);
    connect(&one, &other);
    other.post_recv(1, BUFFER, 8192);
    let vi = other.vi.connection_info();
    let told = Told { address: bait.address() as u64, handle: bait.handle(), vi };

    let mut hostile: Vec<(&str, Process)> = DEEDS
        .iter()
        .zip(20..)
        .map(|(deed, n)| (*deed, child(&format!("{deed} {}", told.to_text()), &stage.name(0), user(n))))
        .collect();
    for (deed, process) in &mut hostile {
        let mut said = lines(process);
        let begun = said.next();
        assert!(begun.is_some(), "{deed}");
        wait_for(&mut said, "hostile");
        // What else it says is read, so that it never waits.
        std::thread::spawn(move || said.for_each(drop));
    }
    let start = Instant::now();
    let mut honest: Vec<Process> =
        (0..HONEST).map(|n| child("honest 30", &stage.name(0), user(1 + n))).collect();
    for process in &mut honest {
        assert!(process.0.wait().expect("it ends").success(), "an honest user was disturbed");
    }
    println!("{:?} for {HONEST} users beside {} hostile ones", start.elapsed(), DEEDS.len());
    // They were at it all the time, and nothing of it went otherwise than they were to find.
    for (deed, process) in &mut hostile {
        assert!(process.0.try_wait().expect("a process").is_none(), "{deed} has ended before");
    }
    // Killed as they are.
    drop(hostile);
    let over = |log: &str| {
        log.matches("a client ").count()
            == log.matches("session ended").count() + log.matches("session closed").count() + 1
    };
    assert!(until(LONG, || over(&stage.log(0))), "{}", stage.log(0));
    let mut now = vec![0; BAIT];
    bait.read(0, &mut now).expect("inside");
    assert!(now == pattern, "its memory was changed");
    assert!(other.vi.recv_done().is_err(), "its receive is complete");
    let events = nic.take_events().expect("it answers");
    assert!(events.is_empty(), "{events:?}");
    // Still connected, as it was.
    one.send(0, BUFFER, b"as ever");
    assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 7);
    one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
    let log = stage.log(0);
    assert!(!log.contains("panicked") && !log.contains("not everything was given back"), "{log}");
}
