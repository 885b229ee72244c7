//! Packets both ways.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_link::tlp::Tlp;

use super::world::World;

/// Memory writes both ways, which come once and in order.
pub struct Traffic {
    pub count: u32,
    sent: [u32; 2],
    came: [u32; 2],
    /// What has not come yet.
    waits: [VecDeque<Tlp>; 2],
}

impl Traffic {
    /// So many each way.
    pub fn new(count: u32) -> Self {
        Self { count, sent: [0; 2], came: [0; 2], waits: Default::default() }
    }

    /// Sends and takes what it can.
    pub fn step(&mut self, world: &mut World) {
        for way in 0..2 {
            let (up, backlog) = [
                (world.port.is_active(), world.port.backlog()),
                (world.link.is_active(), world.link.backlog()),
            ][way];
            if self.sent[way] < self.count && up && backlog < 8 {
                self.sent[way] += 1;
                let length = world.random.random_range(1..=32);
                let mut tlp = vec![0x4000_0000 | length, 0xff, self.sent[way]];
                tlp.extend((0..length).map(|_| world.random.random::<u32>()));
                self.waits[way].push_back(tlp.clone());
                let taken = if way == 0 { world.port.send(tlp) } else { world.link.send(tlp) };
                taken.expect("the link is up");
            }
        }
        while let Some(tlp) = world.link.receive() {
            self.came(0, &tlp);
        }
        while let Some(tlp) = world.port.receive() {
            self.came(1, &tlp);
        }
    }

    fn came(&mut self, way: usize, tlp: &Tlp) {
        self.came[way] += 1;
        assert_eq!(self.waits[way].pop_front().as_ref(), Some(tlp), "TLP {} of way {way}", self.came[way]);
    }

    /// Everything has come.
    pub fn is_done(&self) -> bool {
        self.came == [self.count; 2]
    }

    /// Runs it to its end, with something else in each cycle.
    #[track_caller]
    pub fn run(&mut self, world: &mut World, cycles: u64, mut each: impl FnMut(&mut World, u64)) {
        for passed in 0..cycles {
            if self.is_done() {
                return;
            }
            self.step(world);
            each(world, passed);
            world.step();
        }
        panic!("{:?} of {} within {cycles} cycles: {:?}", self.came, self.count, world.port.counters());
    }
}
