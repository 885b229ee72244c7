//! Frames that nobody's NIC sends, at an RTL NIC and at a model: what each of them counts, answers, writes and gives to
//! the raw channel is the same (docs/semantics.md, "Frames that arrive (FRAME)").

use rand::{seq::IndexedRandom, Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::{ConnectionInfo, Mac, Service};
use viaduct_driver::agent::raw::{Filter, RawChannel};
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::kernel_agent::{Event, MemoryAttributes};
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::wire::{opcode, ETHERNET_BYTES, HEADER_BYTES, ICRC_BYTES};
use viaduct_tests::frame::{seal, Frame, BTH, IP, UDP};
use viaduct_tests::raw::{Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, seeds, Counters, Host, World};

/// Counters that tell of a packet which took its PSN.
const TAKEN: [&str; 4] = ["MESSAGES_RECEIVED", "BYTES_RECEIVED", "READS_SERVED", "DROP_PARTIAL"];

/// Where the strangers go: from one VI's host to the other's, and the memory that the other VI opens.
struct Target {
    from: ConnectionInfo,
    to: ConnectionInfo,
    region: Region,
    /// PSN of the next packet, as far as a stranger can know.
    psn: u32,
}

/// A frame that is wrong somewhere, or right and not asked for; and its PSN.
fn stranger(random: &mut ChaCha8Rng, target: &Target) -> (Vec<u8>, u32) {
    let Target { from, to, region, psn } = target;
    let reliable = from.service.is_reliable();
    let opcode = match random.random_range(0..10) {
        0..7 if reliable => random.random_range(opcode::RC_SEND_FIRST..=opcode::RC_ACKNOWLEDGE),
        0..8 => random.random_range(opcode::UC_SEND_FIRST..=opcode::UC_WRITE_ONLY_IMMEDIATE),
        8 => *[opcode::UD_SEND_ONLY, opcode::CONGESTION].choose(random).expect("two"),
        _ => random.random(),
    };
    let psn = psn.wrapping_add([0, 0, 0, 1, 2][random.random_range(0..5)]);
    let length = match random.random_range(0..10) {
        0 => random.random_range(4090..4170),
        1 => 1024,
        _ => random.random_range(0..40),
    };
    let payload: Vec<u8> = (0..length).map(|_| random.random()).collect();
    let mut body = Vec::new();
    if random.random_ratio(7, 8) {
        let (reth, immediate) = headers(opcode);
        if reth {
            let address = region.address + random.random_range(0..64);
            let rkey = region.handle ^ u32::from(random.random_ratio(1, 8)) << 16;
            let all = [length, length, length, 2 * length, region.length as usize][random.random_range(0..5)];
            body.extend(address.to_be_bytes());
            body.extend([rkey.to_be_bytes(), (all as u32).to_be_bytes()].concat());
        }
        body.extend(immediate.then_some([9; 4]).into_iter().flatten());
    }
    // A read asks, and brings nothing.
    body.extend(if opcode == opcode::RC_READ_REQUEST && random.random_ratio(7, 8) {
        vec![]
    } else {
        payload
    });
    let mut frame = Frame::new(from, to, opcode, psn, &body);
    frame.ack_request = random.random();
    match random.random_range(0..24) {
        0 => frame.macs[0] = Mac([0xFF; 6]),
        1 => frame.macs[0] = Mac([3, 0, 0, 0, 0, 9]),
        2 => frame.macs[0] = Mac([2, 0, 0, 0, 0, 9]),
        3 => frame.ips[1] = [10, 0, 0, 9].into(),
        4 => frame.ports[1] = 4792,
        5 => frame.version = 1,
        6 => frame.pkey ^= 1 << random.random_range(0..16),
        7 => frame.queue_pair ^= 1 << random.random_range(0..24),
        8 | 9 => frame.queue_pair = 1,
        _ => {}
    }
    let mut bytes = frame.bytes();
    if random.random_ratio(1, 6) {
        bytes[IP + 1] = 3;
    }
    if random.random_ratio(1, 6) {
        spoil(random, &mut bytes);
    }
    // Sealed where it says that it ends, if it can end there.
    let end = IP + usize::from(u16::from_be_bytes([bytes[IP + 2], bytes[IP + 3]]));
    let sealed = if (HEADER_BYTES + ICRC_BYTES..bytes.len()).contains(&end) { end } else { bytes.len() };
    seal(&mut bytes[..sealed]);
    match random.random_range(0..24) {
        0 => bytes.truncate(random.random_range(1..bytes.len())),
        1 => {
            let at = random.random_range(ETHERNET_BYTES..bytes.len());
            bytes[at] ^= 1 << random.random_range(0..8);
        }
        2 => bytes.extend([0x77; 11]),
        _ => {}
    }
    if bytes.len() >= ETHERNET_BYTES && random.random_ratio(1, 6) {
        bytes.splice(12..12, [0x81, 0, 0x20, 5]);
    }
    (bytes, psn)
}

/// Whether an opcode has a RETH, and immediate data.
fn headers(opcode: u8) -> (bool, bool) {
    match opcode & !opcode::UC_SEND_FIRST {
        opcode::RC_WRITE_FIRST | opcode::RC_WRITE_ONLY | opcode::RC_READ_REQUEST => (true, false),
        opcode::RC_WRITE_ONLY_IMMEDIATE => (true, true),
        opcode::RC_SEND_LAST_IMMEDIATE | opcode::RC_SEND_ONLY_IMMEDIATE | opcode::RC_WRITE_LAST_IMMEDIATE => {
            (false, true)
        }
        _ => (false, false),
    }
}

/// Another value in a header.
fn spoil(random: &mut ChaCha8Rng, bytes: &mut [u8]) {
    let length = u16::from_be_bytes([bytes[IP + 2], bytes[IP + 3]]);
    match random.random_range(0..5) {
        // Both lengths, one of them, the pad, anything.
        0 => {
            let other = length.wrapping_add_signed(random.random_range(-12..12));
            bytes[IP + 2..IP + 4].copy_from_slice(&other.to_be_bytes());
            bytes[UDP + 4..UDP + 6].copy_from_slice(&other.wrapping_sub(20).to_be_bytes());
        }
        1 => bytes[UDP + 5] ^= 4,
        2 => bytes[BTH + 1] ^= 0x10 << random.random_range(0..2),
        _ => bytes[random.random_range(IP..HEADER_BYTES)] = random.random(),
    }
}

/// What comes of a frame: counters moved on both hosts, both VIs' states, events, and what the raw channel has got.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    counted: [Vec<(&'static str, u64)>; 2],
    states: [ViState; 2],
    events: [Vec<Event>; 2],
    /// Whether it is the frame, each.
    raw: Vec<bool>,
    /// Of the receives.
    completions: Vec<Completion>,
    memory: Vec<u8>,
}

/// Two hosts with NICs of one kind, two VIs, and the second host's raw channel if it is open.
struct Place {
    vis: [RawVi; 2],
    /// The second one's.
    receives: Vec<usize>,
    target: Target,
    channel: Option<RawChannel>,
    counters: [Counters; 2],
    scene: Scene,
}

impl Place {
    fn new(kind: Kind, seed: u64, service: Service, filter: Option<Filter>) -> Self {
        let mut scene = Scene::on(World::new(&Setup { kinds: vec![kind], ..quick(seed) }));
        let channel = filter.map(|filter| scene.hosts[1].agent.open_raw(filter).expect("a VI is free"));
        let host = &scene.hosts[1];
        let rights = MemoryAttributes { tag: host.tag, rdma_write: true, rdma_read: true };
        let region = host.register_as(0x8000, 0x4000, rights);
        let (vis, receives) = Self::vis(&mut scene, service, true);
        let target = Self::target(&vis, region);
        let counters = [0, 1].map(|nic| scene.world.counters(nic));
        Self { vis, receives, target, channel, counters, scene }
    }

    /// Two VIs, the second one with a few receives, and open to the first or not.
    fn vis(scene: &mut Scene, service: Service, open: bool) -> ([RawVi; 2], Vec<usize>) {
        let make = if open { RawVi::open } else { RawVi::new };
        let [mut a, mut b] = scene.hosts.each_ref().map(|host| make(host, service, 1024));
        a.connect(&mut b);
        let host = &mut scene.hosts[1];
        let receives = (0..4).map(|_| b.receive(host, &Descriptor::of(host, 0, 2000))).collect();
        scene.world.settle();
        ([a, b], receives)
    }

    fn target(vis: &[RawVi; 2], region: Region) -> Target {
        let [from, to] = vis.each_ref().map(|vi| vi.vi.info());
        Target { psn: to.starting_psn, from, to, region }
    }

    /// Two other VIs.
    fn renew(&mut self, service: Service, open: bool) {
        let (vis, receives) = Self::vis(&mut self.scene, service, open);
        self.receives = receives;
        self.target = Self::target(&vis, self.target.region);
        std::mem::replace(&mut self.vis, vis).into_iter().for_each(|vi| vi.retire(&self.scene.world));
        self.counters = [0, 1].map(|nic| self.scene.world.counters(nic));
    }

    /// A stranger comes to the second host's NIC: the frame, and what comes of it.
    fn visit(&mut self, random: &mut ChaCha8Rng) -> (Vec<u8>, Outcome) {
        let (frame, psn) = stranger(random, &self.target);
        let outcome = self.meet(&frame);
        if outcome.counted[1].iter().any(|(name, _)| TAKEN.contains(name)) {
            self.target.psn = psn.wrapping_add(1);
        }
        (frame, outcome)
    }

    /// A frame comes to the second host's NIC: what comes of it.
    fn meet(&mut self, frame: &[u8]) -> Outcome {
        let scene = &self.scene;
        scene.world.inject(1, frame);
        scene.world.settle();
        let now = [0, 1].map(|nic| scene.world.counters(nic));
        let before = std::mem::replace(&mut self.counters, now);
        let raw = self.channel.iter();
        let raw = raw.flat_map(|channel| std::iter::from_fn(|| channel.receive().expect("it is open")));
        Outcome {
            raw: raw.map(|got| got == frame).collect(),
            counted: [0, 1].map(|nic| {
                let mut counted = self.counters[nic].since(&before[nic]);
                // How many packets of a message are asked for before the first is refused is a NIC's own business.
                counted.iter_mut().filter(|(name, _)| *name == "ACCESS_REFUSED").for_each(|(_, n)| *n = 1);
                counted
            }),
            states: self.vis.each_ref().map(RawVi::state),
            events: [0, 1].map(|host| scene.events(host)),
            completions: self
                .receives
                .iter()
                .map(|place| Completion::read(&scene.hosts[1].memory, *place))
                .collect(),
            memory: scene.hosts[1].memory.read(0, Host::DATA),
        }
    }
}

/// Rules FRAME-3, and RAW-1 and RAW-3 with the channel open.
#[test]
fn rtl_and_model_do_the_same_with_every_frame() {
    let all = Filter { broadcast: true, multicast: true, promiscuous: true };
    let filters = [None, Some(Filter::default()), Some(Filter { promiscuous: false, ..all }), Some(all)];
    for seed in seeds(&[61]) {
        for service in [Service::UnreliableDelivery, Service::ReliableDelivery] {
            for filter in filters {
                println!("seed {seed}, {service:?}, {filter:?}");
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let mut places = [Kind::Rtl, Kind::Model].map(|kind| Place::new(kind, seed, service, filter));
                for n in 0..100 {
                    let state = random.clone();
                    let [(frame, rtl), (_, model)] = places.each_mut().map(|place| {
                        random = state.clone();
                        place.visit(&mut random)
                    });
                    let told = [&rtl, &model].map(Outcome::told);
                    assert!(rtl == model, "frame {n}: RTL, model {told:#?}, frame {frame:02x?}");
                    if n % 20 == 19 || model.states[1] != ViState::Connected {
                        let open = random.random_ratio(3, 4);
                        places.iter_mut().for_each(|place| place.renew(service, open));
                    }
                }
                places.iter_mut().for_each(|place| place.scene.others_go_on());
            }
        }
    }
}

/// A frame that is right but for one byte, cut to every length: whose it is, a field says that it has whole.
/// Rule FRAME-5.
#[test]
fn rtl_and_model_do_the_same_with_frames_of_every_length() {
    let filter = Some(Filter::default());
    let kinds = [Kind::Rtl, Kind::Model];
    let mut places = kinds.map(|kind| Place::new(kind, 62, Service::UnreliableDelivery, filter));
    // Version, fragment, protocol, both halves of the IP address, port; and nothing.
    let fields = [(IP, 1), (IP + 7, 1), (IP + 9, 1), (IP + 16, 4), (IP + 19, 1), (UDP + 3, 1)];
    for wrong in fields.map(Some).into_iter().chain([None]) {
        let [mut taken_raw, mut lengths] = [0, 0];
        for length in 1..HEADER_BYTES + ICRC_BYTES + 4 {
            let [rtl, model] = places.each_mut().map(|place| {
                let Target { from, to, psn, .. } = &place.target;
                let mut frame = Frame::new(from, to, opcode::UC_SEND_ONLY, *psn, &[5; 4]).bytes();
                wrong.into_iter().for_each(|(at, _)| frame[at] ^= 0x11);
                place.meet(&frame[..length])
            });
            let told = [&rtl, &model].map(Outcome::told);
            assert!(rtl == model, "{length} bytes, byte {wrong:?} wrong: RTL, model {told:#?}");
            taken_raw += model.raw.len();
            lengths += 1;
        }
        // The raw channel has what is another's from the end of the field on.
        let expected = wrong.map_or(0, |(at, more)| lengths + 1 - (at + more));
        assert_eq!(taken_raw, expected, "byte {wrong:?} wrong");
    }
    places.iter_mut().for_each(|place| place.scene.others_go_on());
}

impl Outcome {
    /// All but the memory.
    fn told(&self) -> String {
        format!(
            "{:?}, {:?}, {:?}, raw {:?}, {:?}",
            self.counted, self.states, self.events, self.raw, self.completions
        )
    }
}
