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
use crate::core_edge::CoreEdge;
pub use crate::packet::Tlp;

/// Periods of `pclk` and of the core's clock: relatively prime, from half to twice.
pub const PERIODS: [(u64, u64); 5] = [(8000, 9333), (8000, 8001), (8001, 8000), (8000, 15_001), (8000, 4001)];

/// Both sides.
pub struct World {
    pub dut: Dut,
    pub random: ChaCha8Rng,
    pclk: Clock,
    core: Clock,
    /// Words that the transaction layer gives.
    pub down: VecDeque<(u16, bool, bool, Tlp)>,
    /// The core.
    pub edge: CoreEdge,
    /// What the transaction layer has heard.
    pub sent: Vec<Tlp>,
    sending: Vec<u8>,
    /// Reads that the core has taken up, and those it was told of.
    pub freed: u64,
    /// How eager each side is, in per cent.
    pub eager: [u32; 4],
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
        let edge = CoreEdge::of(&dut);
        let mut world = Self {
            dut,
            random,
            pclk,
            core,
            down: VecDeque::new(),
            edge,
            sent: Vec::new(),
            sending: Vec::new(),
            freed: 0,
            eager: [80, 80, 80, 80],
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
        self.edge.offer(tlp);
    }

    /// Everything that was given has been heard.
    pub fn is_empty(&self) -> bool {
        self.down.is_empty() && self.edge.is_empty() && self.sending.is_empty()
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
        let (offers, np_ready) = (self.is_eager(2), self.is_eager(3));
        self.edge.cycle(&mut self.dut, offers, np_ready);
    }

    /// What both sides have given and heard is no more.
    pub fn forget(&mut self) {
        self.down.clear();
        self.edge.forget(&mut self.dut);
        self.dut.set("to_core_valid", 0);
        self.sent.clear();
        self.sending.clear();
    }
}
