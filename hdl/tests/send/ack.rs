//! Acknowledgements: never before their mark, coalesced by the rules, none lost.

use std::collections::{HashMap, VecDeque};

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_hdl::bus::AckRequest;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Ack;
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::bundle;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Request {
    vi: u64,
    psn: u64,
    msn: u64,
    syndrome: u64,
    /// Writes that must be out, not modulo anything.
    mark: u64,
}

impl Request {
    fn negative(&self) -> bool {
        self.syndrome & 0x60 != 0
    }

    /// Whether `newer` takes its place.
    fn yields_to(&self, newer: &Self) -> bool {
        let lower = newer.psn.wrapping_sub(self.psn) & 0x80_0000 != 0;
        !self.negative() || newer.negative() || !lower
    }
}

#[test]
fn coalesces_and_waits_for_the_writes() {
    let mut bench = Bench::new("ack", &verilog(Ack::default()));
    let mut rng = super::random(&bench);
    let mut psn: HashMap<u64, u64> = HashMap::new();
    let mut pending: HashMap<u64, VecDeque<Request>> = HashMap::new();
    let mut refused: HashMap<u64, Request> = HashMap::new();
    let (mut retired, mut mark): (u64, u64) = (0, 0);
    let (mut offered, mut sent, mut coalesced, mut kept) = (None, 0, 0, 0);
    for round in 0..60_000 {
        let calm = round >= 58_000;
        // A few VIs often, so that there is something to coalesce.
        if offered.is_none() && !calm && rng.random_bool(0.3) {
            let vi = if rng.random() { rng.random_range(0..3) } else { rng.random_range(0..64) };
            let next = psn.entry(vi).or_insert_with(|| rng.random_range(0..1 << 24));
            *next = (*next).wrapping_add(rng.random_range(0..4)).wrapping_sub(1) & 0xff_ffff;
            mark = (mark + rng.random_range(0..4)).min(retired + 100);
            let code = *[syndrome::ACK, syndrome::ACK, syndrome::NAK_SEQUENCE].choose(&mut rng).unwrap();
            offered = Some(Request { vi, psn: *next, msn: rng.random_range(0..1 << 24), syndrome: code.into(), mark });
        }
        bench.set("request_valid", offered.is_some().into());
        if let Some(r) = offered {
            let list = [("vi", r.vi), ("psn", r.psn), ("msn", r.msn), ("syndrome", r.syndrome)];
            bundle::set::<AckRequest>(&mut bench, "request", &list);
            bench.set("request_mark", r.mark & 0xff);
        }
        retired = (retired + rng.random_range(0..2)).min(mark);
        bench.set("retired", retired & 0xff);
        bench.set("ack_ready", rng.random_bool(if round / 3000 % 2 == 0 { 0.02 } else { 0.3 }).into());
        bench.eval();
        if bench.get("ack_valid") == 1 && bench.get("ack_ready") == 1 {
            let got = bundle::get::<AckRequest>(&bench, "ack");
            let list = pending.get_mut(&got["vi"]).expect("nobody asked");
            let n = list
                .iter()
                .position(|r| r.msn == got["msn"] && r.psn == got["psn"] && r.syndrome == got["syndrome"])
                .unwrap_or_else(|| panic!("{got:?} is not in {list:?}"));
            assert!(list.iter().take(n + 1).all(|r| r.mark <= retired), "before the writes are out");
            let row = list.iter().take(n + 1).copied().reduce(|row, r| if row.yields_to(&r) { r } else { row });
            assert_eq!(row, Some(list[n]));
            sent += 1;
            coalesced += n;
            if list[n].negative() {
                refused.insert(list[n].vi, list[n]);
            }
            list.drain(..=n);
        }
        if bench.get("request_ready") == 1 {
            if let Some(r) = offered.take() {
                pending.entry(r.vi).or_default().push_back(r);
            }
        }
        bench.tick();
    }
    // What is left was an ACK behind a NAK of a higher PSN.
    for (vi, list) in &pending {
        for r in list {
            assert!(refused.get(vi).is_some_and(|nak| !nak.yields_to(r)), "{r:?} was lost");
            kept += 1;
        }
    }
    assert_eq!(bench.get("busy"), 0);
    println!("{sent} sent, {coalesced} coalesced, {kept} behind a NAK");
    assert!(sent > 1000 && coalesced > 1000);
}
