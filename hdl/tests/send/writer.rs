//! The completion writer against a checker and a write engine that take their time.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::bus::{client, Access, AckRequest, Completion, Fault, WriteBeat};
use viaduct_hdl::complete::Writer;
use viaduct_hdl::export::verilog;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{receive, table};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::bundle::{self, fields, Fields};

/// What the writer is expected to do next for a completion.
#[derive(Clone, Debug)]
enum Step {
    Access(Fields, bool),
    Write(Vec<u8>, u64),
    Fault(Fields),
    Request(Fields),
}

fn steps(c: &Fields, tag: u64, refuse_at: Option<usize>) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    let mut refused = false;
    if c["write"] == 1 {
        let mut status = c["length"].to_le_bytes()[..4].to_vec();
        status.extend(&c["status"].to_le_bytes()[..4]);
        let mut writes = vec![(24, status)];
        if c["has_immediate"] == 1 {
            writes.insert(0, (20, c["immediate"].to_le_bytes()[..4].to_vec()));
        }
        for (n, (at, bytes)) in writes.into_iter().enumerate() {
            refused = refuse_at == Some(n);
            let length = bytes.len() as u64;
            let access = fields(&[
                ("address", c["offset"] * 64 + at),
                ("span", length),
                ("length", length),
                ("region", c["region"]),
                ("tag", tag),
                ("by_offset", 1),
                ("system", 0),
                ("write", 1),
                ("clip", 0),
            ]);
            steps.push_back(Step::Access(access, !refused));
            if refused {
                let fault = [
                    ("vi", c["vi"]),
                    ("receive", c["receive"]),
                    ("code", event_code::COMP_PROT.into()),
                    ("breaks", 1),
                ];
                steps.push_back(Step::Fault(fields(&fault)));
                break;
            }
            steps.push_back(Step::Write(bytes, at % 8));
        }
    }
    if c["acknowledge"] == 1 {
        let code = if refused { syndrome::NAK_OPERATIONAL.into() } else { c["syndrome"] };
        let request = [("vi", c["vi"]), ("psn", c["psn"]), ("msn", c["msn"]), ("syndrome", code)];
        steps.push_back(Step::Request(fields(&request)));
    }
    steps
}

fn compare(got: &Fields, expected: &Fields) {
    for (name, value) in expected {
        assert_eq!(got[name], *value, "{name}: expected {expected:x?}, got {got:x?}");
    }
}

#[test]
fn writes_in_place_and_then_acknowledges() {
    let mut bench = Bench::new("writer", &verilog(Writer::default()));
    let mut rng = super::random(&bench);
    let mut tags: Vec<u64> = vec![];
    let mut issued: u64 = 0;
    let (mut made, mut limit, mut done, mut refusals, mut out_of_turn) = (0, 0, 0, 0, 0);
    // Completion on offer at each input, and what is left to do for the one being served.
    let mut offers: [Option<(Fields, Option<usize>)>; 2] = [None, None];
    let mut serving: Option<(usize, VecDeque<Step>)> = None;
    let (mut last, mut both) = (None, false);
    let mut verdict: Option<(u64, bool)> = None;
    while done < 4000 {
        // Every VI gets a new tag now and then, while nothing is under way.
        if done == made && done % 1000 == 0 {
            tags = (0..64).map(|_| rng.random_range(1..1 << 16)).collect();
            for (vi, tag) in tags.iter().enumerate() {
                let mut row = [rng.random(), 0, rng.random()];
                receive::TAG.put(&mut row, *tag);
                receive::GENERATION.put(&mut row, rng.random_range(0..1 << 14));
                bundle::commit(&mut bench, table::RECEIVE, vi as u64, row);
            }
            limit += 1000;
        }
        for (side, port) in ["receive", "send"].into_iter().enumerate() {
            if offers[side].is_none() && made < limit && rng.random_bool(0.3) {
                made += 1;
                let receive = side == 0;
                let list = [
                    ("vi", rng.random_range(0..64)),
                    ("receive", receive.into()),
                    ("write", rng.random_bool(0.9).into()),
                    ("region", rng.random_range(0..1 << 16)),
                    ("offset", rng.random_range(0..1 << 34)),
                    ("length", rng.random_range(0..1 << 32)),
                    ("status", rng.random_range(0..1 << 20)),
                    ("has_immediate", (receive && rng.random()).into()),
                    ("immediate", rng.random_range(0..1 << 32)),
                    ("acknowledge", (receive && rng.random()).into()),
                    ("psn", rng.random_range(0..1 << 24)),
                    ("msn", rng.random_range(0..1 << 24)),
                    ("syndrome", rng.random_range(0..256)),
                ];
                bundle::set::<Completion>(&mut bench, port, &list);
                bench.set(&format!("{port}_valid"), 1);
                offers[side] = Some((fields(&list), rng.random_bool(0.1).then(|| rng.random_range(0..2))));
            }
        }
        for port in ["access_ready", "write_ready", "request_ready", "fault_ready"] {
            bench.set(port, rng.random_bool(0.5).into());
        }
        bench.set("issued", issued & 0xff);
        bench.set("verdict_valid", 0);
        if let Some((at, ok)) = verdict {
            if at <= bench.cycles() {
                bench.set("verdict_valid", 1);
                bench.set("verdict_client", client::COMPLETE);
                bench.set("verdict_ok", ok.into());
                verdict = None;
            }
        } else if rng.random_bool(0.2) {
            bench.set("verdict_valid", 1);
            bench.set("verdict_client", client::SCATTER);
            bench.set("verdict_ok", rng.random_range(0..2));
        }
        bench.eval();
        let happens = |name: &str| bench.get(&format!("{name}_valid")) == 1 && bench.get(&format!("{name}_ready")) == 1;
        if happens("access") {
            let got = bundle::get::<Access>(&bench, "access");
            if serving.is_none() {
                // Which of the two it is shows in what it asks for.
                let side = (0..2)
                    .find(|side| {
                        offers[*side].as_ref().is_some_and(|(c, _)| c["write"] == 1 && c["offset"] == got["address"] >> 6)
                    })
                    .expect("an access nobody asked for");
                let (c, refuse) = offers[side].as_ref().unwrap();
                serving = Some((side, steps(c, tags[c["vi"] as usize], *refuse)));
                out_of_turn += usize::from(both && last == Some(side));
                last = Some(side);
                both = offers.iter().flatten().filter(|(c, _)| c["write"] == 1).count() == 2;
            }
            let Some(Step::Access(expected, ok)) = serving.as_mut().unwrap().1.pop_front() else {
                panic!("an access too many")
            };
            compare(&got, &expected);
            refusals += usize::from(!ok);
            issued += u64::from(ok);
            verdict = Some((bench.cycles() + rng.random_range(1..12), ok));
        }
        if happens("write") {
            let got = bundle::get::<WriteBeat>(&bench, "write");
            let Some(Step::Write(bytes, lane)) = serving.as_mut().and_then(|s| s.1.pop_front()) else {
                panic!("a write too many")
            };
            assert_eq!((got["start"], got["count"]), (lane, bytes.len() as u64));
            assert_eq!(got["data"].to_le_bytes()[lane as usize..][..bytes.len()], bytes);
        }
        if happens("fault") {
            let got = bundle::get::<Fault>(&bench, "fault");
            let Some(Step::Fault(expected)) = serving.as_mut().and_then(|s| s.1.pop_front()) else {
                panic!("a fault too many")
            };
            compare(&got, &expected);
        }
        if happens("request") {
            let got = bundle::get::<AckRequest>(&bench, "request");
            let (_, steps) = serving.get_or_insert_with(|| {
                let (c, _) = offers[0].as_ref().expect("nobody asked");
                (0, steps(c, 0, None))
            });
            let Some(Step::Request(expected)) = steps.pop_front() else { panic!("a request too many") };
            compare(&got, &expected);
            assert_eq!(bench.get("request_mark"), issued & 0xff);
        }
        let taken = [bench.get("receive_ready") == 1, bench.get("send_ready") == 1];
        for (side, port) in ["receive", "send"].into_iter().enumerate() {
            if taken[side] {
                let (c, _) = offers[side].take().expect("taken, but not offered");
                if c["write"] == 1 || c["acknowledge"] == 1 {
                    let (served, left) = serving.take().expect("taken, but nothing done");
                    assert_eq!(served, side);
                    assert!(left.is_empty(), "taken, but {left:?} not done");
                }
                done += 1;
                bench.tick();
                bench.set(&format!("{port}_valid"), 0);
            }
        }
        if taken == [false, false] {
            bench.tick();
        }
        assert!(bench.cycles() < 400_000, "{done}");
    }
    assert!(refusals > 100);
    assert_eq!(out_of_turn, 0);
}
