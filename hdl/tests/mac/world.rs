//! The MAC between a core and a PHY, each with its own clock, down to single edges.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_hdl::prelude::Block;
use viaduct_hdl::bus::FrameBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::mac::Mac;
use viaduct_verilate::{Dut, Handle, Options};

use super::fields::Bundle;
use super::frames::{fcs, whole};

/// 8 ns in femtoseconds: 125 MHz.
pub const NOMINAL: u64 = 8_000_000;

/// Our own address.
pub const STATION: [u8; 6] = [0x02, 0x00, 0x5e, 0x10, 0x20, 0x30];

/// The seed of a test: `VIADUCT_SEED`, or always the same one; printed.
pub fn seed(name: &str) -> u64 {
    let seed = std::env::var("VIADUCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x6d61_6331);
    println!("{name}, seed {seed} (VIADUCT_SEED={seed})");
    seed
}

/// A model whose clocks the test drives itself.
pub fn clockless(name: &str, verilog: &str, seed: u64) -> Dut {
    let options = Options { clock: "none".into(), ..Options::named(name) };
    match Dut::seeded(verilog, &options, seed) {
        Ok(mut dut) => {
            // From here on an edge is one.
            dut.eval();
            dut
        }
        Err(error) => panic!("{error}"),
    }
}

/// A clock: where it stands, and when it turns next.
pub struct Clock {
    pub half: u64,
    pub next: u64,
    pub level: bool,
    port: Handle,
}

impl Clock {
    /// The port's clock with a period in femtoseconds.
    pub fn new(dut: &Dut, port: &str, period: u64, phase: u64) -> Self {
        Self { half: period / 2, next: phase + period / 2, level: false, port: dut.port(port) }
    }

    /// Turns the clock; whether it has risen.
    pub fn turn(&mut self, dut: &mut Dut) -> bool {
        self.level = !self.level;
        self.next += self.half;
        dut.write(self.port, self.level.into());
        dut.eval();
        self.level
    }
}

/// A byte time on the way to the MAC.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    pub byte: u8,
    pub valid: bool,
    pub error: bool,
}

/// A frame that the MAC has sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Between delimiter and gap, without the last four bytes.
    pub frame: Vec<u8>,
    /// With them.
    pub wire: Vec<u8>,
    /// Those are the right ones.
    pub good: bool,
    /// An error was marked in it.
    pub error: bool,
    /// Byte times without a frame in front of it.
    pub gap: u64,
    /// When its preamble began, in femtoseconds.
    pub time: u64,
}

/// See the module's description.
pub struct World {
    pub dut: Dut,
    pub random: ChaCha8Rng,
    pub now: u64,
    pub core: Clock,
    pub tx: Clock,
    pub rx: Clock,
    /// The PHY's clock stands still.
    pub rx_stopped: bool,
    /// To the MAC, and what the PHY says between frames.
    pub line: VecDeque<Symbol>,
    pub status: u8,
    symbol: Symbol,
    /// What the MAC has given to the core: frames and whether they are good.
    pub received: Vec<(Vec<u8>, bool)>,
    partial: Vec<u8>,
    /// Beats that wait to be sent: bytes, last, bad. And how often in percent one is offered.
    pub beats: VecDeque<(Vec<u8>, bool, bool)>,
    pub rate: u32,
    offered: bool,
    /// What the MAC has sent.
    pub sent: Vec<Sent>,
    rise: (u64, u64),
    leaving: Option<(Vec<u8>, bool, u64)>,
    gap: u64,
    rx_bundle: Bundle,
    tx_bundle: Bundle,
    ports: Ports,
}

#[derive(Clone, Copy)]
struct CorePorts {
    rx_valid: Handle,
    tx_valid: Handle,
    tx_ready: Handle,
}

struct Ports {
    core: Option<CorePorts>,
    in_data: Handle,
    in_control: Handle,
    out_clock: Handle,
    out_data: Handle,
    out_control: Handle,
}

impl World {
    /// The MAC alone, with clocks of these periods in femtoseconds: core, transmit, receive.
    pub fn new(name: &str, periods: [u64; 3]) -> Self {
        Self::of(name, "mac", Mac::default(), periods)
    }

    /// A block with the MAC's pins, and its core's side or none.
    pub fn of<B: Block>(name: &str, block: &str, design: B, periods: [u64; 3]) -> Self {
        let seed = seed(name);
        let mut dut = clockless(block, &verilog(design), seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut phase = || random.random_range(0..NOMINAL);
        let core = Clock::new(&dut, "clock", periods[0], phase());
        let tx = Clock::new(&dut, "tx_clock", periods[1], phase());
        let rx = Clock::new(&dut, "rx_clock", periods[2], phase());
        let ports = Ports {
            core: dut.has("rx_valid").then(|| CorePorts {
                rx_valid: dut.port("rx_valid"),
                tx_valid: dut.port("tx_valid"),
                tx_ready: dut.port("tx_ready"),
            }),
            in_data: dut.port("pads_rx_data"),
            in_control: dut.port("pads_rx_control"),
            out_clock: dut.port("pads_tx_clock"),
            out_data: dut.port("pads_tx_data"),
            out_control: dut.port("pads_tx_control"),
        };
        let mut station = [0; 8];
        station[..6].copy_from_slice(&STATION);
        dut.set("station", u64::from_le_bytes(station));
        dut.set("reset", 1);
        let mut world = Self {
            dut,
            random,
            now: 0,
            core,
            tx,
            rx,
            rx_stopped: false,
            line: VecDeque::new(),
            status: 0xdd,
            symbol: Symbol { byte: 0, valid: false, error: false },
            received: Vec::new(),
            partial: Vec::new(),
            beats: VecDeque::new(),
            rate: 100,
            offered: false,
            sent: Vec::new(),
            rise: (0, 0),
            leaving: None,
            gap: 0,
            rx_bundle: Bundle::of::<FrameBeat>("rx"),
            tx_bundle: Bundle::of::<FrameBeat>("tx"),
            ports,
        };
        world.run(4 * NOMINAL);
        world.dut.set("reset", 0);
        world.run(40 * NOMINAL);
        world
    }

    /// Runs for so many femtoseconds.
    pub fn run(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            let rx = if self.rx_stopped { u64::MAX } else { self.rx.next };
            let next = rx.min(self.core.next).min(self.tx.next);
            if next > end {
                break;
            }
            self.now = next;
            if next == self.core.next {
                self.core_edge();
            } else if next == self.tx.next {
                self.tx_edge();
            } else {
                self.rx_edge();
            }
        }
        self.now = end;
        // A clock that stands still goes on from here.
        self.rx.next = self.rx.next.max(end + 1);
    }

    /// Runs until nothing is under way in either direction.
    ///
    /// # Panics
    /// It takes for ever.
    pub fn drain(&mut self) {
        let end = self.now + 1_000_000 * NOMINAL;
        loop {
            while !self.line.is_empty() || !self.beats.is_empty() || self.leaving.is_some() {
                self.run(NOMINAL);
                assert!(self.now < end, "the MAC is stuck: {} beats left", self.beats.len());
            }
            self.run(60 * NOMINAL);
            // What is in the queue would have begun by now.
            if self.leaving.is_none() && self.gap >= 40 {
                break;
            }
        }
    }

    fn core_edge(&mut self) {
        if self.core.level {
            self.core.turn(&mut self.dut);
            return;
        }
        if let Some(ports) = self.ports.core {
            self.core_cycle(ports);
        }
        self.core.turn(&mut self.dut);
    }

    fn core_cycle(&mut self, ports: CorePorts) {
        let reset = self.dut.get("reset") == 1;
        // A beat that was offered stays.
        self.offered = !self.beats.is_empty() && (self.offered || self.random.random_ratio(self.rate, 100));
        self.dut.write(ports.tx_valid, self.offered.into());
        if let (true, Some((bytes, last, bad))) = (self.offered, self.beats.front()) {
            let mut data = [0xa5; 8];
            data[..bytes.len()].copy_from_slice(bytes);
            self.tx_bundle.set(
                &mut self.dut,
                &[
                    ("data", u64::from_le_bytes(data)),
                    ("count", bytes.len() as u64),
                    ("last", u64::from(*last)),
                    ("bad", u64::from(*bad)),
                ],
            );
        }
        self.dut.eval();
        if self.offered && self.dut.read(ports.tx_ready) == 1 {
            self.beats.pop_front();
            self.offered = false;
        }
        if !reset && self.dut.read(ports.rx_valid) == 1 {
            let get = |name| self.rx_bundle.get(&self.dut, name);
            let (data, count, last, bad) = (get("data"), get("count") as usize, get("last"), get("bad"));
            assert!(count <= 8 && (count == 8 || last == 1), "{count} bytes in a beat");
            assert!(bad == 0 || last == 1);
            self.partial.extend(&data.to_le_bytes()[..count]);
            if last == 1 {
                self.received.push((std::mem::take(&mut self.partial), bad == 0));
            }
        }
    }

    /// The PHY takes what is on the pads between two edges.
    fn tx_edge(&mut self) {
        let risen = self.tx.turn(&mut self.dut);
        let read = |port| self.dut.read(port);
        assert_eq!(read(self.ports.out_clock), u64::from(risen), "the clock to the PHY");
        let pads = (read(self.ports.out_data), read(self.ports.out_control));
        if risen {
            self.rise = pads;
            return;
        }
        let byte = (self.rise.0 | pads.0 << 4) as u8;
        let (enable, error) = (self.rise.1 == 1, self.rise.1 != pads.1);
        assert!(enable || !error, "an error beside a frame");
        match &mut self.leaving {
            Some((bytes, errors, _)) if enable => {
                bytes.push(byte);
                *errors |= error;
            }
            None if enable => self.leaving = Some((vec![byte], error, self.now)),
            Some(_) => {
                if let Some((bytes, error, time)) = self.leaving.take() {
                    self.sent_whole(bytes, error, time);
                }
                self.gap = 1;
            }
            None => self.gap += 1,
        }
    }

    fn sent_whole(&mut self, bytes: Vec<u8>, error: bool, time: u64) {
        let (preamble, rest) = bytes.split_at(8);
        assert_eq!(preamble, [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5], "the preamble");
        let (frame, sum) = rest.split_at(rest.len() - 4);
        let good = fcs(frame) == sum;
        self.sent.push(Sent { frame: frame.to_vec(), wire: rest.to_vec(), good, error, gap: self.gap, time });
    }

    /// The PHY shows half a symbol before each edge.
    fn rx_edge(&mut self) {
        let rising = !self.rx.level;
        if rising {
            let idle = Symbol { byte: self.status, valid: false, error: false };
            self.symbol = self.line.pop_front().unwrap_or(idle);
        }
        let Symbol { byte, valid, error } = self.symbol;
        let (data, control) = if rising { (byte & 15, valid) } else { (byte >> 4, valid != error) };
        self.dut.write(self.ports.in_data, data.into());
        self.dut.write(self.ports.in_control, control.into());
        self.dut.eval();
        self.rx.turn(&mut self.dut);
    }

    /// Puts bytes on the line behind a whole preamble, and a gap behind them.
    pub fn put(&mut self, bytes: &[u8], gap: usize) {
        self.put_raw(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5]);
        self.put_raw(bytes);
        self.put_gap(gap);
    }

    /// Puts bytes on the line.
    pub fn put_raw(&mut self, bytes: &[u8]) {
        self.line.extend(bytes.iter().map(|byte| Symbol { byte: *byte, valid: true, error: false }));
    }

    /// Puts nothing on the line for so many byte times.
    pub fn put_gap(&mut self, gap: usize) {
        let idle = Symbol { byte: self.status, valid: false, error: false };
        self.line.extend(std::iter::repeat_n(idle, gap));
    }

    /// Puts a good frame on the line, with FCS, padding and gap.
    pub fn put_frame(&mut self, frame: &[u8]) {
        self.put(&whole(frame), 12);
    }

    /// Gives a frame to the MAC.
    pub fn give(&mut self, frame: &[u8], bad: bool) {
        let beats = frame.chunks(8).count();
        for (n, bytes) in frame.chunks(8).enumerate() {
            let last = n + 1 == beats;
            self.beats.push_back((bytes.to_vec(), last, bad && last));
        }
    }

    /// The core forgets what it was sending and receiving.
    pub fn forget(&mut self) {
        self.beats.clear();
        self.offered = false;
        self.partial.clear();
    }

    /// A counter of the MAC's.
    pub fn counter(&mut self, row: u64) -> u64 {
        self.dut.set("counter_row", row);
        self.run(24 * NOMINAL);
        self.dut.get("counter_value")
    }
}
