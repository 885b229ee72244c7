//! Many megabytes in both directions at once, by sends, RDMA writes without and with immediate data and RDMA reads, at both reliable levels, over a network that loses up to a
//! fifth of its frames: nothing is lost and nothing comes twice. What it costs is printed:
//! `cargo nextest run -p viaduct-tests own_nics::bulk --no-capture`.

use std::collections::BTreeSet;

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_sim::setup::Setup;
use viaduct_spec::register::counter;
use viaduct_tests::traffic::taken;
use viaduct_tests::world::{quick, seeds, World};
use vipl::{Descriptor, Error, MemAttributes, Mtu, Nic, Region, ReliabilityLevel, Vi, ViAttributes};

/// Bytes of a message, and between two descriptors.
const MESSAGE: usize = 64 << 10;
const DESCRIPTOR: usize = 64;
/// Messages posted at a time on each VI.
const WINDOW: usize = 4;
/// Device cycles without progress after which there is none any more: forty time-outs.
const PATIENCE: u64 = 20_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Send,
    Write,
    /// An RDMA write with immediate data, which takes a receive.
    WriteImmediate,
    Read,
}

impl Way {
    /// Receives tell what has arrived.
    fn receives(self) -> bool {
        matches!(self, Way::Send | Way::WriteImmediate)
    }
}

/// Ways there are, and reliability levels.
const WAYS: [(Way, ReliabilityLevel); 5] = [
    (Way::Send, ReliabilityLevel::ReliableDelivery),
    (Way::Write, ReliabilityLevel::ReliableDelivery),
    (Way::Read, ReliabilityLevel::ReliableDelivery),
    (Way::WriteImmediate, ReliabilityLevel::ReliableReception),
    (Way::Send, ReliabilityLevel::ReliableReception),
];

/// One end of a flow: a VI, a place for each message posted, and the descriptors for them.
struct End {
    vi: Vi,
    data: Region,
    descriptors: Region,
}

impl End {
    fn new(nic: &Nic, level: ReliabilityLevel) -> Self {
        let ptag = nic.create_ptag().expect("a tag");
        let own = MemAttributes::new(&ptag);
        let open = MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..own.clone() };
        let attributes = ViAttributes {
            reliability_level: level,
            mtu: Mtu::MAX,
            depth: 2 * WINDOW,
            enable_rdma_write: true,
            enable_rdma_read: true,
            ..ViAttributes::new(&ptag)
        };
        Self {
            vi: nic.create_vi(&attributes).expect("a VI"),
            data: nic.allocate(WINDOW * MESSAGE, &open).expect("memory"),
            descriptors: nic.allocate(WINDOW * DESCRIPTOR, &own).expect("memory"),
        }
    }

    fn descriptor(&self, number: usize, way: Way, peer: &Self) -> Descriptor {
        let place = number % WINDOW;
        let there = peer.data.remote(MESSAGE * place).expect("inside");
        let builder = match way {
            Way::Send => Descriptor::new(),
            Way::Write => Descriptor::rdma_write(there),
            Way::WriteImmediate => Descriptor::rdma_write(there).immediate(number as u32),
            Way::Read => Descriptor::rdma_read(there),
        };
        let builder = builder.segment(&self.data, MESSAGE * place, MESSAGE).expect("inside");
        builder.build(&self.descriptors, DESCRIPTOR * place).expect("a place")
    }

    fn bytes(&self, place: usize) -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE];
        self.data.read(MESSAGE * place, &mut bytes).expect("inside");
        bytes
    }

    fn put(&self, place: usize, bytes: &[u8]) {
        self.data.write(MESSAGE * place, bytes).expect("inside");
    }
}

/// Messages from one end to the other. Who gives the bytes posts them, but for reads.
struct Flow {
    way: Way,
    giver: End,
    taker: End,
    random: ChaCha8Rng,
    /// Messages posted, and those that have arrived; those whose send is complete.
    posted: usize,
    arrived: usize,
    sent: usize,
    /// The bytes of each message under way.
    under_way: Vec<Vec<u8>>,
}

impl Flow {
    fn new((way, level): (Way, ReliabilityLevel), [from, to]: [&Nic; 2], seed: u64) -> Self {
        let (giver, taker) = (End::new(from, level), End::new(to, level));
        giver.vi.connect(&taker.vi.connection_info()).expect("idle");
        taker.vi.connect(&giver.vi.connection_info()).expect("idle");
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self {
            way,
            giver,
            taker,
            random,
            posted: 0,
            arrived: 0,
            sent: 0,
            under_way: vec![Vec::new(); WINDOW],
        }
    }

    /// Who posts, and to whom.
    fn ends(&self) -> [&End; 2] {
        match self.way {
            Way::Read => [&self.taker, &self.giver],
            _ => [&self.giver, &self.taker],
        }
    }

    fn receive(&self, place: usize) {
        let receive = self.taker.descriptor(place, Way::Send, &self.giver);
        self.taker.vi.post_recv(receive).expect("room");
    }

    /// Posts the next message.
    fn post(&mut self) {
        let place = self.posted % WINDOW;
        let mut bytes = vec![0; MESSAGE];
        self.random.fill_bytes(&mut bytes);
        self.giver.put(place, &bytes);
        self.under_way[place] = bytes;
        let [own, peer] = self.ends();
        own.vi.post_send(own.descriptor(self.posted, self.way, peer)).expect("room");
        self.posted += 1;
    }

    /// The next message has arrived: it is what was posted. Its place is empty from now on.
    fn take(&mut self) {
        let place = self.arrived % WINDOW;
        let (way, number) = (self.way, self.arrived);
        assert!(self.taker.bytes(place) == self.under_way[place], "{way:?} {number} is damaged");
        self.taker.put(place, &[0; MESSAGE]);
        self.arrived += 1;
    }

    /// Goes on up to `messages`; whether anything has happened.
    fn poll(&mut self, messages: usize) -> bool {
        let mut moved = false;
        while self.way.receives() {
            let Some(descriptor) = done(self.taker.vi.recv_done()) else { break };
            let number = (self.way == Way::WriteImmediate).then_some(self.arrived as u32);
            assert_eq!(descriptor.immediate(), number);
            self.take();
            self.receive((self.arrived - 1) % WINDOW);
            moved = true;
        }
        while done(self.ends()[0].vi.send_done()).is_some() {
            if !self.way.receives() {
                self.take();
            }
            self.sent += 1;
            moved = true;
        }
        while self.posted < messages && self.posted - self.sent.min(self.arrived) < WINDOW {
            self.post();
            moved = true;
        }
        moved
    }
}

/// A message is through at this end.
fn done(result: Result<Descriptor, Error>) -> Option<Descriptor> {
    let descriptor = taken(result);
    descriptor.inspect(|descriptor| assert_eq!(descriptor.length(), MESSAGE))
}

/// Moves `messages` on each of ten connections, with `percent` of all frames lost.
fn run(kinds: [Kind; 2], percent: u32, messages: usize, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x1055);
    // More than there can be: each message has 17 frames of data and few acknowledgements.
    let frames = 40 * 2 * WAYS.len() as u64 * 20 * messages as u64;
    let lost = (1..frames).filter(|_| random.random_ratio(percent, 100)).collect::<BTreeSet<u64>>();
    let setup =
        Setup { kinds: kinds.to_vec(), faults: Faults { drop: lost, ..Faults::default() }, ..quick(seed) };
    let world = World::new(&setup);
    let nics = [0, 1].map(|nic| world.nic(nic));
    let mut flows = Vec::new();
    for way in WAYS {
        for [from, to] in [[0, 1], [1, 0]] {
            let flow = Flow::new(way, [&nics[from], &nics[to]], seed << 8 | flows.len() as u64);
            if flow.way.receives() {
                (0..WINDOW).for_each(|place| flow.receive(place));
            }
            flows.push(flow);
        }
    }
    world.settle();
    let start = world.now();
    let mut moved = start;
    while flows.iter().any(|flow| flow.sent < messages || flow.arrived < messages) {
        for flow in &mut flows {
            if flow.poll(messages) {
                moved = world.now();
            }
        }
        assert!(world.now() < moved + PATIENCE, "seed {seed}: {percent} %: nothing moves any more");
        world.net.pause();
    }
    let cycles = world.now() - start;
    // What comes later, comes twice.
    world.settle();
    for flow in &flows {
        let empty = (0..WINDOW).all(|place| flow.taker.bytes(place).iter().all(|byte| *byte == 0));
        assert!(empty, "seed {seed}: {percent} %: {:?}: bytes came again", flow.way);
        assert_eq!(flow.arrived, messages);
    }
    let all = |code| world.counter(0, code) + world.counter(1, code);
    let faults = world.net.network().fabric().counters().faults;
    assert_eq!(faults > 0, percent > 0, "frames were lost");
    assert_eq!(all(counter::RETRANSMITTED) > 0, percent > 0);
    let bytes = flows.len() * messages * MESSAGE;
    println!(
        "{kinds:?} {percent:2} %: {:5.1} MB in {cycles} cycles, {:.3} bytes/cycle of both directions; {faults} frames \
         lost, {} sent again, {} time-outs",
        bytes as f64 / 1e6,
        bytes as f64 / cycles as f64,
        all(counter::RETRANSMITTED),
        all(counter::TIMEOUTS)
    );
    drop(flows);
    world.check();
}

#[test]
fn models_move_a_hundred_megabytes_over_a_network_that_loses_frames() {
    for seed in seeds(&[1]) {
        for percent in [0, 1, 2, 5, 10, 20] {
            run([Model, Model], percent, 26, seed);
        }
    }
}

#[test]
fn the_rtl_moves_megabytes_over_a_network_that_loses_frames() {
    for seed in seeds(&[2]) {
        for percent in [0, 1, 5, 20] {
            run([Rtl, Rtl], percent, 3, seed);
        }
    }
}

#[test]
fn the_rtl_and_the_model_move_megabytes_over_a_network_that_loses_frames() {
    for seed in seeds(&[3]) {
        run([Rtl, Model], 10, 3, seed);
    }
}
