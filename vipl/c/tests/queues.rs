//! Several descriptors at once, over two simulated NICs, models and RTL: posted with one doorbell.

use std::{collections::VecDeque, time::Duration};

use via::{Descriptor, MemAttributes, Nic, Region, Vi, ViAttributes};

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

    /// Descriptors of one segment each, at these places.
    fn several(&self, places: std::ops::Range<usize>) -> VecDeque<Descriptor> {
        let build = |place: usize| {
            let one = Descriptor::new().segment(&self.memory, DATA + PLACE * place, LENGTH);
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
