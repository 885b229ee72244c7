//! The two Linux guests whose frames stand in `data/roce`, and NICs of ours in their places: with their addresses,
//! queue pair numbers and PSNs, what we send can be compared with what they sent, byte for byte.

use std::net::Ipv4Addr;
use std::path::Path;

use viaduct_driver::address::{ConnectionInfo, Mac, Mtu, Service, ACK_TIME};
use viaduct_driver::agent::Options;
use viaduct_driver::cm::NotReady;
use viaduct_driver::consumer::Vi;
use viaduct_driver::device_protocol::{rows, template};
use viaduct_driver::kernel_agent::ViAttributes;
use viaduct_sim::setup::Setup;
use viaduct_spec::tables::{receive as receive_row, table, transmit, vi_states};
use viaduct_spec::wire::{opcode, DEFAULT_PKEY, ICRC_BYTES};

use crate::frame::{capture, is_roce, seal, untrailed, Reading, BTH, IP, IP_CHECKSUM, IP_ID};
use crate::raw::RawVi;
use crate::world::{Host, World};

/// The guest that is a NIC's part: NIC 0 is the client, NIC 1 the server.
pub fn mac(nic: usize) -> Mac {
    Mac([0x52, 0x54, 0, 0, 0, 2 - nic as u8])
}

/// Its IPv4 address.
pub fn ip(nic: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 2 - nic as u8)
}

/// Which of the two sent a frame.
///
/// # Panics
/// Neither did.
pub fn sender(frame: &Reading) -> usize {
    (0..2).find(|nic| ip(*nic) == frame.source).expect("one of the two guests")
}

/// The RoCE frames of a capture of theirs, without trailers.
pub fn frames(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/roce");
    let frames = capture(&folder.join(name).with_extension("pcap"));
    frames.into_iter().filter(|frame| is_roce(frame)).map(|frame| untrailed(&frame).to_vec()).collect()
}

/// A connection of theirs.
#[derive(Debug, Clone, Copy)]
pub struct Guests {
    /// The queue pair of each.
    pub queue_pairs: [u32; 2],
    /// The first PSN that each sends.
    pub psns: [u32; 2],
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Transport service.
    pub service: Service,
    /// The IPv4 type of service of all frames.
    pub tos: u8,
}

/// What the agent would not write into the rows of a VI.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// What the peer may do.
    pub rights: rows::Rights,
    /// Ticks of 1.024 us without progress after which a request is sent again; 0: the agent's.
    pub timeout: u32,
    /// How often in a row a receiver that is not ready is asked again. One that is the guest's own answers so, with
    /// this timer code, and stays.
    pub not_ready: Option<(u32, u8)>,
}

impl Guests {
    /// What one tells the other.
    ///
    /// # Panics
    /// An MTU that does not exist.
    pub fn info(&self, nic: usize) -> ConnectionInfo {
        ConnectionInfo {
            mac: mac(nic),
            ip: ip(nic),
            queue_pair: self.queue_pairs[nic],
            starting_psn: self.psns[1 - nic],
            first_psn: None,
            mtu: Mtu::try_from(self.mtu).expect("an MTU"),
            service: self.service,
            max_transfer: 1 << 20,
            ack_time: ACK_TIME,
        }
    }

    /// Writes the header template that the agent would, with this type of service and identification.
    ///
    /// # Panics
    /// The NIC does not take it.
    pub fn write_headers(&self, world: &World, nic: usize, tos: u8, id: [u8; 2]) {
        let mut bytes: Vec<u8> = template::words(&self.info(nic), &self.info(1 - nic), DEFAULT_PKEY)
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let old = u16::from_be_bytes([bytes[IP_CHECKSUM], bytes[IP_CHECKSUM + 1]]);
        let sum = u32::from(old) + u32::from(tos) + u32::from(u16::from_be_bytes(id));
        let sum = (sum & 0xFFFF) + (sum >> 16);
        bytes[IP + 1] = tos;
        bytes[IP_ID..IP_ID + 2].copy_from_slice(&id);
        bytes[IP_CHECKSUM..IP_CHECKSUM + 2].copy_from_slice(&(sum as u16).to_be_bytes());
        for (word, row) in bytes.chunks_exact(8).zip(8 * self.queue_pairs[nic]..) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            world.commit(nic, table::TEMPLATE, row, &[word]);
        }
    }

    /// Both ends' VIs: see [`Guests::connect_one`].
    pub fn connect(&self, world: &World, hosts: &[Host; 2], terms: Terms) -> [RawVi; 2] {
        [0, 1].map(|nic| self.connect_one(world, &hosts[nic], nic, terms))
    }

    /// The VI of a guest's queue pair number, connected by hand: Linux's numbers have no generation.
    ///
    /// # Panics
    /// The NIC does not do it.
    pub fn connect_one(&self, world: &World, host: &Host, nic: usize, terms: Terms) -> RawVi {
        let (own, peer) = (self.info(nic), self.info(1 - nic));
        let attributes = ViAttributes {
            tag: host.tag,
            service: own.service,
            mtu: own.mtu,
            max_transfer: own.max_transfer,
            send_log2: RawVi::SLOTS.ilog2(),
            receive_log2: RawVi::SLOTS.ilog2(),
            rdma_write: false,
            rdma_read: false,
            not_ready: NotReady::Break,
            send_cq: None,
            receive_cq: None,
        };
        let mut others = Vec::new();
        let vi = loop {
            let vi = Vi::create(host.agent.clone(), attributes).expect("a VI");
            if u32::from(vi.index()) == own.queue_pair {
                break vi;
            }
            others.push(vi);
        };
        others.iter().for_each(|vi| vi.destroy().expect("the NIC answers"));
        let row = own.queue_pair;
        self.write_headers(world, nic, self.tos, [0; 2]);
        let gather = rows::gather(host.tag, own.service, own.mtu, own.max_transfer);
        world.commit(nic, table::GATHER, row, &gather);
        let mut words = rows::transmit(peer.starting_psn, own.service, false, terms.rights.reads);
        if terms.timeout != 0 {
            transmit::TIMEOUT.put(&mut words, terms.timeout.into());
        }
        if let Some((retries, _)) = terms.not_ready {
            transmit::RNR_RETRIES.put(&mut words, retries.into());
        }
        world.commit(nic, table::TRANSMIT, row, &words);
        let receive = rows::Receive::connected(&own, &peer, host.tag, terms.rights);
        let mut words = receive.words();
        if let Some((_, timer)) = terms.not_ready {
            receive_row::RNR_STAY.put(&mut words, 1);
            receive_row::RNR_TIMER.put(&mut words, timer.into());
        }
        world.commit(nic, table::RECEIVE, row, &words);
        world.commit(nic, table::VI_STATE, row, &[vi_states::CONNECTED.into()]);
        RawVi { vi, sends: 0, receives: 0 }
    }
}

/// A network with two NICs under the guests' addresses.
pub fn open(setup: &Setup) -> (World, [Host; 2]) {
    let world = World::new(setup);
    let hosts = [0, 1].map(|nic| {
        let options = Options { mac: mac(nic), ip: ip(nic), ..world.options(nic) };
        world.host_as(nic, options)
    });
    (world, hosts)
}

/// Our frame is Linux's, but for the identification and the two sums over it; and but for the acknowledgements
/// that we ask for in the middle of a long message, and Linux does not.
///
/// # Panics
/// It is not.
pub fn assert_linux(ours: &[u8], theirs: &[u8], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let middle =
        [opcode::RC_SEND_FIRST, opcode::RC_SEND_MIDDLE, opcode::RC_WRITE_FIRST, opcode::RC_WRITE_MIDDLE];
    let mut theirs = theirs.to_vec();
    if middle.contains(&theirs[BTH]) && ours[BTH + 8] & 0x80 != 0 {
        theirs[BTH + 8] |= 0x80;
        seal(&mut theirs);
    }
    let theirs = &theirs[..];
    let icrc = theirs.len() - ICRC_BYTES;
    let may_differ: Vec<usize> =
        (IP_ID..IP_ID + 2).chain(IP_CHECKSUM..IP_CHECKSUM + 2).chain(icrc..theirs.len()).collect();
    let differ = ours.iter().zip(theirs).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at);
    let differ: Vec<usize> = differ.collect();
    assert!(differ.iter().all(|at| may_differ.contains(at)), "{what}: bytes {differ:?} differ");
    let mut identified = ours.to_vec();
    identified[IP_ID..IP_ID + 2].copy_from_slice(&theirs[IP_ID..IP_ID + 2]);
    seal(&mut identified);
    assert_eq!(identified, theirs, "{what}");
}
