//! What a side sends, symbol by symbol: ordered sets and packets, never cut, and SKP ordered sets
//! when they are due (section 4.2.7).

use crate::link::{DataLink, Packet, What};
use crate::ltssm::{Ltssm, Stamp, Transmit};
use crate::ordered_set::{EIOS, SKP_SET};
use crate::scrambler::Scrambler;
use crate::seam::{Cycle, Sent};
use crate::symbol::Symbol;

/// Fewest and most symbols from one SKP ordered set to the next.
pub const SKP_INTERVAL: (u32, u32) = (1180, 1538);

/// What is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Skp,
    Training(Stamp),
    Eios,
    Packet(What),
    Idle(Stamp),
    /// Logical idle that fills a cycle, or a gap.
    Filler,
}

/// The transmitter.
#[derive(Debug, Clone)]
pub struct Transmitter {
    scrambler: Scrambler,
    unit: Unit,
    symbols: Vec<Symbol>,
    place: usize,
    /// A packet that waits for a gap to end, and the rest of the gap.
    held: Option<(Packet, u32)>,
    /// Symbols since a SKP ordered set was due.
    since_skp: u32,
    skp_due: u32,
    /// Cycles in electrical idle; `None` while sending.
    quiet: Option<Cycle>,
}

impl Default for Transmitter {
    fn default() -> Self {
        Self {
            scrambler: Scrambler::default(),
            unit: Unit::Filler,
            symbols: Vec::new(),
            place: 0,
            held: None,
            since_skp: 0,
            skp_due: SKP_INTERVAL.0,
            quiet: Some(0),
        }
    }
}

impl Transmitter {
    /// Cycles in electrical idle so far.
    pub fn quiet(&self) -> Cycle {
        self.quiet.unwrap_or(0)
    }

    /// Symbols until a SKP ordered set is due.
    pub fn skp_in(&self) -> u32 {
        self.skp_due.saturating_sub(self.since_skp)
    }

    /// Nothing but logical idle is being sent.
    pub fn is_idle(&self) -> bool {
        matches!(self.unit, Unit::Filler | Unit::Idle(_)) && self.held.is_none()
    }

    /// Two symbols.
    pub fn cycle(&mut self, ltssm: &mut Ltssm, link: &mut DataLink, skp: (u32, u32)) -> Sent {
        let silent =
            ltssm.transmit() == Transmit::ElectricalIdle && self.is_done() && self.unit == Unit::Eios;
        if let Some(cycles) = &mut self.quiet {
            if ltssm.transmit() == Transmit::ElectricalIdle {
                *cycles += 1;
                return Sent::SILENCE;
            }
            self.quiet = None;
            self.since_skp = 0;
            (self.unit, self.place) = (Unit::Filler, self.symbols.len());
        } else if silent {
            self.quiet = Some(1);
            self.held = None;
            return Sent::SILENCE;
        }
        let symbols = [0; 2].map(|_| self.symbol(ltssm, link, skp));
        Sent { symbols, idle: false }
    }

    fn is_done(&self) -> bool {
        self.place >= self.symbols.len()
    }

    fn symbol(&mut self, ltssm: &mut Ltssm, link: &mut DataLink, skp: (u32, u32)) -> Symbol {
        if self.is_done() {
            self.begin(ltssm, link, skp);
        } else if let Unit::Packet(what) = self.unit {
            if ltssm.transmit() != Transmit::Packets && link.trouble().settings().cuts {
                link.spoken(what);
                self.begin(ltssm, link, skp);
            }
        }
        let symbol = self.symbols.get(self.place).copied().unwrap_or(Symbol::IDLE);
        self.place += 1;
        self.since_skp += 1;
        self.scrambler.enabled = ltssm.scrambled();
        let sent = self.scrambler.pass(symbol, matches!(self.unit, Unit::Training(_)));
        if self.is_done() {
            match self.unit {
                Unit::Training(stamp) | Unit::Idle(stamp) => ltssm.sent(stamp),
                Unit::Packet(what) => link.spoken(what),
                Unit::Skp | Unit::Eios | Unit::Filler => {}
            }
        }
        sent
    }

    /// Begins what is sent next.
    fn begin(&mut self, ltssm: &Ltssm, link: &mut DataLink, skp: (u32, u32)) {
        self.place = 0;
        self.symbols.clear();
        if self.since_skp >= self.skp_due {
            self.since_skp -= self.skp_due;
            self.skp_due = link.trouble().within(skp);
            return self.unit(Unit::Skp, &SKP_SET);
        }
        match ltssm.transmit() {
            Transmit::ElectricalIdle if self.unit == Unit::Eios => self.unit(Unit::Eios, &[Symbol::IDLE]),
            Transmit::ElectricalIdle => self.unit(Unit::Eios, &EIOS),
            Transmit::Training(set) => self.unit(Unit::Training(ltssm.begin()), &set.encode()),
            Transmit::LogicalIdle => self.unit(Unit::Idle(ltssm.begin()), &[Symbol::IDLE]),
            Transmit::Packets => self.packet(link),
        }
    }

    fn unit(&mut self, unit: Unit, symbols: &[Symbol]) {
        self.unit = unit;
        self.symbols.extend_from_slice(symbols);
    }

    fn packet(&mut self, link: &mut DataLink) {
        let next = self.held.take().or_else(|| {
            let packet = link.speak()?;
            Some((packet, link.trouble().gap()))
        });
        match next {
            None => self.unit(Unit::Filler, &[Symbol::IDLE]),
            Some((packet, 0)) => {
                self.unit = Unit::Packet(packet.what);
                self.symbols = packet.symbols;
            }
            Some((packet, gap)) => {
                self.held = Some((packet, gap - 1));
                self.unit(Unit::Filler, &[Symbol::IDLE]);
            }
        }
    }
}
