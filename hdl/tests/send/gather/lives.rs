//! A VI begins anew while heads of it wait, and while packets of it are on their way.

use rand::Rng;
use viaduct_hdl::bus::{Commit, Packet, SendHead, StateWrite};
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::{gather, table, vi_states};

use super::{setup, Setup};
use crate::port;

/// The VI that begins anew, and the one whose messages are before its own.
const VIS: [u64; 2] = [7, 9];

/// Gather, and what transmit and fetch have seen of it.
struct World {
    setup: Setup,
    packets: Vec<port::Fields>,
    /// Heads that were taken.
    heads: u64,
    /// How probable it is that a packet is taken in a cycle.
    chance: f64,
}

impl World {
    fn step(&mut self) {
        let bench = &mut self.setup.bench;
        let takes = self.setup.rng.random_bool(self.chance);
        bench.set("packet_ready", takes.into());
        bench.eval();
        self.heads += bench.get("head_taken");
        if takes && bench.get("packet_valid") == 1 {
            self.packets.push(port::get::<Packet>(bench, "packet"));
        }
        bench.tick();
    }

    /// Puts a descriptor of one segment without bytes into the inbox.
    fn post(&mut self, vi: u64, offset: u64) {
        self.setup.bench.set("word_valid", 1);
        for word in [0, 1 << 32, 0, 0, 0x1000, 5, 0, 0] {
            self.setup.bench.set("word", word);
            self.step();
        }
        self.setup.bench.set("word_valid", 0);
        let head = [("vi", vi), ("words", 8), ("offset", offset)];
        port::set::<SendHead>(&mut self.setup.bench, "head", &head);
        self.setup.bench.set("head_valid", 1);
        self.step();
        self.setup.bench.set("head_valid", 0);
    }

    fn state(&mut self, vi: u64, state: u8) {
        port::set::<StateWrite>(&mut self.setup.bench, "state", &[("vi", vi), ("state", state.into())]);
        self.setup.bench.set("state_valid", 1);
        self.step();
        self.setup.bench.set("state_valid", 0);
    }

    /// Commits a VI's TRANSMIT row, for as long as it takes.
    fn commit(&mut self, vi: u64) {
        port::set::<Commit>(
            &mut self.setup.bench,
            "commit",
            &[("target", table::TRANSMIT.into()), ("row", vi)],
        );
        self.setup.bench.set("commit_valid", 1);
        let mut taken = false;
        for _ in 0..5000 {
            self.setup.bench.eval();
            taken = self.setup.bench.get("commit_ready") == 1;
            self.step();
            if taken {
                break;
            }
        }
        assert!(taken, "the commit was not taken");
        self.setup.bench.set("commit_valid", 0);
    }

    /// Offsets of the packets of a VI.
    fn offsets(&self, vi: u64) -> Vec<u64> {
        self.packets.iter().filter(|packet| packet["vi"] == vi).map(|packet| packet["offset"]).collect()
    }
}

/// At any time: before the VI's first head is looked at, in the midst of them, behind them.
/// Rule LIFE-2.
#[test]
fn nothing_of_a_life_that_is_over_comes_behind_the_commit() {
    let mut setup = setup();
    setup.bench.set("access_ready", 1);
    for vi in VIS {
        let mut row = [0; 3];
        gather::TAG.put(&mut row, 1);
        gather::MAX_TRANSFER.put(&mut row, 100_000);
        port::commit(&mut setup.bench, table::GATHER, vi, row);
        port::state(&mut setup.bench, vi, vi_states::CONNECTED);
    }
    let mut world = World { setup, packets: vec![], heads: 0, chance: 1.0 };
    let [vi, other] = VIS;
    let (mut forgotten, mut flushed) = (0, 0);
    for round in 0..300u64 {
        (world.packets, world.heads) = (vec![], 0);
        let before = if world.setup.rng.random() {
            world.setup.rng.random_range(0..4)
        } else {
            world.setup.rng.random_range(17..21)
        };
        let old = world.setup.rng.random_range(0..6);
        // As many packets as there is room for, one at check, and two behind it.
        world.chance = 0.0;
        for n in 0..before {
            world.post(other, 1000 + n);
            (0..20).for_each(|_| world.step());
        }
        world.state(vi, vi_states::IDLE);
        (0..old).for_each(|n| world.post(vi, n));
        world.chance = [0.05, 0.3, 1.0][round as usize % 3];
        for _ in 0..world.setup.rng.random_range(0..30) {
            world.step();
        }
        world.commit(vi);
        let past = world.offsets(vi);
        world.state(vi, vi_states::CONNECTED);
        while world.heads + 1 < before + old {
            world.step();
        }
        world.post(vi, 500 + round);
        while world.heads <= before + old || world.setup.bench.get("busy") == 1 {
            world.step();
        }
        // What had become a packet was flushed in its own life; no head of it came behind.
        assert_eq!(past, (0..past.len() as u64).collect::<Vec<_>>(), "round {round}");
        assert_eq!(world.offsets(vi)[past.len()..], [500 + round], "round {round}");
        assert_eq!(world.offsets(other), (1000..1000 + before).collect::<Vec<_>>(), "round {round}");
        for packet in world.packets.iter().filter(|packet| packet["vi"] == vi) {
            let error = if packet["offset"] < 500 { status::DESC_FLUSHED_ERROR } else { 0 };
            assert_eq!((packet["send"], packet["errors"]), (u64::from(error == 0), error.into()));
        }
        forgotten += old - past.len() as u64;
        flushed += past.len();
    }
    println!("{forgotten} heads forgotten, {flushed} flushed");
    assert!(forgotten > 50 && flushed > 100);
}
