//! Frames that are made by hand, and how B answers them.

use std::fs::File;

use pcap_file::pcap::PcapReader;
use viaduct_spec::tables::vi_states;
use viaduct_spec::wire::syndrome;

use super::{A, B};
use crate::fabric::Capture;
use crate::model::frame::{self, Packet};
use crate::model::response::is_answer;
use crate::model::tests::bench::{Bench, Descriptor, Level, DATA, PSN};

/// A frame as `A` would send it to `B`.
pub(super) fn frame_of(code: u8, ahead: u32, ack_request: bool, body: &[u8]) -> Vec<u8> {
    let template = Bench::template(A, B);
    let psn = PSN.wrapping_add(ahead) & 0xFF_FFFF;
    frame::build(&template, &Packet { opcode: code, psn, ack_request, body: body.to_vec() })
}

/// The header of RDMA requests.
pub(super) fn reth(address: u64, handle: u32, length: u32) -> Vec<u8> {
    [&address.to_be_bytes()[..], &handle.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// The answers to frames of A's, made by hand: as they were on the wire, and B's state.
pub(super) fn answered(prepare: impl FnOnce(&mut Bench), frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, u8) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.pcap");
    let mut bench = Bench::captured(2, Some(Capture::create(&path).unwrap()));
    bench.connect([A, B], Level::reliable());
    bench.receive(B, &Descriptor::of(DATA, 5000));
    prepare(&mut bench);
    // Nobody listens at A.
    bench.set_state(A, vi_states::IDLE);
    for frame in frames {
        bench.inject(1, frame.clone());
        bench.settle();
    }
    let state = bench.state(B);
    bench.net.fabric_mut().finish_capture().unwrap();
    let mut reader = PcapReader::new(File::open(&path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(captured) = reader.next_packet() {
        let data = captured.unwrap().data.into_owned();
        if is_answer(data[42]) {
            found.push(data);
        }
    }
    (found, state)
}

/// The same: syndrome and PSN ahead of the first; and opcodes.
pub(super) fn answers(frames: &[Vec<u8>]) -> (Vec<(u8, u32)>, Vec<u8>) {
    let (frames, state) = answered(|_| (), frames);
    let ahead = |data: &[u8]| (frame::be32(data, 50) & 0xFF_FFFF).wrapping_sub(PSN) & 0xFF_FFFF;
    let found: Vec<(u8, u32)> = frames.iter().map(|data| (data[54], ahead(data))).collect();
    let codes = frames.iter().map(|data| data[42]).collect();
    let nak = found.iter().any(|(code, _)| code & 0xE0 == 0x60 && *code != syndrome::NAK_SEQUENCE);
    assert_eq!(state == vi_states::ERROR, nak);
    (found, codes)
}
