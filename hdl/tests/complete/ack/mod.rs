//! What is acknowledged, when, and which of two words of a VI is said.

mod reception;

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{word, AckRequest};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Ack;
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    vi: u64,
    psn: u64,
    msn: u64,
    syndrome: u64,
}

impl Request {
    fn fields(self) -> [(&'static str, u64); 4] {
        [("vi", self.vi), ("psn", self.psn), ("msn", self.msn), ("syndrome", self.syndrome)]
    }
}

/// `a` lies behind `b` in the 24-bit circle.
fn behind(a: u64, b: u64) -> bool {
    a.wrapping_sub(b) >> 23 & 1 == 1
}

fn ready() -> Bench {
    let mut dut = Bench::new("ack", &verilog(Ack::default()));
    for _ in 0..70 {
        dut.tick();
    }
    dut
}

fn offer(dut: &mut Bench, request: Request, mark: u64) {
    Bundle::of::<AckRequest>("request").set(dut, &request.fields());
    dut.set("request_mark", mark);
    dut.set("request_valid", 1);
}

fn shown(dut: &Bench) -> Request {
    let bundle = Bundle::of::<AckRequest>("ack");
    let get = |name| bundle.get(dut, name);
    Request { vi: get("vi"), psn: get("psn"), msn: get("msn"), syndrome: get("syndrome") }
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
    for (requests, expected) in
        [(vec![nak, behind], nak), (vec![nak, ahead], ahead), (vec![behind, nak], nak)]
    {
        offer(&mut dut, Request { vi: 1, psn: 1, msn: 1, syndrome: syndrome::ACK.into() }, 0);
        dut.tick();
        dut.set("request_valid", 0);
        for _ in 0..8 {
            dut.tick();
        }
        for request in requests {
            offer(&mut dut, request, 0);
            dut.tick();
            dut.set("request_valid", 0);
            for _ in 0..8 {
                dut.tick();
            }
        }
        assert_eq!(shown(&dut).vi, 1);
        dut.set("ack_ready", 1);
        dut.tick();
        dut.set("ack_ready", 0);
        for _ in 0..8 {
            dut.tick();
        }
        assert_eq!((dut.get("ack_valid"), shown(&dut)), (1, expected));
        dut.set("ack_ready", 1);
        dut.tick();
        dut.set("ack_ready", 0);
        for _ in 0..8 {
            dut.tick();
        }
        assert_eq!(dut.get("busy"), 0, "said once");
    }
}

/// Makes a request of a kind, and waits until it is merged.
fn ask(dut: &mut Bench, request: Request, kind: u64) {
    offer(dut, request, 0);
    let fields: Vec<_> = request.fields().into_iter().chain([("kind", kind)]).collect();
    Bundle::of::<AckRequest>("request").set(dut, &fields);
    dut.tick();
    dut.set("request_valid", 0);
    for _ in 0..10 {
        dut.tick();
    }
}

/// What is said next, if anything.
fn said(dut: &mut Bench) -> Option<Request> {
    let found = (dut.get("ack_valid") == 1).then(|| shown(dut));
    dut.set("ack_ready", 1);
    dut.eval();
    let not_ready = found.is_some_and(|request| request.syndrome >> 5 == 1);
    assert_eq!(dut.get("count_rnr"), u64::from(not_ready));
    dut.tick();
    dut.set("ack_ready", 0);
    for _ in 0..10 {
        dut.tick();
    }
    found
}

/// Rule RSP-8.
#[test]
fn the_last_word_is_kept_and_repeated_until_it_is_forgotten() {
    let mut dut = ready();
    let ack = |psn| Request { vi: 9, psn, msn: 3, syndrome: syndrome::ACK.into() };
    let nak = Request { vi: 9, psn: 20, msn: 4, syndrome: syndrome::NAK_ACCESS.into() };
    // Nothing was said that could be repeated.
    ask(&mut dut, ack(5), word::REPEAT);
    assert_eq!(said(&mut dut), None);
    ask(&mut dut, ack(6), word::SAY);
    assert_eq!(said(&mut dut), Some(ack(6)));
    ask(&mut dut, ack(7), word::REPEAT);
    assert_eq!(said(&mut dut), None, "it was not the last");

    for round in 0..2 {
        ask(&mut dut, nak, word::LAST);
        assert_eq!(said(&mut dut), Some(nak));
        ask(&mut dut, ack(21), word::SAY);
        assert_eq!(said(&mut dut), None, "nothing follows it");
        for _ in 0..3 {
            ask(&mut dut, ack(22), word::REPEAT);
            assert_eq!(said(&mut dut), Some(nak), "round {round}");
        }
        // Another VI has its own.
        let other = Request { vi: 10, ..ack(1) };
        ask(&mut dut, other, word::REPEAT);
        assert_eq!(said(&mut dut), None);
        ask(&mut dut, other, word::SAY);
        assert_eq!(said(&mut dut), Some(other));
        // A new connection, even with the word still waiting.
        offer(&mut dut, Request { vi: 1, ..ack(1) }, 0);
        dut.tick();
        dut.set("request_valid", 0);
        for _ in 0..10 {
            dut.tick();
        }
        ask(&mut dut, ack(23), word::REPEAT);
        ask(&mut dut, ack(24), word::FORGET);
        assert_eq!(said(&mut dut).expect("of VI 1").vi, 1);
        assert_eq!(said(&mut dut), None);
        ask(&mut dut, ack(25), word::REPEAT);
        assert_eq!(said(&mut dut), None);
        ask(&mut dut, ack(26), word::SAY);
        assert_eq!(said(&mut dut), Some(ack(26)));
    }
}

/// An answer on offer waits for the wire while its connection ends, and the next one begins: it is not the next one's.
#[test]
fn what_is_on_offer_is_forgotten_with_its_connection() {
    let mut dut = ready();
    let not_ready = Request { vi: 9, psn: 5, msn: 3, syndrome: syndrome::RNR_NAK.into() };
    let kind = |dut: &Bench| Bundle::of::<AckRequest>("ack").get(dut, "kind");
    ask(&mut dut, not_ready, word::SAY);
    ask(&mut dut, Request { vi: 8, ..not_ready }, word::FORGET);
    assert_eq!((dut.get("ack_valid"), kind(&dut)), (1, word::SAY), "another's connection has ended");
    ask(&mut dut, Request { psn: 6, ..not_ready }, word::FORGET);
    // Whoever has looked at it already finds it as it was, but for that.
    assert_eq!((dut.get("ack_valid"), shown(&dut), kind(&dut)), (1, not_ready, word::FORGET));
    dut.set("ack_ready", 1);
    dut.eval();
    assert_eq!(dut.get("count_rnr"), 0, "it does not leave");
    dut.tick();
    dut.set("ack_ready", 0);
    let next = Request { psn: 7, syndrome: syndrome::ACK.into(), ..not_ready };
    ask(&mut dut, next, word::SAY);
    assert_eq!((shown(&dut), kind(&dut)), (next, word::SAY));
}

#[test]
fn receiver_not_ready_answers_are_counted_as_they_leave() {
    let mut dut = ready();
    let wait = Request { vi: 2, psn: 8, msn: 1, syndrome: u64::from(syndrome::RNR_NAK) | 17 };
    for _ in 0..3 {
        ask(&mut dut, wait, word::SAY);
        assert_eq!(said(&mut dut), Some(wait));
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
