//! The whole NIC with a block's mutants in it, none turned on, beside the NIC: messages between two of each take the same cycles and put
//! the same frames on the wire, from power-up on. `cargo xtask mutate` makes it and runs this.

use crate::exchange::SIZES;
use crate::netlist::{run, Netlist};
use viaduct_sim::nic::Nic;
use viaduct_sim::rtl::{Rtl, VERILOG};
use viaduct_verilate::{ONES, ZEROS};

#[test]
#[ignore = "needs a NIC with mutants: cargo xtask mutate"]
fn with_no_mutant_turned_on_the_nic_is_what_it_was() {
    // Another text of the same NIC: no mutant stands for it.
    let plain = format!("{VERILOG}\n// as it is\n");
    // What is uninitialised is the same in both.
    let power_up = [ZEROS, ONES];
    let plain = run(Some(power_up.map(|seed| Netlist::boxed(&plain, seed)).into()));
    let mutated = power_up.map(|seed| -> Box<dyn Nic> { Box::new(Rtl::new(seed).unwrap()) });
    let mutated = run(Some(mutated.into()));
    assert_eq!(plain.completed, SIZES.len());
    assert_eq!((mutated.cycles, mutated.frames), (plain.cycles, plain.frames));
    assert!(mutated.pcap == plain.pcap, "other frames, or at other times");
}
