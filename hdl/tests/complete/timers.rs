//! The timers of all VIs against a model, in device time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::Commit;
use viaduct_hdl::complete::{TimerCommand, TimerEnd, Timers};
use viaduct_hdl::export::verilog;
use viaduct_spec::tables::{transmit, RNR_WITHOUT_END};
use viaduct_spec::wire::RNR_DELAY;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const VIS: usize = 64;
/// Cycles of a tick.
const TICK: u64 = 128;

#[derive(Clone, Copy, Default)]
struct Timer {
    timeout: u32,
    retries: u8,
    rnr_retries: u8,
    /// Used.
    retried: u8,
    rested: u8,
    /// The first tick in which it may end, and what it is.
    running: Option<(u32, Kind)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Timer,
    Rest,
    /// A rest too many.
    End,
}

struct World {
    dut: Bench,
    time: u32,
    cycle: u64,
    timers: [Timer; VIS],
    /// How fast ends are taken, and how many ticks late one may be told: they wait for each other.
    taking: f64,
    late: i32,
    rng: ChaCha8Rng,
    /// Ends of timers, of rests, for good.
    seen: [u64; 3],
}

fn after(time: u32, other: u32) -> i32 {
    time.wrapping_sub(other) as i32
}

fn ticks(code: usize) -> u32 {
    (u64::from(RNR_DELAY[code]) * 1000).div_ceil(1024) as u32
}

impl World {
    fn new(time: u32) -> Self {
        let mut dut = Bench::new("timers", &verilog(Timers::default()));
        dut.set("reset", 1);
        dut.tick();
        dut.set("reset", 0);
        dut.set("time_now", time.into());
        for _ in 0..VIS + 4 {
            dut.tick();
        }
        let rng = ChaCha8Rng::seed_from_u64(dut.seed());
        let (timers, seen) = ([Timer::default(); VIS], [0; 3]);
        Self { dut, time, cycle: 0, timers, taking: 1.0, late: 25, rng, seen }
    }

    fn tick(&mut self) {
        self.dut.set("expired_ready", self.rng.random_bool(self.taking).into());
        self.dut.eval();
        if self.dut.get("expired_valid") == 1 && self.dut.get("expired_ready") == 1 {
            self.expired();
        }
        self.dut.tick();
        self.cycle += 1;
        if self.cycle % TICK == 0 {
            self.time = self.time.wrapping_add(1);
            self.dut.set("time_now", self.time.into());
            self.check();
        }
    }

    fn expired(&mut self) {
        let bundle = Bundle::of::<TimerEnd>("expired");
        let [vi, gives_up, rested] = ["vi", "gives_up", "rested"].map(|name| bundle.get(&self.dut, name));
        let timer = &mut self.timers[vi as usize];
        let (end, kind) = timer.running.take().expect("it runs");
        assert!(after(self.time, end) >= 0, "VI {vi}: {} is before {end}", self.time);
        assert_eq!(rested == 1, kind != Kind::Timer);
        let over = match kind {
            Kind::Timer => timer.retried == timer.retries,
            Kind::Rest => false,
            Kind::End => true,
        };
        assert_eq!(gives_up == 1, over, "VI {vi}");
        if kind == Kind::Timer && !over {
            timer.retried += 1;
        }
        // It may run since it was found, some ticks ago.
        if !over && timer.timeout > 0 {
            timer.running = Some((end.wrapping_add(timer.timeout + 1), Kind::Timer));
        }
        self.seen[if over { 2 } else { usize::from(rested == 1) }] += 1;
    }

    /// No timer has been forgotten, and none ends before the deadline.
    fn check(&mut self) {
        self.dut.eval();
        let deadline = (self.dut.get("deadline_valid") == 1).then(|| self.dut.get("deadline") as u32);
        // In a walk, or with an end that waits to be told, the next deadline is not known yet.
        let known = self.dut.get("busy") == 0;
        for (vi, timer) in self.timers.iter().enumerate() {
            let Some((end, _)) = timer.running else { continue };
            let late = after(self.time, end);
            assert!(late < self.late, "VI {vi} is {late} ticks late");
            if known && late < 0 {
                let deadline = deadline.expect("a timer runs");
                // A timer that went on by itself began when it was found.
                assert!(after(deadline, end) <= self.late, "VI {vi}: {deadline} is after {end}");
            }
        }
    }

    fn command(&mut self, vi: usize, fields: &[(&str, u64)], settings: Timer) {
        let mut row = [0; 2];
        transmit::TIMEOUT.put(&mut row, settings.timeout.into());
        transmit::RETRIES.put(&mut row, settings.retries.into());
        transmit::RNR_RETRIES.put(&mut row, settings.rnr_retries.into());
        Bundle::of::<Commit>("settings").set(&mut self.dut, &[("word0", row[0]), ("word1", row[1])]);
        let fields = [&[("vi", vi as u64)][..], fields].concat();
        Bundle::of::<TimerCommand>("command").set(&mut self.dut, &fields);
        self.dut.set("command_valid", 1);
        for waited in 0.. {
            assert!(waited < 8, "a command waits");
            self.dut.eval();
            let taken = self.dut.get("command_ready") == 1;
            self.tick();
            if taken {
                break;
            }
        }
        self.dut.set("command_valid", 0);
    }

    fn set(&mut self, vi: usize, timeout: u32, retries: u8, rnr_retries: u8) {
        let timer = Timer { timeout, retries, rnr_retries, ..Timer::default() };
        self.command(vi, &[("set", 1), ("clear", 1)], timer);
        self.timers[vi] = timer;
        self.settle();
    }

    fn run(&mut self, vi: usize, run: bool, clear: bool) {
        self.command(vi, &[("run", run.into()), ("clear", clear.into())], Timer::default());
        let timer = &mut self.timers[vi];
        if clear {
            (timer.retried, timer.rested) = (0, 0);
        }
        let end = self.time.wrapping_add(timer.timeout + 1);
        timer.running = (run && timer.timeout > 0).then_some((end, Kind::Timer));
        self.settle();
    }

    fn rest(&mut self, vi: usize, code: usize, clear: bool) {
        let fields = [("run", 1), ("rest", 1), ("clear", clear.into()), ("code", code as u64)];
        self.command(vi, &fields, Timer::default());
        let timer = &mut self.timers[vi];
        if clear {
            (timer.retried, timer.rested) = (0, 0);
        }
        timer.running = if timer.rested == timer.rnr_retries && timer.rnr_retries != RNR_WITHOUT_END {
            Some((self.time, Kind::End))
        } else {
            timer.rested = timer.rested.wrapping_add(1);
            Some((self.time.wrapping_add(ticks(code) + 1), Kind::Rest))
        };
        self.settle();
    }

    /// Until the command is in effect, nothing is told.
    fn settle(&mut self) {
        self.dut.set("expired_ready", 0);
        for _ in 0..12 {
            self.dut.tick();
        }
    }

    fn wait(&mut self, ticks: u32) {
        for _ in 0..u64::from(ticks) * TICK {
            self.tick();
        }
    }
}

#[test]
fn every_timer_code_rests_for_its_time() {
    let mut world = World::new(0xFFFF_FFF0);
    for code in 1..12 {
        world.set(code, 0, 0, 1);
        world.rest(code, code, true);
    }
    world.wait(ticks(11) + 10);
    assert_eq!(world.seen, [0, 11, 0]);
    // The long ones: the deadline says what they are.
    for code in (12..32).chain([0]) {
        world.set(0, 0, 0, 1);
        world.rest(0, code, true);
        world.dut.eval();
        let deadline = world.dut.get("deadline") as u32;
        let expected = world.time.wrapping_add(ticks(code) + 1);
        assert!((0..=1).contains(&after(expected, deadline)), "code {code}");
        // Stopped and walked over, it is forgotten.
        world.run(0, false, true);
        world.time = deadline.wrapping_add(1);
        world.dut.set("time_now", world.time.into());
        world.wait(6);
        assert_eq!(world.dut.get("deadline_valid"), 0);
    }
}

#[test]
fn a_rest_too_many_ends_at_once() {
    let mut world = World::new(7);
    world.set(5, 50, 9, 2);
    for _ in 0..2 {
        world.rest(5, 3, false);
        world.wait(ticks(3) + 8);
    }
    assert_eq!(world.seen, [0, 2, 0]);
    world.rest(5, 30, false);
    world.wait(8);
    assert_eq!(world.seen, [0, 2, 1]);
    world.wait(200);
    assert_eq!(world.seen, [0, 2, 1], "it stands still");
}

/// Rule REQ-6.
#[test]
fn rests_without_end() {
    let mut world = World::new(0xFFFF_FF00);
    world.set(5, 0, 0, RNR_WITHOUT_END);
    world.set(6, 0, 0, RNR_WITHOUT_END - 1);
    for rest in 1..=600 {
        world.rest(5, 1, false);
        world.wait(ticks(1) + 8);
        assert_eq!(world.seen, [0, rest, 0]);
    }
    for _ in 0..RNR_WITHOUT_END {
        world.rest(6, 1, false);
        world.wait(ticks(1) + 8);
    }
    assert_eq!(world.seen, [0, 600 + 254, 1], "254 are not without end");
}

#[test]
fn timers_of_all_vis_in_any_mixture() {
    // Told at once, and told slowly.
    for (taking, late) in [(1.0, 12), (0.02, 150)] {
        let mut world = World::new(0xFFFF_F000);
        (world.taking, world.late) = (taking, late);
        (0..VIS).for_each(|vi| world.set(vi, 40, 2, 2));
        for _ in 0..6000 {
            let vi = world.rng.random_range(0..VIS);
            let clear = world.rng.random();
            // Its end and a command may cross: the model could not tell which came first.
            if world.timers[vi].running.is_some_and(|(end, _)| after(end, world.time) < 4) {
                world.wait(1);
                continue;
            }
            match world.rng.random_range(0..10) {
                0 => {
                    let [retries, rnr_retries] = [0; 2].map(|_| world.rng.random_range(0..4));
                    let timeout = [0, 3, 40, 200][world.rng.random_range(0..4)];
                    world.set(vi, timeout, retries, rnr_retries);
                }
                1..=5 => world.run(vi, true, clear),
                6 => world.run(vi, false, clear),
                7 => {
                    let code = world.rng.random_range(1..9);
                    world.rest(vi, code, clear);
                }
                _ => world.wait(1),
            }
        }
        println!("{:?} ends of timers, of rests, for good", world.seen);
        assert!(world.seen.iter().all(|&seen| seen > 50));
    }
}
