use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::rows::register::EventWord;
use viaduct_hdl::vi::ViState;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, vi_states};
use viaduct_verilate::Bench;

use crate::bundle::{fields, Bundle};

/// The ports of the faults, in the order in which the block grants them.
pub const SOURCES: [&str; 6] =
    ["fetch_fault", "transmit_fault", "receive_fault", "sends_fault", "writer_fault", "queues_fault"];

/// Offers a fault at each port whose bit is set.
pub fn offer(dut: &mut Bench, sources: u64) {
    for (bit, port) in SOURCES.iter().enumerate() {
        dut.set(&format!("{port}_valid"), sources >> bit & 1);
    }
}

/// The ports whose fault is taken, a bit each.
pub fn taken(dut: &Bench) -> u64 {
    let ready = |(bit, port): (usize, &&str)| dut.get(&format!("{port}_ready")) << bit;
    SOURCES.iter().enumerate().map(ready).sum()
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    vi: u64,
    code: u64,
    receive: u64,
    breaks: u64,
}

impl Fault {
    fn offer(&self, dut: &mut Bench, port: &str) {
        let fields =
            [("vi", self.vi), ("code", self.code), ("receive", self.receive), ("breaks", self.breaks)];
        Bundle::of::<bus::Fault>(port).set(dut, &fields);
    }
}

fn commit(dut: &mut Bench, vi: u64, state: u8) {
    let fields = [("target", table::VI_STATE.into()), ("row", vi), ("word0", state.into())];
    Bundle::of::<bus::Commit>("commit").set(dut, &fields);
    dut.set("commit_valid", 1);
    for _ in 0..10 {
        dut.eval();
        let taken = dut.get("commit_ready") == 1;
        assert_eq!((super::state::taken(dut), dut.get("count_broken")), (0, 0), "nobody has a fault");
        dut.tick();
        if taken {
            dut.set("commit_valid", 0);
            return;
        }
    }
    panic!("the commit was not taken");
}

fn state(dut: &mut Bench, vi: u64) -> u64 {
    dut.set("query_index", vi);
    dut.eval();
    dut.get("query_row")
}

/// Rule WQ-4.
#[test]
fn faults_break_the_vis_that_they_concern_and_events_come_in_order() {
    let mut dut = Bench::new("vi_state", &verilog(ViState::default()));
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let mut states = [u64::from(vi_states::IDLE); VIS];
    let mut offered: [Option<Fault>; 6] = [None; 6];
    let mut events = VecDeque::new();
    let mut told = VecDeque::new();
    let mut taken = 0;
    let (mut broken, mut counted) = (0, 0);
    for cycle in 0..6000 {
        // Rounds of 300 cycles, with new states; nothing is offered before their end.
        let turn = cycle % 300;
        if turn == 0 {
            assert!(offered.iter().all(Option::is_none));
            offer(&mut dut, 0);
            for vi in 0..VIS as u64 {
                let to = [vi_states::IDLE, vi_states::CONNECTED, vi_states::ERROR][random.random_range(0..3)];
                commit(&mut dut, vi, to);
                states[vi as usize] = to.into();
            }
        }
        for (source, fault) in offered.iter_mut().enumerate() {
            if turn < 260 && fault.is_none() && random.random_bool(0.2) {
                *fault = Some(Fault {
                    vi: random.random_range(0..VIS as u64),
                    // None, those that there are, and any.
                    code: match random.random_range(0..10) {
                        0..3 => 0,
                        3..8 => random.random_range(1..10),
                        _ => random.random_range(1..256),
                    },
                    receive: random.random_range(0..2),
                    breaks: random.random_range(0..2),
                });
            }
            if let Some(f) = fault {
                f.offer(&mut dut, SOURCES[source]);
            }
        }
        let valid = offered.iter().enumerate().map(|(bit, f)| u64::from(f.is_some()) << bit).sum();
        offer(&mut dut, valid);
        // They are taken fast enough that nothing is lost.
        dut.set("ring_event_ready", 1);
        dut.eval();
        if dut.get("state_valid") == 1 {
            let state = Bundle::of::<bus::StateWrite>("state");
            told.push_back((state.get(&dut, "vi"), state.get(&dut, "state")));
        }
        if dut.get("ring_event_valid") == 1 {
            let event = Bundle::of::<EventWord>("ring_event").all(&dut);
            assert_eq!(events.pop_front(), Some(event));
        }
        let ready = super::state::taken(&dut);
        assert!(ready.count_ones() <= 1 && ready & !valid == 0, "ready {ready:#b}, valid {valid:#b}");
        if ready != 0 {
            let f = offered[ready.trailing_zeros() as usize].take().expect("valid");
            let now = &mut states[f.vi as usize];
            let source = ready.trailing_zeros();
            // Fetch, writer and completion queues find what is wrong with the VI's own queues.
            let own = [0, 4, 5].contains(&source);
            let breakable =
                *now == u64::from(vi_states::CONNECTED) || own && *now == u64::from(vi_states::IDLE);
            let broke = f.breaks == 1 && breakable;
            let again = f.breaks == 1 && f.code != u64::from(event_code::COMP_PROT);
            let passed_over = (source == 0 || again) && *now == u64::from(vi_states::ERROR);
            broken += u64::from(broke);
            if broke {
                *now = vi_states::ERROR.into();
                assert_eq!(told.pop_front(), Some((f.vi, u64::from(vi_states::ERROR))), "{f:?}");
            }
            // CONN_LOST is only said of a VI that has lost it by this; one in Error has said it all.
            if f.code != 0 && !passed_over && (broke || f.code != u64::from(event_code::CONN_LOST)) {
                let event = [
                    ("code", f.code),
                    ("vi", f.vi),
                    ("receive", f.receive),
                    ("broke", broke.into()),
                    ("reserved_20", 0),
                ];
                // It comes in the next cycle.
                assert!(events.is_empty(), "{events:?} before {f:?}");
                events.push_back(fields(&event));
            }
            assert!(told.is_empty(), "{told:?} after {f:?}");
            taken += 1;
        }
        assert_eq!(dut.get("count_lost"), 0);
        counted += dut.get("count_broken");
        dut.tick();
    }
    assert!(taken > 1000, "{taken} faults");
    assert_eq!(counted, broken, "VIs that broke");
    assert!(events.is_empty());
    offer(&mut dut, 0);
    for _ in 0..5 {
        dut.tick();
    }
    for vi in 0..VIS as u64 {
        assert_eq!(state(&mut dut, vi), states[vi as usize], "VI {vi}");
    }
}

#[test]
fn a_full_event_queue_counts_what_it_loses() {
    let mut dut = Bench::new("vi_state", &verilog(ViState::default()));
    // What rows hold before is nobody's.
    commit(&mut dut, 1, vi_states::CONNECTED);
    Fault { vi: 1, code: event_code::RECVQ_EMPTY.into(), receive: 0, breaks: 0 }
        .offer(&mut dut, "fetch_fault");
    let mut lost = 0;
    let mut taken = 0;
    while taken < 40 {
        offer(&mut dut, u64::from(taken < 40));
        dut.eval();
        taken += super::state::taken(&dut).count_ones();
        lost += dut.get("count_lost");
        dut.tick();
    }
    offer(&mut dut, 0);
    let mut told = 0;
    dut.set("ring_event_ready", 1);
    for _ in 0..30 {
        dut.eval();
        lost += dut.get("count_lost");
        told += dut.get("ring_event_valid");
        dut.tick();
    }
    assert_eq!((lost, told), (40 - 16, 16));
}

/// A reset ends what is under way, whenever it comes: no state and no event of it is told behind it.
#[test]
fn a_reset_forgets_what_is_under_way() {
    let mut dut = Bench::new("vi_state", &verilog(ViState::default()));
    for (by_commit, cycles) in (0..9).flat_map(|cycles| [(false, cycles), (true, cycles)]) {
        commit(&mut dut, 1, vi_states::CONNECTED);
        for _ in 0..3 {
            dut.tick();
        }
        if by_commit {
            let fields = [("target", table::VI_STATE.into()), ("row", 1), ("word0", vi_states::ERROR.into())];
            Bundle::of::<bus::Commit>("commit").set(&mut dut, &fields);
            dut.set("commit_valid", 1);
        } else {
            Fault { vi: 1, code: event_code::RECVQ_EMPTY.into(), receive: 0, breaks: 1 }
                .offer(&mut dut, "receive_fault");
            offer(&mut dut, 1 << 2);
        }
        for _ in 0..cycles {
            dut.tick();
        }
        dut.set("reset", 1);
        dut.set("commit_valid", 0);
        offer(&mut dut, 0);
        dut.tick();
        dut.set("reset", 0);
        for _ in 0..10 {
            dut.eval();
            let outputs = ["state_valid", "ring_event_valid", "commit_ready", "count_broken"];
            assert_eq!(outputs.map(|port| dut.get(port)), [0; 4], "{outputs:?}, {cycles} cycles");
            assert_eq!(super::state::taken(&dut), 0, "a fault, {cycles} cycles");
            dut.tick();
        }
    }
}

/// Whoever has a fault gets a turn after each of the others at most.
#[test]
fn faults_are_served_round_robin() {
    for those in (1..1_u64 << SOURCES.len()).filter(|those| those.count_ones() >= 2) {
        let mut dut = Bench::new("vi_state", &verilog(ViState::default()));
        commit(&mut dut, 1, vi_states::CONNECTED);
        for port in SOURCES {
            Fault { vi: 1, code: 0, receive: 0, breaks: 0 }.offer(&mut dut, port);
        }
        offer(&mut dut, those);
        let mut order = Vec::new();
        while order.len() < 20 {
            dut.eval();
            let ready = super::state::taken(&dut);
            if ready != 0 {
                assert!(ready.count_ones() == 1 && ready & !those == 0, "{ready:#b} of {those:#b}");
                order.push(ready.trailing_zeros());
            }
            dut.tick();
            assert!(dut.cycles() < 1000, "nobody's turn comes");
        }
        let some: Vec<u32> = (0..6).filter(|source| those >> source & 1 == 1).collect();
        for pair in order.windows(2) {
            let at = some.iter().position(|source| *source == pair[0]).expect("one of those");
            assert_eq!(pair[1], some[(at + 1) % some.len()], "{order:?} of {some:?}");
        }
    }
}
