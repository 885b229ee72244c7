//! A mac in software between the data link layer and the seam: the LTSSM, receiver and ordered sets of the link partner's model, in the
//! upstream role.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::electrical::Electrical;
use viaduct_link::generation::Generation;
use viaduct_link::link::frame::Deframer;
use viaduct_link::ltssm::{Line, LowPower, Ltssm, Request, Role, Setup, Stamp, State, Times, Transmit};
use viaduct_link::ordered_set::{EIOS, SKP_SET};
use viaduct_link::receiver::Receiver;
use viaduct_link::scrambler::Scrambler;
use viaduct_link::seam::{FromEndpoint, Heard, Sent, ToEndpoint};
use viaduct_link::symbol::Symbol;

use super::device::{Cycle, Device};

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Filler,
    Skp,
    Training(Stamp),
    Eios,
    Packet,
}

/// See the module's description.
pub struct Mac {
    pub ltssm: Ltssm,
    receiver: Receiver,
    electrical: Electrical,
    /// Knows what is within packets.
    deframer: Deframer,
    /// Received symbols on their way to the data link layer.
    lane: VecDeque<Option<Symbol>>,
    scrambler: Scrambler,
    unit: Unit,
    rest: VecDeque<Symbol>,
    since_skp: u32,
    skp_due: u32,
    quiet: Option<u64>,
    random: ChaCha8Rng,
    /// How often in percent it is ready for a packet.
    pub rate: u32,
}

impl Mac {
    pub fn new(times: Times, seed: u64) -> Self {
        let setup = Setup {
            role: Role::Upstream,
            times,
            link: 0,
            generation: Generation::First,
            no_scrambling: false,
            relock: true,
        };
        Self {
            ltssm: Ltssm::new(setup),
            receiver: Receiver::default(),
            electrical: Electrical::default(),
            deframer: Deframer::default(),
            lane: VecDeque::new(),
            scrambler: Scrambler::default(),
            unit: Unit::Filler,
            rest: VecDeque::new(),
            since_skp: 0,
            skp_due: 1180,
            quiet: Some(0),
            random: ChaCha8Rng::seed_from_u64(seed ^ 0x3ac),
            rate: 100,
        }
    }

    /// A cycle, with the data link layer's.
    pub fn cycle(&mut self, to: &ToEndpoint, device: &mut Device) -> FromEndpoint {
        let heard = to.heard();
        self.hear(&heard);
        self.electrical.push(&heard);
        let agreed = if device.sleeps() { LowPower::Agreed } else { LowPower::None };
        let line = Line {
            quiet: self.electrical.is_quiet(),
            sent_quiet: self.quiet.unwrap_or(0),
            detected: (self.ltssm.detects() && to.detect_done).then_some(to.detect_present),
            low_power: agreed,
        };
        if device.retrains() || (device.wakes() && self.ltssm.state() == State::L1Idle) {
            self.ltssm.direct(Request::Retrain);
        }
        self.ltssm.tick(&line);
        let sent = self.send(device);
        let from = FromEndpoint {
            detect_request: self.ltssm.detects(),
            rx_invert: self.ltssm.inverted(),
            ..FromEndpoint::default()
        };
        from.carry(sent)
    }

    fn hear(&mut self, heard: &Heard) {
        for symbol in heard.symbols {
            let seen = self.receiver.push(symbol, self.ltssm.scrambled());
            if let Some(event) = seen.event {
                self.ltssm.heard(event);
            }
            let hears = self.ltssm.state().hears_packets();
            match seen.outside {
                Some(plain) => {
                    if !self.deframer.inside() {
                        self.ltssm.heard_symbol(plain);
                    }
                    if hears {
                        self.deframer.push(plain);
                    }
                }
                None => {
                    self.deframer.interrupt();
                }
            }
            // SKP may be left out: a COM that was moved to the low byte has taken a symbol time.
            let skip = symbol == Some(Symbol::SKP) && seen.outside.is_none() && self.lane.len() > 3;
            if hears && !skip {
                self.lane.push_back(seen.outside.unwrap_or(symbol));
            }
        }
    }

    /// Two symbols for the data link layer, COM in the low byte.
    fn aligned(&mut self) -> Option<[Option<Symbol>; 2]> {
        if self.lane.len() < 2 {
            return None;
        }
        let low = self.lane.pop_front()?;
        if self.lane[0] == Some(Symbol::COM) {
            return Some([low, Some(Symbol::IDLE)]);
        }
        Some([low, self.lane.pop_front()?])
    }

    fn send(&mut self, device: &mut Device) -> Sent {
        let state = self.ltssm.state();
        let silent = self.ltssm.transmit() == Transmit::ElectricalIdle
            && self.rest.is_empty()
            && self.unit == Unit::Eios;
        let mut cycle = Cycle {
            symbols: self.aligned(),
            ready: false,
            link_up: self.ltssm.link_up(),
            in_l0: state == State::L0,
        };
        if let Some(cycles) = self.quiet {
            if self.ltssm.transmit() == Transmit::ElectricalIdle {
                self.quiet = Some(cycles + 1);
                device.cycle(cycle);
                return Sent::SILENCE;
            }
            (self.quiet, self.since_skp, self.unit) = (None, 0, Unit::Filler);
        } else if silent {
            self.quiet = Some(1);
            device.cycle(cycle);
            return Sent::SILENCE;
        }
        let mut idle = None;
        if self.rest.is_empty() && self.unit != Unit::Packet {
            idle = self.begin();
        }
        let packets = self.rest.is_empty() && self.ltssm.transmit() == Transmit::Packets;
        cycle.ready = self.unit == Unit::Packet || packets && self.random.random_ratio(self.rate, 100);
        let word = device.cycle(cycle);
        let symbols = match word {
            Some((symbols, last)) => {
                self.unit = if last { Unit::Filler } else { Unit::Packet };
                symbols
            }
            None => [0; 2].map(|_| self.rest.pop_front().unwrap_or(Symbol::IDLE)),
        };
        if !cycle.link_up && self.unit == Unit::Packet {
            self.unit = Unit::Filler;
        }
        self.since_skp += 2;
        self.scrambler.enabled = self.ltssm.scrambled();
        let training = matches!(self.unit, Unit::Training(_));
        let symbols = symbols.map(|symbol| self.scrambler.pass(symbol, training));
        if let (Unit::Training(stamp), true) = (self.unit, self.rest.is_empty()) {
            self.ltssm.sent(stamp);
        }
        if let Some(stamp) = idle {
            self.ltssm.sent(stamp);
            self.ltssm.sent(stamp);
        }
        Sent { symbols, idle: false }
    }

    /// Begins an ordered set, or says that logical idle counts.
    fn begin(&mut self) -> Option<Stamp> {
        if self.since_skp >= self.skp_due {
            self.since_skp -= self.skp_due;
            self.skp_due = self.random.random_range(1180..=1538) & !1;
            (self.unit, self.rest) = (Unit::Skp, SKP_SET.into());
            return None;
        }
        match self.ltssm.transmit() {
            Transmit::ElectricalIdle => (self.unit, self.rest) = (Unit::Eios, EIOS.into()),
            Transmit::Training(set) => {
                (self.unit, self.rest) = (Unit::Training(self.ltssm.begin()), set.encode().into());
            }
            Transmit::LogicalIdle => {
                self.unit = Unit::Filler;
                return Some(self.ltssm.begin());
            }
            Transmit::Packets => self.unit = Unit::Filler,
        }
        None
    }
}
