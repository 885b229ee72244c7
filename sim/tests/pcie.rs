//! A NIC behind a PCI Express link, at its root complex.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use viaduct_driver::device::Bar;
use viaduct_sim::memory::Range;
use viaduct_sim::network::{Activity, Network, Options};
use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_sim::pcie::{self, PcieNic};
use viaduct_sim::root_complex::{Access, NIC_ID};
use viaduct_sim::setup::{HostLink, Setup};
use viaduct_sim::tlp::{Request, Tlp};

use crate::support::scripted::{Script, Scripted, LOADED};

/// Where memory is.
const BASE: u64 = 0x8_0000_0000;

/// A scripted NIC behind a link, in a network of its own; and its host's memory.
fn scripted(ratio: (u32, u32), never_skip: bool) -> (Network, Arc<Mutex<Script>>, File) {
    let (nic, script) = Scripted::make();
    let options = Options { never_skip, ..Options::default() };
    let link = pcie::Options { ratio, ..pcie::Options::default() };
    let nic = PcieNic::new(nic, &options.bus, &link).unwrap();
    let mut network = Network::new(vec![Box::new(nic)], &options, None);
    let file = tempfile::tempfile().unwrap();
    file.set_len(0x4000).unwrap();
    let range = Range { iova: BASE, length: 0x4000, offset: 0, readable: true, writable: true };
    network.memory(0).map(&range, Some(file.try_clone().unwrap())).unwrap();
    (network, script, file)
}

fn register(offset: u64) -> Access {
    Access::new(Bar::Registers, offset, 4).unwrap()
}

fn write(at: u64, bytes: usize, value: u32) -> Tlp {
    let request = Request::new(BASE + at, bytes, 0, NIC_ID);
    Tlp::Write(request, vec![value; request.length])
}

fn rest(network: &mut Network) {
    for _ in 0..4000 {
        if network.activity() != Activity::Busy {
            return;
        }
        network.step(64);
    }
    panic!("it does not come to rest");
}

fn violations(network: &Network) -> Vec<String> {
    network.violations(0).iter().map(|violation| violation.what.clone()).collect()
}

/// Stores come in order, loads are answered, writes are in memory: at each ratio of the clocks, and for both orders of their edges.
#[test]
fn stores_loads_and_writes_pass_a_link() {
    for ratio in [(1, 1), (5, 4), (2, 1)] {
        let (mut network, script, file) = scripted(ratio, false);
        assert_eq!(network.link_counters(0).unwrap().replayed, 0);
        network.config_write(0, 4, &[6, 0]);
        for n in 0..20 {
            network.store(0, register(0x100 + 4 * n), 0xA000 + n);
        }
        assert_eq!(network.load_and_wait(0, register(0x40)), u64::from(LOADED));
        let stored: Vec<u32> = script
            .lock()
            .unwrap()
            .got
            .iter()
            .map(|tlp| match tlp {
                Tlp::Write(_, data) => data[0],
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(stored, (0xA000..0xA000 + 20).collect::<Vec<u32>>(), "{ratio:?}: ahead of the load");
        script.lock().unwrap().send.extend((0..16).map(|n| write(256 * n, 256, n as u32 + 1)));
        network.store(0, register(0x100), 0);
        rest(&mut network);
        let mut memory = vec![0; 0x1000];
        file.read_exact_at(&mut memory, 0).unwrap();
        let right = memory.chunks_exact(4).enumerate().all(|(n, dw)| dw == (n as u32 / 64 + 1).to_le_bytes());
        assert!(right, "{ratio:?}");
        assert_eq!(violations(&network), [""; 0], "{ratio:?}");
    }
}

#[test]
fn a_network_behind_a_link_comes_to_rest_and_its_time_is_skipped() {
    let (mut network, _, _) = scripted((1, 1), false);
    rest(&mut network);
    let then = network.now() + 1_000_000_000;
    network.skip_to(then);
    assert_eq!(network.now(), then);
    assert_eq!(network.load_and_wait(0, register(0x40)), u64::from(LOADED));
    assert!(network.now() < then + 2000, "a load is some microseconds");
    assert_eq!(violations(&network), [""; 0]);
}

/// What a NIC does wrong is found where the rule holds: at its edge, or on the lane.
#[test]
fn what_is_wrong_behind_a_link_is_a_violation_of_the_bus() {
    let (mut network, script, file) = scripted((1, 1), false);
    rest(&mut network);
    script.lock().unwrap().send.push_back(write(0, 64, 7));
    network.store(0, register(0x100), 0);
    rest(&mut network);
    let found = violations(&network);
    let edge = "at the core's edge: a request at 0x800000000 while the function is no bus master";
    assert!(found.iter().any(|found| found == edge), "{found:?}");
    let mut word = [0; 4];
    file.read_exact_at(&mut word, 0).unwrap();
    assert_eq!(word, [0; 4], "it reaches nothing");

    let (mut network, script, _) = scripted((1, 1), false);
    network.config_write(0, 4, &[6, 0]);
    rest(&mut network);
    script.lock().unwrap().send.push_back(write(0, 512, 7));
    network.store(0, register(0x100), 0);
    rest(&mut network);
    let found = violations(&network);
    assert!(found.iter().any(|found| found.starts_with("at the core's edge: a write of 512")), "{found:?}");
    assert!(found.iter().any(|found| found.contains("Endpoint breaks MaxPayload")), "{found:?}");
}

/// A NIC that holds its function's reset up for ever takes nothing with it: completions for it still come.
struct Silent;

impl Nic for Silent {
    fn cycle(&mut self, _: &NicIn, output: &mut NicOut) {
        *output = NicOut { tlp_rx_np_ready: true, idle: true, ..NicOut::default() };
    }
}

#[test]
fn a_function_reset_that_does_not_end_is_not_told_as_done() {
    let options = Options::default();
    let nic = PcieNic::new(Box::new(Silent), &options.bus, &pcie::Options::default()).unwrap();
    let mut network = Network::new(vec![Box::new(nic)], &options, None);
    network.reset(0);
    network.step(200_000);
    assert!(network.is_resetting(0));
}

#[test]
fn a_ratio_that_the_endpoint_is_not_made_for_is_refused() {
    for ratio in [(0, 1), (1, 0), (4, 5), (5, 2)] {
        let link = HostLink::Pcie(pcie::Options { ratio, ..pcie::Options::default() });
        let error = Setup { link, ..Setup::default() }.build().err().unwrap();
        assert!(error.to_string().contains("the PCI Express link of NIC 0: clocks of"), "{error}");
    }
}
