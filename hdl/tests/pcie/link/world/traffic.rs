//! Random TLPs both ways: none may be lost, doubled, wrong or out of order.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::tlp::{Class, Tlp};

use super::pair::Pair;

/// A random TLP with its number in it.
pub fn random_tlp(random: &mut ChaCha8Rng, number: u32, max_payload: u32) -> Tlp {
    let (kind, data) = match random.random_range(0..7) {
        0 | 1 => ([0x40, 0x60][random.random_range(0..2_usize)], true),
        2 => ([0x00, 0x20][random.random_range(0..2_usize)], false),
        3 => (0x4A, true),
        4 => (0x0A, false),
        5 => (0x74, true),
        _ => (0x44, true),
    };
    let length: u32 = match kind {
        0x44 => 1,
        _ if data => random.random_range(1..=max_payload / 4),
        _ => random.random_range(1..=1023),
    };
    let mut tlp = vec![kind << 24 | length, random.random(), number];
    if kind & 0x20 != 0 {
        tlp.push(random.random());
    }
    if data {
        tlp.extend((0..length).map(|_| random.random::<u32>()));
    }
    tlp
}

/// See the module's description.
pub struct Traffic {
    random: ChaCha8Rng,
    max_payload: u32,
    /// TLPs each way.
    pub count: u32,
    down: [VecDeque<Tlp>; 3],
    up: VecDeque<Tlp>,
    pub sent: [u32; 2],
    pub came: [u32; 2],
}

impl Traffic {
    pub fn new(seed: u64, count: u32, max_payload: u32) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let (down, up) = (Default::default(), VecDeque::new());
        Self { random, max_payload, count, down, up, sent: [0; 2], came: [0; 2] }
    }

    /// Sends and takes what it can in this cycle.
    pub fn step(&mut self, pair: &mut Pair) {
        if self.sent[0] < self.count && pair.port.backlog() < 24 && pair.port.is_active() {
            self.sent[0] += 1;
            let tlp = random_tlp(&mut self.random, self.sent[0], self.max_payload);
            self.down[Class::of(tlp[0]).index()].push_back(tlp.clone());
            pair.port.send(tlp).expect("the link is up");
        }
        if self.sent[1] < self.count && pair.device.backlog() < 300 && pair.device.is_active() {
            self.sent[1] += 1;
            let tlp = random_tlp(&mut self.random, self.sent[1], self.max_payload);
            pair.device.send(&tlp);
            self.up.push_back(tlp);
        }
        while let Some(tlp) = pair.device.arrived.pop_front() {
            // The root port lets classes pass one another; order stays within a class, and nothing passes a posted TLP.
            self.came[0] += 1;
            let class = Class::of(tlp[0]);
            let expected = self.down[class.index()].pop_front();
            assert_eq!(expected.as_ref(), Some(&tlp), "TLP {} to the endpoint", self.came[0]);
            if let Some(posted) = self.down[0].front().filter(|_| class != Class::Posted) {
                assert!(tlp[2] < posted[2], "a TLP has passed a posted one");
            }
        }
        while let Some(tlp) = pair.port.receive() {
            self.came[1] += 1;
            assert_eq!(self.up.pop_front().as_ref(), Some(&tlp), "TLP {} from the endpoint", self.came[1]);
        }
    }

    /// Everything has come, and is acknowledged.
    pub fn is_done(&self, pair: &Pair) -> bool {
        self.came == [self.count; 2] && pair.port.backlog() == 0
    }

    /// Runs it to its end, within so many cycles, with something else in each cycle.
    pub fn run(&mut self, pair: &mut Pair, cycles: u64, mut each: impl FnMut(&mut Pair, u64)) -> u64 {
        for passed in 0..cycles {
            if self.is_done(pair) {
                return passed;
            }
            self.step(pair);
            each(pair, passed);
            pair.step();
        }
        panic!(
            "{:?} of {} within {cycles} cycles: {:?} and {:?}, {:?}, {} words wait\n{}",
            self.came,
            self.count,
            pair.port.state(),
            pair.mac.ltssm.state(),
            pair.port.counters(),
            pair.device.backlog(),
            pair.first_violations()
        );
    }
}
