//! The MAC between a core and a PHY, each with its own clock, down to single edges.

#[path = "../../common/clock.rs"]
mod clock;
mod phy;

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_hdl::prelude::Block;
use viaduct_hdl::bus::FrameBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::mac::Mac;
use viaduct_verilate::{Dut, Handle};

pub use clock::{clockless, seed, Clock};
pub use phy::{Sent, Symbol};

use super::fields::Bundle;

/// 8 ns in femtoseconds: 125 MHz.
pub const NOMINAL: u64 = 8_000_000;
/// Our own address.
pub const STATION: [u8; 6] = [0x02, 0x00, 0x5e, 0x10, 0x20, 0x30];

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
        self.dut.set("counter_index", row);
        self.run(24 * NOMINAL);
        self.dut.get("counter_row")
    }
}
