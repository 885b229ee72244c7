//! Store: frames that are set aside, dropped, taken and left for older ones, while others come; in each cycle what is on show, and at
//! rest what is in use.

mod delivery;
mod words;

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::{Fate, Store};
use viaduct_verilate::Bench;

use super::shown::{decide, Info};
use delivery::Delivery;
use words::Incoming;

/// Words of the ring, its places, and those of them from which on it says to be full.
const WORDS: u64 = 2048;
const PLACES: u64 = 16;
const MANY: u64 = 8;
/// Cycles to pass over every place, twice.
const REST: usize = 40;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waits,
    Delivered,
    Done,
}

/// A frame in the store.
#[derive(Clone, Debug)]
struct Frame {
    info: Info,
    words: u64,
    payload: Vec<u8>,
    state: State,
}

struct World {
    bench: Bench,
    random: ChaCha8Rng,
    /// All that were kept, by their numbers.
    frames: Vec<Frame>,
    incoming: Option<Incoming>,
    /// Words that came since `store_ready` went low.
    late: usize,
    /// Where the next word goes.
    tail: u64,
    /// The frames that are taken, in their order.
    deliveries: VecDeque<Delivery>,
    /// The frame that is looked at next is the first in wait from this number on.
    scan: usize,
    /// `resume` was given, and no scan has begun since.
    resumed: bool,
    /// A drop was not counted in so many cycles in which it could have been.
    uncounted: Option<u32>,
    /// How long frames have waited without one on show.
    dark: usize,
    /// A place that was given back waits for its mark, because a frame was dropped.
    waits: bool,
}

/// What becomes of the frame on show.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pulse {
    None,
    Taken,
    Aside,
    Drop,
    Back,
}

/// How busy each side is.
#[derive(Clone, Copy)]
struct Pace {
    /// In so many cycles it is decided what becomes of a frame, the writer begins a frame.
    decides: u32,
    writer: u32,
    /// Of a hundred: set aside, dropped.
    aside: u32,
    drops: u32,
    largest: usize,
}

impl World {
    fn new() -> Self {
        let mut bench = Bench::new("store", &verilog(Store::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        bench.tick();
        Self {
            bench,
            random,
            frames: Vec::new(),
            incoming: None,
            late: 0,
            tail: 0,
            deliveries: VecDeque::new(),
            scan: 0,
            resumed: false,
            uncounted: None,
            dark: 0,
            waits: false,
        }
    }

    /// Back to an empty store.
    fn reset(&mut self) {
        for port in ["store_valid", "keep", "drop", "free_valid", "place_valid", "resume"] {
            self.bench.set(port, 0);
        }
        self.pulse(Pulse::None);
        self.bench.reset();
        self.bench.tick();
        self.frames.clear();
        self.incoming = None;
        self.deliveries.clear();
        (self.late, self.tail, self.scan, self.dark) = (0, 0, 0, 0);
        (self.resumed, self.uncounted, self.waits) = (false, None, false);
    }

    fn pulse(&mut self, pulse: Pulse) {
        let fate = match pulse {
            Pulse::None => None,
            Pulse::Taken => Some(Fate::Taken),
            Pulse::Aside => Some(Fate::Aside),
            Pulse::Drop => Some(Fate::Dropped),
            Pulse::Back => Some(Fate::Left),
        };
        decide(&mut self.bench, fate);
    }

    /// The frame that is next to be looked at.
    fn expected(&self) -> Option<usize> {
        (self.scan..self.frames.len()).find(|number| self.frames[*number].state == State::Waits)
    }

    /// The oldest frame of which something is in use.
    fn oldest(&self) -> usize {
        let used = self.frames.iter().position(|frame| frame.state != State::Done);
        used.unwrap_or(self.frames.len())
    }

    /// What is on show must be the next one; what becomes of it.
    fn look(&mut self, pace: Pace) -> (Pulse, Option<usize>) {
        let shown = self.bench.get("show_valid") == 1;
        let expected = self.expected();
        if !shown {
            // A place a cycle.
            self.dark = if expected.is_some() { self.dark + 1 } else { 0 };
            assert!(self.dark < REST, "frame {expected:?} is not shown");
            return (Pulse::None, None);
        }
        self.dark = 0;
        let number = expected.expect("a frame is shown that is none");
        let info = Info::get(&self.bench, "show_info");
        assert_eq!(info, self.frames[number].info, "frame {number}");
        let back = self.bench.get("show_again") == 1;
        let pulse = match self.random.random_range(0..100) {
            _ if self.random.random_range(0..pace.decides) > 0 => Pulse::None,
            _ if back && self.random.random_ratio(2, 3) => Pulse::Back,
            0..3 => Pulse::Back,
            n if n < 3 + pace.aside => Pulse::Aside,
            n if n < 3 + pace.aside + pace.drops && self.uncounted.is_none() => Pulse::Drop,
            _ if self.deliveries.len() < 5 => Pulse::Taken,
            _ => Pulse::None,
        };
        (pulse, Some(number))
    }

    /// One cycle.
    fn cycle(&mut self, pace: Pace) {
        let resume = self.random.random_ratio(1, 40);
        self.step(pace, resume);
    }

    fn step(&mut self, pace: Pace, resume: bool) {
        self.bench.eval();
        let again = self.bench.get("show_again") == 1;
        assert!(!self.resumed || again, "resume is forgotten");
        assert!(self.resumed || !again, "no reason to begin anew");
        assert_eq!(self.bench.get("show_overdue"), 0);
        let holds = self.frames.iter().any(|frame| frame.state != State::Done);
        assert!(!holds || self.bench.get("holds") == 1, "frames that nobody holds");
        self.count();

        let decided = self.write(pace);
        self.deliver();
        let (pulse, shown) = self.look(pace);
        self.pulse(pulse);
        self.bench.set("resume", resume.into());
        self.bench.eval();
        let frees = self.deliveries.front().is_some_and(|delivery| delivery.frees);
        let ready = self.bench.get("free_ready") == 1;
        assert_eq!(ready, !self.waits, "whether a place is taken follows from the cycles before");
        let freed = frees && ready;
        self.waits = (freed || self.waits) && pulse == Pulse::Drop;
        self.bench.tick();
        if freed {
            let delivery = self.deliveries.pop_front().unwrap();
            self.frames[delivery.frame].state = State::Done;
        }
        self.note(pulse, shown, again);
        if resume {
            (self.resumed, self.dark) = (true, 0);
        }
        if let Some(frame) = decided {
            self.keep(frame);
        }
        for port in ["store_valid", "keep", "drop", "free_valid", "place_valid", "resume"] {
            self.bench.set(port, 0);
        }
        self.pulse(Pulse::None);
    }

    /// Each drop is counted once, and not with an overflow.
    fn count(&mut self) {
        let overflows = self.random.random::<bool>();
        self.bench.set("overflows", overflows.into());
        self.bench.eval();
        if self.bench.get("count_dropped") == 1 {
            assert!(!overflows, "two in one cycle");
            assert!(self.uncounted.is_some(), "no frame was dropped");
            self.uncounted = None;
        } else if let Some(cycles) = self.uncounted.as_mut().filter(|_| !overflows) {
            *cycles += 1;
            assert!(*cycles < 4, "a drop is not counted");
        }
    }

    /// What became of the frame on show.
    fn note(&mut self, pulse: Pulse, shown: Option<usize>, again: bool) {
        if let Some(number) = shown {
            match pulse {
                Pulse::None | Pulse::Back => {}
                Pulse::Aside => self.scan = number + 1,
                Pulse::Drop => {
                    self.frames[number].state = State::Done;
                    (self.scan, self.uncounted) = (number + 1, Some(0));
                }
                Pulse::Taken => {
                    self.frames[number].state = State::Delivered;
                    self.scan = number + 1;
                    let length = self.frames[number].payload.len();
                    let limit = match self.random.random() {
                        true => length,
                        false => self.random.random_range(0..=length),
                    };
                    self.deliveries.push_back(Delivery::new(number, limit));
                }
            }
        }
        if pulse == Pulse::Back || (again && (pulse != Pulse::None || shown.is_none())) {
            // From the oldest on. Behind the last frame the scan waits for a frame, and begins anew at once.
            self.scan = 0;
            self.resumed = false;
        }
    }

    /// Nothing comes, and nothing ends: what is in use is what is kept.
    fn rest(&mut self) {
        let quiet = Pace { decides: 1, writer: 0, aside: 100, drops: 0, largest: 0 };
        let mut cycles = 0;
        while self.incoming.is_some() || !self.deliveries.is_empty() {
            self.step(quiet, false);
            cycles += 1;
            assert!(cycles < 20_000, "no rest: {:?}", self.deliveries);
        }
        for _ in 0..2 * REST {
            self.step(quiet, false);
        }
        self.bench.eval();
        let oldest = self.oldest();
        let places = (self.frames.len() - oldest) as u64;
        let words: u64 = self.frames[oldest..].iter().map(|frame| frame.words).sum();
        let level = if places > MANY { WORDS } else { words };
        assert_eq!(self.bench.get("level"), level, "{places} places, {words} words");
        assert_eq!(self.bench.get("holds"), u64::from(places > 0));
        assert!(words > 2030 || places > MANY || self.bench.get("store_ready") == 1, "no words may come");
    }
}

#[test]
fn every_frame_has_its_turn() {
    let mut world = World::new();
    for round in 0..120 {
        let pace = Pace {
            decides: [1, 4, 30][round % 3],
            writer: [1, 20][round / 3 % 2],
            aside: [10, 50, 85][round / 6 % 3],
            drops: [10, 30][round % 2],
            largest: [40, 300, 4096][round / 2 % 3],
        };
        for _ in 0..400 {
            world.cycle(pace);
        }
        world.rest();
        if round % 20 == 19 {
            world.reset();
            world.rest();
        }
    }
}
