//! The reads of this side, alone: what an answer is told as.

use viaduct_hdl::bus::{local, Answer, Commit, ReadSent};
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::{self, ReadPlaced, ReadTarget, Reads};
use viaduct_spec::tables::table;
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const FIRST: (bool, bool) = (true, false);
const MIDDLE: (bool, bool) = (false, false);
const LAST: (bool, bool) = (false, true);
const ONLY: (bool, bool) = (true, true);

/// What an answer is told as: PSN, syndrome, and where its payload goes: segment, position, first of its descriptor.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    psn: u64,
    syndrome: u8,
    job: Option<(u64, u64, bool)>,
}

fn told(psn: u64, syndrome: u8) -> Option<Told> {
    Some(Told { psn, syndrome, job: None })
}

fn placed(psn: u64, index: u64, position: u64, fresh: bool) -> Option<Told> {
    Some(Told { psn, syndrome: syndrome::ACK, job: Some((index, position, fresh)) })
}

struct World(Bench);

impl World {
    fn new() -> Self {
        let mut world = Self(Bench::new("reads", &verilog(Reads::default())));
        for vi in [4, 60] {
            Bundle::of::<Commit>("commit")
                .set(&mut world.0, &[("target", table::RECEIVE.into()), ("row", vi)]);
            world.0.set("commit_valid", 1);
            world.until("commit_ready");
            world.0.tick();
            world.0.set("commit_valid", 0);
            world.0.tick();
        }
        world
    }

    #[track_caller]
    fn until(&mut self, port: &str) {
        for _ in 0..20 {
            self.0.eval();
            if self.0.get(port) == 1 {
                return;
            }
            self.0.tick();
        }
        panic!("no {port}");
    }

    fn send(&mut self, vi: u64, number: u64, psn: u64, length: u64) {
        let values = [("vi", vi), ("number", number), ("psn", psn), ("length", length)];
        let place = [("region", 9), ("offset", 0x3_1234_5678), ("segments", 3)];
        Bundle::of::<ReadSent>("sent").set(&mut self.0, &[&values[..], &place[..]].concat());
        self.0.set("sent_valid", 1);
        self.until("sent_ready");
        self.0.tick();
        self.0.set("sent_valid", 0);
    }

    #[track_caller]
    fn answer(&mut self, values: &[(&str, u64)]) -> Option<Told> {
        Bundle::of::<Answer>("answer").set(&mut self.0, values);
        self.0.set("answer_valid", 1);
        self.until("told_valid");
        let bundle = Bundle::of::<receive::Told>("told");
        let get = |name: &str| bundle.get(&self.0, &format!("word.{name}"));
        let keep = bundle.get(&self.0, "keep") == 1;
        let target = Bundle::of::<ReadTarget>("target");
        let target = |name| target.get(&self.0, name);
        assert_eq!(get("vi"), values[0].1);
        let told = Told {
            psn: get("psn"),
            syndrome: get("syndrome") as u8,
            job: (keep && bundle.get(&self.0, "data") == 1).then(|| {
                assert_eq!((target("region"), target("offset"), target("segments")), (9, 0x3_1234_5678, 3));
                (target("index"), target("position"), target("fresh") == 1)
            }),
        };
        self.0.set("answer_valid", u64::from(keep && told.job.is_some()));
        self.0.tick();
        keep.then_some(told)
    }

    /// A packet of an answer; its payload ends in segment 2, as many bytes on as the PSN says.
    #[track_caller]
    fn response(&mut self, vi: u64, psn: u64, place: (bool, bool), length: u64) -> Option<Told> {
        let told = self.answer(&[
            ("vi", vi),
            ("response", 1),
            ("first", place.0.into()),
            ("last", place.1.into()),
            ("psn", psn),
            ("length", length),
            ("syndrome", syndrome::ACK.into()),
        ]);
        if told.as_ref().is_some_and(|told| told.job.is_some()) {
            for _ in 0..3 {
                self.0.tick();
            }
            self.0.set("done_valid", 1);
            let done = [("ok", 1), ("index", 2), ("position", psn)];
            Bundle::of::<ReadPlaced>("done").set(&mut self.0, &done);
            self.0.tick();
            self.0.set("done_valid", 0);
            self.0.set("answer_valid", 0);
        }
        told
    }

    #[track_caller]
    fn acknowledge(&mut self, vi: u64, psn: u64, syndrome: u8) -> Option<Told> {
        self.answer(&[("vi", vi), ("psn", psn), ("syndrome", syndrome.into())])
    }
}

/// Rule REQ-3.
#[test]
fn responses_are_taken_at_their_place_only() {
    let mut world = World::new();
    world.send(4, 0, 100, 700);
    world.send(60, 0, 0xff_ffff, 256);
    // Not the place's: opcode, length, PSN of nobody.
    assert_eq!(world.response(4, 100, MIDDLE, 256), None);
    assert_eq!(world.response(4, 100, ONLY, 256), None);
    assert_eq!(world.response(4, 100, FIRST, 255), None);
    assert_eq!(world.response(4, 99, FIRST, 256), None);
    assert_eq!(world.response(4, 100, FIRST, 256), placed(100, 1, 0, true));
    assert_eq!(world.response(60, 0xff_ffff, ONLY, 256), placed(0xff_ffff, 1, 0, true));
    assert_eq!(world.response(60, 0, ONLY, 256), None);
    assert_eq!(world.response(4, 100, FIRST, 256), None, "a duplicate");
    assert_eq!(world.response(4, 101, FIRST, 256), None);
    assert_eq!(world.response(4, 101, MIDDLE, 256), placed(101, 2, 100, false));
    assert_eq!(world.response(4, 102, MIDDLE, 188), None);
    assert_eq!(world.response(4, 102, ONLY, 188), None);
    assert_eq!(world.response(4, 102, LAST, 188), placed(102, 2, 101, false));
    assert_eq!(world.response(4, 102, LAST, 188), None);
    // No bytes, and one.
    world.send(4, 1, 200, 0);
    world.send(4, 2, 201, 1);
    assert_eq!(world.response(4, 200, ONLY, 0), told(200, syndrome::ACK));
    assert_eq!(world.response(4, 201, ONLY, 1), placed(201, 1, 0, true));
}

/// Rule REQ-2.
#[test]
fn what_lies_beyond_a_missing_answer_asks_for_it_once() {
    let mut world = World::new();
    let sequence = syndrome::NAK_SEQUENCE;
    assert_eq!(world.acknowledge(4, 7, syndrome::ACK), told(7, syndrome::ACK), "no read, no matter");
    world.send(4, 0, 100, 1000);
    world.send(4, 1, 104, 256);
    assert_eq!(world.acknowledge(4, 99, syndrome::ACK), told(99, syndrome::ACK));
    assert_eq!(world.response(4, 101, MIDDLE, 256), told(100, sequence));
    assert_eq!(world.response(4, 102, MIDDLE, 256), None);
    assert_eq!(world.acknowledge(4, 120, syndrome::ACK), None);
    // It comes: from then on the next gap counts.
    world.send(4, 0, 100, 1000);
    assert_eq!(world.response(4, 100, FIRST, 256), placed(100, 1, 0, true));
    assert_eq!(world.response(4, 104, ONLY, 256), told(101, sequence));
    assert_eq!(world.response(4, 101, MIDDLE, 256), placed(101, 2, 100, false));
    assert_eq!(world.acknowledge(4, 105, syndrome::ACK), told(102, sequence));
    assert_eq!(world.response(4, 102, MIDDLE, 256), placed(102, 2, 101, false));
    assert_eq!(world.acknowledge(4, 103, syndrome::ACK), told(103, sequence), "a read is not acknowledged");
    assert_eq!(world.response(4, 103, LAST, 232), placed(103, 2, 102, false));
    assert_eq!(world.response(4, 104, ONLY, 256), placed(104, 1, 0, true));
    assert_eq!(world.acknowledge(4, 120, syndrome::ACK), told(120, syndrome::ACK));
}

/// A time-out is the second reason to send it again: what is missed from then on is asked for at once, not with the next time-out.
#[test]
fn an_answer_that_is_lost_twice_is_asked_for_twice() {
    let mut world = World::new();
    let sequence = syndrome::NAK_SEQUENCE;
    world.send(4, 0, 100, 700);
    for _ in 0..3 {
        assert_eq!(world.acknowledge(4, 110, syndrome::ACK), told(100, sequence));
        assert_eq!(world.acknowledge(4, 111, syndrome::ACK), None, "under way when it was asked for");
        // For the implied NAK; its answer is lost, and so is what is behind it.
        world.send(4, 0, 100, 700);
        assert_eq!(world.acknowledge(4, 112, syndrome::ACK), None, "under way all the time");
        // For the time-out.
        world.send(4, 0, 100, 700);
    }
    assert_eq!(world.response(4, 100, FIRST, 256), placed(100, 1, 0, true));
    assert_eq!(world.response(4, 102, LAST, 188), told(101, sequence));
    assert_eq!(world.response(4, 102, LAST, 188), None);
}

/// The request of the implied NAK is the one that asks for what is missing. One that was being made when some of the answer came asks for more,
/// and is not counted.
#[test]
fn a_request_that_was_under_way_is_not_the_one_that_asks_for_what_is_missing() {
    let mut world = World::new();
    let sequence = syndrome::NAK_SEQUENCE;
    world.send(4, 0, 100, 1000);
    assert_eq!(world.response(4, 101, MIDDLE, 256), told(100, sequence));
    assert_eq!(world.response(4, 100, FIRST, 256), placed(100, 1, 0, true));
    assert_eq!(world.response(4, 102, MIDDLE, 256), told(101, sequence));
    // For the first implied NAK, and for the second.
    world.send(4, 0, 100, 1000);
    world.send(4, 0, 101, 744);
    assert_eq!(world.response(4, 103, LAST, 232), None, "asked for once");
    // For a time-out.
    world.send(4, 0, 101, 744);
    assert_eq!(world.response(4, 103, LAST, 232), told(101, sequence));
}

/// Rule REQ-4.
#[test]
fn a_refusal_behind_a_missing_answer_says_so() {
    let mut world = World::new();
    let (access, rnr) = (syndrome::NAK_ACCESS, syndrome::RNR_NAK | 5);
    let behind = |syndrome: u8| local::BEHIND as u8 | syndrome & 3;
    world.send(4, 0, 100, 1000);
    assert_eq!(world.acknowledge(4, 98, rnr), told(98, rnr));
    assert_eq!(world.acknowledge(4, 100, access), told(100, access));
    assert_eq!(world.response(4, 100, FIRST, 256), placed(100, 1, 0, true));
    for refusal in [syndrome::NAK_INVALID, access, syndrome::NAK_OPERATIONAL] {
        assert_eq!(world.acknowledge(4, 103, refusal), told(103, behind(refusal)));
    }
    // Codes that nobody has defined, the lowest bits of which look like others'.
    for unknown in 4..32 {
        let (before, beyond) =
            (told(100, syndrome::NAK_OPERATIONAL), told(103, behind(syndrome::NAK_OPERATIONAL)));
        assert_eq!(world.acknowledge(4, 100, syndrome::NAK_SEQUENCE | unknown), before, "{unknown}");
        assert_eq!(world.acknowledge(4, 103, syndrome::NAK_SEQUENCE | unknown), beyond, "{unknown}");
    }
    // The highest bit is reserved, and says nothing.
    assert_eq!(world.acknowledge(4, 100, 0x80 | syndrome::NAK_SEQUENCE), told(100, syndrome::NAK_SEQUENCE));
    assert_eq!(world.acknowledge(4, 103, 0x80 | access), told(103, behind(access)));
    assert_eq!(world.acknowledge(4, 110, rnr), told(101, syndrome::NAK_SEQUENCE));
    assert_eq!(world.acknowledge(4, 110, rnr), None);
    assert_eq!(world.acknowledge(4, 90, 0x40), None, "reserved");
}

/// Rule REQ-3.
#[test]
fn a_read_that_is_sent_again_takes_opcodes_of_both() {
    for last in [LAST, ONLY] {
        let mut world = World::new();
        world.send(4, 0, 100, 1200);
        assert_eq!(world.response(4, 100, FIRST, 256), placed(100, 1, 0, true));
        assert_eq!(world.response(4, 101, FIRST, 256), None);
        world.send(4, 0, 100, 1200);
        assert_eq!(world.response(4, 101, FIRST, 256), placed(101, 2, 100, false));
        assert_eq!(world.response(4, 102, MIDDLE, 256), placed(102, 2, 101, false));
        assert_eq!(world.response(4, 103, MIDDLE, 256), placed(103, 2, 102, false));
        assert_eq!(world.response(4, 104, last, 176), placed(104, 2, 103, false));
        // What is answered and comes again changes nothing.
        world.send(4, 0, 100, 1200);
        assert_eq!(world.response(4, 100, FIRST, 256), None);
        // The next read's numbers go round.
        for number in 1..20 {
            world.send(4, number % 8, 1000 + number, 1);
            assert_eq!(world.response(4, 1000 + number, ONLY, 1), placed(1000 + number, 1, 0, true));
        }
    }
}

#[test]
fn a_payload_that_could_not_be_placed_leaves_the_read_where_it_is() {
    let mut world = World::new();
    world.send(4, 0, 100, 20);
    let values = [("vi", 4), ("response", 1), ("first", 1), ("last", 1), ("psn", 100), ("length", 20)];
    assert_eq!(world.answer(&values), placed(100, 1, 0, true));
    Bundle::of::<ReadPlaced>("done").set(&mut world.0, &[("ok", 0)]);
    world.0.set("done_valid", 1);
    world.0.tick();
    world.0.set("done_valid", 0);
    world.0.set("answer_valid", 0);
    assert_eq!(world.response(4, 100, ONLY, 20), placed(100, 1, 0, true));
}
