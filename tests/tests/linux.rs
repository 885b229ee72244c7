//! Linux as the measure: messages that its soft-RoCE sent, sent by our NIC under the same addresses,
//! queue pair numbers and PSNs, become the same frames; and its own frames are taken by our NIC.
//!
//! One thing differs, because it is a choice: Linux counts the IPv4 identification up with each
//! packet, ours stands in the header template. So these bytes may differ, and no others: the
//! identification (18, 19), with it the IPv4 checksum (24, 25) and the ICRC (the last four). With the
//! identification of Linux put in, and both sums made anew, every frame is Linux's, byte for byte;
//! and where each message is one packet, we put it into the template, and nothing differs.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::{untrailed, Reading, IP, IP_ID};
use viaduct_tests::guests::{self, assert_linux, open, sender, Guests, Terms};
use viaduct_tests::raw::{Completion, Descriptor};
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
    guests: Guests,
}

impl Linux {
    fn read(case: Case) -> Self {
        let frames: Vec<Vec<u8>> = guests::frames(case.name).into_iter().take(case.frames).collect();
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
        let guests = Guests {
            queue_pairs,
            psns: psns.map(|psn| psn.unwrap_or(0)),
            mtu: case.mtu,
            service: case.service,
            tos: frames[0][IP + 1],
        };
        Self { case, frames, messages, guests }
    }

    /// Whether an acknowledgement is one of a packet that is not the last of its message.
    fn is_middle(&self, acknowledgement: &Reading) -> bool {
        let to = 1 - sender(acknowledgement);
        self.messages.iter().filter(|message| message.sender == to).any(|message| {
            let before = message.frames.len() - 1;
            message.frames[..before].iter().any(|frame| Reading::of(frame).psn == acknowledgement.psn)
        })
    }

    /// How many frames more than its whole messages ask for a capture has of one guest, since it ends where it ends: packets of a
    /// message that does not end, or, below 0, the acknowledgement of the last packet in it.
    fn behind(&self, nic: usize, acknowledgements: bool) -> isize {
        if acknowledgements {
            let last = Reading::of(self.frames.last().expect("a capture has frames"));
            let request = last.opcode != opcode::RC_ACKNOWLEDGE && sender(&last) != nic;
            let ends =
                self.messages.iter().filter(|message| message.sender != nic).any(|message| {
                    message.frames.last().is_some_and(|frame| Reading::of(frame).psn == last.psn)
                });
            return -isize::from(request && ends && self.case.service == RC);
        }
        let whole = self.messages.iter().filter(|message| message.sender == nic);
        let whole: usize = whole.map(|message| message.frames.len()).sum();
        (Self::of(&self.frames, nic, false).len() - whole) as isize
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

/// Sends Linux's messages in its order, with our NIC at both ends; what was on the wire. With
/// `identified`, each message's identification is put into the template before.
fn send_all(linux: &Linux, identified: bool) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = quick(1);
    setup.pcap = Some(folder.path().join("ours.pcap"));
    let (world, mut hosts) = open(&setup);
    let mut vis = linux.guests.connect(&world, &hosts, Terms::default());
    for message in &linux.messages {
        let (from, to) = (message.sender, 1 - message.sender);
        if identified {
            let first = &message.frames[0];
            linux.guests.write_headers(&world, from, first[IP + 1], [first[IP_ID], first[IP_ID + 1]]);
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
                let behind = linux.behind(nic, acknowledgements);
                assert_eq!(ours.len() as isize + behind, theirs.len() as isize, "{name}: NIC {nic}");
                for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                    let kind = if acknowledgements { "acknowledgement" } else { "request" };
                    assert_linux(ours, theirs, &format!("{name}: NIC {nic}, {kind} {n}"));
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
        let mut vis = linux.guests.connect(&world, &hosts, Terms::default());
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
            assert_linux(ours, theirs, &format!("{name}: acknowledgement {n}"));
        }
    }
}
