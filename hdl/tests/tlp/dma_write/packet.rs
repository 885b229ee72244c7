//! Packets of the engine: each must be the next piece of a command.

use viaduct_spec::tlp::{dw0, kind, request_dw1};

use super::command::Command;
use super::host::Host;
use crate::beat::field;

/// The NIC's place on the bus.
pub const REQUESTER: u64 = 0x03F1;

/// A packet as it must leave.
#[derive(Debug)]
pub struct Packet {
    pub address: u64,
    pub bytes: Vec<u8>,
    /// Epoch of the command that ends with it.
    pub done: Option<bool>,
}

impl Host {
    /// A command has been taken: from now on it is cut by the size in force.
    pub fn taken(&mut self, command: Command, bytes: &[u8]) {
        let cut = self.bench.get("cut");
        let (asked, since) = self.asked;
        assert!(cut == asked || self.bench.cycles() == since, "cut by {cut}, and {asked} has been asked for");
        let size = (128 << cut).min(4096);
        let end = command.address + command.length;
        let mut at = command.address;
        while at < end {
            let stop = end.min(at / size * size + size);
            let (from, to) = ((at - command.address) as usize, (stop - command.address) as usize);
            self.packets.push_back(Packet {
                address: at,
                bytes: bytes[from..to].to_vec(),
                done: (stop == end).then_some(command.epoch),
            });
            at = stop;
        }
    }

    pub fn packet(&mut self, packet: &[u32]) {
        let want = self.packets.pop_front().expect("a packet nobody asked for");
        let long = field(dw0::KIND, packet[0]) == u64::from(kind::WRITE_4DW);
        assert!(long || field(dw0::KIND, packet[0]) == u64::from(kind::WRITE_3DW));
        assert_eq!(packet[0] & 0x00FF_FC00, 0, "no attribute, no class");
        assert_eq!(field(request_dw1::REQUESTER, packet[1]), REQUESTER);
        assert_eq!(field(request_dw1::TAG, packet[1]), 0, "nobody answers a write");
        let address = if long { u64::from(packet[2]) << 32 | u64::from(packet[3]) } else { packet[2].into() };
        assert_eq!(long, address >> 32 != 0, "short header exactly below 4 GiB");
        assert_eq!(address, want.address & !3);
        let lane = (want.address % 4) as usize;
        let words = (lane + want.bytes.len()).div_ceil(4);
        assert_eq!(field(dw0::LENGTH, packet[0]), words as u64 & 0x3FF);
        let head = if long { 4 } else { 3 };
        assert_eq!(packet.len(), head + words);
        let bytes: Vec<u8> = packet[head..].iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(bytes[lane..lane + want.bytes.len()], want.bytes);
        let enabled = |word: usize| {
            (0..4)
                .filter(|b| (lane..lane + want.bytes.len()).contains(&(word * 4 + b)))
                .fold(0, |m, b| m | 1 << b)
        };
        assert_eq!(field(request_dw1::FIRST_BE, packet[1]), enabled(0));
        let last = if words == 1 { 0 } else { enabled(words - 1) };
        assert_eq!(field(request_dw1::LAST_BE, packet[1]), last);
        assert!(
            want.bytes.len() as u64 <= self.credited,
            "a payload of {} bytes with credits for {}",
            want.bytes.len(),
            self.credited
        );
        self.payload += want.bytes.len() as u64;
        self.sent += 1;
        self.retire_due = want.done;
    }
}
