//! Function resets.

use viaduct_driver::device::Bar;

use super::*;

#[test]
fn a_function_reset_answers_reads_and_loses_loads() {
    let mut edge = Edge::new(Options::default());
    edge.drains = 200;
    edge.queue(&read(0, 512, 1));
    let load = edge.complex.load(0, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(20);
    edge.complex.config_write(edge.now, 0x50 + 9, &[0x80]);
    edge.run(1);
    assert!(edge.input.cfg_function_reset && !edge.input.cfg_bus_master);
    edge.run(500);
    assert!(!edge.input.cfg_function_reset);
    // The load had not come to the NIC.
    assert_eq!((edge.completions().len(), edge.got.len()), (2, 2));
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
    assert!(edge.complex.is_quiet(edge.now));
    assert_eq!(edge.complex.violations(), []);
}

#[test]
fn a_packet_that_a_reset_meets_goes_on_to_its_end() {
    let mut edge = Edge::new(Options::default());
    edge.complex.store(0, Access::new(Bar::Registers, 0x28, 8).unwrap(), 7);
    // A store of 8 bytes has three beats.
    while edge.receiving.len() != 2 {
        edge.run(1);
        assert!(edge.now < 100);
    }
    edge.complex.reset(edge.now);
    edge.run(2);
    assert!(edge.input.cfg_function_reset);
    assert!(edge.receiving.is_empty(), "the NIC has seen its last beat");
    edge.run(500);
    edge.complex.load(edge.now, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(100);
    assert!(matches!(Tlp::decode(&edge.got[1].2), Ok(Tlp::Read(_))), "a packet of its own");
}

#[test]
fn a_nic_that_goes_on_in_a_function_reset_is_seen() {
    let mut edge = Edge::new(Options::default());
    (edge.drains, edge.insists) = (100, true);
    edge.complex.config_write(0, 4, &[6, 0]);
    edge.complex.reset(edge.now);
    edge.complex.config_write(0, 4, &[6, 0]);
    edge.run(2);
    for n in 0..3 {
        assert_eq!(edge.complex.violations(), [], "{n} packets");
        edge.queue(&read(0, 4, n));
        edge.run(4);
    }
    assert!(edge.complex.violations()[0].what.contains("begins in a function reset"));
}
