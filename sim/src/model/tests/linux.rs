//! Linux as the measure (tests/data/roce): what its soft-RoCE asked and answered, sends, RDMA writes and reads, our
//! requester asks and our responder answers in the same packets.
//!
//! Remote addresses and keys are the bench's, PSNs are counted from the first: the rest is compared whole.

use std::path::Path;

use pcap_file::pcap::PcapReader;
use viaduct_spec::descriptor::control;
use viaduct_spec::wire::opcode;

use super::bench::{handle, Bench, Descriptor, End, Level, DATA, PSN, SENT};
use crate::fabric::Capture;
use crate::model::frame::{self, be32, Identity, Packet};
use crate::model::psn;
use crate::model::response::is_answer;

const CLIENT: End = (0, 1);
const SERVER: End = (1, 2);
/// Where the client's memory is sent from and received into; the server's receives; and what is remote.
const LOCAL: u64 = DATA;
const SINK: u64 = DATA + 0x4_0000;
const REMOTE: u64 = DATA + 0x8_0000;

/// The packets of a capture between two addresses: requests, and answers.
fn packets(path: &Path, ends: [u32; 2]) -> [Vec<Packet>; 2] {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = PcapReader::new(file).unwrap();
    let mut found = [Vec::new(), Vec::new()];
    while let Some(captured) = reader.next_packet() {
        let data = captured.unwrap().data.into_owned();
        let mac = u64::from_le_bytes([data[0], data[1], data[2], data[3], data[4], data[5], 0, 0]);
        let Some(to) = ends.iter().position(|ip| *ip == be32(&data, 30)) else { continue };
        let own = Identity { mac, ip: ends[to], pkey: 0xFFFF };
        match frame::read(&data, &own) {
            Ok(reading) => found[usize::from(is_answer(reading.packet.opcode))].push(reading.packet),
            Err(frame::Drop::NotOurs) => {}
            // An atomic: not ours, and neither is what follows it.
            Err(error) => {
                assert_eq!(error, frame::Drop::Bth);
                break;
            }
        }
    }
    found
}

fn has_reth(packet: &Packet) -> bool {
    [opcode::RC_WRITE_FIRST, opcode::RC_WRITE_ONLY, opcode::RC_WRITE_ONLY_IMMEDIATE, opcode::RC_READ_REQUEST]
        .contains(&packet.opcode)
}

fn address(packet: &Packet) -> u64 {
    u64::from(be32(&packet.body, 0)) << 32 | u64::from(be32(&packet.body, 4))
}

/// Linux's packets, as the bench's addresses would make them.
fn linux(name: &str) -> [Vec<Packet>; 2] {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/roce").join(name).with_extension("pcap");
    let mut both = packets(&path, [0x0A00_0001, 0x0A00_0002]);
    let first = both[0][0].psn;
    let base = both[0].iter().filter(|packet| has_reth(packet)).map(address).min().unwrap_or(0);
    for packet in both.iter_mut().flatten() {
        packet.psn = psn::ahead(packet.psn, first);
        if has_reth(packet) {
            let at = REMOTE + (address(packet) - base);
            packet.body[..8].copy_from_slice(&at.to_be_bytes());
            packet.body[8..12].copy_from_slice(&handle().to_be_bytes());
        }
    }
    both
}

/// A message that was asked for: its descriptor, and what has to be in which memory before.
fn descriptor(first: &Packet, data: &[u8], immediate: Option<u32>) -> Descriptor {
    let length = data.len() as u32;
    let descriptor = match first.opcode {
        opcode::RC_READ_REQUEST => Descriptor::rdma(control::OP_RDMAREAD, address(first), SINK, length),
        _ if has_reth(first) => Descriptor::rdma(control::OP_RDMAWRITE, address(first), LOCAL, length),
        _ => Descriptor::of(LOCAL, length),
    };
    match immediate {
        Some(immediate) => descriptor.immediate(immediate),
        None => descriptor,
    }
}

fn run(name: &str, mtu: u64) {
    let [requests, answers] = linux(name);
    println!("{name}: {} requests, {} answers", requests.len(), answers.len());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.pcap");
    let mut bench = Bench::captured(2, Some(Capture::create(&path).unwrap()));
    bench.connect([CLIENT, SERVER], Level { mtu, ..Level::reliable() });
    let mut rest = &requests[..];
    let mut operations = 0;
    while let Some(first) = rest.first() {
        let (mut data, mut immediate, mut count) = (Vec::new(), None, 0);
        if first.opcode == opcode::RC_READ_REQUEST {
            let length = be32(&first.body, 12);
            let number = psn::packets(length.into(), 256 << mtu) as u32;
            let answer = answers.iter().filter(|answer| psn::ahead(answer.psn, first.psn) < number);
            for answer in answer {
                let extension = if answer.opcode == opcode::RC_READ_RESPONSE_MIDDLE { 0 } else { 4 };
                data.extend_from_slice(&answer.body[extension..]);
            }
            assert_eq!(data.len(), length as usize);
            bench.write(SERVER.0, address(first), &data);
            count = 1;
        }
        while count == 0 || !is_last(&rest[count - 1]) {
            let packet = &rest[count];
            let mut body = &packet.body[if has_reth(packet) { 16 } else { 0 }..];
            if [3, 5, 9, 11].contains(&packet.opcode) {
                immediate = Some(be32(body, 0));
                body = &body[4..];
            }
            data.extend_from_slice(body);
            count += 1;
        }
        rest = &rest[count..];
        if first.opcode != opcode::RC_READ_REQUEST {
            bench.write(CLIENT.0, LOCAL, &data);
        }
        if !has_reth(first) || immediate.is_some() {
            bench.receive(SERVER, &Descriptor::of(SINK, 0x2_0000));
        }
        let posted = bench.send(CLIENT, &descriptor(first, &data, immediate));
        bench.settle();
        assert_eq!(bench.peek(CLIENT.0, posted).0, data.len() as u32, "{name}");
        assert_eq!(bench.peek(CLIENT.0, posted).1 & 0xFFFF, SENT & 0xFFFF);
        operations += 1;
    }
    assert!(operations > 2);
    bench.net.fabric_mut().finish_capture().unwrap();
    let mut ours = packets(&path, [0x0A00_0001, 0x0A00_0002]);
    ours.iter_mut().flatten().for_each(|packet| packet.psn = psn::ahead(packet.psn, PSN));
    let [our_requests, our_answers] = ours;
    assert_eq!(our_requests, requests, "{name}");
    // The capture may end before the last answers.
    assert!(answers.len() <= our_answers.len());
    assert_eq!(our_answers[..answers.len()], answers, "{name}");
}

fn is_last(packet: &Packet) -> bool {
    ![opcode::RC_SEND_FIRST, opcode::RC_SEND_MIDDLE, opcode::RC_WRITE_FIRST, opcode::RC_WRITE_MIDDLE]
        .contains(&packet.opcode)
}

/// Rules WIRE-1 and WIRE-2.
#[test]
fn our_packets_are_those_of_linux() {
    for (name, mtu) in [("rc_ops", 2), ("rc_mtu256", 0), ("rc_mtu4096", 4), ("rc_psn_wrap", 2)] {
        run(name, mtu);
    }
}
