//! A VI whose index is used again at once, while work of its life before is still in the NIC: behind a long message of
//! another VI, about to be sent again, or about to be completed. Nothing of it may touch the new life, whenever that begins, nor
//! the completion queue that has got the index of the old one's, or the memory that is now another's.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::Direction;
use viaduct_driver::consumer::Cq;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::fabric::Link;
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{command, command_op, event_code, registers, state};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region, LEVELS};
use viaduct_tests::world::{quick, random_conditions, seeds, Host, World};

/// Bytes of the long message, on a link of a byte in a cycle.
const LONG: usize = 6 << 10;
/// Sends and receives that are posted in the old life.
const OLD: usize = 4;
/// Messages of the new life.
const NEW: usize = 3;
/// Largest packet.
const MTU: u32 = 1024;
/// Bytes of a short message.
const SHORT: usize = 40;

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// The VI breaks and is made idle.
    Idle,
    /// It breaks, is made idle and destroyed, and the index has a new owner.
    Destroyed,
    /// It is destroyed as it is.
    Gone,
}

/// Posts a descriptor of one segment, both in this region.
fn post(vi: &mut RawVi, host: &mut Host, region: &Region, direction: Direction, at: usize) -> usize {
    let segment = Descriptor::new().segment(host.memory.address(at), region.handle, SHORT);
    let bytes = segment.encode();
    let place = host.place(bytes.len());
    host.memory.write(place, &bytes);
    let token = vi.token(direction, region, host.memory.address(place));
    vi.post_token(direction, token);
    place
}

/// One owner's: a VI whose sends have a completion queue, and memory of its tag.
struct Life {
    vi: RawVi,
    cq: Cq,
    tag: u16,
    region: Region,
}

impl Life {
    fn new(host: &Host, service: Service) -> Self {
        let tag = host.agent.create_tag().expect("a tag");
        let region = host.register(0, Host::BYTES, tag);
        let cq = Cq::create(host.agent.clone(), 32).expect("a completion queue");
        let vi = RawVi::create(host, service, MTU, tag, [Some(cq.index()), None]);
        Self { vi, cq, tag, region }
    }

    /// Everything is given back when the VI is no more.
    fn end(self, host: &Host) {
        self.vi.vi.destroy().expect("the NIC answers");
        self.cq.destroy().expect("nobody has it");
        host.agent.deregister(self.region.handle).expect("nobody uses it");
        host.agent.destroy_tag(self.tag).expect("nobody has it");
    }

    /// What the next owner gets.
    fn indices(&self) -> [u16; 2] {
        [self.vi.index(), self.cq.index()]
    }

    /// Tokens of the entries in its completion queue.
    fn entries(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.cq.take().expect("the NIC answers")).map(|entry| entry.token).collect()
    }
}

/// A VI's index is used again `delay` cycles after something was posted on it: behind a long message, or before one and with
/// frames `lost`, so that it comes again behind it. The index of its completion queue is, too, and its memory becomes another's.
fn again(world: &World, hosts: &mut [Host; 2], service: Service, end: End, lost: bool, delay: u64) {
    let what = format!("{service:?}, {end:?}, lost {lost}, {delay} cycles");
    let [host, other] = hosts;
    let mut long = [&*host, &*other].map(|host| RawVi::new(host, Service::UnreliableDelivery, MTU));
    let [one, two] = &mut long;
    one.connect(two);
    let mut peer = RawVi::new(other, service, MTU);
    let mut old = Life::new(host, service);
    old.vi.connect(&mut peer);
    let indices = old.indices();

    // The old life: sends behind a long message.
    let room = Descriptor::of(other, 0, LONG);
    let long_receive = long[1].receive(other, &room);
    let message = Descriptor::of(host, 0, LONG);
    let mut long_send = (!lost).then(|| long[0].send(host, &message));
    world.lose([2, 5].into_iter().filter(|_| lost));
    let (region, other_region) = (old.region, other.region);
    for n in 0..OLD {
        post(&mut old.vi, host, &region, Direction::Receive, n * SHORT);
        post(&mut peer, other, &other_region, Direction::Receive, n * SHORT);
    }
    for n in 0..OLD {
        post(&mut old.vi, host, &region, Direction::Send, n * SHORT);
        post(&mut peer, other, &other_region, Direction::Send, n * SHORT);
    }
    let long_send = *long_send.get_or_insert_with(|| long[0].send(host, &message));
    world.run(delay);
    world.lose([]);

    // The new one, with the same indices, if its owner is another, and the same pages under another tag.
    if end != End::Gone {
        old.vi.vi.break_off().expect("the NIC answers");
        old.vi.make_idle();
    }
    let mut new = if end == End::Idle {
        old
    } else {
        old.end(host);
        Life::new(host, service)
    };
    assert_eq!(new.indices(), indices, "{what}");
    peer.vi.break_off().expect("the NIC answers");
    peer.make_idle();
    if end == End::Idle {
        // What was complete before has its entries.
        assert!(new.entries().len() <= OLD, "{what}");
    }
    new.vi.connect(&mut peer);
    let region = new.region;
    let mut messages = Vec::new();
    for n in 0..NEW {
        let (from, to) = (Host::DATA / 2 + n * SHORT, Host::DATA / 4 + n * SHORT);
        let data: Vec<u8> = (0..SHORT).map(|byte| (byte * 7 + n * 31 + delay as usize) as u8).collect();
        host.memory.write(from, &data);
        other.memory.write(to, &[0xA5; SHORT]);
        let receive = post(&mut peer, other, &other_region, Direction::Receive, to);
        messages.push((data, to, receive));
    }
    world.arrived(other.index);
    let post_send = |n| post(&mut new.vi, host, &region, Direction::Send, Host::DATA / 2 + n * SHORT);
    let sends: Vec<usize> = (0..NEW).map(post_send).collect();
    for (n, (data, to, receive)) in messages.iter().enumerate() {
        let received = world.complete(other, *receive);
        let good =
            Completion { status: status::DONE | status::OP_RECEIVE, length: SHORT as u32, immediate: 0 };
        assert_eq!(received, good, "{what}: receive {n}");
        assert_eq!(other.memory.read(*to, SHORT), *data, "{what}: message {n}");
        let sent = world.complete(host, sends[n]);
        let good = (status::DONE | status::OP_SEND, SHORT as u32);
        assert_eq!((sent.status, sent.length), good, "{what}: send {n}");
    }
    world.complete(host, long_send);
    world.complete(other, long_receive);
    world.settle();
    let tokens = sends.iter().zip(0..).map(|(place, n)| region.token(host.memory.address(*place), n));
    assert_eq!(new.entries(), tokens.collect::<Vec<_>>(), "{what}: entries");
    for host in [&*host, &*other] {
        assert_eq!(host.agent.take_events().expect("the NIC answers"), [], "{what}: host {}", host.index);
    }
    new.end(host);
    peer.vi.destroy().expect("the NIC answers");
    long.into_iter().for_each(|vi| vi.vi.destroy().expect("the NIC answers"));
}

/// Lives of each service that end in each way, with what they sent lost or not, and the next one begins after any time.
fn lives(setup: &Setup) {
    let mut random = ChaCha8Rng::seed_from_u64(setup.seed);
    let world = World::new(setup);
    let mut hosts = [0, 1].map(|nic| world.host(nic));
    // All others are taken: whoever comes next gets the index of whoever has gone last.
    let free = 2;
    let fillers: Vec<RawVi> = (0..hosts[0].agent.limits().vis - free)
        .map(|_| RawVi::new(&hosts[0], Service::UnreliableDelivery, MTU))
        .collect();
    for service in LEVELS {
        for end in [End::Idle, End::Destroyed, End::Gone] {
            for lost in [false, true] {
                for delay in [0, random.random_range(1..100), random.random_range(100..500)] {
                    again(&world, &mut hosts, service, end, lost, delay);
                }
            }
        }
    }
    fillers.into_iter().for_each(|vi| vi.vi.destroy().expect("the NIC answers"));
    let mut vis = pair(&hosts, Service::ReliableDelivery, 1024);
    world.exchange(&mut hosts, &mut vis, 1000);
    world.check();
}

/// Rule LIFE-2.
#[test]
fn a_life_ends_at_any_time_and_the_next_one_is_whole() {
    for seed in seeds(&[1]) {
        let mut setup = quick(seed);
        setup.network.link = Link { latency: 16, rate: 1, ..Link::default() };
        lives(&setup);
    }
}

/// Rule LIFE-2.
#[test]
fn a_life_ends_at_any_time_on_any_bus() {
    for seed in seeds(&[2, 3]) {
        let mut setup = random_conditions(seed);
        setup.network.link.rate = 1;
        lives(&setup);
    }
}

/// VIs break at once on a bus that hardly takes anything: when a drain has ended, all their events are in the error ring, so that the
/// next owners of their indices hear nothing of them.
/// Rule LIFE-3.
#[test]
fn an_event_of_a_life_is_in_the_ring_when_a_drain_has_ended() {
    for seed in seeds(&[1]) {
        let mut setup = quick(seed);
        setup.network.bus.conditions.stall = 980;
        let world = World::new(&setup);
        let host = world.host(0);
        let vis: Vec<RawVi> = (0..12).map(|_| RawVi::new(&host, Service::UnreliableDelivery, MTU)).collect();
        for vi in &vis {
            let beyond = host.region.token(host.memory.address(0), RawVi::SLOTS);
            vi.vi.queues().ring_doorbell(Direction::Receive, beyond).expect("the NIC answers");
        }
        world.arrived(host.index);
        // The faults are found meanwhile: each behind the read of its ring.
        world.run(6000);
        let register = |offset| host.device.read32(Bar::Registers, offset).expect("the NIC answers");
        let mut drain = [0];
        command::OP.put(&mut drain, command_op::DRAIN.into());
        host.device.write64(Bar::Registers, registers::COMMAND, drain[0]).expect("the NIC answers");
        while state::COMMAND_BUSY.get(&[register(registers::STATE).into()]) != 0 {}
        register(registers::RESULT);
        let mut events = host.agent.take_events().expect("the NIC answers");
        events.sort_by_key(|event| event.vi);
        let mut told: Vec<_> = vis.iter().map(|vi| vi.event(event_code::VI_OVERRUN, true, true)).collect();
        told.sort_by_key(|event| event.vi);
        assert_eq!((events.len(), events), (told.len(), told));
        vis.into_iter().for_each(|vi| vi.retire(&world));
        world.check();
    }
}
