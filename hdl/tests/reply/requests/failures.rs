//! Packets of an answer that cannot be read: what is said of them, and what becomes of the VI's other answers.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::AckRequest;
use viaduct_spec::profile::VIS;
use viaduct_spec::wire::syndrome;

use super::{read, Read, World};
use crate::bundle::Bundle;

impl World {
    /// A packet cannot be read: the NAK that answers it waits as it came, until it is taken.
    #[track_caller]
    fn fail(&mut self, nak: [(&str, u64); 5]) {
        let (failed, word) = (Bundle::of::<AckRequest>("failed"), Bundle::of::<AckRequest>("word"));
        failed.set(&mut self.dut, &nak);
        self.dut.set("failed_valid", 1);
        self.dut.set("word_ready", 0);
        self.until("failed_ready");
        self.tick();
        self.dut.set("failed_valid", 0);
        failed.set(&mut self.dut, &[]);
        self.until("word_valid");
        for _ in 0..3 {
            for (name, value) in nak {
                assert_eq!(word.get(&self.dut, name), value, "{name}");
            }
            self.tick();
        }
        self.dut.set("word_ready", 1);
        self.tick();
    }
}

/// Whatever NAK a packet that cannot be read is answered by: it waits for `ack` as it came.
#[test]
fn a_nak_is_told_as_it_came() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.dut.seed());
    for _ in 0..50 {
        let fields =
            [("vi", VIS as u64), ("psn", 1 << 24), ("msn", 1 << 24), ("syndrome", 1 << 8), ("kind", 4)];
        let nak = fields.map(|(name, end)| (name, random.random_range(0..end)));
        world.fail(nak);
    }
}

#[test]
fn a_packet_that_cannot_be_read_ends_its_vis_answers() {
    let mut world = World::new();
    world.open(1, 0, 4);
    world.open(6, 0, 4);
    assert_eq!(world.ask(read(1, 50, 2000)), Some(8));
    assert_eq!(world.ask(read(6, 10, 300)), Some(2));
    let before: Vec<_> = (0..2).filter_map(|_| world.take()).collect();
    assert_eq!(before.len(), 2);
    let nak = [("vi", 1), ("psn", 50), ("msn", 6), ("syndrome", syndrome::NAK_ACCESS.into()), ("kind", 1)];
    world.fail(nak);
    assert!(!world.held(1));
    // At most one of VI 1 was on show already.
    let after: Vec<_> = std::iter::from_fn(|| world.take()).map(|piece| piece.vi).collect();
    assert!(after.iter().filter(|vi| **vi == 1).count() <= 1, "{after:?}");
    let sixth = before.iter().filter(|piece| piece.vi == 6).count();
    assert_eq!(after.iter().filter(|vi| **vi == 6).count() + sixth, 2);
    for _ in 0..2 + after.len() {
        world.gone();
    }
    assert!(!world.held(6));
    world.dut.eval();
    assert_eq!(world.dut.get("busy"), 0);
    // Nothing of it is known any more.
    assert_eq!(world.ask(Read { again: true, ..read(1, 50, 2000) }), None);
}
