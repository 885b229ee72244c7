//! Connections that end and begin again, through the library, in the middle of traffic.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::register::counter;
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::Frame;
use viaduct_tests::world::{quick, random_conditions, seeds, World};
use vipl::{
    Descriptor, Error, MemAttributes, Nic, Operation, Region, ReliabilityLevel, Status, Vi, ViAttributes,
    ViState,
};

const LEVELS: [ReliabilityLevel; 3] = [
    ReliabilityLevel::UnreliableDelivery,
    ReliabilityLevel::ReliableDelivery,
    ReliabilityLevel::ReliableReception,
];
/// Descriptors on each queue.
const DEPTH: usize = 8;
/// Bytes of a message.
const MESSAGE: usize = 3000;

/// One end: a NIC, a VI, and memory: data in front, descriptors behind.
struct End {
    vi: Vi,
    memory: Region,
    nic: Nic,
}

impl End {
    const DESCRIPTORS: usize = 64 << 10;

    fn new(nic: &Nic, level: ReliabilityLevel) -> Self {
        let ptag = nic.create_ptag().expect("a tag");
        let memory = nic.allocate(Self::DESCRIPTORS * 2, &MemAttributes::new(&ptag)).expect("memory");
        let attributes = ViAttributes { reliability_level: level, depth: DEPTH, ..ViAttributes::new(&ptag) };
        Self { vi: nic.create_vi(&attributes).expect("a VI"), memory, nic: nic.clone() }
    }

    fn connect(&self, peer: &Self) {
        self.vi.connect(&peer.vi.connection_info()).expect("idle");
        peer.vi.connect(&self.vi.connection_info()).expect("idle");
    }

    /// A descriptor for message `number`, in its own place for sends and for receives.
    fn descriptor(&self, number: usize, receive: bool) -> Descriptor {
        let place = Self::DESCRIPTORS + 64 * (2 * number + usize::from(receive));
        let data = MESSAGE * number + usize::from(receive) * Self::DESCRIPTORS / 2;
        let descriptor = Descriptor::new().segment(&self.memory, data, MESSAGE).expect("inside");
        descriptor.build(&self.memory, place).expect("aligned")
    }
}

/// Takes all off a queue: for each, where it is and how it ended.
fn drain(mut done: impl FnMut() -> Result<Descriptor, Error>) -> Vec<(usize, Status)> {
    let mut ended = Vec::new();
    loop {
        match done() {
            Ok(descriptor) => ended.push((descriptor.offset(), descriptor.status())),
            Err(Error::Descriptor(descriptor)) => ended.push((descriptor.offset(), descriptor.status())),
            Err(Error::Empty) => return ended,
            Err(error) => panic!("{error}"),
        }
    }
}

/// All of a queue is off it, in order: some done, the rest flushed. How many were done.
fn check_flushed(end: &End, ended: &[(usize, Status)], receive: bool) -> usize {
    let places = ended.iter().map(|(place, _)| *place);
    let expected = (0..DEPTH).map(|n| End::DESCRIPTORS + 64 * (2 * n + usize::from(receive)));
    assert!(places.eq(expected), "{}: {ended:?}", end.nic.attributes().name);
    let done = ended.iter().take_while(|(_, status)| *status == Status::DONE).count();
    // A message that was under way is not flushed but broken.
    let broken = |status: Status| {
        [Status::DESC_FLUSHED_ERROR, Status::TRANSPORT_ERROR].contains(&(status - Status::DONE))
    };
    assert!(ended[done..].iter().all(|(_, status)| broken(*status)), "{ended:?}");
    done
}

/// A message from one end to the other, each way.
fn talk(world: &World, ends: [&End; 2], turn: usize) {
    for [from, to] in [ends, [ends[1], ends[0]]] {
        let text = format!("turn {turn}, {} cycles", world.now());
        from.memory.write(0, text.as_bytes()).expect("inside");
        to.vi.post_recv(to.descriptor(0, true)).expect("posted");
        from.vi.post_send(from.descriptor(0, false)).expect("posted");
        let mut received = None;
        world.until("a message", 100_000, || {
            received = to.vi.recv_done().ok();
            received.is_some()
        });
        let received = received.expect("a message");
        assert_eq!((received.operation(), received.length()), (Some(Operation::Receive), MESSAGE));
        let mut bytes = vec![0; text.len()];
        to.memory.read(End::DESCRIPTORS / 2, &mut bytes).expect("inside");
        assert_eq!(String::from_utf8_lossy(&bytes), text);
        world.until("its send", 100_000, || from.vi.send_done().is_ok());
    }
}

/// Rules WQ-4 and LIFE-2.
#[test]
fn a_disconnect_flushes_both_queues_in_order_and_the_next_connection_is_fresh() {
    for seed in seeds(&[1, 2]) {
        let world = World::new(&random_conditions(seed));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let nics = [0, 1].map(|n| world.nic(n));
        for level in LEVELS {
            let ends = [0, 1].map(|n| End::new(&nics[n], level));
            // They talk now and then while the others come and go.
            let others = [0, 1].map(|n| End::new(&nics[n], ReliabilityLevel::ReliableDelivery));
            others[0].connect(&others[1]);
            for turn in 0..4 {
                ends[0].connect(&ends[1]);
                for end in &ends {
                    (0..DEPTH).for_each(|n| end.vi.post_recv(end.descriptor(n, true)).expect("posted"));
                }
                for end in &ends {
                    (0..DEPTH).for_each(|n| end.vi.post_send(end.descriptor(n, false)).expect("posted"));
                }
                world.run(random.random_range(0..6000));
                for end in &ends {
                    end.vi.disconnect().expect("the NIC answers");
                    assert_eq!(end.vi.query().expect("the NIC answers").state, ViState::Idle);
                }
                talk(&world, [&others[0], &others[1]], turn);
                for end in &ends {
                    let sends = check_flushed(end, &drain(|| end.vi.send_done()), false);
                    let receives = check_flushed(end, &drain(|| end.vi.recv_done()), true);
                    println!("{level}, turn {turn}: {sends} sent, {receives} received");
                }
                ends[0].connect(&ends[1]);
                talk(&world, [&ends[0], &ends[1]], turn);
                for end in &ends {
                    end.vi.disconnect().expect("the NIC answers");
                }
            }
            let _ = nics.each_ref().map(|nic| nic.take_events().expect("the NIC answers"));
            world.check();
        }
    }
}

/// Rules LIFE-1; and WQ-4: an idle VI's sends.
#[test]
fn an_idle_virtual_interface_keeps_receives_and_flushes_sends() {
    let world = World::new(&quick(3));
    let nics = [0, 1].map(|n| world.nic(n));
    for level in LEVELS {
        let ends = [0, 1].map(|n| End::new(&nics[n], level));
        for end in &ends {
            (0..DEPTH).for_each(|n| end.vi.post_recv(end.descriptor(n, true)).expect("posted"));
            (0..3).for_each(|n| end.vi.post_send(end.descriptor(n, false)).expect("posted"));
        }
        world.settle();
        for end in &ends {
            let flushed = drain(|| end.vi.send_done());
            assert!(flushed.iter().all(|(_, status)| *status == Status::DONE | Status::DESC_FLUSHED_ERROR));
            assert_eq!(flushed.len(), 3);
            assert!(matches!(end.vi.recv_done(), Err(Error::NotDone)));
        }
        // The receives that were posted before are the connection's.
        ends[0].connect(&ends[1]);
        for [from, to] in [[&ends[0], &ends[1]], [&ends[1], &ends[0]]] {
            (0..DEPTH).for_each(|n| from.vi.post_send(from.descriptor(n, false)).expect("posted"));
            for number in 0..DEPTH {
                let mut received = None;
                world.until("a message", 100_000, || {
                    received = to.vi.recv_done().ok();
                    received.is_some()
                });
                let received = received.expect("a message");
                assert_eq!(received.offset(), End::DESCRIPTORS + 64 * (2 * number + 1));
                assert_eq!(received.length(), MESSAGE);
            }
        }
    }
    world.check();
}

/// Rule WQ-4.
#[test]
fn a_virtual_interface_in_error_flushes_what_is_posted_later() {
    let world = World::new(&quick(4));
    let nics = [0, 1].map(|n| world.nic(n));
    let ends = [0, 1].map(|n| End::new(&nics[n], ReliabilityLevel::ReliableDelivery));
    ends[0].connect(&ends[1]);
    // No receive is posted: both break.
    ends[0].vi.post_send(ends[0].descriptor(0, false)).expect("posted");
    world.settle();
    let broken = Status::DONE | Status::TRANSPORT_ERROR;
    assert!(matches!(ends[0].vi.send_done(), Err(Error::Descriptor(d)) if d.status() == broken));
    for end in &ends {
        assert_eq!(end.vi.query().expect("the NIC answers").state, ViState::Error);
        (0..DEPTH).for_each(|n| end.vi.post_recv(end.descriptor(n, true)).expect("posted"));
        (0..DEPTH).for_each(|n| end.vi.post_send(end.descriptor(n, false)).expect("posted"));
        world.settle();
        for (ended, receive) in [(drain(|| end.vi.send_done()), false), (drain(|| end.vi.recv_done()), true)]
        {
            assert_eq!(check_flushed(end, &ended, receive), 0);
            assert!(ended.iter().all(|(_, status)| *status == Status::DONE | Status::DESC_FLUSHED_ERROR));
        }
        end.vi.disconnect().expect("the NIC answers");
    }
    ends[0].connect(&ends[1]);
    talk(&world, [&ends[0], &ends[1]], 0);
    world.check();
}

/// Rule FRAME-10.
#[test]
fn what_a_former_connection_left_on_the_wire_is_not_the_next_one_s() {
    for level in LEVELS {
        let world = World::new(&quick(5));
        let nics = [0, 1].map(|n| world.nic(n));
        let ends = [0, 1].map(|n| End::new(&nics[n], level));
        let former = ends.each_ref().map(|end| end.vi.connection_info());
        for turn in 0..3 {
            ends[0].connect(&ends[1]);
            talk(&world, [&ends[0], &ends[1]], turn);
            for end in &ends {
                end.vi.disconnect().expect("the NIC answers");
            }
        }
        ends[0].connect(&ends[1]);
        ends[1].vi.post_recv(ends[1].descriptor(0, true)).expect("posted");
        world.settle();
        // Frames of the first connection that some switch has kept until now.
        let only = match level {
            ReliabilityLevel::UnreliableDelivery => opcode::UC_SEND_ONLY,
            _ => opcode::RC_SEND_ONLY,
        };
        for ahead in 0..6 {
            let late = Frame::new(&former[0], &former[1], only, former[1].starting_psn + ahead, &[1; 80]);
            world.inject(1, &late.bytes());
        }
        world.settle();
        assert!(matches!(ends[1].vi.recv_done(), Err(Error::NotDone)), "{level}");
        assert_eq!(world.counter(1, counter::DROP_NO_VI), 6, "{level}");
        ends[0].vi.post_send(ends[0].descriptor(0, false)).expect("posted");
        world.settle();
        assert_eq!(ends[1].vi.recv_done().expect("a message").length(), MESSAGE);
        world.check();
    }
}
