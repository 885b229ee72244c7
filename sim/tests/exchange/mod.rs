//! The scene of several tests: messages of many sizes between two NICs in this process, posted through VIPL.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::agent::Options as AgentOptions;
use viaduct_sim::clock::Cycle;
use viaduct_sim::in_process::InProcess;
use viaduct_sim::network::Network;
use viaduct_spec::descriptor::{control_segment, status};
use vipl::{Descriptor, Error, Mac, MemAttributes, Nic, Region, Vi, ViAttributes};

/// Where the data of descriptor `n` is; the descriptors themselves are in front of all data.
const DATA: usize = 1 << 12;
const SLOT: usize = 1 << 15;
/// The messages.
pub const SIZES: [usize; 10] = [0, 1, 63, 64, 65, 1000, 1024, 1025, 5000, 20_001];

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
pub struct Outcome {
    /// Until the last descriptor was complete.
    pub cycles: Cycle,
    /// The capture.
    pub pcap: Vec<u8>,
    /// Frames on the wire.
    pub frames: u64,
    /// Messages that arrived whole.
    pub completed: usize,
}

/// Sends a message of each size from NIC 0 to NIC 1 of a network that captures into this file.
pub fn exchange(network: Network, pcap: &Path, seed: u64) -> Outcome {
    let net = InProcess::new(network);
    let (from, to) = (End::new(&net, 0), End::new(&net, 1));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
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
