//! Messages in flight against a model of their ring.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{Acknowledged, Completion, Fault, Sent};
use viaduct_hdl::complete::Sends;
use viaduct_hdl::export::verilog;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::SEND_WINDOW;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, vi_states};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::bundle;

#[derive(Clone, Copy, Debug)]
struct Message {
    region: u64,
    offset: u64,
    length: u64,
    errors: u64,
    has_immediate: bool,
    acknowledged: bool,
    psn: u64,
    lost: bool,
}

#[derive(Clone, Default)]
struct Vi {
    state: u8,
    ring: VecDeque<Message>,
    completed: u64,
    psn: u64,
    /// The last PSN sent that will be acknowledged.
    last: Option<u64>,
}

/// What an event must bring: completions as (message, errors), whether the window moved, whether the VI breaks.
#[derive(Default)]
struct Outcome {
    completions: Vec<(Message, u64)>,
    moved: bool,
    breaks: bool,
}

/// `a` is at or before `b`.
fn reached(a: u64, b: u64) -> bool {
    b.wrapping_sub(a) & 0x80_0000 == 0
}

impl Vi {
    /// Completes from the head whatever `decide` gives an error for (0: none).
    fn drain(&mut self, mut decide: impl FnMut(&Message) -> Option<u64>) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some(message) = self.ring.front() {
            let errors = if message.acknowledged {
                if self.state != vi_states::CONNECTED {
                    Some(status::DESC_FLUSHED_ERROR.into())
                } else {
                    decide(message)
                }
            } else {
                Some(message.errors)
            };
            let Some(errors) = errors else { break };
            let message = self.ring.pop_front().unwrap();
            outcome.moved = true;
            self.completed = (self.completed + 1) & 0x3fff;
            if !message.lost {
                outcome.completions.push((message, errors));
            }
        }
        outcome
    }
}

fn message(rng: &mut ChaCha8Rng, vi: &mut Vi, reliable: bool) -> Message {
    vi.psn = (vi.psn + rng.random_range(1..4)) & 0xff_ffff;
    let wrong = rng.random_bool(0.1);
    let lost = rng.random_bool(0.05);
    let errors = if wrong && !lost { status::PROTECTION_ERROR.into() } else { 0 };
    Message {
        region: rng.random_range(0..1 << 16),
        offset: rng.random_range(0..1 << 34),
        length: if wrong { 0 } else { rng.random_range(0..1 << 32) },
        errors,
        has_immediate: !wrong && rng.random(),
        acknowledged: reliable && !wrong && !lost,
        psn: vi.psn,
        lost,
    }
}

fn offer_sent(bench: &mut Bench, vi: u64, m: &Message) {
    bundle::set::<Sent>(
        bench,
        "sent",
        &[
            ("vi", vi),
            ("region", m.region),
            ("offset", m.offset),
            ("length", m.length),
            ("errors", m.errors),
            ("has_immediate", m.has_immediate.into()),
            ("acknowledged", m.acknowledged.into()),
            ("psn", m.psn),
            ("lost", m.lost.into()),
        ],
    );
    bench.set("sent_valid", 1);
}

fn offer_ack(bench: &mut Bench, vi: u64, psn: u64, code: u8) {
    bundle::set::<Acknowledged>(bench, "acknowledged", &[("vi", vi), ("psn", psn), ("syndrome", code.into())]);
    bench.set("acknowledged_valid", 1);
}

fn check_completion(bench: &Bench, vi: u64, m: &Message, errors: u64) {
    let got = bundle::get::<Completion>(bench, "completion");
    let immediate = if m.has_immediate && errors == 0 { status::IMMEDIATE.into() } else { 0 };
    for (name, value) in [
        ("vi", vi),
        ("receive", 0),
        ("write", 1),
        ("region", m.region),
        ("offset", m.offset),
        ("length", if errors == 0 { m.length } else { 0 }),
        ("status", u64::from(status::DONE) | errors | immediate),
        ("has_immediate", 0),
        ("acknowledge", 0),
    ] {
        assert_eq!(got[name], value, "{name}: {m:?} {errors:#x} {got:x?}");
    }
}

fn ready() -> Bench {
    let mut bench = Bench::new("sends", &verilog(Sends::default()));
    bench.eval();
    while bench.get("busy") == 1 {
        bench.tick();
    }
    bench
}

/// Runs until nothing is left to do, and checks that it brought exactly `outcome`.
fn settle(bench: &mut Bench, rng: &mut ChaCha8Rng, n: u64, vi: &Vi, outcome: &Outcome) {
    let mut expected: VecDeque<_> = outcome.completions.iter().collect();
    let (mut again, mut broken, mut idle) = (0, 0, 0);
    bench.set("completed_vi", n);
    while idle < 3 {
        for port in ["completion_ready", "again_send_ready", "fault_ready"] {
            bench.set(port, rng.random_bool(0.5).into());
        }
        bench.eval();
        if bench.get("completion_valid") == 1 && bench.get("completion_ready") == 1 {
            let (message, errors) = expected.pop_front().expect("a completion nobody expects");
            check_completion(bench, n, message, *errors);
        }
        if bench.get("again_send_valid") == 1 && bench.get("again_send_ready") == 1 {
            assert_eq!(bench.get("again_send_vi"), n);
            assert_eq!(bench.get("completed_position"), vi.completed, "the position moves first");
            assert!(expected.is_empty());
            again += 1;
        }
        if bench.get("fault_valid") == 1 && bench.get("fault_ready") == 1 {
            let got = bundle::get::<Fault>(bench, "fault");
            assert_eq!((got["vi"], got["code"], got["breaks"], got["receive"]), (n, event_code::CONN_LOST.into(), 1, 0));
            broken += 1;
        }
        let taken = (bench.get("sent_ready") == 1, bench.get("acknowledged_ready") == 1);
        idle = if bench.get("busy") == 1 { 0 } else { idle + 1 };
        bench.tick();
        if taken.0 {
            bench.set("sent_valid", 0);
        }
        if taken.1 {
            bench.set("acknowledged_valid", 0);
        }
        assert!(bench.cycles() < 5_000_000);
    }
    assert!(expected.is_empty(), "{expected:?} never came");
    assert_eq!((again, broken), (u64::from(outcome.moved), u64::from(outcome.breaks)));
    assert_eq!(bench.get("completed_position"), vi.completed);
}

#[test]
fn events_one_by_one() {
    let mut bench = ready();
    let mut rng = super::random(&bench);
    let mut vis = vec![Vi::default(); 64];
    for (n, vi) in vis.iter_mut().enumerate() {
        bundle::commit(&mut bench, table::WORK_QUEUE, 2 * n as u64, [0; 3]);
        bundle::state(&mut bench, n as u64, vi_states::CONNECTED);
        vi.state = vi_states::CONNECTED;
        vi.psn = if rng.random() { 0xff_ffe0 } else { rng.random_range(0..1 << 24) };
    }
    let mut completed = 0;
    for _ in 0..20_000 {
        let n = if rng.random() { rng.random_range(0..4) } else { rng.random_range(0..64) };
        let vi = &mut vis[n as usize];
        let outcome = match rng.random_range(0..100) {
            0..50 => {
                if vi.ring.len() == SEND_WINDOW {
                    continue;
                }
                let m = message(&mut rng, vi, n % 4 != 3);
                offer_sent(&mut bench, n, &m);
                vi.ring.push_back(m);
                if m.acknowledged {
                    vi.last = Some(m.psn);
                }
                vi.drain(|_| None)
            }
            50..85 => {
                // Somewhere around what is in flight; what was sent long ago or never, sometimes.
                let base = vi.ring.front().map_or(vi.psn, |m| m.psn);
                let psn = match rng.random_range(0..10) {
                    0 => rng.random_range(0..1 << 24),
                    _ => (base + rng.random_range(0..12)).wrapping_sub(3) & 0xff_ffff,
                };
                // Without a message that was to be acknowledged nobody acknowledges.
                let Some(last) = vi.last else { continue };
                offer_ack(&mut bench, n, psn, syndrome::ACK);
                vi.drain(|m| (reached(m.psn, psn) && reached(psn, last)).then_some(0))
            }
            85..88 => {
                let base = vi.ring.front().map_or(vi.psn, |m| m.psn);
                let psn = (base + rng.random_range(0..12)).wrapping_sub(1) & 0xff_ffff;
                let code =
                    *[syndrome::NAK_SEQUENCE, syndrome::NAK_OPERATIONAL, syndrome::RNR_NAK].choose(&mut rng).unwrap();
                offer_ack(&mut bench, n, psn, code);
                let mut named = false;
                let mut outcome = vi.drain(|m| {
                    if named {
                        return None;
                    }
                    named = !reached(m.psn, psn) || m.psn == psn;
                    Some(if named { status::TRANSPORT_ERROR.into() } else { 0 })
                });
                outcome.breaks = true;
                outcome
            }
            88..90 => {
                vi.state = *[vi_states::IDLE, vi_states::ERROR].choose(&mut rng).unwrap();
                bundle::state(&mut bench, n, vi.state);
                vi.drain(|_| None)
            }
            90..96 => {
                vi.state = vi_states::CONNECTED;
                bundle::state(&mut bench, n, vi.state);
                Outcome::default()
            }
            _ => {
                bundle::commit(&mut bench, table::WORK_QUEUE, 2 * n + 1, [0; 3]);
                if rng.random_bool(0.2) {
                    bundle::commit(&mut bench, table::WORK_QUEUE, 2 * n, [0; 3]);
                    vi.ring.clear();
                    vi.completed = 0;
                }
                Outcome::default()
            }
        };
        completed += outcome.completions.len();
        settle(&mut bench, &mut rng, n, vi, &outcome);
    }
    println!("{completed} completions");
    assert!(completed > 3000);
}

/// Messages and acknowledgements at once, many VIs: everything completes once, in order, whoever is faster.
#[test]
fn acknowledgements_never_overtake_their_message() {
    let mut bench = ready();
    let mut rng = super::random(&bench);
    let mut vis = vec![Vi::default(); 8];
    for n in 0..8 {
        bundle::commit(&mut bench, table::WORK_QUEUE, 2 * n, [0; 3]);
        bundle::state(&mut bench, n, vi_states::CONNECTED);
    }
    // (VI, PSN) of messages whose frame is out: from the cycle in which they are offered to this block.
    let mut acks: VecDeque<(u64, u64)> = VecDeque::new();
    let (mut made, mut done, mut current) = (0, 0, None);
    let mut counted = 0;
    while done < 3000 {
        if current.is_none() && made < 3000 {
            let n = rng.random_range(0..8);
            let vi = &mut vis[n as usize];
            if vi.ring.len() < SEND_WINDOW {
                let mut m = message(&mut rng, vi, n < 6);
                (m.errors, m.lost, m.acknowledged) = (0, false, n < 6);
                offer_sent(&mut bench, n, &m);
                vi.ring.push_back(m);
                made += 1;
                current = Some((n, m));
                if m.acknowledged {
                    acks.push_back((n, m.psn));
                }
            }
        }
        if bench.get("acknowledged_valid") == 0 {
            if let Some((n, psn)) = acks.pop_front() {
                offer_ack(&mut bench, n, psn, syndrome::ACK);
            }
        }
        bench.set("completion_ready", rng.random_bool(0.2).into());
        bench.set("again_send_ready", rng.random_bool(0.5).into());
        bench.eval();
        if bench.get("completion_valid") == 1 && bench.get("completion_ready") == 1 {
            let n = bundle::get::<Completion>(&bench, "completion")["vi"];
            let m = vis[n as usize].ring.pop_front().expect("a completion too many");
            check_completion(&bench, n, &m, 0);
            done += 1;
        }
        assert_eq!(bench.get("fault_valid"), 0);
        counted += bench.get("count_ack");
        let taken = (bench.get("sent_ready") == 1, bench.get("acknowledged_ready") == 1);
        bench.tick();
        if taken.0 {
            current = None;
            bench.set("sent_valid", 0);
        }
        if taken.1 {
            bench.set("acknowledged_valid", 0);
        }
        assert!(bench.cycles() < 200_000, "{done} of {made}");
    }
    assert!(counted > 1500);
}
