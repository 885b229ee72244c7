//! Every counter, raised on purpose: what two RTL NICs and two models count of the same traffic.
//!
//! Each step waits until everything is at rest, so that what is counted depends on the specification and not on how
//! long anything takes.

mod connection;
mod frames;
mod host;
mod losses;
mod messages;

use std::collections::BTreeSet;

use viaduct_driver::address::Service;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::register::{command, command_op, counter, registers};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

use frames::{ghost, raw, strange_frames};
use host::{cq_overrun, half_a_doorbell, interrupt, no_error_ring, refused};
use losses::{lost_acknowledgement, lost_packet, not_ready, partial, twice};
use messages::{no_receive, reads, reliable_messages, too_long, unreliable_messages, writes};

const UNRELIABLE: Service = Service::UnreliableDelivery;
const RELIABLE: Service = Service::ReliableDelivery;
/// PSN of the first packet of reliable connections: far from the next one that asks for an acknowledgement by itself.
const PSN: u32 = 0x10;
/// Where the peer may write and read.
const AT: usize = 0x8000;

/// What these steps cannot raise, and why. `hdl/tests/interrupt/counted.rs` raises them in the whole NIC, but the last.
const NOT_HERE: [(u64, &str); 4] = [
    (counter::DROP_OVERFLOW, "the fabric pauses in time, as the NIC asks"),
    (counter::TLP_DROPPED, "the model has no TLPs, and the host sends none that is wrong"),
    (counter::READS_LOST, "the host answers every read"),
    (counter::COMMAND_IGNORED, "the model's commands take no time"),
];

/// A step of the traffic between hosts 0 and 1, and what it is there for.
type Step = (&'static str, fn(&mut Scene), &'static [u64]);

const STEPS: &[Step] = &[
    (
        "reliable messages",
        reliable_messages,
        &[
            counter::FRAMES_SENT,
            counter::FRAMES_RECEIVED,
            counter::ACKS_SENT,
            counter::ACKS_RECEIVED,
            counter::MESSAGES_SENT,
            counter::MESSAGES_RECEIVED,
            counter::BYTES_SENT,
            counter::BYTES_RECEIVED,
        ],
    ),
    ("unreliable messages", unreliable_messages, &[counter::MESSAGES_SENT, counter::BYTES_RECEIVED]),
    ("RDMA writes", writes, &[counter::MESSAGES_RECEIVED, counter::BYTES_RECEIVED]),
    ("RDMA reads", reads, &[counter::READS_SERVED, counter::BYTES_SENT, counter::BYTES_RECEIVED]),
    ("a packet is lost", lost_packet, &[counter::NAKS_SENT, counter::NAKS_RECEIVED, counter::DROP_PSN]),
    (
        "an acknowledgement is lost",
        lost_acknowledgement,
        &[counter::TIMEOUTS, counter::RETRANSMITTED, counter::DUPLICATES],
    ),
    ("no receive yet", not_ready, &[counter::RNR_SENT, counter::RNR_RECEIVED]),
    ("an answer to nothing", ghost, &[counter::DROP_RESPONSE]),
    ("an unreliable message loses its first packet", partial, &[counter::DROP_PARTIAL]),
    ("an unreliable packet comes twice", twice, &[counter::DROP_PSN]),
    ("an unreliable message without a receive", no_receive, &[counter::DROP_NO_RECEIVE]),
    (
        "longer than the receive",
        too_long,
        &[counter::MESSAGES_SENT, counter::DESCRIPTOR_ERRORS, counter::VIS_BROKEN],
    ),
    (
        "frames that nobody takes",
        strange_frames,
        &[
            counter::DROP_MALFORMED,
            counter::DROP_ICRC,
            counter::DROP_NOT_OURS,
            counter::DROP_BTH,
            counter::DROP_NO_VI,
            counter::CONGESTION,
        ],
    ),
    ("memory that is not the VI's", refused, &[counter::ACCESS_REFUSED]),
    ("half a doorbell", half_a_doorbell, &[counter::DOORBELL_IGNORED]),
    ("a completion queue without room", cq_overrun, &[counter::CQ_OVERRUNS]),
    ("a queue that is armed", interrupt, &[counter::INTERRUPTS]),
    ("the raw channel", raw, &[counter::RAW_RECEIVED, counter::RAW_DROPPED, counter::BYTES_SENT]),
    // From here on there is no error ring.
    ("no error ring", no_error_ring, &[counter::EVENT_LOST]),
];

/// A step's name, and what each NIC has counted in it.
type Counted = (&'static str, [Vec<(&'static str, u64)>; 2]);

/// What each step adds to the counters of both NICs.
fn counted(kind: Kind) -> Vec<Counted> {
    let mut scene = Scene::on(World::new(&Setup { kinds: vec![kind], ..quick(51) }));
    let mut all = Vec::new();
    for (name, step, wanted) in STEPS {
        println!("{kind:?}: {name}");
        let before = [0, 1].map(|nic| scene.world.counters(nic));
        step(&mut scene);
        scene.world.settle();
        scene.world.net.network().fabric_mut().set_faults(Faults::default());
        let more = [0, 1].map(|nic| scene.world.counters(nic).since(&before[nic]));
        for number in *wanted {
            let raised = more.iter().flatten().any(|(counted, _)| *counted == name_of(*number));
            assert!(raised, "{kind:?}: {name} does not raise {}: {more:?}", name_of(*number));
        }
        all.push((*name, more));
    }
    scene.world.check();
    all
}

/// The name of a counter.
fn name_of(number: u64) -> &'static str {
    counter::CODES.codes.iter().find(|code| code.value == number).expect("a counter").name
}

#[test]
fn two_rtl_nics_and_two_models_count_the_same() {
    let [rtl, model] = [Kind::Rtl, Kind::Model].map(counted);
    for (rtl, model) in rtl.iter().zip(&model) {
        assert_eq!(rtl, model, "RTL, model");
    }
    let raised: BTreeSet<&str> =
        model.iter().flat_map(|(_, more)| more.iter().flatten().map(|(name, _)| *name)).collect();
    let missing: BTreeSet<&str> =
        counter::CODES.codes.iter().map(|code| code.name).filter(|name| !raised.contains(name)).collect();
    let excused: BTreeSet<&str> = NOT_HERE.iter().map(|(number, _)| name_of(*number)).collect();
    assert_eq!(missing, excused, "counters that no step raises, and those that have a reason");
}

#[test]
fn the_rtl_counts_what_the_model_cannot() {
    let scene = Scene::on(World::new(&Setup { kinds: vec![Kind::Rtl], ..quick(52) }));
    // Two commands at once.
    let mut order = [0];
    command::OP.put(&mut order, command_op::DRAIN.into());
    for _ in 0..2 {
        scene.hosts[1]
            .device
            .write64(Bar::Registers, registers::COMMAND, order[0])
            .expect("the NIC is there");
    }
    scene.world.settle();
    assert_eq!(scene.world.counter(1, counter::COMMAND_IGNORED), 1);
}
