//! Completion queues and the error ring of whole NICs: what their consumers find there, and when they are woken.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::address::Service;
use viaduct_driver::agent::cqs::Cq;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::agent::{CqEntry, Event};
use viaduct_driver::device::PciDevice;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::table;
use viaduct_tests::raw::{Completion, Descriptor, RawVi, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, random_conditions, seeds, Host, World};

const UNRELIABLE: Service = Service::UnreliableDelivery;

/// Who takes the entries of a queue, and knows what was posted.
struct Consumer {
    cq: Cq,
    /// Tokens and places of what is posted and has no entry yet, for each work queue.
    posted: BTreeMap<(u16, bool), VecDeque<(u64, usize)>>,
    taken: usize,
}

impl Consumer {
    fn new(host: &Host, entries: usize) -> Self {
        let cq = host.agent.create_cq(entries).expect("a queue");
        Self { cq, posted: BTreeMap::new(), taken: 0 }
    }

    fn index(&self) -> Option<u16> {
        Some(self.cq.index())
    }

    /// Posts what will make an entry here.
    fn post(
        &mut self,
        host: &mut Host,
        vi: &mut RawVi,
        direction: Direction,
        descriptor: &Descriptor,
    ) -> usize {
        let receive = direction == Direction::Receive;
        let position = if receive { vi.receives } else { vi.sends };
        let place = vi.post(host, direction, descriptor);
        let token = host.region.token(host.memory.address(place), position);
        self.posted.entry((vi.index(), receive)).or_default().push_back((token, place));
        place
    }

    fn outstanding(&self) -> usize {
        self.posted.values().map(VecDeque::len).sum()
    }

    /// Takes an entry: it is the oldest of its work queue's, and the descriptor's status is there.
    fn take(&mut self, host: &Host) -> Option<(CqEntry, Completion)> {
        let entry = self.cq.take().expect("the NIC is there")?;
        let queue =
            self.posted.get_mut(&(entry.vi, entry.receive)).expect("a work queue that has this queue");
        let (token, place) = queue.pop_front().expect("one entry for each descriptor");
        assert_eq!(entry.token, token, "in the order of the work queue");
        let completion = Completion::read(&host.memory, place);
        assert!(completion.is_complete(), "the status comes before the entry");
        self.taken += 1;
        Some((entry, completion))
    }
}

/// Two VIs, the one on host 0 without completion queues.
fn pair(hosts: &[Host; 2], service: Service, cqs: [Option<u16>; 2]) -> [RawVi; 2] {
    let mut vis = [
        RawVi::with_cqs(&hosts[0], service, 1024, [None; 2]),
        RawVi::with_cqs(&hosts[1], service, 1024, cqs),
    ];
    let [a, b] = &mut vis;
    a.connect(b);
    vis
}

#[test]
fn many_queues_on_one_keep_their_order_through_laps_and_resizes() {
    const ROOM: usize = 20;
    for seed in seeds(&[1, 2, 3]) {
        let world = World::new(&random_conditions(seed));
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xC0);
        let mut hosts = [0, 1].map(|n| world.host(n));
        // Host 0 has a queue for sends and one for receives, host 1 one for all.
        let mut consumers =
            [Consumer::new(&hosts[0], ROOM), Consumer::new(&hosts[0], ROOM), Consumer::new(&hosts[1], ROOM)];
        // Who takes what: [host][direction].
        let whose = [[0, 1], [2, 2]];
        let mut pairs: Vec<[RawVi; 2]> = (0..5)
            .map(|n| {
                let level = LEVELS[n % 3];
                let mut vis = [0, 1].map(|host| {
                    let cqs = whose[host].map(|consumer| consumers[consumer].index());
                    RawVi::with_cqs(&hosts[host], level, 1024, cqs)
                });
                let [a, b] = &mut vis;
                a.connect(b);
                vis
            })
            .collect();
        let (mut messages, mut resizes) = (0, 0);
        while messages < 150 {
            let (number, from) = (random.random_range(0..pairs.len()), random.random_range(0..2));
            let to = 1 - from;
            // Only as much as there is room for, were nothing taken any more; unreliable ones one by one, that none is lost.
            let full = consumers.iter().any(|consumer| consumer.outstanding() + 2 > ROOM);
            if !full {
                let length = random.random_range(0..2000);
                let [receives, sends] = [whose[to][1], whose[from][0]];
                let place = 0x8000 + random.random_range(0..0x4000);
                let receive = Descriptor::of(&hosts[to], place, length);
                let vi = &mut pairs[number][to];
                consumers[receives].post(&mut hosts[to], vi, Direction::Receive, &receive);
                world.arrived(to);
                let send = Descriptor::of(&hosts[from], random.random_range(0..0x4000), length);
                let vi = &mut pairs[number][from];
                consumers[sends].post(&mut hosts[from], vi, Direction::Send, &send);
                messages += 1;
            }
            world.run(random.random_range(1..600));
            for (n, consumer) in consumers.iter_mut().enumerate() {
                for _ in 0..random.random_range(0..4) {
                    if let Some((_, completion)) = consumer.take(&hosts[n / 2]) {
                        assert_eq!(completion.status & status::ERROR_MASK, 0, "seed {seed}");
                    }
                }
                if random.random_bool(0.03) {
                    // With whatever is on its way.
                    consumer.cq.resize(random.random_range(ROOM..4 * ROOM)).expect("room");
                    resizes += 1;
                }
            }
        }
        for (n, consumer) in consumers.iter_mut().enumerate() {
            let host = &hosts[n / 2];
            world.until("every entry comes", 1_000_000, || {
                while consumer.take(host).is_some() {}
                consumer.outstanding() == 0
            });
        }
        world.settle();
        assert!(consumers.iter_mut().enumerate().all(|(n, consumer)| consumer.take(&hosts[n / 2]).is_none()));
        println!("{resizes} resizes, {} entries", consumers.iter().map(|c| c.taken).sum::<usize>());
        assert!(resizes > 5);
        for (nic, host) in hosts.iter().enumerate() {
            assert_eq!(world.counter(nic, counter::CQ_OVERRUNS), 0);
            assert_eq!(host.agent.take_events().expect("the NIC answers"), []);
        }
        pairs.into_iter().flatten().for_each(|vi| vi.retire(&world));
        consumers.iter().for_each(|consumer| consumer.cq.destroy().expect("nobody has it"));
        world.check();
    }
}

#[test]
fn the_phase_turns_in_the_smallest_ring_too() {
    let mut scene = Scene::new(4);
    let mut consumer = Consumer::new(&scene.hosts[1], 1);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None, consumer.index()]);
    // Four entries: seven laps, the consumer up to one behind.
    for n in 0..28 {
        let [a, b] = &mut scene.hosts;
        let receive = Descriptor::of(b, 0x2000, 100);
        let place = consumer.post(b, &mut vis[1], Direction::Receive, &receive);
        scene.world.arrived(1);
        vis[0].send(a, &Descriptor::of(a, 0, n));
        scene.world.complete(b, place);
        scene.world.settle();
        let (entry, completion) = consumer.take(b).expect("an entry");
        assert_eq!((entry.receive, completion.length), (true, n as u32));
        assert!(consumer.take(b).is_none());
    }
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}

#[test]
fn an_overrun_is_told_breaks_its_virtual_interface_and_loses_nothing_else() {
    /// Entries that a queue for four has room for.
    const RING: usize = 8;
    for direction in [Direction::Receive, Direction::Send] {
        let mut scene = Scene::new(5);
        let receive = direction == Direction::Receive;
        let mut small = Consumer::new(&scene.hosts[1], 4);
        let mut other = Consumer::new(&scene.hosts[1], 4);
        let on = |consumer: &Consumer| match direction {
            Direction::Send => [consumer.index(), None],
            Direction::Receive => [None, consumer.index()],
        };
        let mut vis: Vec<[RawVi; 2]> =
            [&small, &small, &other].map(|cq| pair(&scene.hosts, UNRELIABLE, on(cq))).into();
        // One message, and the descriptor at host 1 is complete.
        let message = |scene: &mut Scene, vis: &mut [RawVi; 2], consumer: &mut Consumer| {
            let [a, b] = &mut scene.hosts;
            let [va, vb] = vis;
            let place = if receive {
                let place = consumer.post(b, vb, direction, &Descriptor::of(b, 0x2000, 300));
                scene.world.arrived(1);
                va.send(a, &Descriptor::of(a, 0, 300));
                place
            } else {
                va.receive(a, &Descriptor::of(a, 0x2000, 300));
                scene.world.arrived(0);
                consumer.post(b, vb, direction, &Descriptor::of(b, 0, 300))
            };
            let completion = scene.world.complete(&scene.hosts[1], place);
            scene.world.settle();
            completion
        };
        let done = status::DONE | if receive { status::OP_RECEIVE } else { status::OP_SEND };
        for n in 0..RING {
            assert_eq!(message(&mut scene, &mut vis[n % 2], &mut small).status, done);
        }
        let overruns = |scene: &Scene| scene.world.counter(1, counter::CQ_OVERRUNS);
        assert_eq!((overruns(&scene), scene.events(1)), (0, vec![]));
        // One too many: complete all the same, and then its VI breaks.
        assert_eq!(message(&mut scene, &mut vis[1], &mut small).status, done);
        assert_eq!((overruns(&scene), vis[1][1].state()), (1, ViState::Error));
        let queue = Event {
            code: event_code::CQ_OVERRUN,
            vi: small.cq.index(),
            life: small.cq.name().life,
            receive: false,
            broke: false,
        };
        let lost = vis[1][1].event(event_code::CONN_LOST, receive, true);
        assert_eq!(scene.events(1), [queue, lost]);
        assert_eq!((vis[0][1].state(), vis[2][1].state()), (ViState::Connected, ViState::Connected));
        // What is posted there is flushed; that has no room either, and is not told again.
        let b = &mut scene.hosts[1];
        let late = small.post(b, &mut vis[1][1], direction, &Descriptor::of(b, 0x2000, 1));
        assert_eq!(scene.world.complete(b, late).status, done | status::DESC_FLUSHED_ERROR);
        scene.world.settle();
        assert_eq!((overruns(&scene), scene.events(1)), (2, vec![]));
        // Another queue has nothing to do with it.
        message(&mut scene, &mut vis[2], &mut other);
        assert!(other.take(&scene.hosts[1]).is_some());
        // All that had room is there, in order; the lost ones are the last of their VI.
        for n in 0..RING {
            let (entry, _) = small.take(&scene.hosts[1]).expect("an entry");
            assert_eq!(entry.vi, vis[n % 2][1].index());
        }
        assert!(small.take(&scene.hosts[1]).is_none());
        assert_eq!(small.outstanding(), 2);
        small.posted.clear();
        // And there is room again.
        message(&mut scene, &mut vis[0], &mut small);
        assert!(small.take(&scene.hosts[1]).is_some());
        assert_eq!(overruns(&scene), 2);
        vis.into_iter().flatten().for_each(|vi| vi.retire(&scene.world));
        scene.others_go_on();
    }
}

#[test]
fn events_that_the_error_ring_has_no_room_for_are_counted() {
    /// Entries of the agent's ring.
    const RING: usize = 256;
    let mut scene = Scene::new(6);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None; 2]);
    // Each meets no receive.
    let strike = |scene: &mut Scene, vis: &mut [RawVi; 2]| {
        let a = &mut scene.hosts[0];
        let place = vis[0].send(a, &Descriptor::new());
        scene.world.complete(a, place);
    };
    for _ in 0..RING + 9 {
        strike(&mut scene, &mut vis);
    }
    scene.world.settle();
    assert_eq!(scene.world.counter(1, counter::EVENT_LOST), 9);
    let event = vis[1].event(event_code::RECVQ_EMPTY, true, false);
    assert_eq!(scene.events(1), vec![event; RING]);
    // The room is known at once.
    for _ in 0..3 {
        strike(&mut scene, &mut vis);
    }
    scene.world.settle();
    assert_eq!(scene.events(1), [event; 3]);
    assert_eq!(scene.world.counter(1, counter::EVENT_LOST), 9);
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}

/// The only vector of host 1's NIC that the agent uses where nobody may sleep.
struct Interrupts(File);

impl Interrupts {
    fn of(host: &Host) -> Self {
        let file = File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd"));
        host.device.set_interrupts(&[file.as_fd()]).expect("vectors");
        Self(file)
    }

    /// Interrupts since.
    fn count(&self) -> u64 {
        let mut value = [0; 8];
        (&self.0).read(&mut value).map_or(0, |_| u64::from_ne_bytes(value))
    }
}

/// A message to host 1, whose receive is posted; the receive's place.
fn begin(scene: &mut Scene, vis: &mut [RawVi; 2], consumer: &mut Consumer) {
    let [a, b] = &mut scene.hosts;
    consumer.post(b, &mut vis[1], Direction::Receive, &Descriptor::of(b, 0x2000, 64));
    scene.world.arrived(1);
    vis[0].send(a, &Descriptor::of(a, 0, 64));
}

#[test]
fn an_arm_and_an_entry_in_any_order_are_one_interrupt() {
    let mut scene = Scene::on(World::new(&quick(7)));
    let interrupts = Interrupts::of(&scene.hosts[1]);
    let mut consumer = Consumer::new(&scene.hosts[1], 8);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None, consumer.index()]);
    // How long it takes; nobody is armed.
    begin(&mut scene, &mut vis, &mut consumer);
    let start = scene.world.now();
    scene.world.until("the entry comes", 100_000, || consumer.take(&scene.hosts[1]).is_some());
    let usual = scene.world.now() - start;
    scene.world.settle();
    assert_eq!(interrupts.count(), 0);

    let gaps = (0..usual.saturating_sub(100)).step_by(50).chain(usual.saturating_sub(100)..usual + 60);
    for gap in gaps {
        begin(&mut scene, &mut vis, &mut consumer);
        scene.world.net.network().step(gap.max(1));
        consumer.cq.arm().expect("the NIC is there");
        scene.world.settle();
        assert_eq!(interrupts.count(), 1, "{gap} cycles after the send, {usual} is usual");
        assert!(consumer.take(&scene.hosts[1]).is_some());
        if gap % 16 == 0 {
            // One shot.
            begin(&mut scene, &mut vis, &mut consumer);
            scene.world.settle();
            assert_eq!(interrupts.count(), 0);
            assert!(consumer.take(&scene.hosts[1]).is_some());
        }
    }
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}

#[test]
fn a_vector_that_is_held_off_wakes_its_consumer_once_for_many_entries() {
    /// Ticks, and cycles of one.
    const HOLDOFF: u64 = 300;
    const TICK: u64 = 128;
    let mut scene = Scene::on(World::new(&quick(8)));
    let interrupts = Interrupts::of(&scene.hosts[1]);
    scene.world.commit(1, table::MODERATION, 0, &[HOLDOFF]);
    let mut consumer = Consumer::new(&scene.hosts[1], 16);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None, consumer.index()]);
    let wait = |scene: &Scene| {
        scene.world.until("an interrupt", 2 * HOLDOFF * TICK, || interrupts.count() == 1);
        scene.world.now()
    };
    // The first one comes at once.
    consumer.cq.arm().expect("the NIC is there");
    begin(&mut scene, &mut vis, &mut consumer);
    let start = scene.world.now();
    let first = wait(&scene);
    assert!(first - start < HOLDOFF * TICK / 4, "{} cycles", first - start);
    assert!(consumer.take(&scene.hosts[1]).is_some());
    for _ in 0..5 {
        consumer.cq.arm().expect("the NIC is there");
        begin(&mut scene, &mut vis, &mut consumer);
        scene.world.settle();
        assert!(consumer.take(&scene.hosts[1]).is_some(), "entries are not held off");
    }
    let second = wait(&scene);
    let ticks = (second - first) as f64 / TICK as f64;
    println!("{ticks} ticks between two interrupts");
    assert!((ticks - HOLDOFF as f64).abs() < 3.0, "{ticks} ticks");
    // Without holdoff each is one again.
    scene.world.commit(1, table::MODERATION, 0, &[0]);
    scene.world.run(2 * HOLDOFF * TICK);
    for _ in 0..3 {
        consumer.cq.arm().expect("the NIC is there");
        begin(&mut scene, &mut vis, &mut consumer);
        scene.world.settle();
        assert!(consumer.take(&scene.hosts[1]).is_some());
        wait(&scene);
    }
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}
