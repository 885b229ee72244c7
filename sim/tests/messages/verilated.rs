//! Two Verilated NICs whose clients keep their memory to themselves.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use viaduct_driver::agent::Options as AgentOptions;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::root_complex::Dma;
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::{control_segment, status};
use viaduct_spec::doorbell::page;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::registers;
use vipl::{Descriptor, Error, Mac, MemAttributes, Nic, Region, Vi, ViAttributes};

use super::{count, new_eventfd, within, PAGE};
use crate::support::client::Remote;
use crate::support::Simulator;

const SLOT: usize = 1 << 15;
const SIZES: [usize; 5] = [0, 1, 64, 1500, 20_001];

/// One end of a connection between two Verilated NICs.
struct End {
    remote: Arc<Remote>,
    memory: Region,
    vi: Vi,
    _nic: Nic,
}

impl End {
    fn new(simulator: &Simulator, number: usize) -> Self {
        let remote = Arc::new(Remote::connect(&simulator.socket(number), true));
        let address = number as u8 + 1;
        let options = AgentOptions::new(Mac([2, 0, 0, 0, 0, address]), Ipv4Addr::new(10, 0, 0, address));
        let nic = Nic::open_device("remote", remote.clone(), options).unwrap();
        let ptag = nic.create_ptag().unwrap();
        let memory = nic.allocate(PAGE + SIZES.len() * SLOT, &MemAttributes::new(&ptag)).unwrap();
        let vi = nic.create_vi(&ViAttributes { depth: 16, ..ViAttributes::new(&ptag) }).unwrap();
        Self { remote, memory, vi, _nic: nic }
    }

    fn descriptor(&self, n: usize, length: usize) -> Descriptor {
        let builder = Descriptor::new();
        let builder = match length {
            0 => builder,
            _ => builder.segment(&self.memory, PAGE + n * SLOT, length).unwrap(),
        };
        builder.build(&self.memory, n * 128).unwrap()
    }
}

#[test]
fn verilated_nics_work_with_memory_by_message() {
    let mut setup = Setup::default();
    setup.network.bus.dma = Dma::Messages;
    let simulator = Simulator::start(setup.build().unwrap());
    let (from, to) = (End::new(&simulator, 0), End::new(&simulator, 1));
    let sent: Vec<Vec<u8>> =
        SIZES.iter().map(|&size| (0..size).map(|n| (n * 7 + size) as u8).collect()).collect();
    for (n, data) in sent.iter().enumerate() {
        from.memory.write(PAGE + n * SLOT, data).unwrap();
        to.vi.post_recv(to.descriptor(n, SLOT)).unwrap();
    }
    from.vi.connect(&to.vi.connection_info()).unwrap();
    to.vi.connect(&from.vi.connection_info()).unwrap();
    let event = new_eventfd();
    // One descriptor for all vectors: the agent spreads virtual interfaces over them.
    to.remote.set_interrupts(&[event.as_fd(); 8]).unwrap();
    let shift = to.remote.read32(Bar::Registers, registers::DOORBELL_SHIFT).unwrap();
    // Position 0 of whichever VI has a queue.
    for vi in 0..VIS as u64 {
        to.remote.write64(Bar::Doorbells, (vi << shift) + page::RECEIVE_ARM, 0).unwrap();
    }
    for (n, data) in sent.iter().enumerate() {
        from.vi.post_send(from.descriptor(n, data.len())).unwrap();
    }
    within(|| count(&event) == 1);
    let mut words = [0; 32];
    to.memory.read(0, &mut words).unwrap();
    let row: Vec<u64> = words.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
    assert_ne!(control_segment::STATUS.get(&row) & u64::from(status::DONE), 0, "before the interrupt");
    for (n, data) in sent.iter().enumerate() {
        let start = Instant::now();
        let received = loop {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", simulator.handle().status());
            match to.vi.recv_done() {
                Ok(descriptor) => break descriptor,
                Err(Error::NotDone) => to.remote.pause(),
                Err(error) => panic!("message {n}: {error}"),
            }
        };
        assert_eq!(received.length(), data.len());
        let mut found = vec![0; data.len()];
        to.memory.read(PAGE + n * SLOT, &mut found).unwrap();
        assert!(found == *data, "message {n} of {} bytes arrived damaged", data.len());
    }
    let status = simulator.handle().status().unwrap();
    for nic in &status.nics {
        assert!(nic.violations.is_empty(), "{:?}", nic.violations);
        assert_eq!((nic.bus.unsupported, nic.bus.unanswered, nic.mappings), (0, 0, 0));
        println!("{} loads of {} overtook", nic.bus.overtaken, nic.bus.loads);
    }
    assert_eq!(status.nics[1].bus.interrupts, 1);
    assert!(to.remote.served() > 100);
}
