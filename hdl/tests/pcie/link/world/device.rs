//! The data link layer in Verilator, with a transaction layer that takes and gives TLPs.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::bus::Limits;
use viaduct_hdl::pcie::link::PcieLink;
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{from_bytes, to_bytes, Class, Tlp};
use viaduct_verilate::{Dut, Handle, Options};

use crate::bundle::{Bundle, Fields};

/// What `mac` gives in a cycle.
#[derive(Clone, Copy)]
pub struct Cycle {
    /// Two symbols, or nothing; a damaged one is `None`.
    pub symbols: Option<[Option<Symbol>; 2]>,
    pub ready: bool,
    pub link_up: bool,
    pub in_l0: bool,
}

/// See the module's description.
pub struct Device {
    dut: Dut,
    ports: Ports,
    limits: Bundle,
    random: ChaCha8Rng,
    /// Words of the TLPs to send, and which are the first and the last of theirs.
    offers: VecDeque<u16>,
    firsts: VecDeque<bool>,
    lasts: VecDeque<bool>,
    /// How often in percent a word is offered.
    pub rate: u32,
    offered: bool,
    /// TLPs that were taken to their last word.
    pub accepted: u64,
    /// Words that were taken.
    pub words_taken: u64,
    /// Good TLPs.
    pub arrived: VecDeque<Tlp>,
    partial: Vec<u8>,
    /// Requests that are not freed: when each is.
    queue: Vec<u64>,
    /// Longest time in cycles until a request is freed; `None` is never.
    pub frees: Option<u64>,
    pub now: u64,
    /// A packet is on the line.
    inside: bool,
    /// Values of inputs that change rarely.
    pub max_payload: u64,
    pub enter_l1: bool,
    pub enter_l23: bool,
    /// Cycles in which `retrain` rose.
    pub retrains: u64,
    retraining: bool,
}

struct Ports {
    symbols_valid: Handle,
    symbols: Handle,
    line_valid: Handle,
    line_ready: Handle,
    line: Handle,
    link_up: Handle,
    in_l0: Handle,
    retrain: Handle,
    sleep: Handle,
    wake: Handle,
    arrived_valid: Handle,
    arrived: Handle,
    offered_valid: Handle,
    offered_ready: Handle,
    offered: Handle,
    active: Handle,
    freed: Handle,
    max_payload: Handle,
    enter_l1: Handle,
    enter_l23: Handle,
}

impl Device {
    /// Out of reset, with the link down.
    pub fn new(seed: u64) -> Self {
        let mut dut = match Dut::seeded(&verilog(PcieLink::default()), &Options::named("pcie/link"), seed) {
            Ok(dut) => dut,
            Err(error) => panic!("{error}"),
        };
        let ports = Ports {
            symbols_valid: dut.port("symbols_valid"),
            symbols: dut.port("symbols"),
            line_valid: dut.port("line_valid"),
            line_ready: dut.port("line_ready"),
            line: dut.port("line"),
            link_up: dut.port("link_up"),
            in_l0: dut.port("in_l0"),
            retrain: dut.port("retrain"),
            sleep: dut.port("sleep"),
            wake: dut.port("wake"),
            arrived_valid: dut.port("arrived_valid"),
            arrived: dut.port("arrived"),
            offered_valid: dut.port("offered_valid"),
            offered_ready: dut.port("offered_ready"),
            offered: dut.port("offered"),
            active: dut.port("active"),
            freed: dut.port("freed"),
            max_payload: dut.port("max_payload"),
            enter_l1: dut.port("enter_l1"),
            enter_l23: dut.port("enter_l23"),
        };
        dut.set("reset", 1);
        for _ in 0..4 {
            dut.tick();
        }
        dut.set("reset", 0);
        Self {
            dut,
            ports,
            limits: Bundle::of::<Limits>("limits"),
            random: ChaCha8Rng::seed_from_u64(seed ^ 0x0ff3),
            offers: VecDeque::new(),
            firsts: VecDeque::new(),
            lasts: VecDeque::new(),
            rate: 100,
            offered: false,
            accepted: 0,
            words_taken: 0,
            arrived: VecDeque::new(),
            partial: Vec::new(),
            queue: Vec::new(),
            frees: Some(0),
            now: 0,
            inside: false,
            max_payload: 0,
            enter_l1: false,
            enter_l23: false,
            retrains: 0,
            retraining: false,
        }
    }

    /// Offers a TLP.
    pub fn send(&mut self, tlp: &Tlp) {
        let bytes = to_bytes(tlp);
        let count = bytes.len() / 2;
        for (at, pair) in bytes.chunks(2).enumerate() {
            self.offers.push_back(u16::from_le_bytes([pair[0], pair[1]]));
            self.firsts.push_back(at == 0);
            self.lasts.push_back(at + 1 == count);
        }
    }

    /// Words that wait to be offered.
    pub fn backlog(&self) -> usize {
        self.offers.len()
    }

    pub fn is_active(&self) -> bool {
        self.dut.read(self.ports.active) == 1
    }

    pub fn sleeps(&self) -> bool {
        self.dut.read(self.ports.sleep) == 1
    }

    pub fn wakes(&self) -> bool {
        self.dut.read(self.ports.wake) == 1
    }

    pub fn retrains(&self) -> bool {
        self.dut.read(self.ports.retrain) == 1
    }

    pub fn limits(&self) -> Fields {
        self.limits.all(&self.dut)
    }

    /// A request leaves its queue now.
    pub fn free_one(&mut self) {
        self.queue.push(self.now);
    }

    /// Forgets what the transaction layer holds: the link is down.
    pub fn forget(&mut self) {
        self.offers.clear();
        self.firsts.clear();
        self.lasts.clear();
        self.partial.clear();
        self.queue.clear();
        self.offered = false;
    }

    /// A cycle. What goes on the line: two symbols, and whether they are a packet's last.
    pub fn cycle(&mut self, mac: Cycle) -> Option<([Symbol; 2], bool)> {
        self.now += 1;
        self.inputs(mac);
        self.dut.eval();
        let word = self.dut.read(self.ports.line);
        let valid = self.dut.read(self.ports.line_valid) == 1;
        let sent = (valid && mac.ready).then(|| {
            let symbol = |at: u64| Symbol { value: (word >> (8 * at)) as u8, k: word >> (16 + at) & 1 == 1 };
            ([symbol(0), symbol(1)], word >> 18 & 1 == 1)
        });
        assert!(!self.inside || !mac.ready || valid || !mac.link_up, "a gap within a packet");
        if let Some((symbols, last)) = sent {
            let starts = [Symbol::STP, Symbol::SDP].contains(&symbols[0]);
            assert_eq!(starts, !self.inside, "STP and SDP begin packets, and nothing else");
            assert_eq!(symbols[1] == Symbol::END, last, "END ends packets, and nothing else");
            self.inside = !last;
        }
        if !mac.link_up {
            self.inside = false;
        }
        self.outputs();
        self.dut.tick();
        self.dut.eval();
        let retrains = self.retrains();
        self.retrains += u64::from(retrains && !self.retraining);
        self.retraining = retrains;
        sent
    }

    fn inputs(&mut self, mac: Cycle) {
        let mut symbols = 0;
        for (at, symbol) in mac.symbols.unwrap_or([None; 2]).into_iter().enumerate() {
            symbols |= match symbol {
                Some(Symbol { value, k }) => u64::from(value) << (8 * at) | u64::from(k) << (16 + at),
                // Its value and K mean nothing.
                None => {
                    let junk: u8 = self.random.random();
                    u64::from(junk) << (8 * at)
                        | u64::from(self.random.random::<bool>()) << (16 + at)
                        | 1 << (18 + at)
                }
            };
        }
        let ports = &self.ports;
        self.dut.write(ports.symbols, symbols);
        self.dut.write(ports.symbols_valid, mac.symbols.is_some().into());
        self.dut.write(ports.line_ready, mac.ready.into());
        self.dut.write(ports.link_up, mac.link_up.into());
        self.dut.write(ports.in_l0, mac.in_l0.into());
        self.dut.write(ports.max_payload, self.max_payload);
        self.dut.write(ports.enter_l1, self.enter_l1.into());
        self.dut.write(ports.enter_l23, self.enter_l23.into());
        let now = self.now;
        let free = self.queue.iter().position(|at| *at <= now);
        self.dut.write(ports.freed, free.is_some().into());
        if let Some(free) = free {
            self.queue.swap_remove(free);
        }
        self.offered = !self.offers.is_empty() && (self.offered || self.random.random_ratio(self.rate, 100));
        self.dut.write(ports.offered_valid, self.offered.into());
        if self.offered {
            let word =
                u64::from(self.offers[0]) | u64::from(self.firsts[0]) << 16 | u64::from(self.lasts[0]) << 17;
            self.dut.write(ports.offered, word);
        }
    }

    fn outputs(&mut self) {
        if self.offered && self.dut.read(self.ports.offered_ready) == 1 {
            self.offers.pop_front();
            self.firsts.pop_front();
            self.accepted += u64::from(self.lasts.pop_front() == Some(true));
            self.words_taken += 1;
            self.offered = false;
        }
        if self.dut.read(self.ports.arrived_valid) == 1 {
            let word = self.dut.read(self.ports.arrived);
            assert_eq!(word >> 16 & 1 == 1, self.partial.is_empty(), "`first` is the first word's");
            self.partial.extend((word as u16).to_le_bytes());
            if word >> 17 & 1 == 1 {
                let bytes = std::mem::take(&mut self.partial);
                let tlp = from_bytes(&bytes).unwrap_or_else(|| panic!("no whole TLP: {bytes:02x?}"));
                if let (Class::NonPosted, Some(longest)) = (Class::of(tlp[0]), self.frees) {
                    let at = self.now + self.random.random_range(0..=longest);
                    self.queue.push(at);
                }
                self.arrived.push_back(tlp);
            }
        }
    }
}
