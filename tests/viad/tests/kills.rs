//! Processes that are killed, in every call that there is: everything that they had is somebody else's within a second, and nobody notices.

use std::{
    io::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::Service,
    cm::{Discriminator, Event, Target},
    consumer::{Cq, Vi},
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent},
        KernelAgent, MemoryAttributes,
    },
    memory::Mapping,
    queues::Direction,
    viad::Client,
    wait::Vectors,
};
use viaduct_viad_tests::{
    child::{self, child, lines, user, wait_for},
    hand::{vi_attributes, Hand, DATA},
    honest::honest,
    stage::{until, Stage, LONG},
};
use vipl::{Mac, Nic};

/// What viad promises.
const PROMISE: Duration = Duration::from_secs(1);
/// What a machine may take that has other things to do: not even once it is later. (The wait for a processor is not viad's. It is the
/// median of all kills that the promise is held against.)
const LATEST: Duration = Duration::from_secs(5);
/// The calls in which they are killed.
const CALLS: [&str; 15] = [
    "open",
    "tag",
    "register",
    "attributes",
    "cq",
    "vi",
    "connect_vi",
    "post",
    "sleep",
    "listen",
    "connect",
    "reject",
    "peer_request",
    "events",
    "look",
];
/// What a user may have.
const VIS: usize = 6;
const CQS: usize = 3;
const REGIONS: usize = 8;
const LISTENERS: usize = 5;
const TAGS: usize = 8;
const BYTES: usize = 4 << 20;

fn config() -> String {
    format!(
        "[user]\nvis = {VIS}\ncqs = {CQS}\nregions = {REGIONS}\nlisteners = {LISTENERS}\ntags = {TAGS}\nbytes = {BYTES}\n\
         sessions = 5\nrequests = 1000000\nburst = 1000000\n"
    )
}

fn name(text: &str) -> Discriminator {
    Discriminator::try_from(text.as_bytes()).expect("short")
}

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, nic)) = child::role() else { return };
    match role.split_once(' ').expect("two words") {
        ("honest", rounds) => {
            honest(&Nic::open(&nic).expect("it serves"), rounds.parse().expect("a number"));
        }
        (_, call) => victim(nic.strip_prefix("viad:").expect("a viad's"), call),
    }
}

/// It has nearly all that its user may have, and is in one call nearly all the time, until it is killed.
fn victim(socket: &str, call: &str) {
    let client = Client::open(socket).expect("it serves");
    let mut ends = [(); 4].map(|()| Hand::new(&client, Service::ReliableDelivery));
    let [one, other, asker, _] = &mut ends;
    one.connect(other);
    for _ in 0..4 {
        let own = other.own(DATA, 1000);
        other.post(Direction::Receive, 0, None, &[own]);
    }
    let _cqs = [(); CQS - 1].map(|()| Cq::create(client.clone(), 10).expect("room"));
    let waiting = [0, 1, 2].map(|n| client.listen(name(&format!("waiting {n}"))).expect("room"));
    let ask = |to: &str, vi: &Hand| Ask {
        vi: vi.vi.name(),
        target: Target::Mac(Mac([2, 0, 0, 0, 0, 1])),
        from: name("victim"),
        to: name(to),
        data: Vec::new(),
        timeout: Some(LONG),
    };
    // One who asks, and is not answered.
    client.connect(ask("waiting 0", asker)).expect("idle");
    let said = std::cell::Cell::new(false);
    let ready = || {
        if !said.replace(true) {
            println!("\nready");
            std::io::stdout().flush().expect("a pipe");
        }
    };
    let agent: Arc<dyn ConnectionAgent> = Arc::clone(&client) as _;
    let wait =
        |what: fn(&Event) -> bool| agent.wait_event(LONG, what).expect("it serves").expect("it happens");
    let [one, _, _, free] = &mut ends;
    let address = one.own(0, 0).0 as usize;
    let attributes = MemoryAttributes { tag: one.tag, rdma_write: true, rdma_read: true };
    loop {
        match call {
            "open" => drop(Client::open(socket).expect("it serves")),
            "tag" => client.destroy_tag(client.create_tag().expect("room")).expect("unused"),
            "register" => {
                // SAFETY: the memory of an end, which stays as long as the process.
                let handle = unsafe { client.register(address, 5000, attributes) }.expect("room");
                client.deregister(handle).expect("it is there");
            }
            "attributes" => client.set_memory_attributes(one.handle, attributes).expect("it is there"),
            "cq" => {
                let mut cq = Cq::create(client.clone(), 10).expect("room");
                cq.resize(20).expect("it may grow");
                cq.destroy().expect("unused");
            }
            "vi" => {
                let new = vi_attributes(one.tag, Service::UnreliableDelivery);
                let vi = Vi::create(client.clone(), new).expect("room");
                vi.set_attributes(new, true).expect("idle");
                vi.destroy().expect("idle");
            }
            "connect_vi" => {
                free.vi.connect(&free.vi.info()).expect("idle");
                free.renew();
            }
            "post" => {
                let own = one.own(DATA, 20_000);
                one.post(Direction::Send, 0, None, &[own]);
                if one.status(Direction::Send, 0) != 0 {
                    one.post(Direction::Receive, 0, None, &[own]);
                }
            }
            "sleep" => {
                let vector = one.vi.queues().vector(Direction::Receive);
                one.vi.queues().arm(Direction::Receive, 0).expect("it takes it");
                let seen = client.generation(vector).expect("a vector");
                ready();
                client.sleep(vector, seen, LONG);
            }
            "listen" => client.unlisten(client.listen(name("one more")).expect("room")).expect("it is there"),
            "connect" => {
                client.listen(name("connect")).expect("room");
                client.connect(ask("connect", free)).expect("idle");
                let asked = wait(
                    |event| matches!(event, Event::Incoming { request, .. } if request.to == name("connect")),
                );
                let accepter = Vi::create(client.clone(), vi_attributes(one.tag, Service::ReliableDelivery));
                let accepter = accepter.expect("room");
                client.accept(asked.id(), accepter.name(), b"").expect("they fit");
                wait(|event| matches!(event, Event::Established { .. }));
                client.disconnect(asked.id()).expect("it answers");
                accepter.break_off().expect("it answers");
                accepter.make_idle().expect("broken");
                accepter.destroy().expect("idle");
                free.renew();
            }
            "reject" => {
                client.listen(name("reject")).expect("room");
                client.connect(ask("reject", free)).expect("idle");
                let asked = wait(
                    |event| matches!(event, Event::Incoming { request, .. } if request.to == name("reject")),
                );
                client.reject(asked.id(), b"no").expect("it is pending");
                wait(|event| matches!(event, Event::Refused { .. }));
            }
            "peer_request" => {
                let id = client.peer_request(ask("nobody", free)).expect("idle");
                client.disconnect(id).expect("it answers");
            }
            "events" => {
                client.take_events().expect("it answers");
                ready();
                client.wait_events(Duration::from_millis(20)).expect("it answers");
                agent.receive_events(agent.event_count(), Duration::from_millis(1)).expect("it answers");
            }
            "look" => {
                for session in client.sessions().expect("it answers") {
                    let _ = client.vis(session.session);
                }
                client.counters().expect("it answers");
                client.time().expect("it answers");
                client.check().expect("it answers");
                client.hosts().expect("it answers");
            }
            _ => panic!("{call}"),
        }
        ready();
        let _ = &waiting;
    }
}

/// Takes all that a user may have, at once: all of it is there. It has it no longer then.
fn inherit(heir: &Arc<Client>) {
    let tags = [(); TAGS].map(|()| heir.create_tag().expect("all tags came back"));
    let attributes = vi_attributes(tags[0], Service::ReliableDelivery);
    let vis = [(); VIS].map(|()| Vi::create(heir.clone(), attributes).expect("all VIs came back"));
    let cqs = [(); CQS].map(|()| Cq::create(heir.clone(), 10).expect("all completion queues came back"));
    let memory = Mapping::new(BYTES).expect("memory");
    let attributes = MemoryAttributes { tag: tags[0], rdma_write: false, rdma_read: false };
    let regions: [u32; REGIONS] = std::array::from_fn(|n| {
        let start = memory.start().as_ptr() as usize + n * (BYTES / REGIONS);
        // SAFETY: nobody reaches it, and it is deregistered before it goes.
        unsafe { heir.register(start, BYTES / REGIONS, attributes) }.expect("all regions and bytes came back")
    });
    // The victim's own discriminators.
    let listeners: [_; LISTENERS] =
        std::array::from_fn(|n| heir.listen(name(&format!("waiting {n}"))).expect("all listeners came back"));
    vis.iter().for_each(|vi| vi.destroy().expect("idle"));
    cqs.iter().for_each(|cq| cq.destroy().expect("unused"));
    regions.iter().for_each(|handle| heir.deregister(*handle).expect("it is there"));
    listeners.iter().for_each(|listener| heir.unlisten(*listener).expect("it is there"));
    tags.iter().for_each(|tag| heir.destroy_tag(*tag).expect("unused"));
}

#[test]
fn who_is_killed_in_any_call_leaves_all_within_a_second_and_nobody_notices() {
    let stage = Stage::with(1, &config());
    let seed: u64 = rand::random();
    println!("seed {seed:#x}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Another user's, where there is one; else the limits count it in.
    let mut honest = user(1).map(|uid| child("honest 100", &stage.name(0), Some(uid)));
    let heir = Client::open(stage.socket(0)).expect("it serves");
    let mut all: Vec<Duration> = CALLS
        .iter()
        .map(|call| {
            let mut victim = child(&format!("victim {call}"), &stage.name(0), None);
            let mut said = lines(&mut victim);
            wait_for(&mut said, "ready");
            std::thread::sleep(Duration::from_micros(random.random_range(0..50_000)));
            let early = victim.0.try_wait().expect("a process");
            assert!(early.is_none(), "{call}: {early:?}");
            let killed = Instant::now();
            victim.0.kill().expect("it lives");
            // That is logged when nothing of it is left, of each of its sessions.
            let pid = format!("pid={} ", victim.0.id());
            let over = || {
                let log = stage.log(0);
                let of = |what: &str| {
                    log.lines().filter(|line| line.contains(what) && line.contains(&pid)).count()
                };
                of("a client ") == of("session ended ")
            };
            assert!(until(LONG, over), "{}", stage.log(0));
            let took = killed.elapsed();
            inherit(&heir);
            println!("{call}: given back {took:?} after the kill");
            assert!(took < LATEST, "{call}: {took:?}");
            took
        })
        .collect();
    all.sort();
    assert!(all[all.len() / 2] < PROMISE, "{all:?}");
    if let Some(honest) = &mut honest {
        assert!(honest.0.wait().expect("it ends").success(), "an honest client was disturbed");
    }
    let log = stage.log(0);
    assert!(!log.contains("panicked") && !log.contains("not everything was given back"), "{log}");
}
