//! Random messages through the library: descriptors of all shapes, several virtual interfaces at once,
//! in both directions. Every byte of memory is looked at: what was to be written, and all that was not.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::IMMEDIATE_OFFSET;
use viaduct_spec::register::counter;
use vipl::{
    Descriptor, Error, MemAttributes, Mtu, Nic, Operation, Ptag, Region, ReliabilityLevel, Status, Vi,
    ViAttributes,
};

use crate::memory::{difference, Memory};
use crate::raw::Completion;
use crate::world::World;

/// Bytes to send from, to receive into, and for descriptors, of each host.
const SOURCE: usize = 128 << 10;
const SINK: usize = 2 << 20;
const DESCRIPTORS: usize = 1 << 20;
/// Where the odd one of the two regions of a memory starts, and how many bytes it leaves at the end.
const ODD: (usize, usize) = (4099, 777);
/// Descriptors that a queue holds.
const DEPTH: usize = 16;

/// Offset and length of each segment.
type Segments = Vec<(usize, usize)>;

struct Message {
    data: Vec<u8>,
    immediate: Option<u32>,
    send: Segments,
    receive: Segments,
}

/// A host. Registrations go before the memory does.
struct Host {
    source_regions: [Region; 2],
    sink_regions: [Region; 2],
    descriptor_region: Region,
    nic: Nic,
    source: Memory,
    sink: Memory,
    descriptors: Memory,
    /// How `source` and `sink` have to look.
    source_expected: Vec<u8>,
    sink_expected: Vec<u8>,
    /// The first bytes of `sink` and of `descriptors` that nothing uses yet.
    sink_free: usize,
    descriptors_free: usize,
}

impl Host {
    fn new(world: &World, number: usize) -> (Self, vipl::Ptag) {
        let nic = world.nic(number);
        let ptag = nic.create_ptag().expect("a tag");
        let attributes = MemAttributes::new(&ptag);
        let memory = |bytes, kind| Memory::new(bytes, world.seed << 8 | (number as u64) << 4 | kind);
        let (source, sink, descriptors) = (memory(SOURCE, 1), memory(SINK, 2), memory(DESCRIPTORS, 3));
        let region = |memory: &Memory, from: usize, to: usize| {
            // SAFETY: nothing refers to the memory, and the regions are dropped before it.
            unsafe { nic.register(memory.pointer(from), to - from, &attributes) }.expect("room")
        };
        let both = |memory: &Memory| {
            [region(memory, 0, memory.length()), region(memory, ODD.0, memory.length() - ODD.1)]
        };
        let host = Self {
            source_regions: both(&source),
            sink_regions: both(&sink),
            descriptor_region: region(&descriptors, 0, DESCRIPTORS),
            nic,
            source_expected: source.snapshot(),
            sink_expected: sink.snapshot(),
            source,
            sink,
            descriptors,
            sink_free: 0,
            descriptors_free: 0,
        };
        (host, ptag)
    }

    /// Writes a descriptor of these segments to a new place.
    fn build(&mut self, random: &mut ChaCha8Rng, sink: bool, segments: &Segments) -> Descriptor {
        let (regions, size) = if sink { (&self.sink_regions, SINK) } else { (&self.source_regions, SOURCE) };
        let mut builder = Descriptor::new();
        for &(offset, length) in segments {
            let reaches = offset >= ODD.0 && offset + length <= size - ODD.1;
            builder = if reaches && random.random() {
                builder.segment(&regions[1], offset - ODD.0, length)
            } else {
                builder.segment(&regions[0], offset, length)
            }
            .expect("inside");
        }
        let place = self.descriptors_free + 64 * random.random_range(0..3);
        self.descriptors_free = (place + builder.bytes()).next_multiple_of(64);
        builder.build(&self.descriptor_region, place).expect("room for descriptors")
    }
}

/// What is posted on one queue, for the completions to be compared with.
#[derive(Default)]
struct Posted(VecDeque<(usize, Vec<u8>)>);

impl Posted {
    fn push(&mut self, host: &Host, place: usize, bytes: usize) {
        self.0.push_back((place, host.descriptors.read(place, bytes)));
    }

    /// Only descriptors at the head may be complete.
    fn check_order(&self, host: &Host) {
        let complete =
            |(place, _): &(usize, Vec<u8>)| Completion::read(&host.descriptors, *place).is_complete();
        let head = self.0.iter().take_while(|posted| complete(posted)).count();
        assert!(!self.0.iter().skip(head).any(complete), "a descriptor is complete before an earlier one");
    }

    /// The NIC has changed Length, Status and, where there is some, ImmediateData; no more.
    fn check_head(&mut self, host: &Host, completed: &Descriptor, operation: Operation) {
        let (place, before) = self.0.pop_front().expect("one is posted");
        assert_eq!(completed.offset(), place, "completed in order");
        let mut after = host.descriptors.read(place, before.len());
        let start = if operation == Operation::Receive && completed.immediate().is_some() {
            IMMEDIATE_OFFSET
        } else {
            IMMEDIATE_OFFSET + 4
        } as usize;
        after[start..32].copy_from_slice(&before[start..32]);
        assert_eq!(difference(&after, &before), None, "descriptor at {place:#x}");
        assert_eq!(completed.operation(), Some(operation));
    }
}

/// Messages in one direction of a connection.
struct Flow {
    /// Hosts and VIs: sender, receiver.
    hosts: [usize; 2],
    vis: [usize; 2],
    messages: Vec<Message>,
    receives: Posted,
    sends: Posted,
    posted: [usize; 2],
    /// Receives whose doorbell store has reached the NIC.
    ready: usize,
    done: [usize; 2],
}

/// Cuts `length` bytes into segments. Equal cuts are segments of no bytes.
fn cut(random: &mut ChaCha8Rng, length: usize) -> Vec<usize> {
    let count = match random.random_range(0..12) {
        0 if length == 0 => return Vec::new(),
        0..=3 => 1,
        4..=7 => random.random_range(1..5),
        8..=10 => random.random_range(1..30),
        _ => random.random_range(200..=252),
    };
    let mut cuts: Vec<usize> = (1..count).map(|_| random.random_range(0..=length)).collect();
    if count > 2 && random.random() {
        cuts[1] = cuts[0];
    }
    cuts.extend([0, length]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn message(random: &mut ChaCha8Rng, hosts: &mut [Host], [from, to]: [usize; 2]) -> Message {
    let length = match random.random_range(0..20) {
        0..=1 => 0,
        2..=8 => random.random_range(0..70),
        9..=16 => random.random_range(0..3000),
        17..=18 => random.random_range(0..12_000),
        _ => random.random_range(0..40_000),
    };
    // Anything may be sent, twice in one message too.
    let send: Segments = cut(random, length)
        .into_iter()
        .map(|length| (random.random_range(0..=SOURCE - length), length))
        .collect();
    let data = send.iter().flat_map(|&(offset, length)| hosts[from].source.read(offset, length)).collect();
    let room = if random.random() { length } else { length + random.random_range(0..500) };
    let receive = cut(random, room)
        .into_iter()
        .map(|length| {
            let offset = hosts[to].sink_free + random.random_range(0..70);
            hosts[to].sink_free = offset + length;
            (offset, length)
        })
        .collect();
    let immediate = random.random::<bool>().then(|| random.random());
    Message { data, immediate, send, receive }
}

fn bytes(segments: &Segments) -> usize {
    32 + 16 * segments.len()
}

impl Flow {
    fn new(hosts: [usize; 2], vis: [usize; 2], messages: Vec<Message>) -> Self {
        let (receives, sends) = (Posted::default(), Posted::default());
        Self { hosts, vis, messages, receives, sends, posted: [0; 2], ready: 0, done: [0; 2] }
    }

    fn post_receive(&mut self, random: &mut ChaCha8Rng, hosts: &mut [Host], vis: &[Vi]) {
        let Some(message) = self.messages.get(self.posted[1]) else { return };
        if self.posted[1] - self.done[1] == DEPTH {
            return;
        }
        let host = &mut hosts[self.hosts[1]];
        let descriptor = host.build(random, true, &message.receive);
        let place = descriptor.offset();
        vis[self.vis[1]].post_recv(descriptor).expect("posted");
        self.receives.push(host, place, bytes(&message.receive));
        self.posted[1] += 1;
    }

    fn post_send(&mut self, random: &mut ChaCha8Rng, hosts: &mut [Host], vis: &[Vi]) {
        // VIA: the receive is posted before the message is sent. The sender knows it from a message, and
        // no message overtakes the store that posted the receive: the test must not know it earlier.
        if self.posted[0] == self.ready || self.posted[0] - self.done[0] == DEPTH {
            return;
        }
        let message = &self.messages[self.posted[0]];
        let host = &mut hosts[self.hosts[0]];
        let mut descriptor = host.build(random, false, &message.send);
        descriptor.set_immediate(message.immediate);
        let place = descriptor.offset();
        vis[self.vis[0]].post_send(descriptor).expect("posted");
        self.sends.push(host, place, bytes(&message.send));
        self.posted[0] += 1;
    }

    fn poll(&mut self, world: &World, hosts: &mut [Host], vis: &[Vi]) {
        if world.net.network().backlog(self.hosts[1]) == 0 {
            self.ready = self.posted[1];
        }
        self.sends.check_order(&hosts[self.hosts[0]]);
        self.receives.check_order(&hosts[self.hosts[1]]);
        while let Some(sent) = taken(vis[self.vis[0]].send_done()) {
            let message = &self.messages[self.done[0]];
            self.sends.check_head(&hosts[self.hosts[0]], &sent, Operation::Send);
            assert_eq!((sent.status(), sent.length()), (Status::DONE, message.data.len()));
            self.done[0] += 1;
        }
        while let Some(received) = taken(vis[self.vis[1]].recv_done()) {
            let message = &self.messages[self.done[1]];
            let host = &mut hosts[self.hosts[1]];
            self.receives.check_head(host, &received, Operation::Receive);
            let immediate = if message.immediate.is_some() { Status::IMMEDIATE } else { Status::empty() };
            assert_eq!(
                (received.status(), received.length()),
                (Status::DONE | immediate, message.data.len())
            );
            assert_eq!(received.immediate(), message.immediate);
            let mut data = &message.data[..];
            for &(offset, length) in &message.receive {
                let (here, rest) = data.split_at(length.min(data.len()));
                let arrived = host.sink.read(offset, here.len());
                assert_eq!(difference(&arrived, here), None, "message {} to {offset:#x}", self.done[1]);
                host.sink_expected[offset..offset + here.len()].copy_from_slice(here);
                data = rest;
            }
            self.done[1] += 1;
        }
    }

    fn is_done(&self) -> bool {
        self.done == [self.messages.len(); 2]
    }
}

/// The head of a queue, if it is complete and well.
///
/// # Panics
/// It is complete and not well.
pub fn taken(result: Result<Descriptor, Error>) -> Option<Descriptor> {
    match result {
        Ok(descriptor) => Some(descriptor),
        Err(Error::NotDone | Error::Empty) => None,
        Err(error) => panic!("{error}"),
    }
}

/// How much of it there is.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// NICs: 1, whose virtual interfaces talk to one another, or 2.
    pub nics: usize,
    /// Connections.
    pub pairs: usize,
    /// Messages in each direction of each.
    pub messages: usize,
    /// Path MTUs to choose from.
    pub mtus: &'a [u32],
    /// Reliability levels to choose from.
    pub levels: &'a [ReliabilityLevel],
}

/// The levels that there are.
pub const LEVELS: &[ReliabilityLevel] = &[
    ReliabilityLevel::ReliableDelivery,
    ReliabilityLevel::UnreliableDelivery,
    ReliabilityLevel::ReliableReception,
];
/// All path MTUs.
pub const MTUS: &[u32] = &[256, 512, 1024, 2048, 4096];

/// Connections and what is to be sent over them.
pub struct Traffic {
    flows: Vec<Flow>,
    vis: Vec<Vi>,
    hosts: Vec<Host>,
    random: ChaCha8Rng,
    /// Cycles in which all messages must arrive.
    pub patience: u64,
    /// The network.
    pub world: World,
}

impl Traffic {
    /// Makes and connects everything; nothing is posted yet.
    pub fn new(setup: &Setup, shape: &Shape<'_>) -> Self {
        let world = World::new(setup);
        let mut random = ChaCha8Rng::seed_from_u64(setup.seed);
        let (mut hosts, ptags): (Vec<Host>, Vec<Ptag>) =
            (0..shape.nics).map(|n| Host::new(&world, n)).unzip();
        let (mut vis, mut flows): (Vec<Vi>, Vec<Flow>) = (Vec::new(), Vec::new());
        let ends = [0, shape.nics - 1];
        for _ in 0..shape.pairs {
            let level = shape.levels[random.random_range(0..shape.levels.len())];
            let mtu = shape.mtus[random.random_range(0..shape.mtus.len())];
            println!("{level}, MTU {mtu}");
            let first = vis.len();
            for end in ends {
                let attributes = ViAttributes {
                    reliability_level: level,
                    mtu: Mtu::try_from(mtu).expect("an MTU"),
                    depth: DEPTH,
                    ..ViAttributes::new(&ptags[end])
                };
                vis.push(hosts[end].nic.create_vi(&attributes).expect("a VI"));
            }
            vis[first].connect(&vis[first + 1].connection_info()).expect("idle");
            vis[first + 1].connect(&vis[first].connection_info()).expect("idle");
            for [a, b] in [[0, 1], [1, 0]] {
                let between = [ends[a], ends[b]];
                let messages =
                    (0..shape.messages).map(|_| message(&mut random, &mut hosts, between)).collect();
                flows.push(Flow::new(between, [first + a, first + b], messages));
            }
        }
        Self { flows, vis, hosts, random, patience: 3_000_000, world }
    }

    /// Takes the events of a host's NIC.
    pub fn events(&self, host: usize) -> Vec<vipl::Event> {
        self.hosts[host].nic.take_events().expect("the NIC answers")
    }

    /// Posts at random times, polls, and checks each message as it arrives, until all have.
    pub fn run(&mut self) {
        let Self { flows, vis, hosts, random, patience, world } = self;
        let limit = world.now() + *patience;
        while !flows.iter().all(Flow::is_done) {
            let done: Vec<_> = flows.iter().map(|flow| flow.done).collect();
            assert!(world.now() < limit, "seed {}: some message never arrives: {done:?}", world.seed);
            let flow = random.random_range(0..flows.len());
            match random.random_range(0..8) {
                0..=1 => flows[flow].post_receive(random, hosts, vis),
                2..=3 => flows[flow].post_send(random, hosts, vis),
                4 => world.run(random.random_range(0..400)),
                // At most to where a timer ends.
                5 => {
                    let then = world.now() + 10_000;
                    world.net.network().skip_to(then);
                }
                _ => world.net.pause(),
            }
            for flow in &mut *flows {
                flow.poll(world, hosts, vis);
            }
        }
    }

    /// When all have arrived: nothing else in memory has changed, and no NIC has anything to report.
    pub fn check(&self) {
        self.check_memory();
        let messages: usize = self.flows.iter().map(|flow| flow.messages.len()).sum();
        for (number, host) in self.hosts.iter().enumerate() {
            for (code, value) in host.nic.counters().expect("counters") {
                let expected = match code.value {
                    counter::MESSAGES_SENT | counter::MESSAGES_RECEIVED => {
                        (messages / self.hosts.len()) as u64
                    }
                    _ if ["FRAMES_", "ACKS_", "BYTES_"].iter().any(|kind| code.name.starts_with(kind)) => {
                        continue
                    }
                    _ => 0,
                };
                assert_eq!(value, expected, "seed {}: {} of NIC {number}", self.world.seed, code.name);
            }
        }
    }

    /// The same on a network that loses frames: what the NICs had to do about it is not looked at, only that each
    /// message went out and came in once.
    pub fn check_memory(&self) {
        self.world.settle();
        let messages: usize = self.flows.iter().map(|flow| flow.messages.len()).sum();
        for (number, host) in self.hosts.iter().enumerate() {
            let sink = difference(&host.sink.snapshot(), &host.sink_expected);
            assert_eq!(sink, None, "where host {number} receives");
            let source = difference(&host.source.snapshot(), &host.source_expected);
            assert_eq!(source, None, "where host {number} sends from");
            for code in [counter::MESSAGES_SENT, counter::MESSAGES_RECEIVED] {
                let counted = self.world.counter(number, code);
                assert_eq!(counted, (messages / self.hosts.len()) as u64, "counter {code} of NIC {number}");
            }
            assert_eq!(host.nic.take_events().expect("events"), []);
        }
        self.world.check();
    }
}
