//! Several descriptors at once, over simulated NICs, models and RTL: posted with one doorbell, and taken by completion queues.

use std::{
    collections::VecDeque,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{channel, Receiver, Sender, TryRecvError},
        Mutex,
    },
    thread::yield_now,
    time::{Duration, Instant},
};

use via::{
    Completion, Cq, Descriptor, Direction, Error, MemAttributes, Nic, Region, Status, Vi, ViAttributes,
};

use crate::common::Simulator;

const LONG: Option<Duration> = Some(Duration::from_secs(30));
const BYTES: usize = 1 << 16;
/// Bytes of each message, and between two places of data.
const LENGTH: usize = 600;
const PLACE: usize = 1024;
/// Descriptors come before all data.
const DATA: usize = 1 << 14;

/// A program on one of the NICs.
struct Program {
    nic: Nic,
    memory: Region,
    vi: Vi,
}

impl Program {
    fn on(simulator: &Simulator, nic: usize, depth: usize) -> Self {
        let nic = Nic::open(&simulator.nic(nic)).expect("it is there");
        let ptag = nic.create_ptag().expect("a tag");
        let memory = nic.allocate(BYTES, &MemAttributes::new(&ptag)).expect("memory");
        let vi = nic.create_vi(&ViAttributes { depth, ..ViAttributes::new(&ptag) }).expect("a VI");
        Self { nic, memory, vi }
    }

    /// Descriptors of one segment each, at these places. Some that are far apart have the same data.
    fn several(&self, places: std::ops::Range<usize>) -> VecDeque<Descriptor> {
        let build = |place: usize| {
            let one = Descriptor::new().segment(&self.memory, DATA + PLACE * (place % 40), LENGTH);
            one.and_then(|one| one.build(&self.memory, 64 * place)).expect("a place")
        };
        places.map(build).collect()
    }

    /// What was asked of the NIC before this returns has found every doorbell rung.
    fn settle(&self) {
        self.nic.check().expect("it answers");
    }
}

fn connect(a: &Vi, b: &Vi) {
    let (to_a, to_b) = (a.connection_info(), b.connection_info());
    a.connect(&to_b).expect("idle");
    b.connect(&to_a).expect("idle");
}

#[test]
fn descriptors_posted_at_once_are_executed_in_their_order() {
    const MANY: usize = 16;
    for simulator in Simulator::of_each_kind() {
        let (a, b) = (Program::on(&simulator, 0, MANY), Program::on(&simulator, 1, MANY));
        connect(&a.vi, &b.vi);
        // A doorbell goes over the end of the ring, and one is for all slots of it.
        let mut sent = 0;
        for count in [5, MANY, 9, MANY, MANY] {
            b.vi.post_recv_many(&mut b.several(0..count)).expect("room");
            b.settle();
            for place in 0..count {
                let message = vec![(sent + place) as u8; LENGTH];
                a.memory.write(DATA + PLACE * place, &message).expect("inside");
            }
            a.vi.post_send_many(&mut a.several(0..count)).expect("room");
            for place in 0..count {
                let taken = a.vi.send_wait(LONG).expect("it completes");
                assert_eq!((taken.offset(), taken.length()), (64 * place, LENGTH));
                let taken = b.vi.recv_wait(LONG).expect("it completes");
                assert_eq!((taken.offset(), taken.length()), (64 * place, LENGTH));
                let mut message = vec![0; LENGTH];
                b.memory.read(DATA + PLACE * place, &mut message).expect("inside");
                assert_eq!(message, vec![(sent + place) as u8; LENGTH]);
            }
            sent += count;
        }
        for program in [&a, &b] {
            program.vi.disconnect().expect("the NIC answers");
        }
    }
}

/// Takes so many descriptors off a completion queue.
fn take(cq: &Cq, count: usize) -> Vec<Completion> {
    let (start, mut taken) = (Instant::now(), Vec::new());
    let mut found = [const { None::<Completion> }; 7];
    while taken.len() < count {
        cq.poll(&mut found).expect("the NIC answers");
        taken.extend(found.iter_mut().filter_map(Option::take));
        assert!(start.elapsed() < Duration::from_secs(60), "{} of {count} have come", taken.len());
    }
    taken
}

#[test]
fn a_completion_queue_gives_the_descriptors_of_all_its_vis() {
    const MESSAGES: usize = 10;
    for simulator in Simulator::of_each_kind() {
        // Two pairs of VIs, with one completion queue on each side.
        let sides = [0, 1].map(|nic| {
            let side = Program::on(&simulator, nic, 16);
            let cq = side.nic.create_cq(64).expect("room");
            let vis = [100, 200].map(|context| {
                let cq = Some(cq.clone());
                let attributes =
                    ViAttributes { send_cq: cq.clone(), receive_cq: cq, context, ..side.vi.attributes() };
                side.nic.create_vi(&attributes).expect("a VI")
            });
            (side, cq, vis)
        });
        let [(a, a_cq, a_vis), (b, b_cq, b_vis)] = &sides;
        for pair in 0..2 {
            connect(&a_vis[pair], &b_vis[pair]);
            let places = MESSAGES * pair..MESSAGES * (pair + 1);
            b_vis[pair].post_recv_many(&mut b.several(places.clone())).expect("room");
            b.settle();
            a_vis[pair].post_send_many(&mut a.several(places)).expect("room");
        }
        for (cq, vis, direction) in [(a_cq, a_vis, Direction::Send), (b_cq, b_vis, Direction::Receive)] {
            let taken = take(cq, 2 * MESSAGES);
            for (pair, vi) in vis.iter().enumerate() {
                let of_pair = taken.iter().filter(|completion| completion.vi == vi.id());
                let is_right = |completion: &Completion| {
                    completion.context == vi.context()
                        && completion.direction == direction
                        && !completion.descriptor.status().is_error()
                };
                assert!(of_pair.clone().all(is_right), "{taken:?}");
                let places = of_pair.map(|completion| completion.descriptor.offset() / 64);
                assert!(places.eq(MESSAGES * pair..MESSAGES * (pair + 1)), "in their order");
            }
            assert!(matches!(cq.done(), Err(Error::NotDone)));
        }
        // A receive that is flushed is no less one of them.
        b_vis[0].post_recv_many(&mut b.several(0..3)).expect("room");
        b_vis[0].disconnect().expect("the NIC answers");
        for (place, completion) in take(b_cq, 3).into_iter().enumerate() {
            assert_eq!(
                (completion.direction, completion.descriptor.offset()),
                (Direction::Receive, 64 * place)
            );
            assert!(completion.descriptor.status().contains(Status::DESC_FLUSHED_ERROR));
        }
        for vi in [&a_vis[0], &a_vis[1], &b_vis[1]] {
            vi.disconnect().expect("the NIC answers");
        }
    }
}

/// A VI whose sends go round: posted, flushed because the VI is idle, taken by somebody, and back.
struct Wheel {
    vi: Vi,
    back: Sender<Descriptor>,
    /// Whoever posts has it.
    free: Mutex<Receiver<Descriptor>>,
}

#[test]
fn each_descriptor_comes_to_one_of_those_who_take_while_others_post_and_change_the_vis() {
    const VIS: usize = 3;
    const EACH: usize = 24;
    const TAKEN: usize = 6000;
    let simulator = Simulator::start();
    let program = Program::on(&simulator, 0, 32);
    // For the entries of all that are ever taken: who takes descriptors by `done` leaves their entries.
    let cq = program.nic.create_cq(2 * TAKEN).expect("room");
    let wheels: Vec<Wheel> = (0..VIS)
        .map(|context| {
            let attributes = ViAttributes {
                send_cq: Some(cq.clone()),
                context: context as u64,
                ..program.vi.attributes()
            };
            let vi = program.nic.create_vi(&attributes).expect("a VI");
            let (back, free) = channel();
            let wheel = Wheel { vi, back, free: Mutex::new(free) };
            let places = EACH * context..EACH * (context + 1);
            program.several(places).into_iter().for_each(|one| wheel.back.send(one).expect("it is there"));
            wheel
        })
        .collect();
    let (taken, is_over, start) = (AtomicUsize::new(0), AtomicBool::new(false), Instant::now());
    let give_back = |context: usize, descriptor: Descriptor| {
        assert_eq!(descriptor.offset() / 64 / EACH, context, "it comes with its own VI");
        wheels[context].back.send(descriptor).expect("it is there");
        taken.fetch_add(1, Ordering::Relaxed);
    };
    // Looks until it is over, in threads of its own.
    let until_over = |turn: &dyn Fn()| {
        while !is_over.load(Ordering::Relaxed) {
            turn();
        }
    };
    let poll = || {
        let mut found = [const { None::<Completion> }; 5];
        cq.poll(&mut found).expect("the NIC answers");
        for completion in found.iter_mut().filter_map(Option::take) {
            give_back(completion.context as usize, completion.descriptor);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                until_over(&|| {
                    poll();
                });
            });
        }
        scope.spawn(|| {
            until_over(&|| {
                for (context, wheel) in wheels.iter().enumerate() {
                    if let Ok(descriptor) = wheel.vi.done(Direction::Send) {
                        give_back(context, descriptor);
                    }
                }
            });
        });
        // It has both queues of a VI, for as long as the NIC takes, and so meets those who have the completion queue's lock.
        scope.spawn(|| {
            until_over(&|| {
                for wheel in &wheels {
                    wheel.vi.set_attributes(&wheel.vi.attributes()).expect("idle");
                    yield_now();
                }
            });
        });
        for wheel in &wheels {
            scope.spawn(move || {
                until_over(&|| {
                    let free = wheel.free.lock().expect("no panic");
                    match free.try_recv() {
                        Ok(descriptor) => wheel.vi.post_send(descriptor).expect("room"),
                        Err(TryRecvError::Empty) => yield_now(),
                        Err(TryRecvError::Disconnected) => unreachable!("the wheel has the other end"),
                    }
                });
            });
        }
        while taken.load(Ordering::Relaxed) < TAKEN && start.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // All that were made are there, whatever became of them.
    for (context, wheel) in wheels.iter().enumerate() {
        let mut places: Vec<usize> = Vec::new();
        let free = wheel.free.lock().expect("no panic");
        while places.len() < EACH {
            poll();
            places.extend(free.try_iter().map(|descriptor| descriptor.offset() / 64));
            assert!(start.elapsed() < Duration::from_secs(180), "{context}: {places:?}");
        }
        places.sort_unstable();
        assert!(places.into_iter().eq(EACH * context..EACH * (context + 1)));
    }
    assert!(taken.load(Ordering::Relaxed) >= TAKEN, "{taken:?} were taken");
}
