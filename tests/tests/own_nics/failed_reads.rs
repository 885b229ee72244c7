//! Reads of host memory that bring nothing, of each kind of thing that a NIC reads, at each level, over RTL: the outcome is what
//! docs/semantics.md says (WQ-8).

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::kernel_agent::{Event, MemoryAttributes};
use viaduct_sim::root_complex::{Conditions, ReadFault, Split};
use viaduct_sim::tlp::Request;
use viaduct_spec::descriptor::status;
use viaduct_spec::refusal;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::wire::syndrome;
use viaduct_tests::load::RECEIVED;
use viaduct_tests::raw::{Completion, Descriptor, RawVi, Region, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::sent::SentPackets;
use viaduct_tests::world::World;

use super::unkind_bus::{bus, counters, kind, rtl, READ_TIMEOUT};

const SENT: u32 = status::DONE | status::OP_SEND;
const READ: u32 = status::DONE | status::OP_RDMA_READ;
/// Bytes of each of the three pieces of a message, and of all.
const PIECE: usize = 200;
const ALL: usize = 3 * PIECE;
/// Where the data is, and where it goes.
const FROM: usize = 0x1400;
const TO: usize = 0x4000;
/// What is there before.
const BEFORE: u8 = 0xA5;
/// Bytes of a descriptor that are read first.
const HEAD: usize = 64;

/// The faults, and the ticks that pass when nothing moves any more. Behind the last ones a tag is not used again.
const FAULTS: [(ReadFault, u32); 7] = [
    IN_TIME,
    (ReadFault::Unsupported, 0),
    (ReadFault::Aborted, 0),
    (ReadFault::Poisoned, 0),
    // It comes when nobody waits for it any more.
    (ReadFault::Late(20_000), READ_TIMEOUT),
    (ReadFault::Cut, READ_TIMEOUT),
    (ReadFault::Missing, READ_TIMEOUT),
];
/// One that nobody notices.
const IN_TIME: (ReadFault, u32) = (ReadFault::Late(3000), 0);

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    SendSlot,
    SendHead,
    SendRest,
    SendData,
    ReceiveSlot,
    ReceiveHead,
    ReceiveRest,
    /// An RDMA read's descriptor behind its head, before its request leaves.
    ReadRest,
    /// The same, when the answer has come.
    ReadRestAgain,
    /// What the peer's RDMA read asks for.
    Answer,
}

use Wanted::*;

const ALL_WANTED: [Wanted; 10] = [
    SendSlot,
    SendHead,
    SendRest,
    SendData,
    ReceiveSlot,
    ReceiveHead,
    ReceiveRest,
    ReadRest,
    ReadRestAgain,
    Answer,
];

impl Wanted {
    /// The NIC that reads it.
    fn nic(self) -> usize {
        usize::from(matches!(self, ReceiveSlot | ReceiveHead | ReceiveRest | Answer))
    }

    fn is_rdma(self) -> bool {
        matches!(self, ReadRest | ReadRestAgain | Answer)
    }
}

/// Two hosts, of which the first sends to the other, or reads its memory.
struct Stage {
    scene: Scene,
    level: Service,
    wanted: Wanted,
    /// What the second host lets the first one read.
    target: Region,
    /// The packets of the NIC that reads what is wanted.
    sent: SentPackets,
}

/// Two VIs, and the places of the first one's message and of the other one's receive, if there are any.
struct Message {
    vis: [RawVi; 2],
    places: [Option<usize>; 2],
}

/// How a message ends: the status words and lengths of what is complete, the events and the states of the VIs.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    completions: [Option<(u32, u32)>; 2],
    events: [Vec<Event>; 2],
    states: [ViState; 2],
}

impl Stage {
    fn new(wanted: Wanted, level: Service) -> Self {
        let conditions = Conditions { split: Split::Boundary, ..kind() };
        let scene = Scene::on(World::new(&rtl(conditions, 91)));
        let rights = MemoryAttributes { tag: scene.hosts[1].tag, rdma_write: false, rdma_read: true };
        let target = scene.hosts[1].register_as(FROM, ALL, rights);
        let sent = SentPackets::of(&scene.world, wanted.nic());
        Self { scene, level, wanted, target, sent }
    }

    /// Reads of the NIC in question so far.
    fn reads(&self) -> u64 {
        counters(&self.scene.world, self.wanted.nic()).reads
    }

    /// What that NIC has counted of reads that were lost, and of packets that it did not take.
    fn counted(&self) -> [u64; 2] {
        [counter::READS_LOST, counter::TLP_DROPPED]
            .map(|number| self.scene.world.counter(self.wanted.nic(), number))
    }

    /// Three pieces of a host's memory, the last of which the head of a descriptor does not name.
    fn pieces(&self, host: usize, at: usize) -> Descriptor {
        let host = &self.scene.hosts[host];
        (0..3).fold(Descriptor::new(), |made, n| {
            made.segment(host.memory.address(at + 2 * n * PIECE), host.region.handle, PIECE)
        })
    }

    /// Host 1 posts a receive, and host 0 a message, as far as what is wanted needs them.
    fn act(&mut self) -> Message {
        let mut vis = self.scene.hosts.each_ref().map(|host| RawVi::open(host, self.level, 1024));
        let [first, second] = &mut vis;
        first.connect(second);
        let [from, into] = [self.pieces(0, FROM), self.pieces(1, TO)];
        let Scene { world, hosts: [a, b], .. } = &mut self.scene;
        world.settle();
        let mut places = [None; 2];
        if self.wanted.is_rdma() {
            let read = Descriptor::of(a, TO, PIECE)
                .segment(a.memory.address(TO + 2 * PIECE), a.region.handle, 2 * PIECE)
                .read_from(self.target.address, self.target.handle);
            places[0] = Some(first.send(a, &read));
            return Message { vis, places };
        }
        if self.wanted == ReceiveSlot {
            places[1] = Some(second.store(b, Direction::Receive, &into).0);
        }
        let receive = second.receive(b, &into);
        places[1] = places[1].or(Some(receive));
        if self.wanted == SendSlot {
            second.receive(b, &into);
            places[0] = Some(first.store(a, Direction::Send, &from).0);
        }
        world.run(4000);
        if !matches!(self.wanted, ReceiveSlot | ReceiveHead) {
            let send = first.send(a, &from);
            places[0] = places[0].or(Some(send));
        }
        Message { vis, places }
    }

    /// Which of the reads is in question, and its bytes' place and number: of a message of which nothing goes wrong.
    fn find(&mut self) -> (u64, usize, usize) {
        self.scene.world.settle();
        self.sent.take();
        let message = self.act();
        self.scene.world.settle();
        let reads = self.sent.take_reads();
        let memory = &self.scene.hosts[self.wanted.nic()].memory;
        let low = |offset: usize| memory.address(offset) as usize % 0x1000;
        let at = |read: &Request| read.address as usize % 0x1000;
        let head = low(message.places[self.wanted.nic()].unwrap_or(FROM));
        let number = match self.wanted {
            // The second doorbell brings its own token.
            SendSlot | ReceiveSlot => reads.iter().position(|read| read.length < HEAD / 4),
            SendHead | ReceiveHead => reads.iter().position(|read| at(read) == head),
            SendRest | ReceiveRest | ReadRest => reads.iter().position(|read| at(read) == head + HEAD),
            ReadRestAgain => reads.iter().rposition(|read| at(read) == head + HEAD),
            SendData | Answer => reads.iter().position(|read| at(read) == low(FROM)),
        };
        let number = number.unwrap_or_else(|| panic!("{:?} is not read: {reads:x?}", self.wanted));
        self.end(message);
        (number as u64, at(&reads[number]), reads[number].length * 4)
    }

    fn outcome(&self, message: &Message) -> Outcome {
        let completion = |host: usize| {
            let place = message.places[host]?;
            let completion = Completion::read(&self.scene.hosts[host].memory, place);
            completion.is_complete().then_some((completion.status, completion.length))
        };
        Outcome {
            completions: [0, 1].map(completion),
            events: [0, 1].map(|host| self.scene.events(host)),
            states: [0, 1].map(|host| message.vis[host].state()),
        }
    }

    /// What the rules say of a message one of whose reads brings nothing, or comes late but in time.
    fn expected(&self, message: &Message, fails: bool) -> Outcome {
        let [a, b] = &message.vis;
        let lost = [a.event(event_code::CONN_LOST, false, true), b.event(event_code::CONN_LOST, true, true)];
        let refused = |rdma| {
            let reception = self.level == Service::ReliableReception;
            Some(refusal::error(syndrome::NAK_OPERATIONAL, rdma, reception))
                .filter(|_| self.level.is_reliable())
        };
        let (own, received) = (if self.wanted.is_rdma() { READ } else { SENT }, RECEIVED);
        let failed = |operation: u32, error: u32| Some((operation | error, 0));
        let good = |operation: u32| Some((operation, ALL as u32));
        let (completions, events) = match self.wanted {
            ReceiveSlot | ReceiveHead if !fails => ([None; 2], [vec![], vec![]]),
            _ if !fails => ([good(own), message.places[1].and(good(received))], [vec![], vec![]]),
            SendSlot | SendHead => ([None; 2], [vec![a.event(event_code::POST_DESC, false, true)], vec![]]),
            ReceiveSlot | ReceiveHead => {
                ([None; 2], [vec![], vec![b.event(event_code::POST_DESC, true, true)]])
            }
            // The descriptor says it: there is no event.
            SendRest | SendData | ReadRest => {
                ([failed(own, status::TRANSPORT_ERROR), None], [vec![], vec![]])
            }
            ReadRestAgain => ([failed(own, status::TRANSPORT_ERROR), None], [vec![lost[0]], vec![]]),
            Answer => {
                ([refused(true).and_then(|error| failed(own, error)), None], lost.map(|event| vec![event]))
            }
            ReceiveRest => match refused(false) {
                Some(error) => (
                    [failed(own, error), failed(received, status::TRANSPORT_ERROR)],
                    lost.map(|event| vec![event]),
                ),
                None => ([good(own), failed(received, status::TRANSPORT_ERROR)], [vec![], vec![]]),
            },
        };
        let breaks = |host: usize| {
            let by_itself = host == 0 && matches!(self.wanted, SendRest | SendData | ReadRest) && fails;
            !events[host].is_empty() || by_itself && self.level.is_reliable()
        };
        let states = [0, 1].map(|host| if breaks(host) { ViState::Error } else { ViState::Connected });
        Outcome { completions, events, states }
    }

    /// A message one of whose reads fails, or is late.
    fn fail(&mut self, (number, place, bytes): (u64, usize, usize), fault: ReadFault, ticks: u32) {
        let (level, wanted, nic) = (self.level, self.wanted, self.wanted.nic());
        let what = format!("{level}, {wanted:?}, {fault:?}");
        self.scene.world.settle();
        let (before, first) = (self.counted(), self.reads());
        bus(&self.scene.world, nic, |_, bus| bus.set_faults([(first + number, fault)].into()));
        let message = self.act();
        self.scene.world.run(4000);
        assert!(self.reads() > first + number, "{what}: it was not read");
        if ticks != 0 {
            bus(&self.scene.world, nic, |_, bus| bus.pass_ticks(ticks));
        }
        self.scene.world.settle();
        let fails = fault != IN_TIME.0;
        let expected = self.expected(&message, fails);
        assert_eq!(self.outcome(&message), expected, "{what}");
        self.check_data(&expected, &what);
        let dropped = if matches!(fault, ReadFault::Late(_)) && fails {
            (place + bytes).div_ceil(HEAD) - place / HEAD
        } else {
            0
        };
        let more = [0, 1].map(|n| self.counted()[n] - before[n]);
        assert_eq!(more, [u64::from(ticks != 0), dropped as u64], "{what}: lost, and dropped");
        self.end(message);
        self.scene.others_go_on();
    }

    /// What has come is the message's, and all of it if it is complete.
    fn check_data(&self, expected: &Outcome, what: &str) {
        let (from, into) = if self.wanted.is_rdma() { (1, 0) } else { (0, 1) };
        let memory = [from, into].map(|host| &self.scene.hosts[host].memory);
        // A read's answer lies in one piece, and goes into two that lie apart.
        let (gap, pieces) = if self.wanted.is_rdma() { (PIECE, 2) } else { (2 * PIECE, 3) };
        let whole = expected.completions[into].is_some_and(|(status, _)| status & status::ERROR_MASK == 0);
        for n in 0..pieces {
            let last = if self.wanted.is_rdma() && n == 1 { 2 * PIECE } else { PIECE };
            let sent = memory[0].read(FROM + n * gap, last);
            let came = memory[1].read(TO + 2 * n * PIECE, last);
            let nothing = came.iter().all(|byte| *byte == BEFORE);
            assert!(came == sent || nothing && !whole, "{what}: piece {n}");
        }
        for n in 0..2 {
            let between = memory[1].read(TO + (2 * n + 1) * PIECE, PIECE);
            let used = self.wanted.is_rdma() && n == 1;
            assert!(used || between.iter().all(|byte| *byte == BEFORE), "{what}: behind piece {n}");
        }
    }

    /// Its VIs go, and what they brought.
    fn end(&self, message: Message) {
        message.vis.into_iter().for_each(|vi| vi.retire(&self.scene.world));
        (0..2).for_each(|host| drop(self.scene.events(host)));
        let host = &self.scene.hosts[usize::from(!self.wanted.is_rdma())];
        host.memory.write(TO, &[BEFORE; 5 * PIECE]);
    }
}

#[test]
fn a_read_that_brings_nothing_ends_what_it_is_for() {
    let mut met = [0; FAULTS.len()];
    for level in LEVELS {
        for wanted in ALL_WANTED.into_iter().filter(|wanted| level.is_reliable() || !wanted.is_rdma()) {
            let mut stage = Stage::new(wanted, level);
            let read = stage.find();
            for (n, (fault, ticks)) in FAULTS.into_iter().enumerate() {
                // One completion cannot be cut.
                if fault != ReadFault::Cut || read.1 % HEAD + read.2 > HEAD {
                    stage.fail(read, fault, ticks);
                    met[n] += 1;
                }
            }
        }
    }
    println!("{met:?}");
    assert!(met.iter().all(|count| *count > 0), "{met:?}");
}
