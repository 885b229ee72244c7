//! Random messages through the library: descriptors of all shapes, several virtual interfaces at once,
//! in both directions. Every byte of memory is looked at: what was to be written, and all that was not.

mod flow;
mod host;
mod message;
mod posted;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::setup::Setup;
use viaduct_spec::register::counter;
use vipl::{Descriptor, Error, Mtu, Ptag, ReliabilityLevel, Vi, ViAttributes};

use crate::memory::difference;
use crate::world::World;
use flow::Flow;
use host::Host;
use message::message;

/// Descriptors that a queue holds.
const DEPTH: usize = 16;

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
