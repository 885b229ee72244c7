//! Interrupts of the Verilated NIC, from an arm word in a doorbell page to an eventfd, in this
//! process.

use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::agent::Options as AgentOptions;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::in_process::{InProcess, InProcessDevice};
use viaduct_sim::root_complex::Split;
use viaduct_sim::setup::Setup;
use viaduct_spec::doorbell::{arm, page};
use viaduct_spec::profile::{VECTORS, VIS};
use viaduct_spec::register::registers;
use vipl::{Descriptor, Error, Mac, MemAttributes, Nic, Region, Vi, ViAttributes};

const MESSAGES: usize = 8;
const SLOT: usize = 4096;

struct End {
    device: InProcessDevice,
    memory: Region,
    vi: Vi,
    _nic: Nic,
}

impl End {
    fn new(net: &InProcess, number: usize) -> Self {
        let device = net.device(number).unwrap();
        let address = number as u8 + 1;
        let options = AgentOptions::new(Mac([2, 0, 0, 0, 0, address]), Ipv4Addr::new(10, 0, 0, address));
        let nic = Nic::open_device("in-process", Arc::new(device.clone()), options).unwrap();
        let ptag = nic.create_ptag().unwrap();
        let memory = nic.allocate(SLOT * (MESSAGES + 1), &MemAttributes::new(&ptag)).unwrap();
        let vi = nic.create_vi(&ViAttributes { depth: 16, ..ViAttributes::new(&ptag) }).unwrap();
        Self { device, memory, vi, _nic: nic }
    }

    fn descriptor(&self, n: usize) -> Descriptor {
        let segment = Descriptor::new().segment(&self.memory, SLOT * (n + 1), SLOT).unwrap();
        segment.build(&self.memory, n * 128).unwrap()
    }

    /// Arms the receive queue of every VI: only one has a queue.
    fn arm(&self, position: usize, sequence: u64) {
        let mut word = [0];
        arm::POSITION.put(&mut word, position as u64);
        arm::SEQUENCE.put(&mut word, sequence);
        let shift = self.device.read32(Bar::Registers, registers::DOORBELL_SHIFT).unwrap();
        for vi in 0..VIS as u64 {
            self.device.write64(Bar::Doorbells, (vi << shift) + page::RECEIVE_ARM, word[0]).unwrap();
        }
    }
}

fn new_eventfd() -> File {
    File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap())
}

fn count(mut eventfd: &File) -> u64 {
    let mut value = [0; 8];
    eventfd.read(&mut value).map_or(0, |_| u64::from_ne_bytes(value))
}

/// Lets time pass until something holds, or not at all.
fn passes(net: &InProcess, cycles: u64, mut holds: impl FnMut() -> bool) -> bool {
    let end = net.network().now() + cycles;
    while net.network().now() < end {
        if holds() {
            return true;
        }
        net.pause();
    }
    false
}

#[test]
fn an_armed_queue_interrupts_when_the_descriptor_is_complete() {
    let mut setup = Setup::default();
    (setup.network.bus.conditions.stall, setup.network.bus.conditions.gap) = (100, 100);
    (setup.network.bus.conditions.reorder, setup.network.bus.conditions.split) = (100, Split::Random);
    let net = InProcess::new(setup.build().unwrap());
    let (from, to) = (End::new(&net, 0), End::new(&net, 1));
    assert!(!to.device.may_sleep() && to.device.vectors() == VECTORS);
    let events: Vec<File> = (0..2).map(|_| new_eventfd()).collect();
    let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
    to.device.set_interrupts(&borrowed).unwrap();
    (0..MESSAGES).for_each(|n| to.vi.post_recv(to.descriptor(n)).unwrap());
    from.vi.connect(&to.vi.connection_info()).unwrap();
    to.vi.connect(&from.vi.connection_info()).unwrap();
    for n in 0..MESSAGES {
        // Either may come first.
        if n % 2 == 0 {
            to.arm(n, n as u64);
            assert!(!passes(&net, 5000, || count(&events[0]) != 0), "nothing is complete");
        }
        from.vi.post_send(from.descriptor(n)).unwrap();
        if n % 2 == 1 {
            assert!(!passes(&net, 50_000, || count(&events[0]) != 0), "not armed");
            to.arm(n, n as u64);
        }
        assert!(passes(&net, 1_000_000, || count(&events[0]) == 1), "no interrupt for message {n}");
        match to.vi.recv_done() {
            Ok(descriptor) => assert_eq!(descriptor.length(), SLOT),
            Err(error) => panic!("message {n} is not complete behind its interrupt: {error}"),
        }
    }
    assert_eq!((count(&events[0]), count(&events[1])), (0, 0));
    // A masked vector is silent, and loses nothing.
    to.device.set_interrupts(&[]).unwrap();
    assert_eq!(net.network().counters(1).0.interrupts, MESSAGES as u64);
    to.vi.post_recv(to.descriptor(0)).unwrap();
    from.vi.post_send(from.descriptor(0)).unwrap();
    to.arm(MESSAGES, 0);
    assert!(!passes(&net, 100_000, || count(&events[0]) != 0));
    assert!(matches!(to.vi.recv_done(), Ok(_) | Err(Error::NotDone)));
    to.device.set_interrupts(&borrowed[..1]).unwrap();
    assert!(passes(&net, 100_000, || count(&events[0]) == 1), "it was pending");
    let network = net.network();
    for nic in 0..2 {
        assert_eq!(network.violations(nic), []);
        assert_eq!(network.counters(nic).0.unsupported, 0);
    }
}
