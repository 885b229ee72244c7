//! Messages between two Verilated NICs in this process, posted through VIPL: they arrive whole
//! whatever the bus does, no rule of the bus is broken, and the same seed gives the same run.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::agent::Options as AgentOptions;
use viaduct_sim::clock::Cycle;
use viaduct_sim::fabric::{Faults, Link};
use viaduct_sim::in_process::InProcess;
use viaduct_sim::root_complex::{Limits, Split};
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::{control_segment, status};
use vipl::{Descriptor, Error, Mac, MemAttributes, Nic, Region, Vi, ViAttributes};

/// Where the data of descriptor `n` is; the descriptors themselves are in front of all data.
const DATA: usize = 1 << 12;
const SLOT: usize = 1 << 15;
const SIZES: [usize; 10] = [0, 1, 63, 64, 65, 1000, 1024, 1025, 5000, 20_001];

/// One end of the connection.
struct End {
    memory: Region,
    vi: Vi,
    _nic: Nic,
}

impl End {
    fn new(net: &InProcess, number: usize) -> Self {
        let device = net.device(number).unwrap();
        let address = number as u8 + 1;
        let seed = Some(number as u64);
        let options = AgentOptions::new(Mac([2, 0, 0, 0, 0, address]), Ipv4Addr::new(10, 0, 0, address));
        let options = AgentOptions { seed, ..options };
        let nic = Nic::open_device("in-process", Arc::new(device), options).unwrap();
        let ptag = nic.create_ptag().unwrap();
        let memory = nic.allocate(DATA + SIZES.len() * SLOT, &MemAttributes::new(&ptag)).unwrap();
        let vi = nic.create_vi(&ViAttributes { depth: 16, ..ViAttributes::new(&ptag) }).unwrap();
        Self { memory, vi, _nic: nic }
    }

    fn descriptor(&self, n: usize, offset: usize, length: usize) -> Descriptor {
        let builder = Descriptor::new();
        // A message may be empty: no segment at all.
        let builder = match length {
            0 => builder,
            _ => builder.segment(&self.memory, DATA + n * SLOT + offset, length).unwrap(),
        };
        builder.build(&self.memory, n * 128).unwrap()
    }

    /// Whether descriptor `n` is complete, without asking the library: that would look at the wall
    /// clock now and then.
    fn is_complete(&self, n: usize) -> bool {
        let mut words = [0; 32];
        self.memory.read(n * 128, &mut words).unwrap();
        let row: Vec<u64> =
            words.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
        control_segment::STATUS.get(&row) & u64::from(status::DONE) != 0
    }
}

/// What a run leaves.
#[derive(Debug, PartialEq)]
struct Outcome {
    cycles: Cycle,
    pcap: Vec<u8>,
    frames: u64,
    completed: usize,
}

/// Sends a message of each size from NIC 0 to NIC 1.
fn run(setup: &Setup) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let pcap: PathBuf = folder.path().join("run.pcap");
    let net = InProcess::new(Setup { pcap: Some(pcap.clone()), ..setup.clone() }.build().unwrap());
    let (from, to) = (End::new(&net, 0), End::new(&net, 1));
    let mut random = ChaCha8Rng::seed_from_u64(setup.seed);
    let mut sent = Vec::new();
    for (n, &size) in SIZES.iter().enumerate() {
        let mut data = vec![0u8; size];
        random.fill(&mut data[..]);
        from.memory.write(DATA + n * SLOT + n, &data).unwrap();
        to.vi.post_recv(to.descriptor(n, 3 * n, SLOT - 64)).unwrap();
        sent.push(data);
    }
    from.vi.connect(&to.vi.connection_info()).unwrap();
    to.vi.connect(&from.vi.connection_info()).unwrap();
    for (n, &size) in SIZES.iter().enumerate() {
        from.vi.post_send(from.descriptor(n, n, size)).unwrap();
    }
    let last = SIZES.len() - 1;
    let limit = net.network().now() + 3_000_000;
    while !(from.is_complete(last) && to.is_complete(last)) && net.network().now() < limit {
        net.pause();
    }
    let mut completed = 0;
    for (n, data) in sent.iter().enumerate() {
        if !to.is_complete(n) {
            continue;
        }
        match to.vi.recv_done() {
            Ok(descriptor) => {
                let mut found = vec![0; data.len()];
                to.memory.read(DATA + n * SLOT + 3 * n, &mut found).unwrap();
                assert_eq!(descriptor.length(), data.len());
                assert!(found == *data, "message {n} of {} bytes arrived damaged", data.len());
                completed += 1;
            }
            Err(Error::Descriptor(_)) => {}
            Err(error) => panic!("message {n}: {error}"),
        }
    }
    let mut network = net.network();
    for nic in 0..2 {
        assert_eq!(network.violations(nic), [], "NIC {nic}");
    }
    network.fabric_mut().finish_capture().unwrap();
    let (cycles, frames) = (network.now(), network.fabric().counters().frames);
    drop(network);
    Outcome { cycles, pcap: std::fs::read(pcap).unwrap(), frames, completed }
}

#[test]
fn messages_of_all_sizes_arrive_and_the_run_can_be_repeated() {
    let setup = Setup::default();
    let first = run(&setup);
    assert_eq!(first.completed, SIZES.len());
    assert!(first.frames > 30, "{} frames", first.frames);
    assert!(first == run(&setup), "the same seed gave another run");
}

#[test]
fn a_hard_bus_changes_when_but_not_what() {
    for seed in 0..3 {
        println!("seed {seed}");
        let mut setup = Setup { seed, ..Setup::default() };
        let bus = &mut setup.network.bus;
        (bus.reorder, bus.split, bus.stall, bus.gap) = (100, Split::Random, 150, 150);
        (bus.max_payload, bus.rcb, bus.round_trip) = (seed as u8 % 2, 64 << (seed % 2), 10 + 100 * seed);
        bus.credits =
            Limits { posted: Some(3), posted_data: Some(20), nonposted: Some(2), ..Limits::default() };
        setup.network.link = Link { latency: 20 + 100 * seed, rate: 1 + 3 * seed };
        let first = run(&setup);
        assert_eq!(first.completed, SIZES.len());
        assert!(first == run(&setup), "the same seed gave another run");
    }
}

#[test]
fn skipping_idle_time_changes_nothing() {
    let mut setup = Setup::default();
    let skipped = run(&setup);
    setup.network.never_skip = true;
    let stepped = run(&setup);
    assert!(skipped == stepped, "{} cycles skipped, {} stepped", skipped.cycles, stepped.cycles);
}

#[test]
fn a_flipped_icrc_bit_is_never_delivered_and_repaired() {
    let faults = Faults { flip_icrc: (25..29).collect(), ..Faults::default() };
    let outcome = run(&Setup { faults, ..Setup::default() });
    assert_eq!(outcome.completed, SIZES.len());
    assert!(outcome.frames > run(&Setup::default()).frames, "nothing was sent again");
}

#[test]
fn a_duplicate_is_delivered_once() {
    let faults = Faults { duplicate: [3, 9].into(), ..Faults::default() };
    let outcome = run(&Setup { faults, ..Setup::default() });
    assert_eq!(outcome.completed, SIZES.len());
}
