//! The exported card.v between a root port and a cable: what docs/pcie.md, "A link partner of your own", says of its ports, and the messages of
//! `traffic.rs` from its host's memory over the symbol seam, the NIC, the MAC and RGMII to another NIC.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::exchange::{exchange, SIZES};
use crate::pins::Model;
use crate::wire::Peer;
use viaduct_hdl::export::products;
use viaduct_hdl::pcie::mac::state::codes::L0;
use viaduct_link::monitor::{Monitor, MonitorOptions};
use viaduct_link::port::{Port, PortOptions};
use viaduct_link::seam::FromEndpoint;
use viaduct_link::tlp::{payload_dw, to_bytes, Class, Tlp};
use viaduct_sim::fabric::Capture;
use viaduct_sim::network::Network;
use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_sim::root_complex::{self, RootComplex, BAR0_BASE, BAR2_BASE, HOST_ID, NIC_ID};
use viaduct_sim::rtl::Rtl;
use viaduct_sim::setup::Setup;
use viaduct_sim::tlp::beat;
use viaduct_spec::config_space::{
    device_control, pci_command, BAR0, BAR2, BAR2_HIGH, COMMAND, DEVICE_CONTROL, TABLE,
};
use viaduct_spec::tlp::class;
use viaduct_verilate::{Dut, Handle, Options};

/// Half periods in picoseconds: of 125 MHz, of 100 MHz, and of a PHY's clock that is 100 ppm slow.
const FAST: u64 = 4_000_000;
const CORE: u64 = 5_000_000;
const PHY: u64 = 4_000_400;
/// Cycles of the core's in which a link trains, and in which a configuration request is answered: more than that is a failure.
const TRAINS: u32 = 100_000;
const ANSWERS: u32 = 2000;
/// The host's tag of configuration requests; loads of the root complex have others.
const TAG: u32 = 0xFF;

/// Cycles of the core's for which software leaves a function alone that it has reset.
const RESETS: u32 = 2000;

/// Device Control with the sizes that a root complex shows.
fn sizes(input: &NicIn) -> u32 {
    u32::from(input.cfg_max_payload) << device_control::MAX_PAYLOAD.lo
        | u32::from(input.cfg_max_read) << device_control::MAX_READ.lo
        | if input.cfg_extended_tag { device_control::EXTENDED_TAG.ones() } else { 0 }
}

/// One of the card's clocks.
struct Turning {
    port: Handle,
    half: u64,
    next: u64,
    high: bool,
}

/// TLPs that pass one of the ports `watch_*`, word by word.
struct Watch {
    valid: Handle,
    word: Handle,
    bytes: Vec<u8>,
    seen: VecDeque<Vec<u8>>,
}

impl Watch {
    fn of(dut: &Dut, name: &str) -> Self {
        let valid = dut.port(&format!("{name}_valid"));
        Self { valid, word: dut.port(name), bytes: Vec::new(), seen: VecDeque::new() }
    }

    /// Looks behind an edge of `pclk`.
    fn look(&mut self, dut: &Dut) {
        if dut.read(self.valid) == 0 {
            return;
        }
        let word = dut.read(self.word);
        assert_eq!(word >> 16 & 1 == 1, self.bytes.is_empty(), "the bit of a first word");
        self.bytes.extend(&word.to_le_bytes()[..2]);
        if word >> 17 == 1 {
            self.seen.push_back(std::mem::take(&mut self.bytes));
        }
    }
}

/// What a card's run has shown.
#[derive(Default)]
struct Shown {
    /// TLPs at `watch_in` and `watch_out`.
    watched: [u64; 2],
}

/// A card, with a root port at its seam and a cable at its pins.
struct Card {
    model: Model,
    port: Port,
    monitor: Monitor,
    from: FromEndpoint,
    peer: Peer,
    /// pclk, clock, tx_clock, rx_clock.
    clocks: [Turning; 4],
    now: u64,
    /// What was sent to the card and has not passed `watch_in`.
    sent: VecDeque<Vec<u8>>,
    watches: [Watch; 2],
    shown: Arc<Mutex<Shown>>,
    /// Double words of a packet of the root complex's.
    downward: Tlp,
    upward: VecDeque<Tlp>,
    /// The packet that goes up, and its next beat.
    going: Option<(Tlp, usize)>,
    was_reset: bool,
    violations: usize,
}

impl Card {
    /// A card whose link has trained, and whose function Linux would have found: of a root complex that shows this.
    fn new(text: &str, seed: u64, bus: &root_complex::Options, shown: Arc<Mutex<Shown>>) -> Self {
        let mut dut =
            Dut::seeded(text, &Options { clock: "none".into(), ..Options::named("card") }, seed).unwrap();
        // From here on an edge is one.
        dut.eval();
        let mut input = NicIn::default();
        RootComplex::new(bus.clone()).drive(0, &mut input);
        let mut options = PortOptions::new(seed);
        (options.side.times.detect_quiet, options.locks) = (1000, 64);
        options.side.link.max_payload = 128 << input.cfg_max_payload;
        let monitor =
            MonitorOptions { max_payload: options.side.link.max_payload, ..MonitorOptions::default() };
        let clock = |name: &str, half, next| Turning { port: dut.port(name), half, next, high: false };
        let mut card = Self {
            clocks: [
                clock("pclk", FAST, 1_234_567),
                clock("clock", CORE, CORE),
                clock("tx_clock", FAST, 2_345_678),
                clock("rx_clock", PHY, 3_456_789),
            ],
            watches: [Watch::of(&dut, "watch_in"), Watch::of(&dut, "watch_out")],
            model: Model(dut),
            port: Port::new(options),
            monitor: Monitor::new(monitor),
            from: FromEndpoint::default(),
            peer: Peer::default(),
            now: 0,
            sent: VecDeque::new(),
            shown,
            downward: Vec::new(),
            upward: VecDeque::new(),
            going: None,
            was_reset: false,
            violations: 0,
        };
        card.start(&input);
        card
    }

    /// Reset, training, and configuration.
    fn start(&mut self, input: &NicIn) {
        self.set("reset", 1);
        (0..16).for_each(|_| self.core_cycle());
        self.set("reset", 0);
        let mut cycles = 0..TRAINS;
        while !self.port.is_active() {
            assert!(cycles.next().is_some(), "it trains no further than state {}", self.get("ltssm_deepest"));
            self.core_cycle();
        }
        assert_eq!((self.get("ltssm_state"), self.get("ltssm_deepest")), (L0, L0));
        assert_eq!(self.configure(0, None), TABLE[0].reset, "vendor and device");
        self.map(input);
    }

    /// Sizes as the root complex shows them, addresses, and leave to use the bus.
    fn map(&mut self, input: &NicIn) {
        for (register, value) in [
            (BAR0, BAR0_BASE as u32),
            (BAR2, BAR2_BASE as u32),
            (BAR2_HIGH, (BAR2_BASE >> 32) as u32),
            (DEVICE_CONTROL, sizes(input)),
            (COMMAND, pci_command::MEMORY.ones() | pci_command::MASTER.ones()),
        ] {
            self.configure(register, Some(value));
        }
    }

    /// A function-level reset, and the addresses again. The network stands still meanwhile.
    fn reset_function(&mut self, input: &NicIn) {
        self.configure(DEVICE_CONTROL, Some(sizes(input) | device_control::FUNCTION_RESET.ones()));
        (0..RESETS).for_each(|_| self.core_cycle());
        self.map(input);
    }

    /// A configuration request, and what it reads.
    fn configure(&mut self, register: u16, write: Option<u32>) -> u32 {
        let kind = if write.is_some() { 0x4400_0001 } else { 0x0400_0001 };
        let ids = [u32::from(HOST_ID) << 16 | TAG << 8 | 0xF, u32::from(NIC_ID) << 16 | u32::from(register)];
        self.send([kind, ids[0], ids[1]].into_iter().chain(write).collect());
        for _ in 0..ANSWERS {
            self.core_cycle();
            if let Some(answer) = self.upward.pop_front() {
                assert_eq!(answer.len(), 3 + usize::from(write.is_none()), "{register:#x}: {answer:x?}");
                assert_eq!(
                    (answer[1] >> 13 & 7, answer[2] >> 8 & 0xFF),
                    (0, TAG),
                    "{register:#x}: {answer:x?}"
                );
                return answer.get(3).copied().unwrap_or(0);
            }
        }
        panic!("no answer to a configuration request of {register:#x}");
    }

    fn set(&mut self, port: &str, value: u64) {
        let port = self.model.0.port(port);
        self.model.0.write(port, value);
    }

    fn get(&self, port: &str) -> u64 {
        self.model.0.read(self.model.0.port(port))
    }

    fn send(&mut self, tlp: Tlp) {
        self.sent.push_back(to_bytes(&tlp));
        self.port.send(tlp).expect("the link is up");
    }

    /// A cycle of the core's clock, and what of the others falls into it.
    fn core_cycle(&mut self) {
        self.now += 2 * CORE;
        while let Some(which) =
            (0..4).filter(|&n| self.clocks[n].next <= self.now).min_by_key(|&n| self.clocks[n].next)
        {
            let rises = !self.clocks[which].high;
            match (which, rises) {
                (0, true) => self.show_symbols(),
                (3, _) => self.show_cable(rises),
                _ => {}
            }
            let clock = &mut self.clocks[which];
            (clock.high, clock.next) = (rises, clock.next + clock.half);
            self.model.0.write(clock.port, rises.into());
            self.model.0.eval();
            match (which, rises) {
                (0, true) => self.take_symbols(),
                (2, _) => self.take_cable(rises),
                _ => {}
            }
        }
        while let Some(tlp) = self.port.receive() {
            let watched = self.watches[1].seen.pop_front();
            assert_eq!(watched, Some(to_bytes(&tlp)), "watch_out shows what the root port hears");
            self.shown.lock().unwrap().watched[1] += 1;
            self.upward.push_back(tlp);
        }
    }

    /// What the root port sends is there before an edge of `pclk`.
    fn show_symbols(&mut self) {
        let to = self.port.cycle(self.from);
        if to.phy_ready {
            self.monitor.watch(&self.from, &to);
        }
        for (port, value) in [
            ("phy_ready", to.phy_ready.into()),
            ("rx_data", to.rx_data.into()),
            ("rx_k", to.rx_k.into()),
            ("rx_error", to.rx_error.into()),
            ("rx_idle", to.rx_idle.into()),
            ("detect_done", to.detect_done.into()),
            ("detect_present", to.detect_present.into()),
        ] {
            self.set(port, value);
        }
        self.model.0.eval();
    }

    fn take_symbols(&mut self) {
        self.from = FromEndpoint {
            tx_data: self.get("tx_data") as u16,
            tx_k: self.get("tx_k") as u8,
            tx_idle: self.get("tx_idle") == 1,
            detect_request: self.get("detect_request") == 1,
            rx_invert: self.get("rx_invert") == 1,
        };
        self.watches.iter_mut().for_each(|watch| watch.look(&self.model.0));
        while let Some(tlp) = self.watches[0].seen.pop_front() {
            // Those of another class may pass one that waits for credits.
            let place = self.sent.iter().position(|sent| *sent == tlp);
            self.sent.remove(place.unwrap_or_else(|| panic!("watch_in shows {tlp:x?}, which nobody sent")));
            self.shown.lock().unwrap().watched[0] += 1;
        }
    }

    /// Half a byte is there before each edge of the PHY's clock.
    fn show_cable(&mut self, rises: bool) {
        let (data, control) = self.peer.give_card(rises);
        self.set("pads_rx_data", data.into());
        self.set("pads_rx_control", control.into());
        self.model.0.eval();
    }

    fn take_cable(&mut self, rises: bool) {
        assert_eq!(self.get("pads_tx_clock"), u64::from(rises), "the clock to the PHY");
        self.peer.take_card(rises, self.get("pads_tx_data") as u8, self.get("pads_tx_control") == 1);
    }

    /// A beat of the root complex's.
    fn take_beat(&mut self, input: &NicIn) {
        self.downward.push(input.tlp_rx_data as u32);
        if input.tlp_rx_keep == 0b11 {
            self.downward.push((input.tlp_rx_data >> 32) as u32);
        }
        if input.tlp_rx_last {
            let tlp = std::mem::take(&mut self.downward);
            self.send(tlp);
        }
    }

    /// A beat for the root complex, in the order in which packets came.
    fn give_beat(&mut self, input: &NicIn, output: &mut NicOut) {
        let units = self.upward.front().map_or(0, |tlp| payload_dw(tlp[0]).div_ceil(4) as u16);
        if self.going.is_none() && input.credit_ph > 0 && input.credit_pd >= units && input.credit_nph > 0 {
            self.going = self.upward.pop_front().map(|tlp| (tlp, 0));
        }
        let Some((tlp, gone)) = &mut self.going else { return };
        (output.tlp_tx_data, output.tlp_tx_keep) = beat(tlp, *gone);
        output.tlp_tx_valid = true;
        output.tlp_tx_last = (*gone + 1) * 2 >= tlp.len();
        output.tlp_tx_class = match Class::of(tlp[0]) {
            Class::Posted => class::POSTED,
            Class::NonPosted => class::NON_POSTED,
            Class::Completion => class::COMPLETION,
        };
        if input.tlp_tx_ready {
            *gone += 1;
            if output.tlp_tx_last {
                self.going = None;
            }
        }
    }
}

impl Nic for Card {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        if input.cfg_function_reset && !self.was_reset {
            self.reset_function(input);
        }
        self.was_reset = input.cfg_function_reset;
        *output = NicOut {
            tlp_rx_np_ready: true,
            function_reset_done: input.cfg_function_reset,
            ..NicOut::default()
        };
        if input.tlp_rx_valid {
            self.take_beat(input);
        }
        self.give_beat(input, output);
        self.peer.take_network(input);
        self.peer.give_network(input, output);
        self.core_cycle();
    }

    /// As behind any link.
    fn latency(&self) -> u64 {
        20_000
    }

    fn broken(&mut self) -> Vec<String> {
        let found = self.monitor.violations();
        let new = found[self.violations..].iter().map(ToString::to_string).collect();
        self.violations = found.len();
        new
    }
}

/// The exported file, whose module is called as the file is.
fn card_verilog() -> String {
    let card = products().into_iter().find(|(name, _)| *name == "card").unwrap().1;
    assert_eq!(card.matches("module card").count(), 1);
    card.replace("module card", "module top")
}

#[test]
fn messages_pass_the_exported_card_from_its_seam_to_its_cable() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("run.pcap");
    let setup = Setup::default();
    let mut options = setup.network.clone();
    options.bus.seed = setup.seed;
    let shown = Arc::new(Mutex::new(Shown::default()));
    let card = Card::new(&card_verilog(), setup.seed, &options.bus, shown.clone());
    let nics: Vec<Box<dyn Nic>> = vec![Box::new(card), Box::new(Rtl::new(setup.seed + 1).unwrap())];
    let network = Network::new(nics, &options, Some(Capture::create(&pcap).unwrap()));
    let outcome = exchange(network, &pcap, setup.seed);
    assert_eq!(outcome.completed, SIZES.len());
    let watched = shown.lock().unwrap().watched;
    println!("{} cycles, {} frames, TLPs {watched:?}", outcome.cycles, outcome.frames);
    assert!(watched.iter().all(|&tlps| tlps > 100), "{watched:?}");
}
