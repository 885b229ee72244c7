//! NIC and MAC together, from the TLPs of two hosts to the pins of two PHYs: the messages of `traffic.rs` go over both.

use crate::exchange::{exchange, Outcome, SIZES};
use crate::pins::{Model, Pins};
use crate::wire::Peer;
use viaduct_hdl::board::NicWithMac;
use viaduct_hdl::export::verilog;
use viaduct_sim::fabric::Capture;
use viaduct_sim::network::Network;
use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_sim::setup::Setup;
use viaduct_verilate::{Dut, Handle, Options};

/// Cycles without a symbol after which nothing is on its way through the MAC.
const CALM: u32 = 200;
/// A period of the core's clock, and of the PHY's transmit clock, which is the same one; any unit.
const PERIOD: i64 = 1_000_000;

struct Clocks {
    core: Handle,
    tx: Handle,
    rx: Handle,
}

struct Pads {
    tx_clock: Handle,
    tx_data: Handle,
    tx_control: Handle,
    rx_data: Handle,
    rx_control: Handle,
}

/// A card, and the other end of its cable, which hands frames to the simulated network and takes them from it.
struct Wired {
    model: Model,
    pins: Pins,
    clocks: Clocks,
    pads: Pads,
    peer: Peer,
    /// Half periods of the receive clock, and when its next edge is.
    half: i64,
    next: i64,
    rising: bool,
    calm: u32,
}

impl Wired {
    /// A card after power-up whose peer's clock is off by so many millionths.
    fn new(text: &str, seed: u64, drift: i64) -> Self {
        let options = Options { clock: "none".into(), ..Options::named("card") };
        let mut dut = Dut::seeded(text, &options, seed).unwrap();
        // From here on an edge is one.
        dut.eval();
        let clocks = Clocks { core: dut.port("clock"), tx: dut.port("tx_clock"), rx: dut.port("rx_clock") };
        let pads = Pads {
            tx_clock: dut.port("pads_tx_clock"),
            tx_data: dut.port("pads_tx_data"),
            tx_control: dut.port("pads_tx_control"),
            rx_data: dut.port("pads_rx_data"),
            rx_control: dut.port("pads_rx_control"),
        };
        let half = (PERIOD + drift) / 2;
        let pins = Pins::of(&dut);
        Self {
            model: Model(dut),
            pins,
            clocks,
            pads,
            peer: Peer::default(),
            half,
            next: half / 3,
            rising: true,
            calm: 0,
        }
    }

    /// The PHY's clock turns: half a byte is there before each edge.
    fn rx_edge(&mut self) {
        let (data, control) = self.peer.give_card(self.rising);
        self.model.0.write(self.pads.rx_data, data.into());
        self.model.0.write(self.pads.rx_control, control.into());
        self.model.0.eval();
        self.model.0.write(self.clocks.rx, self.rising.into());
        self.model.0.eval();
        self.rising = !self.rising;
        self.next += self.half;
    }

    /// The core's and the transmit clock turn, and the PHY takes half a byte.
    fn core_edge(&mut self, rising: bool) {
        self.model.0.write(self.clocks.core, rising.into());
        self.model.0.write(self.clocks.tx, rising.into());
        self.model.0.eval();
        assert_eq!(self.model.0.read(self.pads.tx_clock), u64::from(rising), "the clock to the PHY");
        let data = self.model.0.read(self.pads.tx_data) as u8;
        self.peer.take_card(rising, data, self.model.0.read(self.pads.tx_control) == 1);
    }

    /// The receive clock's edges until then.
    fn rx_until(&mut self, time: i64) {
        while self.next < time {
            self.rx_edge();
        }
    }
}

impl Nic for Wired {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        self.pins.exchange(&mut self.model.0, input, output);
        self.peer.take_network(input);
        self.peer.give_network(input, output);
        self.rx_until(PERIOD / 2);
        self.core_edge(true);
        self.rx_until(PERIOD);
        self.core_edge(false);
        self.next -= PERIOD;
        self.calm = if self.peer.is_quiet() { self.calm + 1 } else { 0 };
        output.idle &= self.calm > CALM;
    }
}

/// The card's text. Its blocks lie in each other on the stack, more than a test's thread has.
fn card_verilog() -> String {
    let export = std::thread::Builder::new().stack_size(64 << 20).spawn(|| verilog(NicWithMac::new(0, 0)));
    export.unwrap().join().unwrap()
}

/// The scene over two cards, or over two NICs without MACs.
fn run(cards: Option<[i64; 2]>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("run.pcap");
    let setup = Setup { pcap: Some(pcap.clone()), ..Setup::default() };
    let Some(drift) = cards else { return exchange(setup.build().unwrap(), &pcap, setup.seed) };
    let text = card_verilog();
    let card = |(seed, drift): (u64, i64)| -> Box<dyn Nic> { Box::new(Wired::new(&text, seed, drift)) };
    let nics = [(0, drift[0]), (1, drift[1])].map(card).into();
    let mut options = setup.network.clone();
    options.bus.seed = setup.seed;
    exchange(Network::new(nics, &options, Some(Capture::create(&pcap).unwrap())), &pcap, setup.seed)
}

#[test]
fn messages_arrive_over_both_macs_whatever_the_peers_clocks_do() {
    let alone = run(None);
    assert_eq!(alone.completed, SIZES.len());
    for drift in [[0, 0], [100, -100]] {
        let cards = run(Some(drift));
        assert_eq!(cards.completed, SIZES.len(), "drift {drift:?}");
        // A MAC at each end takes time, and nothing is lost on the way.
        assert!(cards.cycles > alone.cycles, "{} cycles, {} without MACs", cards.cycles, alone.cycles);
        assert!(cards.frames >= alone.frames, "{} frames, {} without MACs", cards.frames, alone.frames);
    }
}
