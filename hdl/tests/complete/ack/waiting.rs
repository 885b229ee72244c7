//! What waits is said once its writes are out; of two words of a VI, the later one.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{word, AckRequest};
use viaduct_spec::wire::syndrome;

use super::{ask, offer, ready, said, shown, Request};
use crate::bundle::Bundle;

/// `a` lies behind `b` in the 24-bit circle.
fn behind(a: u64, b: u64) -> bool {
    a.wrapping_sub(b) >> 23 & 1 == 1
}

/// Rule RSP-7.
#[test]
fn nothing_is_released_before_its_writes_are_out() {
    let mut dut = ready();
    // Some wait while the count begins anew, the first time and later.
    for start in (0..4).flat_map(|lap| [10, 100, 250].map(|at| 256 * lap + at)) {
        dut.set("retired", start % 256);
        let request = Request { vi: 3, psn: 5, msn: 1, syndrome: syndrome::ACK.into() };
        offer(&mut dut, request, (start + 9) % 256);
        dut.tick();
        dut.set("request_valid", 0);
        for retired in start..start + 9 {
            dut.set("retired", retired % 256);
            for _ in 0..8 {
                dut.tick();
            }
            assert_eq!(dut.get("ack_valid"), 0, "{retired} of {}", start + 9);
            assert_eq!(dut.get("busy"), 1);
        }
        dut.set("retired", (start + 9) % 256);
        for _ in 0..8 {
            dut.tick();
        }
        assert_eq!((dut.get("ack_valid"), shown(&dut)), (1, request));
        dut.set("ack_ready", 1);
        dut.tick();
        dut.set("ack_ready", 0);
        dut.eval();
        assert_eq!((dut.get("ack_valid"), dut.get("busy")), (0, 0));
    }
}

/// A word of `Requests` waits while another request is offered, and is then said like it.
#[test]
fn a_word_that_is_offered_beside_requests_is_said() {
    let mut dut = ready();
    let bundle = Bundle::of::<AckRequest>("word");
    let ack = |vi, psn| Request { vi, psn, msn: psn, syndrome: syndrome::ACK.into() };
    for psn in 0..20 {
        offer(&mut dut, ack(1, psn), 0);
        bundle.set(&mut dut, &ack(2, psn).fields());
        dut.set("word_valid", 1);
        dut.set("ack_ready", 1);
        let mut said = Vec::new();
        for _ in 0..40 {
            dut.eval();
            let taken = ["request", "word"].map(|name| dut.get(&format!("{name}_ready")) == 1);
            if dut.get("ack_valid") == 1 {
                said.push(shown(&dut));
            }
            dut.tick();
            for (name, taken) in ["request", "word"].into_iter().zip(taken) {
                if taken {
                    dut.set(&format!("{name}_valid"), 0);
                }
            }
        }
        assert_eq!(said, [ack(1, psn), ack(2, psn)]);
    }
}

#[test]
fn a_request_whose_writes_were_out_before_it_came_is_released_at_once() {
    let mut dut = ready();
    for (retired, mark) in [(9, 3), (127, 0), (130, 120), (2, 250)] {
        dut.set("retired", retired);
        let request = Request { vi: 3, psn: retired, msn: 1, syndrome: syndrome::ACK.into() };
        offer(&mut dut, request, mark);
        dut.tick();
        dut.set("request_valid", 0);
        for _ in 0..8 {
            dut.tick();
        }
        assert_eq!(
            (dut.get("ack_valid"), shown(&dut)),
            (1, request),
            "{retired} are out, {mark} were asked for"
        );
        dut.set("ack_ready", 1);
        dut.tick();
        dut.set("ack_ready", 0);
    }
}

/// Rule RSP-7.
#[test]
fn what_waits_is_merged_and_the_newest_of_each_vi_is_sent() {
    let mut dut = ready();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let mut asked: BTreeMap<u64, Request> = BTreeMap::new();
    let mut said: BTreeMap<u64, Request> = BTreeMap::new();
    let mut offered: Option<Request> = None;
    let (mut requests, mut sent) = (0, 0);
    for cycle in 0..22_000 {
        let draining = cycle >= 20_000;
        if offered.is_none() && !draining && random.random_bool(0.5) {
            let among = if random.random_bool(0.5) { 3 } else { 64 };
            let vi = random.random_range(0..among);
            let before = asked.get(&vi).map_or(0xFF_FFF0, |request| request.psn);
            offered = Some(Request {
                vi,
                psn: (before + random.random_range(1..4)) & 0xFF_FFFF,
                msn: random.random_range(0..1 << 24),
                syndrome: syndrome::ACK.into(),
            });
        }
        dut.set("request_valid", 0);
        if let Some(request) = offered {
            offer(&mut dut, request, 0);
        }
        let ready = draining || random.random_bool(0.1);
        dut.set("ack_ready", ready.into());
        dut.eval();
        if ready && dut.get("ack_valid") == 1 {
            let seen = shown(&dut);
            let before = said.insert(seen.vi, seen);
            assert!(before.is_none_or(|old| behind(old.psn, seen.psn)), "{seen:?} after {before:?}");
            assert!(!behind(asked[&seen.vi].psn, seen.psn), "{seen:?} was not asked for");
            sent += 1;
        }
        if offered.is_some() && dut.get("request_ready") == 1 {
            let request = offered.take().expect("offered");
            asked.insert(request.vi, request);
            requests += 1;
        }
        dut.tick();
    }
    assert_eq!(dut.get("busy"), 0);
    assert_eq!(said, asked, "the last word of every VI has been said");
    assert!(sent > 500 && requests > 2 * sent, "{requests} requests, {sent} sent");
}

/// Rule RSP-7.
#[test]
fn an_ack_behind_a_waiting_nak_does_not_replace_it() {
    let mut dut = ready();
    let nak = Request { vi: 7, psn: 100, msn: 4, syndrome: syndrome::NAK_SEQUENCE.into() };
    let behind = Request { vi: 7, psn: 99, msn: 4, syndrome: syndrome::ACK.into() };
    let ahead = Request { vi: 7, psn: 101, msn: 5, syndrome: syndrome::ACK.into() };
    // VI 1 occupies the exit, so that VI 7's row waits.
    let first = Request { vi: 1, psn: 1, msn: 1, syndrome: syndrome::ACK.into() };
    for (requests, expected) in
        [(vec![nak, behind], nak), (vec![nak, ahead], ahead), (vec![behind, nak], nak)]
    {
        ask(&mut dut, first, word::SAY);
        for request in requests {
            ask(&mut dut, request, word::SAY);
        }
        assert_eq!(said(&mut dut), Some(first));
        assert_eq!(said(&mut dut), Some(expected));
        assert_eq!(dut.get("busy"), 0, "said once");
    }
}

/// Of a NAK that waits and an ACK that comes, whatever lies between them.
#[test]
fn the_later_one_of_a_nak_and_an_ack_is_said() {
    let mut dut = ready();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let ack = |vi, psn| Request { vi, psn, msn: psn, syndrome: syndrome::ACK.into() };
    for case in 0..69 {
        let (bit, kind) = (case / 3, case % 3);
        let distance = [1 << bit, (2 << bit) - 1, random.random_range(1..1 << 23)][kind];
        for before in [false, true] {
            let psn = random.random_range(0..1 << 24);
            let later = if before { (1 << 24) - distance } else { distance };
            let nak = Request { vi: 7, psn, msn: 4, syndrome: syndrome::NAK_SEQUENCE.into() };
            let next = ack(7, (psn + later) & 0xff_ffff);
            // VI 1 occupies the exit.
            ask(&mut dut, ack(1, 1), word::SAY);
            ask(&mut dut, nak, word::SAY);
            ask(&mut dut, next, word::SAY);
            assert_eq!(said(&mut dut), Some(ack(1, 1)));
            assert_eq!(said(&mut dut), Some(if before { nak } else { next }), "{distance:#x}");
            assert_eq!(said(&mut dut), None);
        }
    }
}
