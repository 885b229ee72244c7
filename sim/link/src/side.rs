//! One side of a link: physical layer, LTSSM and data link layer, a cycle at a time.

use std::collections::VecDeque;

use crate::damage::{Mischief, Trouble};
use crate::electrical::Electrical;
use crate::generation::Generation;
use crate::link::dllp::Power;
use crate::link::frame::Deframer;
use crate::link::{Counters, DataLink, LinkOptions, Refused};
use crate::ltssm::{Line, Ltssm, Request, Role, Setup, State, Times};
use crate::receiver::Receiver;
use crate::seam::{Cycle, Heard, Sent};
use crate::tlp::Tlp;
use crate::transmitter::{Transmitter, SKP_INTERVAL};

/// How a side is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which side it is.
    pub role: Role,
    /// Times of the LTSSM.
    pub times: Times,
    /// Link number that a downstream port gives.
    pub link_number: u8,
    /// What it says of itself.
    pub generation: Generation,
    /// It asks for Disable Scrambling in its training sets.
    pub no_scrambling: bool,
    /// TS1 in Recovery.Idle lead back to Recovery.RcvrLock: see [`Setup::relock`].
    pub relock: bool,
    /// Fewest and most symbols from one SKP ordered set to the next.
    pub skp_interval: (u32, u32),
    /// The data link layer.
    pub link: LinkOptions,
    /// How it misbehaves.
    pub mischief: Mischief,
    /// For all that is random in it.
    pub seed: u64,
}

impl Options {
    /// A healthy side with the times of the specification and a Max_Payload_Size of 128 bytes.
    pub fn new(role: Role, seed: u64) -> Self {
        Self {
            role,
            times: Times::default(),
            link_number: 0,
            generation: Generation::First,
            no_scrambling: false,
            relock: true,
            skp_interval: SKP_INTERVAL,
            link: LinkOptions::new(role, 128),
            mischief: Mischief::default(),
            seed,
        }
    }
}

/// One side of a link.
#[derive(Debug, Clone)]
pub struct Side {
    now: Cycle,
    skp_interval: (u32, u32),
    ltssm: Ltssm,
    electrical: Electrical,
    receiver: Receiver,
    deframer: Deframer,
    link: DataLink,
    transmitter: Transmitter,
    /// The cycle in which the last packet was on the lane.
    busy: Cycle,
    history: VecDeque<(Cycle, State)>,
}

/// States that are remembered.
const HISTORY: usize = 256;
/// Cycles without a packet after which nothing is under way any more.
const STILL: Cycle = 64;

impl Side {
    /// After power-up.
    pub fn new(options: Options) -> Self {
        let Options { role, times, link_number, generation, no_scrambling, relock, .. } = options;
        let Options { skp_interval, mut link, mischief, seed, .. } = options;
        link.set_generation(generation);
        Self {
            now: 0,
            skp_interval,
            ltssm: Ltssm::new(Setup { role, times, link: link_number, generation, no_scrambling, relock }),
            electrical: Electrical::default(),
            receiver: Receiver::default(),
            deframer: Deframer::default(),
            link: DataLink::new(link, Trouble::new(mischief, seed)),
            transmitter: Transmitter::default(),
            busy: 0,
            history: VecDeque::new(),
        }
    }

    /// A cycle passes. `detected` is the result of receiver detection in the cycle in which it ends.
    pub fn step(&mut self, heard: Heard, detected: Option<bool>) -> Sent {
        self.now += 1;
        for symbol in heard.symbols {
            let seen = self.receiver.push(symbol, self.ltssm.scrambled());
            if let Some(event) = seen.event {
                self.ltssm.heard(event);
            }
            let frame = match seen.outside {
                Some(symbol) => {
                    if !self.deframer.inside() {
                        self.ltssm.heard_symbol(symbol);
                    }
                    let hears = self.ltssm.state().hears_packets();
                    if hears {
                        self.deframer.push(symbol)
                    } else {
                        self.deframer.interrupt()
                    }
                }
                None => self.deframer.interrupt(),
            };
            if let Some(frame) = frame {
                self.busy = self.now;
                self.link.heard(frame);
            }
        }
        self.electrical.push(&heard);
        self.state_machine(detected);
        let sent = self.transmitter.cycle(&mut self.ltssm, &mut self.link, self.skp_interval);
        if !self.transmitter.is_idle() || self.deframer.inside() {
            self.busy = self.now;
        }
        sent
    }

    fn state_machine(&mut self, detected: Option<bool>) {
        let line = Line {
            quiet: self.electrical.is_quiet(),
            sent_quiet: self.transmitter.quiet(),
            detected,
            low_power: self.link.low_power(),
        };
        if self.ltssm.state() == State::L1Idle && self.link.has_work() {
            self.ltssm.direct(Request::Retrain);
        }
        if self.ltssm.tick(&line) {
            let state = self.ltssm.state();
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back((self.now, state));
            self.link.set_up(self.ltssm.link_up());
            if state == State::L0 {
                self.link.resumed();
            }
        }
        if self.ltssm.state() == State::L0 && self.link.tick() {
            self.ltssm.direct(Request::Retrain);
        }
    }

    /// The cycle, counted from power-up.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// The state of the LTSSM.
    pub fn state(&self) -> State {
        self.ltssm.state()
    }

    /// The last states that the LTSSM entered, each with its cycle: what to look at when a link does not
    /// come up.
    pub fn history(&self) -> impl Iterator<Item = (Cycle, State)> + '_ {
        self.history.iter().copied()
    }

    /// LinkUp: the link has been in L0, and not in Detect, Hot Reset or Disabled since.
    pub fn link_up(&self) -> bool {
        self.ltssm.link_up()
    }

    /// DL_Active: TLPs may pass.
    pub fn is_active(&self) -> bool {
        self.link.is_active()
    }

    /// Receiver detection is asked for.
    pub fn detects(&self) -> bool {
        self.ltssm.detects()
    }

    /// The received lane is to be inverted below the seam.
    pub fn inverts(&self) -> bool {
        self.ltssm.inverted()
    }

    /// Data is scrambled.
    pub fn is_scrambled(&self) -> bool {
        self.ltssm.scrambled()
    }

    /// What the data link layer has seen and done.
    pub fn counters(&self) -> Counters {
        self.link.counters()
    }

    /// The data link layer, to look at.
    pub fn link(&self) -> &DataLink {
        &self.link
    }

    /// Queues a TLP.
    pub fn send(&mut self, tlp: Tlp) -> Result<(), Refused> {
        self.link.send(tlp)
    }

    /// Takes a TLP that has come.
    pub fn receive(&mut self) -> Option<Tlp> {
        self.link.receive()
    }

    /// TLPs that are still to be sent or acknowledged.
    pub fn backlog(&self) -> usize {
        self.link.backlog()
    }

    /// Max_Payload_Size in bytes from now on.
    pub fn set_max_payload(&mut self, bytes: u32) {
        self.link.set_max_payload(bytes);
    }

    /// How it misbehaves from now on.
    pub fn set_mischief(&mut self, mischief: Mischief) {
        self.link.trouble().set(mischief);
    }

    /// Hot reset, Disabled or Recovery.
    pub fn direct(&mut self, request: Request) {
        self.ltssm.direct(request);
    }

    /// Takes Disabled back.
    pub fn enable(&mut self) {
        self.ltssm.enable();
    }

    /// An upstream port asks for L1.
    pub fn ask_for_l1(&mut self) {
        self.link.ask_for(Power::EnterL1);
    }

    /// An upstream port asks for L2/L3 Ready, after PME_TO_Ack.
    pub fn ask_for_l23(&mut self) {
        self.link.ask_for(Power::EnterL23);
    }

    /// Nothing but SKP and UpdateFC is due, and in which cycle it is. If both sides say so, a
    /// simulator may stop their clocks together until then.
    pub fn idle(&self) -> Option<Cycle> {
        let still = self.now >= self.busy + STILL;
        if self.state() != State::L0 || !still || self.ltssm.directed().is_some() {
            return None;
        }
        let symbols = self.link.idle_for()?.min(u64::from(self.transmitter.skp_in()));
        Some(self.now + (symbols / 2).min(self.ltssm.silent_in()))
    }
}
