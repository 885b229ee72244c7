//! The four sources, and a link partner that counts its credits.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::edge::TlpTransmit;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

use crate::beat::{beats, Beat, Collector};

/// Ports of the sources.
const NAMES: [&str; 4] = ["posted", "nonposted", "completion", "message"];
/// So many there are.
pub const SOURCES: usize = NAMES.len();
/// The class of each: interrupts are posted.
pub const CLASSES: [usize; SOURCES] = [0, 1, 2, 0];
/// The source of interrupts.
pub const MESSAGE: usize = 3;

/// The block, and who is at its ports.
pub struct Link {
    pub bench: Bench,
    pub rng: ChaCha8Rng,
    /// Beats to offer, and packets to see, for each source.
    pub beats: [VecDeque<Beat>; SOURCES],
    pub packets: [VecDeque<Vec<u32>>; SOURCES],
    /// Sources that offer a beat now.
    pub showing: [bool; SOURCES],
    /// The next beat of the interrupt is its first: it may be withdrawn.
    pub first: bool,
    pub withdrawn: u64,
    pub collector: Collector,
    /// Class of the packet that is leaving.
    pub class: u64,
    /// What may be sent: headers and 16-byte units for each class.
    pub headers: [u64; 3],
    pub units: [u64; 3],
    pub master: bool,
    pub max_payload: u64,
    /// Packets of each source that have left.
    pub seen: [u64; SOURCES],
    /// Their sources, in order.
    pub order: Vec<u64>,
    /// Packets of which the first beat has left.
    pub begun: u64,
    /// Cycles since a beat left.
    pub idle: u64,
}

impl Link {
    /// With this code of the largest payload.
    pub fn new(max_payload: u64) -> Self {
        let mut bench = Bench::new("transmit", &verilog(TlpTransmit::default()));
        let rng = crate::random(&bench);
        bench.set("max_payload", max_payload);
        Self {
            bench,
            rng,
            beats: Default::default(),
            packets: Default::default(),
            showing: [false; SOURCES],
            first: true,
            withdrawn: 0,
            collector: Collector::default(),
            class: 0,
            headers: [0; 3],
            units: [0; 3],
            master: true,
            max_payload,
            seen: [0; SOURCES],
            order: Vec::new(),
            begun: 0,
            idle: 0,
        }
    }

    /// A packet of a source: header and payload double words, random.
    pub fn packet(&mut self, source: usize) {
        let payload = match source {
            0 => self.rng.random_range(1..=32 << self.max_payload),
            1 => 0,
            MESSAGE => self.rng.random_range(1..=2),
            _ => self.rng.random_range(0..=2),
        };
        self.packet_of(source, payload);
    }

    /// A memory write of so many double words of payload.
    pub fn posted(&mut self, payload: usize) {
        self.packet_of(0, payload);
    }

    /// Another code of the largest payload from now on.
    pub fn resize(&mut self, max_payload: u64) {
        self.max_payload = max_payload;
        self.bench.set("max_payload", max_payload);
    }

    fn packet_of(&mut self, source: usize, payload: usize) {
        let packet: Vec<u32> = (0..3 + payload).map(|_| self.rng.random()).collect();
        self.beats[source].extend(beats(&packet));
        self.packets[source].push_back(packet);
    }

    /// Shows the credits.
    fn credits(&mut self) {
        let ports = [("ph", self.headers[0]), ("nph", self.headers[1]), ("ch", self.headers[2])];
        for (name, value) in ports {
            self.bench.set(&format!("credit_{name}"), value.min(255));
        }
        self.bench.set("credit_pd", self.units[0].min(4095));
        self.bench.set("credit_cd", self.units[2].min(4095));
    }

    /// One cycle: how often a source offers something, and how often the link is ready.
    pub fn step(&mut self, offer_rate: f64, tx_rate: f64) {
        self.credits();
        self.bench.set("bus_master", self.master.into());
        for (class, name) in NAMES.iter().enumerate() {
            self.showing[class] |= self.rng.random_bool(offer_rate);
            self.showing[class] &= !self.beats[class].is_empty();
            if class == MESSAGE
                && self.first
                && offer_rate < 1.0
                && self.showing[class]
                && self.rng.random_bool(0.2)
            {
                self.showing[class] = false;
                self.withdrawn += 1;
            }
            self.bench.set(&format!("{name}_valid"), self.showing[class].into());
            // Who offers nothing may show anything.
            let nothing = Beat { data: self.rng.random(), keep: 3, last: self.rng.random() };
            let beat = self.beats[class].front().copied().filter(|_| self.showing[class]);
            beat.unwrap_or(nothing).set(&mut self.bench, name);
        }
        let ready = self.rng.random_bool(tx_rate);
        self.bench.set("tx_ready", ready.into());
        self.bench.eval();
        for (class, name) in NAMES.iter().enumerate() {
            if self.showing[class] && self.bench.get(&format!("{name}_ready")) == 1 {
                let beat = self.beats[class].pop_front();
                if class == MESSAGE {
                    self.first = beat.is_some_and(|beat| beat.last);
                }
                self.showing[class] = offer_rate == 1.0;
            }
        }
        self.idle += 1;
        if ready && self.bench.get("tx_valid") == 1 {
            self.idle = 0;
            let class = self.bench.get("tx_class");
            if self.collector.is_empty() {
                self.begun += 1;
                self.class = class;
            }
            assert_eq!(class, self.class, "one packet, one class");
            if let Some(packet) = self.collector.push(Beat::get_apart(&self.bench, "tx")) {
                let class = class as usize;
                let source = (0..SOURCES)
                    .find(|source| {
                        CLASSES[*source] == class && self.packets[*source].front() == Some(&packet)
                    })
                    .expect("in order and unchanged");
                self.packets[source].pop_front();
                self.seen[source] += 1;
                self.order.push(source as u64);
                let units = (packet.len() as u64 - 3).div_ceil(4);
                assert!(self.headers[class] >= 1, "class {class} without a header credit");
                assert!(class == 1 || self.units[class] >= units, "class {class} without data credits");
                self.headers[class] -= 1;
                if class != 1 {
                    self.units[class] -= units;
                }
            }
        }
        self.bench.tick();
    }

    /// Grants credits for all, and gives each source two packets.
    pub fn load(&mut self) {
        self.headers = [200; 3];
        self.units = [4000; 3];
        for source in 0..SOURCES {
            self.packet(source);
            self.packet(source);
        }
    }

    /// Cycles until all have left, with credits for everything and no pause.
    pub fn drain(&mut self) -> usize {
        let mut cycles = 0;
        while self.packets.iter().any(|packets| !packets.is_empty()) {
            self.headers = [200; 3];
            self.units = [4000; 3];
            self.step(1.0, 1.0);
            cycles += 1;
        }
        cycles
    }
}
