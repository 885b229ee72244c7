//! What Linux did in a capture: its frames, and the messages of its client.

use std::collections::BTreeMap;

use viaduct_driver::address::Service;
use viaduct_spec::descriptor::control;
use viaduct_spec::wire::{opcode, HEADER_BYTES as HEADERS};
use viaduct_tests::frame::{seal, Reading, BTH, IP};
use viaduct_tests::guests::{self, sender, Guests};
use viaduct_tests::raw::Region;

use super::case::Case;
use super::part::{begins, has_immediate, has_reth, is_write, reth};

/// A message of Linux's client.
#[derive(Debug)]
pub struct Message {
    /// PSN of its first packet, and packets.
    pub psn: u32,
    pub packets: u32,
    pub operation: u16,
    pub data: Vec<u8>,
    pub immediate: Option<u32>,
    /// Where it writes or reads: address, key, bytes.
    pub remote: Option<(u64, u32, usize)>,
}

/// What Linux did.
pub struct Play {
    pub case: Case,
    pub guests: Guests,
    pub frames: Vec<Vec<u8>>,
    pub messages: Vec<Message>,
    /// The lowest address of the server's buffer, and its key.
    pub base: u64,
    pub key: u32,
}

impl Play {
    /// From a capture.
    pub fn of(case: Case) -> Self {
        let mut frames = guests::frames(case.name);
        // Up to the first atomic operation, and what answers that.
        if let Some(atomic) = frames.iter().position(|frame| frame[BTH] > opcode::RC_ACKNOWLEDGE) {
            let end = Reading::of(&frames[atomic]).psn;
            frames.retain(|frame| Reading::of(frame).psn.wrapping_sub(end) & 0x80_0000 != 0);
        }
        let (mut queue_pairs, mut psns) = ([0; 2], [None; 2]);
        // The packets of the client, each once: what was sent again is in them already.
        let mut packets: BTreeMap<u32, Reading> = BTreeMap::new();
        for frame in &frames {
            let reading = Reading::of(frame);
            let nic = sender(&reading);
            queue_pairs[1 - nic] = reading.queue_pair;
            if nic == 0 {
                let first = *psns[0].get_or_insert(reading.psn);
                packets.entry(reading.psn.wrapping_sub(first) & 0xFF_FFFF).or_insert(reading);
            }
        }
        let guests = Guests {
            queue_pairs,
            psns: psns.map(|psn| psn.unwrap_or(0)),
            mtu: case.mtu,
            service: Service::ReliableDelivery,
            tos: frames[0][IP + 1],
        };
        let mut messages: Vec<Message> = Vec::new();
        let mut behind = 0;
        for (place, packet) in packets {
            let (part, mut body) = (packet.opcode, &packet.body[..]);
            if place < behind {
                // A part of a read that was asked for again.
                assert_eq!(part, opcode::RC_READ_REQUEST, "{}", case.name);
                continue;
            }
            if begins(part) {
                let remote = has_reth(part).then(|| reth(body));
                let operation = match part {
                    opcode::RC_READ_REQUEST => control::OP_RDMAREAD,
                    part if is_write(part) => control::OP_RDMAWRITE,
                    _ => control::OP_SENDRECV,
                };
                let (data, immediate) = (Vec::new(), None);
                messages.push(Message { psn: packet.psn, packets: 0, operation, data, immediate, remote });
            }
            let message = messages.last_mut().expect("it has begun");
            message.packets += 1;
            body = &body[if has_reth(part) { 16 } else { 0 }..];
            if has_immediate(part) {
                let (immediate, rest) = body.split_first_chunk::<4>().expect("immediate data");
                (message.immediate, body) = (Some(u32::from_be_bytes(*immediate)), rest);
            }
            message.data.extend_from_slice(body);
            if part == opcode::RC_READ_REQUEST {
                let bytes = message.remote.map_or(0, |(_, _, bytes)| bytes);
                message.packets = (bytes.div_ceil(case.mtu as usize) as u32).max(1);
                behind = place + message.packets;
            }
        }
        let remotes = || messages.iter().filter_map(|message| message.remote);
        let base = remotes().map(|(address, ..)| address & !0xFFF).min().unwrap_or(0);
        let key = remotes().next().map_or(0, |(_, key, _)| key);
        Self { case, guests, frames, messages, base, key }
    }

    /// The frames of one of the two.
    pub fn of_sender(frames: &[Vec<u8>], nic: usize) -> Vec<&[u8]> {
        frames.iter().filter(|frame| sender(&Reading::of(frame)) == nic).map(|frame| &frame[..]).collect()
    }

    /// A request of Linux's that names our server's region where Linux named its own.
    pub fn at_home(&self, frame: &[u8], region: &Region) -> Vec<u8> {
        let mut frame = frame.to_vec();
        if has_reth(frame[BTH]) {
            let (address, key, _) = reth(&frame[HEADERS..]);
            let address = region.address + (address - self.base);
            // A key that is wrong stays wrong.
            let key = region.handle ^ if key == self.key { 0 } else { 1 << 20 };
            frame[HEADERS..HEADERS + 8].copy_from_slice(&address.to_be_bytes());
            frame[HEADERS + 8..HEADERS + 12].copy_from_slice(&key.to_be_bytes());
            seal(&mut frame);
        }
        frame
    }

    /// How far into the messages a PSN is.
    pub fn place(&self, psn: u32) -> u32 {
        psn.wrapping_sub(self.guests.psns[0]) & 0xFF_FFFF
    }
}
