//! What a drain waits for: the faults and events of before, and not those of later.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::rows::register::EventWord;
use viaduct_hdl::vi::ViState;
use viaduct_spec::register::event_code;
use viaduct_verilate::Bench;

use crate::bundle::{fields, Bundle};
use crate::state::{offer, taken, SOURCES};

/// Cycles in which an event is on its way to the ring.
const WRITING: u64 = 7;

/// A `ViState` whose VIs are idle, with the error ring behind it.
struct Ring {
    dut: Bench,
    /// VIs whose fault is on offer, by source.
    offered: [Option<u64>; 6],
    /// VIs whose event is in the ring or lost.
    told: Vec<u64>,
    /// VI whose fault was taken last.
    taken: u64,
    /// The event on its way, and the cycles until it is there.
    writing: Option<(u64, u64)>,
}

impl Ring {
    fn new() -> Self {
        let mut dut = Bench::new("vi_state", &verilog(ViState::default()));
        for vi in 0..64 {
            let fields = [("target", 0), ("row", vi), ("word0", 0)];
            Bundle::of::<bus::Commit>("commit").set(&mut dut, &fields);
            dut.set("commit_valid", 1);
            while {
                dut.eval();
                dut.get("commit_ready") == 0
            } {
                dut.tick();
            }
            dut.tick();
        }
        dut.set("commit_valid", 0);
        Self { dut, offered: [None; 6], told: vec![], taken: 0, writing: None }
    }

    fn offer(&mut self, source: usize, vi: u64) {
        self.offered[source] = Some(vi);
        let fault =
            fields(&[("vi", vi), ("code", event_code::RECVQ_EMPTY.into()), ("receive", 1), ("breaks", 0)]);
        let fault: Vec<(&str, u64)> = fault.iter().map(|(name, value)| (&**name, *value)).collect();
        Bundle::of::<bus::Fault>(SOURCES[source]).set(&mut self.dut, &fault);
    }

    /// One cycle, in which the ring takes an event or not. Whether `settling` is high in it.
    fn cycle(&mut self, takes: bool) -> bool {
        let valid = self.offered.iter().zip(0..).map(|(fault, bit)| u64::from(fault.is_some()) << bit).sum();
        offer(&mut self.dut, valid);
        self.dut.set("ring_event_ready", u64::from(takes && self.writing.is_none()));
        self.dut.set("event_writing", self.writing.is_some().into());
        self.dut.eval();
        let settling = self.dut.get("settling") == 1;
        let ready = taken(&self.dut);
        // Faults are taken further apart than an event takes to be lost.
        if self.dut.get("count_lost") == 1 {
            self.told.push(self.taken);
        }
        if ready != 0 {
            self.taken = self.offered[ready.trailing_zeros() as usize].take().expect("valid");
        }
        self.writing = match self.writing {
            Some((vi, 0)) => {
                self.told.push(vi);
                None
            }
            Some((vi, left)) => Some((vi, left - 1)),
            None if takes && self.dut.get("ring_event_valid") == 1 => {
                Some((Bundle::of::<EventWord>("ring_event").get(&self.dut, "vi"), WRITING))
            }
            None => None,
        };
        self.dut.tick();
        settling
    }
}

/// Faults come all the time. Those on offer, and the events that wait, when the pulse comes are told when `settling` falls; and it falls,
/// though others keep coming.
/// Rule LIFE-3.
#[test]
fn what_was_there_before_is_in_the_ring_and_what_comes_later_is_not_waited_for() {
    let mut ring = Ring::new();
    let mut random = ChaCha8Rng::seed_from_u64(ring.dut.seed());
    let mut next = 0;
    let mut waited_for = 0;
    for round in 0..200 {
        // A slow ring fills the queue; a quick one empties it.
        let busy = [0.02, 0.3, 1.0][round % 3];
        let rate = [0.0, 0.05, 1.0][round / 3 % 3];
        let mut offer = |ring: &mut Ring, random: &mut ChaCha8Rng| {
            for source in 0..6 {
                // A number is used again when its event is long told.
                if ring.offered[source].is_none() && random.random_bool(rate) {
                    ring.offer(source, next % 64);
                    next += 1;
                }
            }
        };
        for _ in 0..random.random_range(0..200) {
            offer(&mut ring, &mut random);
            ring.cycle(random.random_bool(busy));
        }
        offer(&mut ring, &mut random);
        // The faults of before: those on offer are behind all events that wait.
        ring.told.clear();
        let before: Vec<u64> = ring.offered.iter().flatten().copied().collect();
        ring.dut.set("settle", 1);
        ring.cycle(false);
        ring.dut.set("settle", 0);
        let mut cycles = 0;
        while ring.cycle(random.random_bool(0.5)) {
            offer(&mut ring, &mut random);
            cycles += 1;
            assert!(cycles < 2000, "round {round}: it never ends");
        }
        let missing: Vec<_> = before.iter().filter(|vi| !ring.told.contains(vi)).collect();
        assert!(missing.is_empty(), "round {round}: {missing:?} of {before:?} are neither told nor lost");
        waited_for += before.len();
    }
    assert!(waited_for > 100, "{waited_for} faults were waited for");
}
