//! RDMA reads of many VIs: one packet each, with what is asked for, or parked until there may be one more.

use std::collections::BTreeMap;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::Packet;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{gather, table, transmit, vi_states};
use viaduct_verilate::Bench;

use super::alone::post;
use super::setup;
use crate::port::{self, fields, Fields};

/// Packets of an answer, and bytes of a message, at most.
const MOST: u64 = 1 << 20;
const LARGEST: u64 = 1 << 31;

/// A VI, and how many of its reads have left and are complete, modulo 8.
#[derive(Clone, Debug)]
struct Reader {
    mtu: u64,
    depth: u64,
    issued: u64,
    done: u64,
    parked: bool,
}

struct World {
    bench: Bench,
    rng: ChaCha8Rng,
    readers: BTreeMap<u64, Reader>,
}

/// A read.
#[derive(Clone, Debug)]
struct Read {
    length: u64,
    address: u64,
    rkey: u64,
    fence: bool,
    restart: bool,
    resume: bool,
    skip: u64,
    psn: u64,
    region: u64,
    offset: u64,
}

impl World {
    fn new() -> Self {
        let super::Setup { bench, rng, .. } = setup();
        let mut world = Self { bench, rng, readers: BTreeMap::new() };
        let base = world.rng.random_range(0..1 << VI_LOG2);
        let vis = std::iter::once(base).chain((0..VI_LOG2).map(|bit| base ^ 1 << bit));
        vis.for_each(|vi| world.open(vi));
        world.bench.set("packet_ready", 0);
        world
    }

    /// A VI begins anew.
    fn open(&mut self, vi: u64) {
        let (mtu, depth) = (self.rng.random_range(0..5), self.rng.random_range(1..=4));
        let mut row = [0; 3];
        transmit::READ_DEPTH.put(&mut row, depth);
        port::commit(&mut self.bench, table::TRANSMIT, vi, row);
        let mut row = [0; 3];
        gather::TAG.put(&mut row, 1);
        gather::MTU.put(&mut row, mtu);
        gather::MAX_TRANSFER.put(&mut row, LARGEST);
        gather::RDMA_READ.put(&mut row, 1);
        port::commit(&mut self.bench, table::GATHER, vi, row);
        port::state(&mut self.bench, vi, vi_states::CONNECTED);
        let reader = Reader { mtu: 256 << mtu, depth, issued: 0, done: 0, parked: false };
        self.readers.insert(vi, reader);
    }

    fn read(&mut self, reader: &Reader) -> Read {
        let rng = &mut self.rng;
        let mtu = reader.mtu;
        let length = match rng.random_range(0..6) {
            0 => rng.random_range(0..4),
            1 => mtu * rng.random_range(1..20) + rng.random_range(0..3) - 1,
            2 => (1 << rng.random_range(8..31)) + rng.random_range(0..2) * mtu,
            3 => (MOST * mtu + rng.random_range(0..3) - 1).min(LARGEST),
            4 => mtu << rng.random_range(0..15),
            _ => rng.random_range(0..=LARGEST),
        };
        let restart = rng.random_bool(0.3);
        let packets = length.div_ceil(mtu).max(1);
        let skip = match rng.random_range(0..4) {
            0 => 0,
            1 => packets + rng.random_range(0..3) - 1,
            _ => rng.random_range(0..packets),
        };
        Read {
            length,
            address: rng.random(),
            rkey: rng.random_range(0..1 << 32),
            fence: rng.random_bool(0.1),
            restart,
            resume: restart && rng.random(),
            skip: if restart { skip.min((1 << 23) - 1) } else { 0 },
            psn: rng.random_range(0..1 << 24),
            region: rng.random_range(0..1 << 16),
            offset: rng.random_range(0..1 << 34),
        }
    }

    /// What must come of it; nothing of what is behind one that is parked.
    fn expected(&mut self, vi: u64, read: &Read) -> Option<Fields> {
        let reader = self.readers.get_mut(&vi)?;
        if read.restart {
            reader.parked = false;
            if !read.resume {
                reader.issued = reader.done;
            }
        }
        if reader.parked {
            return None;
        }
        let mut packet = fields(&[
            ("vi", vi),
            ("last", 1),
            ("region", read.region),
            ("offset", read.offset),
            ("operation", control::OP_RDMAREAD.into()),
            ("restart", read.restart.into()),
            ("reply", 0),
            ("lost", 0),
            ("epoch", 0),
            ("first", 1),
            ("has_immediate", 0),
        ]);
        if read.restart {
            packet.insert("psn".into(), read.psn);
        }
        let waiting = (reader.issued + 8 - reader.done) % 8;
        if waiting >= reader.depth || (read.fence && waiting > 0) {
            reader.parked = true;
            packet.remove("has_immediate");
            packet.extend(fields(&[("send", 0), ("parked", 1), ("number", reader.done)]));
            return Some(packet);
        }
        let packets = read.length.div_ceil(reader.mtu).max(1);
        packet.insert("parked".into(), 0);
        let error = if read.skip >= packets {
            status::TRANSPORT_ERROR
        } else if packets - read.skip > MOST {
            status::LENGTH_ERROR
        } else {
            0
        };
        packet.extend(fields(&[("errors", error.into()), ("send", (error == 0).into())]));
        if error == 0 {
            let skipped = read.skip * reader.mtu;
            packet.extend(fields(&[
                ("length", 0),
                ("beyond", packets - read.skip - 1),
                ("immediate", read.length - skipped),
                ("message_length", read.length),
                ("remote_address", read.address.wrapping_add(skipped)),
                ("rkey", read.rkey),
                ("segments", 2),
                ("number", reader.issued),
            ]));
            reader.issued = (reader.issued + 1) % 8;
        }
        Some(packet)
    }

    /// A cycle; who asks is told how many reads of a VI are complete.
    fn eval(&mut self) {
        self.bench.eval();
        let vi = self.bench.get("reads_index");
        let done = self.readers.get(&vi).map_or(0, |reader| reader.done);
        self.bench.set("reads_row", done);
        self.bench.eval();
    }

    fn step(&mut self, vi: u64) {
        let reader = self.readers[&vi].clone();
        let read = self.read(&reader);
        let flags = u64::from(control::OP_RDMAREAD) | if read.fence { u64::from(control::QFENCE) } else { 0 };
        let segment = read.length << 32 | 9 << 16 | 5;
        let words = [0, flags << 48 | 2 << 32, 0, read.length, read.address, read.rkey, 0x2000, segment];
        let head = [
            ("vi", vi),
            ("words", 8),
            ("region", read.region),
            ("offset", read.offset),
            ("restart", read.restart.into()),
            ("resume", read.resume.into()),
            ("skip", read.skip),
            ("psn", read.psn),
        ];
        post(&mut self.bench, words, &head);
        let expected = self.expected(vi, &read);
        let (mut packet, mut taken) = (None, 0);
        for _ in 0..200 {
            self.eval();
            taken += self.bench.get("head_taken");
            if self.bench.get("packet_valid") == 1 {
                assert!(packet.is_none(), "two packets of a read");
                packet = Some(port::get::<Packet>(&self.bench, "packet"));
                self.bench.set("packet_ready", 1);
            }
            assert_eq!((self.bench.get("access_valid"), self.bench.get("whole_valid")), (0, 0));
            self.bench.tick();
            self.bench.set("packet_ready", 0);
            if taken == 1 && packet.is_some() == expected.is_some() {
                break;
            }
        }
        assert_eq!(taken, 1);
        assert_eq!(packet.is_some(), expected.is_some(), "{read:?} of {reader:?}");
        for (packet, expected) in packet.iter().zip(&expected) {
            for (name, value) in expected {
                assert_eq!(packet[name], *value, "field {name}: {read:?} of {reader:?}, got {packet:?}");
            }
        }
        (0..4).for_each(|_| self.bench.tick());
    }
}

/// Rules REQ-8; REQ-9 and WQ-5: which of them wait; and REQ-1: the most packets of an answer.
#[test]
fn every_read_asks_for_what_is_left_of_it() {
    let mut world = World::new();
    let vis: Vec<u64> = world.readers.keys().copied().collect();
    for _ in 0..2500 {
        let vi = *vis.choose(&mut world.rng).unwrap();
        if world.rng.random_bool(0.02) {
            world.open(vi);
        }
        if world.rng.random_bool(0.5) {
            // Some of those that have left are complete.
            let steps = world.rng.random_range(0..4);
            let reader = world.readers.get_mut(&vi).unwrap();
            let waiting = (reader.issued + 8 - reader.done) % 8;
            reader.done = (reader.done + waiting.min(steps)) % 8;
        }
        world.step(vi);
    }
}
