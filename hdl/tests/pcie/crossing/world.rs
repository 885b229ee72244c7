//! The crossing, with a transaction layer on one side and a core on the other, each in its own clock.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::bus::{CoreConfig, CoreWord, Limits, TlpWord};
use viaduct_hdl::pcie::crossing::PcieCrossing;
use viaduct_verilate::Dut;

use crate::bundle::Bundle;
use crate::clock::{clockless, Clock};

/// Periods of `pclk` and of the core's clock: relatively prime, from half to twice.
pub const PERIODS: [(u64, u64); 5] = [(8000, 9333), (8000, 8001), (8001, 8000), (8000, 15_001), (8000, 4001)];

/// A TLP as double words (headers as numbers, data little-endian), and the BAR it hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tlp {
    pub words: Vec<u32>,
    pub bar: u64,
}

impl Tlp {
    /// A read, a write or a completion, of random contents.
    pub fn random(random: &mut ChaCha8Rng) -> Self {
        let long = random.random_bool(0.3);
        let payload = [1, 2, 3, 8, 64][random.random_range(0..5)];
        let first = match random.random_range(0..3) {
            0 => u32::from(long) << 29 | random.random_range(1..4),
            1 => 1 << 30 | u32::from(long) << 29 | payload,
            _ => 0x4A00_0000 | payload,
        };
        let length = Self::length(first);
        let words = (1..length).map(|_| random.random());
        Self { words: [first].into_iter().chain(words).collect(), bar: random.random_range(0..2) * 2 }
    }

    fn header(first: u32) -> usize {
        3 + (first >> 29 & 1) as usize
    }

    fn length(first: u32) -> usize {
        Self::header(first) + if first >> 30 & 1 == 1 { (first & 0x3FF) as usize } else { 0 }
    }

    pub fn is_read(&self) -> bool {
        self.words[0] >> 24 & 0x5F == 0
    }

    /// `viaduct_spec::tlp::class`.
    pub fn class(&self) -> u64 {
        match self.words[0] >> 24 & 0x1F {
            0 if self.is_read() => 1,
            0 => 0,
            _ => 2,
        }
    }

    /// Headers and units of data.
    pub fn cost(&self) -> u64 {
        ((self.words.len() - Self::header(self.words[0])) as u64).div_ceil(4)
    }

    /// Its bytes in the order of the wire.
    pub fn wire(&self) -> Vec<u8> {
        let header = Self::header(self.words[0]);
        let bytes = |(index, word): (usize, &u32)| match index < header {
            true => word.to_be_bytes(),
            false => word.to_le_bytes(),
        };
        self.words.iter().enumerate().flat_map(bytes).collect()
    }

    fn of_wire(bytes: &[u8], bar: u64) -> Self {
        let header = 3 + usize::from(bytes[0] >> 5 & 1);
        let words = bytes.chunks(4).enumerate().map(|(index, chunk)| {
            let chunk = chunk.try_into().expect("whole double words");
            if index < header {
                u32::from_be_bytes(chunk)
            } else {
                u32::from_le_bytes(chunk)
            }
        });
        Self { words: words.collect(), bar }
    }
}

/// Both sides.
pub struct World {
    pub dut: Dut,
    pub random: ChaCha8Rng,
    pclk: Clock,
    core: Clock,
    /// Words that the transaction layer gives, and what the core has heard.
    pub down: VecDeque<(u16, bool, bool, Tlp)>,
    pub heard: Vec<Tlp>,
    hearing: (Vec<u32>, u64),
    /// Beats that the core offers, and what the transaction layer has heard.
    up: VecDeque<(u64, u64, bool, u64)>,
    pub sent: Vec<Tlp>,
    sending: Vec<u8>,
    /// Packets of which the last beat has left the core.
    pub left: Vec<Tlp>,
    leaving: VecDeque<Tlp>,
    /// Reads that the core has taken up, and those it was told of.
    pub freed: u64,
    /// How eager each side is, in per cent.
    pub eager: [u32; 4],
    np_ready: bool,
}

impl World {
    pub fn new(name: &str, seed: u64, (pclk, core): (u64, u64)) -> Self {
        let mut dut = clockless(name, &verilog(PcieCrossing::default()), seed);
        let [pclk, core] =
            [("pclk", pclk), ("clock", core)].map(|(port, period)| Clock::new(&dut, port, 2 * period, 0));
        for port in [
            "to_core_valid",
            "from_core_ready",
            "core_reset",
            "tlp_rx_np_ready",
            "tlp_tx_valid",
            "core_reset_done",
        ] {
            dut.set(port, 0);
        }
        Bundle::of::<Limits>("core_limits").set(&mut dut, &[]);
        Bundle::of::<CoreConfig>("core_config").set(&mut dut, &[]);
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut world = Self {
            dut,
            random,
            pclk,
            core,
            down: VecDeque::new(),
            heard: Vec::new(),
            hearing: Default::default(),
            up: VecDeque::new(),
            sent: Vec::new(),
            sending: Vec::new(),
            left: Vec::new(),
            leaving: VecDeque::new(),
            freed: 0,
            eager: [80, 80, 80, 80],
            np_ready: false,
        };
        world.reset();
        world
    }

    /// The link is down for a while.
    pub fn reset(&mut self) {
        self.dut.set("core_reset", 1);
        self.run(100);
        self.dut.set("core_reset", 0);
        self.run(20);
    }

    /// The transaction layer has a TLP for the core.
    pub fn give(&mut self, tlp: &Tlp) {
        let bytes = tlp.wire();
        let last = bytes.len() / 2 - 1;
        for (index, pair) in bytes.chunks(2).enumerate() {
            let word = u16::from_le_bytes([pair[0], pair[1]]);
            self.down.push_back((word, index == 0, index == last, tlp.clone()));
        }
    }

    /// The core has a TLP for the host.
    pub fn offer(&mut self, tlp: &Tlp) {
        let beats = tlp.words.chunks(2);
        let last = beats.len() - 1;
        for (index, beat) in beats.enumerate() {
            let data = u64::from(beat[0]) | u64::from(*beat.get(1).unwrap_or(&0)) << 32;
            let keep = if beat.len() == 2 { 3 } else { 1 };
            self.up.push_back((data, keep, index == last, tlp.class()));
        }
        self.leaving.push_back(tlp.clone());
    }

    /// Everything that was given has been heard.
    pub fn is_empty(&self) -> bool {
        self.down.is_empty() && self.up.is_empty() && self.hearing.0.is_empty() && self.sending.is_empty()
    }

    /// Runs on for so many cycles of `pclk`.
    pub fn run(&mut self, cycles: u64) {
        let end = self.pclk.next + cycles * 2 * self.pclk.half;
        while self.pclk.next < end {
            match (self.pclk.next <= self.core.next, self.pclk.level, self.core.level) {
                (true, false, _) => {
                    self.transaction();
                    self.pclk.turn(&mut self.dut);
                }
                (false, _, false) => {
                    self.nic();
                    self.core.turn(&mut self.dut);
                }
                (true, ..) => {
                    self.pclk.turn(&mut self.dut);
                }
                (false, ..) => {
                    self.core.turn(&mut self.dut);
                }
            }
        }
    }

    fn is_eager(&mut self, index: usize) -> bool {
        self.random.random_ratio(self.eager[index], 100)
    }

    /// Before a rising edge of `pclk`.
    fn transaction(&mut self) {
        let gives = self.is_eager(0) && !self.down.is_empty();
        self.dut.set("to_core_valid", gives.into());
        if gives {
            let (data, first, last, tlp) = self.down.pop_front().expect("it is there");
            let fields = [
                ("data", data.into()),
                ("first", first.into()),
                ("last", last.into()),
                ("bar", tlp.bar),
                ("non_posted", tlp.is_read().into()),
            ];
            Bundle::of::<CoreWord>("to_core").set(&mut self.dut, &fields);
        }
        let ready = self.is_eager(1);
        self.dut.set("from_core_ready", ready.into());
        self.dut.eval();
        self.freed += self.dut.get("read_freed");
        // Both sides throw away what the link's fall has cut.
        if self.dut.get("core_reset") == 1 {
            self.sending.clear();
        } else if ready && self.dut.get("from_core_valid") == 1 {
            let word = Bundle::of::<TlpWord>("from_core").all(&self.dut);
            assert_eq!(word["first"] == 1, self.sending.is_empty(), "the first word of a TLP");
            self.sending.extend((word["data"] as u16).to_le_bytes());
            if word["last"] == 1 {
                self.sent.push(Tlp::of_wire(&std::mem::take(&mut self.sending), 0));
            }
        }
    }

    /// Before a rising edge of the core's clock.
    fn nic(&mut self) {
        let offers =
            self.up.front().copied().filter(|_| {
                self.dut.get("tlp_tx_valid") == 1 || self.random.random_ratio(self.eager[2], 100)
            });
        self.dut.set("tlp_tx_valid", offers.is_some().into());
        if let Some((data, keep, last, class)) = offers {
            for (port, value) in [("data", data), ("keep", keep), ("last", last.into()), ("class", class)] {
                self.dut.set(&format!("tlp_tx_{port}"), value);
            }
        }
        self.np_ready = self.is_eager(3);
        self.dut.set("tlp_rx_np_ready", self.np_ready.into());
        self.dut.eval();
        if offers.is_some() && self.dut.get("tlp_tx_ready") == 1 {
            let (.., last, _) = self.up.pop_front().expect("it is offered");
            if last {
                self.left.push(self.leaving.pop_front().expect("it is under way"));
            }
        }
        if self.dut.get("link_down") == 1 {
            self.hearing = Default::default();
        } else if self.dut.get("tlp_rx_valid") == 1 {
            let beat = ["data", "keep", "last", "bar"].map(|port| self.dut.get(&format!("tlp_rx_{port}")));
            let [data, keep, last, bar] = beat;
            if self.hearing.0.is_empty() {
                self.hearing.1 = bar;
            }
            assert!(keep == 3 || keep == 1 && last == 1, "keep {keep}, last {last}");
            self.hearing.0.push(data as u32);
            if keep == 3 {
                self.hearing.0.push((data >> 32) as u32);
            }
            if last == 1 {
                let (words, bar) = std::mem::take(&mut self.hearing);
                self.heard.push(Tlp { words, bar });
            }
        }
    }

    /// What both sides have given and heard is no more.
    pub fn forget(&mut self) {
        self.down.clear();
        self.up.clear();
        self.leaving.clear();
        self.dut.set("tlp_tx_valid", 0);
        self.dut.set("to_core_valid", 0);
        (self.heard, self.sent, self.left) = Default::default();
        self.hearing = Default::default();
        self.sending.clear();
    }
}
