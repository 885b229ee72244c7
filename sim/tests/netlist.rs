//! The netlist that is placed and routed, in place of the Verilog that it was synthesised from: two of them do what two NICs do,
//! cycle by cycle. `cargo xtask netlist` makes it and runs this.

use std::path::PathBuf;

use crate::exchange::{exchange, Outcome, SIZES};
use crate::pins::{Model, Pins};
use viaduct_sim::fabric::Capture;
use viaduct_sim::network::Network;
use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_sim::setup::Setup;
use viaduct_verilate::{Dut, Options};

/// What its cells do.
const CELLS: &str = include_str!("netlist/ecp5.v");

/// A NIC that is made from Verilog when the test runs.
pub struct Netlist {
    model: Model,
    pins: Pins,
}

impl Netlist {
    /// A NIC after power-up: its RAMs are random.
    pub fn boxed(verilog: &str, seed: u64) -> Box<dyn Nic> {
        // Compiled quickly: it runs for seconds, and g++ takes minutes to make it faster.
        let options = Options { optimise: "-O0".into(), ..Options::named("netlist") };
        let dut = Dut::seeded(verilog, &options, seed).unwrap();
        let pins = Pins::of(&dut);
        Box::new(Self { model: Model(dut), pins })
    }
}

impl Nic for Netlist {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        self.pins.exchange(&mut self.model.0, input, output);
        self.model.0.tick();
    }
}

/// The scene with these NICs, or with the RTL.
pub fn run(nics: Option<Vec<Box<dyn Nic>>>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("run.pcap");
    let setup = Setup { pcap: Some(pcap.clone()), ..Setup::default() };
    let network = match nics {
        None => setup.build().unwrap(),
        Some(nics) => {
            let mut options = setup.network.clone();
            options.bus.seed = setup.seed;
            Network::new(nics, &options, Some(Capture::create(&pcap).unwrap()))
        }
    };
    exchange(network, &pcap, setup.seed)
}

/// `VIADUCT_NETLIST` is the netlist's file.
#[test]
#[ignore = "needs the netlist: cargo xtask netlist"]
fn the_netlist_does_what_the_verilog_does() {
    let path = PathBuf::from(std::env::var_os("VIADUCT_NETLIST").expect("VIADUCT_NETLIST: a file"));
    let netlist =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let verilog = netlist + CELLS;
    let rtl = run(None);
    assert_eq!(rtl.completed, SIZES.len());
    let netlist = run(Some((0..2).map(|nic| Netlist::boxed(&verilog, nic)).collect()));
    assert_eq!(netlist.completed, SIZES.len(), "messages that the netlist moved");
    assert_eq!((netlist.cycles, netlist.frames), (rtl.cycles, rtl.frames));
    assert!(netlist.pcap == rtl.pcap, "other frames, or at other times");
    println!("{} messages in {} cycles, frame by frame as the RTL", netlist.completed, netlist.cycles);
}
