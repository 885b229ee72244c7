//! Two hosts, their NICs on one network, and reliable connections between them.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Mac;
use viaduct_driver::agent::Options;
use viaduct_sim::in_process::InProcess;
use viaduct_sim::network::Activity;
use viaduct_sim::setup::Setup;
use vipl::{Descriptor, DescriptorBuilder, MemAttributes, Nic, Region, ReliabilityLevel, Vi, ViAttributes};

use crate::conditions::{Conditions, SEED};
use crate::edge::Edge;
use crate::way::Way;

/// Cycles after which nothing comes any more.
const PATIENCE: u64 = 4_000_000;

/// One end of the connections.
pub struct Host {
    /// VIs, in the order of the connections.
    pub vis: Vec<Vi>,
    /// Payload: a place of `stride` bytes for each descriptor.
    data: Region,
    descriptors: Region,
    _nic: Nic,
}

/// Both ends.
pub struct Pair {
    /// Sender and receiver.
    pub hosts: [Host; 2],
    /// Their NICs' edges.
    pub edges: [Edge; 2],
    net: InProcess,
    conditions: Conditions,
}

impl Pair {
    /// Powers the NICs up and connects the VIs.
    pub fn new(conditions: Conditions, trace: Option<PathBuf>) -> Result<Self> {
        let setup = Setup { trace, ..conditions.setup() };
        let net = InProcess::new(setup.build()?);
        let edges = [Edge::default(), Edge::default()];
        for (nic, edge) in edges.iter().enumerate() {
            net.network().probe(nic, edge.probe());
        }
        let hosts = [Host::new(&net, 0, &conditions)?, Host::new(&net, 1, &conditions)?];
        for (a, b) in hosts[0].vis.iter().zip(&hosts[1].vis) {
            a.connect(&b.connection_info())?;
            b.connect(&a.connection_info())?;
        }
        let pair = Self { hosts, edges, net, conditions };
        pair.settle()?;
        if let Some(injector) = pair.conditions.loss.injector() {
            pair.net.network().fabric_mut().set_fault_injector(injector);
        }
        Ok(pair)
    }

    /// The conditions.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Device time in cycles.
    pub fn now(&self) -> u64 {
        self.net.network().now()
    }

    /// Lets a few cycles pass.
    pub fn pause(&self) {
        self.net.pause();
    }

    /// Lets time pass until nothing moves any more.
    pub fn settle(&self) -> Result<()> {
        let limit = self.now() + PATIENCE;
        while self.net.network().activity() == Activity::Busy {
            ensure!(self.now() < limit, "the network does not come to rest");
            self.net.pause();
        }
        Ok(())
    }

    /// Both NICs' own counters, but for those that are 0: for those who look for what went wrong.
    pub fn counters(&self) -> String {
        let mut network = self.net.network();
        let mut text = String::new();
        for nic in 0..network.len() {
            for (name, value) in network.nic_counters(nic).into_iter().filter(|(_, value)| *value != 0) {
                text += &format!(" NIC {nic} {name} {value};");
            }
        }
        text
    }

    /// Frames that the wire has lost, and all that it was given.
    pub fn lost(&self) -> (u64, u64) {
        let counters = self.net.network().fabric().counters();
        (counters.faults, counters.roce_frames)
    }

    /// No rule of the bus was broken, and no frame was lost but by the wire.
    pub fn check(&self) -> Result<()> {
        let network = self.net.network();
        for nic in 0..network.len() {
            let broken = network.violations(nic);
            ensure!(broken.is_empty(), "NIC {nic} breaks rules of the bus: {broken:?}");
            let unsupported = network.counters(nic).0.unsupported;
            ensure!(unsupported == 0, "NIC {nic} reached for memory that is not there");
        }
        ensure!(network.fabric().counters().overflow == 0, "the switch had to drop frames");
        Ok(())
    }
}

impl Host {
    fn new(net: &InProcess, number: u8, conditions: &Conditions) -> Result<Self> {
        let device = net.device(number.into()).context("there is such a NIC")?;
        let (mac, ip) = (Mac([2, 0, 0, 0, 0, number + 1]), Ipv4Addr::new(10, 0, 0, number + 1));
        let options = Options { seed: Some(SEED + u64::from(number)), ..Options::new(mac, ip) };
        let nic = Nic::open_device(&format!("nic {number}"), Arc::new(device), options)?;
        let ptag = nic.create_ptag()?;
        let attributes = MemAttributes::new(&ptag);
        let open = MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..attributes.clone() };
        let places = 2 * conditions.window * conditions.connections;
        let data = nic.allocate(places * stride(conditions.message), &open)?;
        let descriptors = nic.allocate(places * stride(1), &attributes)?;
        let mut bytes = vec![0; data.length()];
        ChaCha8Rng::seed_from_u64(SEED + u64::from(number)).fill_bytes(&mut bytes);
        data.write(0, &bytes)?;
        let vi = ViAttributes {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            mtu: conditions.mtu,
            depth: 2 * conditions.window,
            enable_rdma_write: true,
            enable_rdma_read: true,
            ..ViAttributes::new(&ptag)
        };
        let vis = (0..conditions.connections).map(|_| nic.create_vi(&vi)).collect::<Result<_, _>>()?;
        Ok(Self { vis, data, descriptors, _nic: nic })
    }

    /// The descriptor of a place, with one segment: a send or a receive.
    pub fn descriptor(&self, place: usize, message: usize) -> Result<Descriptor> {
        self.build(Descriptor::new(), place, message)
    }

    /// The descriptor that moves a place's bytes to the same place of `peer`, or from there.
    pub fn move_to(&self, peer: &Self, way: Way, place: usize, message: usize) -> Result<Descriptor> {
        let there = peer.data.remote(place * stride(message))?;
        let builder = match way {
            Way::Send => Descriptor::new(),
            Way::Write => Descriptor::rdma_write(there),
            Way::Read => Descriptor::rdma_read(there),
        };
        self.build(builder, place, message)
    }

    fn build(&self, builder: DescriptorBuilder, place: usize, message: usize) -> Result<Descriptor> {
        let builder = builder.segment(&self.data, place * stride(message), message)?;
        Ok(builder.build(&self.descriptors, place * stride(1))?)
    }

    /// The bytes of a place.
    pub fn bytes(&self, place: usize, message: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; message];
        self.data.read(place * stride(message), &mut bytes)?;
        Ok(bytes)
    }
}

/// Bytes between two places, so that each starts on a multiple of 64.
fn stride(bytes: usize) -> usize {
    bytes.next_multiple_of(64)
}
