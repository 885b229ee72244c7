//! Linux as the measure: messages that its soft-RoCE sent, sent by our NIC under the same addresses,
//! queue pair numbers and PSNs, become the same frames; and its own frames are taken by our NIC.
//!
//! One thing differs, because it is a choice: Linux counts the IPv4 identification up with each
//! packet, ours stands in the header template. So these bytes may differ, and no others: the
//! identification (18, 19), with it the IPv4 checksum (24, 25) and the ICRC (the last four). With the
//! identification of Linux put in, and both sums made anew, every frame is Linux's, byte for byte;
//! and where each message is one packet, we put it into the template, and nothing differs.

use std::net::Ipv4Addr;
use std::path::Path;

use viaduct_driver::address::{ConnectionInfo, Mac, Mtu, Service};
use viaduct_driver::agent::vis::{ViAttributes, ViState};
use viaduct_driver::agent::Options;
use viaduct_driver::{rows, template};
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::{table, vi_states};
use viaduct_spec::wire::{opcode, DEFAULT_PKEY, ICRC_BYTES};
use viaduct_tests::frame::{capture, is_roce, seal, untrailed, Reading, BTH, IP, IP_CHECKSUM, IP_ID};
use viaduct_tests::raw::{Completion, Descriptor, RawVi};
use viaduct_tests::world::{quick, Host, World};

/// A capture, and how many of its RoCE frames are what we do: sends and their acknowledgements.
struct Case {
    name: &'static str,
    service: Service,
    mtu: u32,
    frames: usize,
}

/// Where the PSN is; the byte before asks for an acknowledgement.
const UC: Service = Service::UnreliableDelivery;
const RC: Service = Service::ReliableDelivery;
#[rustfmt::skip]
const CASES: [Case; 11] = [
    Case { name: "uc_send_1", service: UC, mtu: 1024, frames: usize::MAX },
    Case { name: "uc_send_4096", service: UC, mtu: 1024, frames: usize::MAX },
    Case { name: "uc_send_65536", service: UC, mtu: 1024, frames: usize::MAX },
    Case { name: "rc_send_1", service: RC, mtu: 1024, frames: usize::MAX },
    Case { name: "rc_send_64", service: RC, mtu: 1024, frames: usize::MAX },
    Case { name: "rc_send_65536", service: RC, mtu: 1024, frames: usize::MAX },
    Case { name: "rc_mtu256", service: RC, mtu: 256, frames: 5 },
    Case { name: "rc_mtu4096", service: RC, mtu: 4096, frames: 4 },
    // Lengths 0 to 4, 1024 and more, with and without immediate data; then one with solicited event.
    Case { name: "rc_ops", service: RC, mtu: 1024, frames: 23 },
    Case { name: "rc_psn_wrap", service: RC, mtu: 1024, frames: 4 },
    Case { name: "rc_dscp26_ect", service: RC, mtu: 1024, frames: 2 },
];

/// Addresses of the two guests, by number of the NIC that stands for each: client, server.
fn mac(nic: usize) -> Mac {
    Mac([0x52, 0x54, 0, 0, 0, 2 - nic as u8])
}

fn ip(nic: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 2 - nic as u8)
}

/// A message that Linux sent: which NIC stands for the sender, and what was in it.
struct Message {
    sender: usize,
    data: Vec<u8>,
    immediate: Option<u32>,
    /// Its packets.
    frames: Vec<Vec<u8>>,
}

/// What Linux sent.
struct Linux {
    case: Case,
    frames: Vec<Vec<u8>>,
    messages: Vec<Message>,
    /// The queue pair of each guest.
    queue_pairs: [u32; 2],
    /// The first PSN that each guest sent.
    psns: [u32; 2],
}

fn sender(frame: &Reading) -> usize {
    (0..2).find(|nic| ip(*nic) == frame.source).expect("one of the two guests")
}

impl Linux {
    fn read(case: Case) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/roce");
        let frames = capture(&folder.join(case.name).with_extension("pcap"));
        let frames = frames.into_iter().filter(|frame| is_roce(frame)).take(case.frames);
        let frames: Vec<Vec<u8>> = frames.map(|frame| untrailed(&frame).to_vec()).collect();
        let (mut queue_pairs, mut psns) = ([0; 2], [None; 2]);
        let mut messages: Vec<Message> = Vec::new();
        let mut open: [Option<Message>; 2] = [None, None];
        for frame in &frames {
            let reading = Reading::of(frame);
            let nic = sender(&reading);
            queue_pairs[1 - nic] = reading.queue_pair;
            if reading.opcode == opcode::RC_ACKNOWLEDGE {
                continue;
            }
            psns[nic].get_or_insert(reading.psn);
            let new = || Message { sender: nic, data: Vec::new(), immediate: None, frames: Vec::new() };
            let message = open[nic].get_or_insert_with(new);
            message.frames.push(frame.clone());
            let mut body = &reading.body[..];
            let part = reading.opcode & 0x1F;
            assert!(part <= opcode::RC_SEND_ONLY_IMMEDIATE && !reading.solicited, "{}", case.name);
            if [opcode::RC_SEND_LAST_IMMEDIATE, opcode::RC_SEND_ONLY_IMMEDIATE].contains(&part) {
                let (immediate, rest) = body.split_first_chunk::<4>().expect("immediate data");
                message.immediate = Some(u32::from_be_bytes(*immediate));
                body = rest;
            }
            message.data.extend_from_slice(body);
            if part >= opcode::RC_SEND_LAST {
                messages.extend(open[nic].take());
            }
        }
        let psns = psns.map(|psn| psn.unwrap_or(0));
        Self { case, frames, messages, queue_pairs, psns }
    }

    fn info(&self, nic: usize) -> ConnectionInfo {
        ConnectionInfo {
            mac: mac(nic),
            ip: ip(nic),
            queue_pair: self.queue_pairs[nic],
            first_psn: self.psns[nic],
            mtu: Mtu::try_from(self.case.mtu).expect("an MTU"),
            service: self.case.service,
            max_transfer: 1 << 20,
        }
    }

    /// Whether an acknowledgement is one of a packet that is not the last of its message.
    fn is_middle(&self, acknowledgement: &Reading) -> bool {
        let to = 1 - sender(acknowledgement);
        self.messages.iter().filter(|message| message.sender == to).any(|message| {
            let before = message.frames.len() - 1;
            message.frames[..before].iter().any(|frame| Reading::of(frame).psn == acknowledgement.psn)
        })
    }

    /// Frames of one guest: acknowledgements, or all others.
    fn of(frames: &[Vec<u8>], nic: usize, acknowledgements: bool) -> Vec<&[u8]> {
        let wanted = |frame: &&Vec<u8>| {
            let reading = Reading::of(frame);
            sender(&reading) == nic && (reading.opcode == opcode::RC_ACKNOWLEDGE) == acknowledgements
        };
        frames.iter().filter(wanted).map(|frame| untrailed(frame)).collect()
    }
}

/// The header template that the agent would write, with this type of service and identification.
fn headers(linux: &Linux, nic: usize, tos: u8, id: [u8; 2]) -> [u64; 8] {
    let mut bytes: Vec<u8> = template::words(&linux.info(nic), &linux.info(1 - nic), DEFAULT_PKEY)
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let old = u16::from_be_bytes([bytes[IP_CHECKSUM], bytes[IP_CHECKSUM + 1]]);
    let sum = u32::from(old) + u32::from(tos) + u32::from(u16::from_be_bytes(id));
    let sum = (sum & 0xFFFF) + (sum >> 16);
    bytes[IP + 1] = tos;
    bytes[IP_ID..IP_ID + 2].copy_from_slice(&id);
    bytes[IP_CHECKSUM..IP_CHECKSUM + 2].copy_from_slice(&(sum as u16).to_be_bytes());
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    words.collect::<Vec<_>>().try_into().expect("eight words")
}

fn write_headers(world: &World, linux: &Linux, nic: usize, tos: u8, id: [u8; 2]) {
    for (word, row) in headers(linux, nic, tos, id).iter().zip(8 * linux.queue_pairs[nic]..) {
        world.commit(nic, table::TEMPLATE, row, &[*word]);
    }
}

/// The VI of each guest's queue pair number, connected by hand: Linux's numbers have no generation.
fn connect(world: &World, hosts: &[Host; 2], linux: &Linux) -> [RawVi; 2] {
    [0, 1].map(|nic| {
        let (own, peer) = (linux.info(nic), linux.info(1 - nic));
        let host = &hosts[nic];
        let attributes = ViAttributes {
            tag: host.tag,
            service: own.service,
            mtu: own.mtu,
            max_transfer: own.max_transfer,
            send_log2: 4,
            receive_log2: 4,
            send_cq: None,
            receive_cq: None,
        };
        let mut others = Vec::new();
        let vi = loop {
            let vi = host.agent.create_vi(attributes).expect("a VI");
            if u32::from(vi.index()) == own.queue_pair {
                break vi;
            }
            others.push(vi);
        };
        others.iter().for_each(|vi| vi.destroy().expect("the NIC answers"));
        let row = own.queue_pair;
        write_headers(world, linux, nic, linux.frames[0][IP + 1], [0; 2]);
        world.commit(nic, table::GATHER, row, &rows::gather(host.tag, own.mtu, own.max_transfer));
        world.commit(nic, table::TRANSMIT, row, &rows::transmit(own.first_psn, own.service, false));
        let receive = rows::Receive {
            peer: peer.ip,
            psn: peer.first_psn,
            service: own.service,
            mtu: own.mtu,
            tag: host.tag,
            generation: 0,
        };
        world.commit(nic, table::RECEIVE, row, &receive.words());
        world.commit(nic, table::VI_STATE, row, &[vi_states::CONNECTED.into()]);
        RawVi { vi, sends: 0, receives: 0 }
    })
}

fn open(setup: &Setup) -> (World, [Host; 2]) {
    let world = World::new(setup);
    let hosts = [0, 1].map(|nic| {
        let options = Options { mac: mac(nic), ip: ip(nic), ..world.options(nic) };
        world.host_as(nic, options)
    });
    (world, hosts)
}

/// Sends Linux's messages in its order, with our NIC at both ends; what was on the wire. With
/// `identified`, each message's identification is put into the template before.
fn send_all(linux: &Linux, identified: bool) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = quick(1);
    setup.pcap = Some(folder.path().join("ours.pcap"));
    let (world, mut hosts) = open(&setup);
    let mut vis = connect(&world, &hosts, linux);
    for message in &linux.messages {
        let (from, to) = (message.sender, 1 - message.sender);
        if identified {
            let first = &message.frames[0];
            write_headers(&world, linux, from, first[IP + 1], [first[IP_ID], first[IP_ID + 1]]);
        }
        hosts[from].memory.write(0, &message.data);
        let length = message.data.len();
        let receive = Descriptor::of(&hosts[to], Host::DATA / 2, length);
        let receive = vis[to].receive(&mut hosts[to], &receive);
        world.arrived(to);
        let mut send = Descriptor::of(&hosts[from], 0, length);
        if let Some(immediate) = message.immediate {
            send = send.immediate(immediate);
        }
        let send = vis[from].send(&mut hosts[from], &send);
        assert_eq!(world.complete(&hosts[from], send).status, status::DONE);
        check_received(&world, &hosts[to], receive, message);
    }
    assert!(vis.iter().all(|vi| vi.state() == ViState::Connected));
    world.check();
    world.captured(setup.pcap.as_deref().expect("set above"))
}

fn check_received(world: &World, host: &Host, receive: usize, message: &Message) {
    let received = world.complete(host, receive);
    let immediate = message.immediate.map_or(0, |_| status::IMMEDIATE);
    let expected = Completion {
        status: status::DONE | status::OP_RECEIVE | immediate,
        length: message.data.len() as u32,
        immediate: message.immediate.unwrap_or(0),
    };
    assert_eq!(received, expected);
    assert_eq!(host.memory.read(Host::DATA / 2, message.data.len()), message.data);
}

/// Our frame is Linux's, but for the identification and the two sums over it; and but for the acknowledgements
/// that we ask for in the middle of a long message, and Linux does not.
fn check_frame(ours: &[u8], theirs: &[u8], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let middle = [opcode::RC_SEND_FIRST, opcode::RC_SEND_MIDDLE].contains(&theirs[BTH]);
    let mut theirs = theirs.to_vec();
    if middle && ours[BTH + 8] & 0x80 != 0 {
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

#[test]
fn our_frames_are_those_of_linux() {
    for case in CASES {
        let linux = Linux::read(case);
        let name = linux.case.name;
        let ours = send_all(&linux, false);
        println!("{name}: {} messages, {} frames", linux.messages.len(), ours.len());
        assert!(!linux.messages.is_empty());
        for nic in 0..2 {
            for acknowledgements in [false, true] {
                let whole = |frames| Linux::of(frames, nic, acknowledgements);
                let (mut ours, theirs) = (whole(&ours), whole(&linux.frames));
                // Those that we ask for in the middle of a long message.
                let middle = |frame: &&[u8]| linux.is_middle(&Reading::of(frame));
                ours.retain(|frame| !acknowledgements || !middle(frame));
                // Captures end where they end: in a message, or before its acknowledgement.
                assert!(
                    ours.len().abs_diff(theirs.len()) <= 1,
                    "{name}: {} and {}",
                    ours.len(),
                    theirs.len()
                );
                for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                    let kind = if acknowledgements { "acknowledgement" } else { "request" };
                    check_frame(ours, theirs, &format!("{name}: NIC {nic}, {kind} {n}"));
                }
            }
        }
    }
}

#[test]
fn with_the_same_identification_nothing_differs() {
    for case in CASES {
        let linux = Linux::read(case);
        if linux.messages.iter().any(|message| message.frames.len() != 1) {
            continue;
        }
        let name = linux.case.name;
        let ours = send_all(&linux, true);
        for nic in 0..2 {
            let [ours, theirs] = [&ours, &linux.frames].map(|frames| Linux::of(frames, nic, false));
            println!("{name}: {} frames", ours.len());
            assert_eq!(ours, theirs, "{name}: NIC {nic}");
        }
    }
}

/// The client's own frames come to our NIC; the server's acknowledgements are ours.
#[test]
fn our_nic_takes_what_linux_sent_and_answers_as_linux_did() {
    for case in CASES {
        let linux = Linux::read(case);
        let name = linux.case.name;
        let folder = tempfile::tempdir().expect("a folder");
        let mut setup = quick(2);
        setup.pcap = Some(folder.path().join("both.pcap"));
        let (world, mut hosts) = open(&setup);
        let mut vis = connect(&world, &hosts, &linux);
        let mut count = 0;
        for message in linux.messages.iter().filter(|message| message.sender == 0) {
            let room = message.data.len() + 100;
            let receive = Descriptor::of(&hosts[1], Host::DATA / 2, room.min(Host::DATA / 2));
            let receive = vis[1].receive(&mut hosts[1], &receive);
            world.arrived(1);
            message.frames.iter().for_each(|frame| world.inject(1, frame));
            check_received(&world, &hosts[1], receive, message);
            count += 1;
        }
        assert!(count > 0);
        world.settle();
        world.check();
        let both = world.captured(setup.pcap.as_deref().expect("set above"));
        let [ours, theirs] = [&both, &linux.frames].map(|frames| Linux::of(frames, 1, true));
        println!("{name}: {count} messages, {} acknowledgements", ours.len());
        assert!(theirs.len() <= ours.len() && ours.len() == if linux.case.service == RC { count } else { 0 });
        for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            check_frame(ours, theirs, &format!("{name}: acknowledgement {n}"));
        }
    }
}
