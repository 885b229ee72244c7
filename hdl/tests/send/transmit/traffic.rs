//! Everything that waits through transmit, and everything that comes out compared.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::bus::{AckRequest, Fault, FrameBeat, Packet, PayloadWord, Sent, Whole};
use viaduct_spec::tables::vi_states;

use super::World;
use crate::port;

impl World {
    /// Runs until everything expected has come. Returns the cycles taken.
    pub fn run(&mut self, eager: bool) -> u64 {
        let Self { bench, rng, packets, acks, frames, ack_frames, sent, faults, failed, .. } = self;
        let mut words: VecDeque<(u64, bool)> = VecDeque::new();
        let mut wholes: VecDeque<(bool, bool)> = VecDeque::new();
        let mut filled = 0;
        let (mut beats, mut broken) = (Vec::<u8>::new(), None);
        let (start, mut quiet) = (bench.cycles(), 0);
        let (mut positive, mut negative) = (0, 0);
        while !(packets.is_empty()
            && acks.is_empty()
            && frames.is_empty()
            && ack_frames.is_empty()
            && sent.is_empty())
        {
            // Payload comes in ahead of its packet's turn, or late.
            if filled < packets.len() && filled < 4 && (eager || rng.random_bool(0.1)) {
                if let Some((bytes, refused, failed)) = &packets[filled].payload {
                    let count = bytes.len().div_ceil(8).max(1);
                    for n in 0..count {
                        let mut word = [0; 8];
                        let part = &bytes[8 * n..bytes.len().min(8 * n + 8)];
                        word[..part.len()].copy_from_slice(part);
                        words.push_back((u64::from_le_bytes(word), n + 1 == count));
                    }
                    wholes.push_back((*refused, *failed));
                }
                filled += 1;
            }
            bench.set("packet_valid", (!packets.is_empty()).into());
            if let Some(given) = packets.front() {
                port::set_all::<Packet>(bench, "packet", &given.packet);
            }
            let whole = wholes.front().copied();
            bench.set("whole_valid", whole.is_some().into());
            let whole = whole.unwrap_or((rng.random(), rng.random()));
            port::set::<Whole>(bench, "whole", &[("refused", whole.0.into()), ("failed", whole.1.into())]);
            bench.set("payload_valid", (!words.is_empty()).into());
            let word = words.front().copied().unwrap_or((rng.random(), rng.random()));
            port::set::<PayloadWord>(bench, "payload", &[("data", word.0), ("last", word.1.into())]);
            if bench.get("ack_valid") == 0 && !acks.is_empty() && (eager || rng.random_bool(0.05)) {
                port::set_all::<AckRequest>(bench, "ack", &acks[0]);
                bench.set("ack_valid", 1);
            }
            bench.set("frame_ready", (eager || rng.random_bool(0.8)).into());
            bench.set("sent_ready", (eager || rng.random_bool(0.5)).into());
            // No fault is taken while the state changes by the one before.
            bench.set("fault_ready", (broken.is_none() && rng.random_bool(0.2)).into());
            bench.set("failed_ready", rng.random_bool(0.2).into());
            bench.eval();

            if !beats.is_empty() {
                assert_eq!(bench.get("frame_valid"), 1, "a frame pauses");
            }
            if bench.get("frame_valid") == 1 && bench.get("frame_ready") == 1 {
                quiet = 0;
                let beat = port::get::<FrameBeat>(bench, "frame");
                let count = beat["count"] as usize;
                assert!(count == 8 || beat["last"] == 1);
                beats.extend(&beat["data"].to_le_bytes()[..count]);
                if beat["last"] == 1 {
                    let acknowledges = ack_frames.front().is_some_and(|frame| frame.bytes == beats);
                    let queue = if acknowledges { &mut *ack_frames } else { &mut *frames };
                    let expected = queue.pop_front().expect("a frame nobody expects");
                    assert_eq!(beats, expected.bytes);
                    assert_eq!(bench.get("frame_loopback") == 1, expected.loopback);
                    assert_eq!(bench.get("frame_vlan") as u32, u32::from_le_bytes(expected.vlan));
                    beats.clear();
                }
            }
            if bench.get("sent_valid") == 1 && bench.get("sent_ready") == 1 {
                quiet = 0;
                let got = port::get::<Sent>(bench, "sent");
                let expected = sent.pop_front().expect("a message nobody sent");
                for (name, value) in &expected {
                    assert_eq!(got[name], *value, "{name}: expected {expected:x?}, got {got:x?}");
                }
            }
            if bench.get("failed_valid") == 1 && bench.get("failed_ready") == 1 {
                let got = port::get::<AckRequest>(bench, "failed");
                let expected = failed.pop_front().expect("a NAK nobody expects");
                for (name, value) in &expected {
                    assert_eq!(got[name], *value, "{name}: expected {expected:x?}, got {got:x?}");
                }
            }
            let announce = broken.take();
            if bench.get("fault_valid") == 1 && bench.get("fault_ready") == 1 {
                let got = port::get::<Fault>(bench, "fault");
                assert_eq!(got["breaks"], 1);
                assert_eq!(Some((got["vi"], got["code"] as u8)), faults.pop_front());
                broken = Some(got["vi"]);
            }
            positive += bench.get("count_ack");
            negative += bench.get("count_nak");
            let taken = (
                bench.get("packet_ready") == 1,
                bench.get("whole_ready") == 1,
                bench.get("payload_ready") == 1,
                bench.get("ack_ready") == 1,
            );
            if let Some(vi) = announce {
                port::state(bench, vi, vi_states::ERROR);
            } else {
                bench.tick();
            }
            if taken.0 {
                packets.pop_front().expect("a packet that was not there");
                filled = filled.saturating_sub(1);
                quiet = 0;
            }
            if taken.1 {
                wholes.pop_front().expect("a whole that was not there");
            }
            if taken.2 {
                words.pop_front().expect("a word that was not there");
            }
            if taken.3 {
                acks.pop_front().expect("an acknowledgement that was not there");
                bench.set("ack_valid", 0);
            }
            quiet += 1;
            assert!(quiet < 4000, "transmit stands still");
        }
        let cycles = bench.cycles() - start;
        for port in ["packet_valid", "whole_valid", "payload_valid"] {
            bench.set(port, 0);
        }
        for _ in 0..8 {
            bench.tick();
        }
        assert!(faults.is_empty() && failed.is_empty() && words.is_empty() && wholes.is_empty());
        assert_eq!(bench.get("busy"), 0);
        println!("{positive} ACKs, {negative} NAKs, {cycles} cycles");
        cycles
    }
}
