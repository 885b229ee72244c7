//! A NIC's Ethernet port: frames at the link's rate, with preamble, FCS and gap in their time.

use std::collections::VecDeque;

use crate::clock::Cycle;
use crate::nic::{NicIn, NicOut};

/// Preamble and start delimiter in bytes.
const PREAMBLE: u64 = 8;
/// Frame check sequence in bytes.
const FCS: u64 = 4;
/// Shortest gap between frames, in bytes.
const GAP: u64 = 12;
/// Shortest frame without FCS, in bytes.
pub const MIN_FRAME: usize = 60;
/// Longest frame that is taken, without FCS, in bytes.
pub const MAX_FRAME: usize = viaduct_driver::ethernet::LONGEST;
/// Bytes that the MAC holds between the NIC and the wire.
const FIFO: u64 = 64;

/// Cycles without a beat after which a frame has lost its end: the NIC was reset in the middle of it.
pub const UNDERRUN: u32 = 64;

/// A frame on the wire, padded, without FCS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes.
    pub data: Vec<u8>,
    /// Its FCS is wrong.
    pub damaged: bool,
}

/// What a port has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PortCounters {
    /// Frames that the NIC sent.
    pub sent: u64,
    /// Bytes of them, padded, without FCS.
    pub sent_bytes: u64,
    /// Frames that reached the NIC.
    pub received: u64,
    /// Bytes of them.
    pub received_bytes: u64,
    /// Frames of the NIC's that no Ethernet would carry.
    pub oversized: u64,
    /// Frames of the NIC's that have lost their end.
    pub underruns: u64,
    /// Cycles in which a frame of the NIC's could not begin because the other end asked for silence.
    pub held: u64,
    /// Cycles in which the NIC asked for silence.
    pub asked: u64,
}

/// The port.
#[derive(Debug)]
pub struct Mac {
    /// Bytes per cycle.
    rate: u64,
    sending: Vec<u8>,
    /// Cycles in which its next beat was waited for.
    starved: u32,
    /// The first byte of the frame being sent is on the wire at this cycle.
    started: Cycle,
    /// The wire is free for the next frame.
    free: Cycle,
    /// Finished frames, with the cycle at which their last byte leaves.
    sent: Vec<(Cycle, Frame)>,
    /// The other end asks for silence.
    pub held: bool,
    /// Frames to the NIC, with the cycle at which their first byte arrives.
    arriving: VecDeque<(Cycle, Frame)>,
    taken: usize,
    /// The NIC asks for silence.
    pub pause: bool,
    counters: PortCounters,
}

/// Cycles that `bytes` take on the wire.
pub fn cycles(bytes: u64, rate: u64) -> u64 {
    bytes.div_ceil(rate)
}

/// Cycles of a frame on the wire, from its preamble to its last byte.
pub fn frame_cycles(length: usize, rate: u64) -> u64 {
    cycles(PREAMBLE + length.max(MIN_FRAME) as u64 + FCS, rate)
}

/// Cycles of the gap behind a frame.
pub fn gap_cycles(rate: u64) -> u64 {
    cycles(GAP, rate)
}

impl Mac {
    /// A port of a link that carries `rate` bytes a cycle.
    pub fn new(rate: u64) -> Self {
        Self {
            rate,
            sending: Vec::new(),
            starved: 0,
            started: 0,
            free: 0,
            sent: Vec::new(),
            held: false,
            arriving: VecDeque::new(),
            taken: 0,
            pause: false,
            counters: PortCounters::default(),
        }
    }

    /// The counters.
    pub fn counters(&self) -> PortCounters {
        self.counters
    }

    /// Nothing is on its way in or out.
    pub fn is_quiet(&self) -> bool {
        self.sending.is_empty() && self.arriving.is_empty()
    }

    /// The frames that have been finished since the last call.
    pub fn take_sent(&mut self) -> std::vec::Drain<'_, (Cycle, Frame)> {
        self.sent.drain(..)
    }

    /// A frame whose first byte reaches the NIC at `start`; not before the one given last ends.
    pub fn deliver(&mut self, start: Cycle, frame: Frame) {
        self.arriving.push_back((start, frame));
    }

    /// Sets the NIC's inputs for this cycle.
    pub fn drive(&mut self, now: Cycle, input: &mut NicIn) {
        input.eth_tx_ready = if self.sending.is_empty() {
            // The wire must be free before the MAC's store is full.
            !self.held && self.free <= now + cycles(FIFO, self.rate)
        } else {
            let left = (now + 1).saturating_sub(self.started) * self.rate;
            self.sending.len() as u64 + 8 <= left + FIFO
        };
        input.eth_rx_valid = false;
        let Some((start, frame)) = self.arriving.front() else { return };
        let length = frame.data.len();
        let count = (length - self.taken).min(8);
        // A beat is there when its last byte has come; the last one when the FCS has.
        let last = self.taken + count == length;
        let bytes = PREAMBLE + (self.taken + count) as u64 + if last { FCS } else { 0 };
        if now < start + cycles(bytes, self.rate) {
            return;
        }
        let mut lanes = [0; 8];
        lanes[..count].copy_from_slice(&frame.data[self.taken..self.taken + count]);
        input.eth_rx_valid = true;
        input.eth_rx_data = u64::from_le_bytes(lanes);
        input.eth_rx_keep = (0xFFu16 >> (8 - count)) as u8;
        input.eth_rx_last = last;
        input.eth_rx_bad = last && frame.damaged;
        self.taken += count;
        if last {
            self.counters.received += 1;
            self.counters.received_bytes += length as u64;
            self.arriving.pop_front();
            self.taken = 0;
        }
    }

    /// Looks at what the NIC did in this cycle.
    pub fn observe(&mut self, now: Cycle, input: &NicIn, output: &NicOut) {
        self.pause = output.eth_rx_pause;
        self.counters.asked += u64::from(self.pause);
        if !input.eth_tx_ready {
            self.counters.held += u64::from(self.held && output.eth_tx_valid && self.sending.is_empty());
            return;
        }
        if !output.eth_tx_valid {
            self.starve(now);
            return;
        }
        self.starved = 0;
        if self.sending.is_empty() {
            self.started = now.max(self.free);
        }
        let count = (!output.eth_tx_keep).trailing_zeros().min(8) as usize;
        self.sending.extend_from_slice(&output.eth_tx_data.to_le_bytes()[..count]);
        if output.eth_tx_last {
            self.finish(now);
        }
    }

    /// The frame being sent is whole.
    fn finish(&mut self, now: Cycle) {
        let mut data = std::mem::take(&mut self.sending);
        let end = self.started + frame_cycles(data.len(), self.rate);
        self.free = end + gap_cycles(self.rate);
        if data.len() > MAX_FRAME || data.is_empty() {
            self.counters.oversized += 1;
            tracing::error!(length = data.len(), "a frame of the NIC's is dropped: no Ethernet carries it");
            return;
        }
        data.resize(data.len().max(MIN_FRAME), 0);
        self.counters.sent += 1;
        self.counters.sent_bytes += data.len() as u64;
        self.sent.push((end.max(now + 1), Frame { data, damaged: false }));
    }

    /// When [`Mac::send`] may give it the next whole frame; `None` while the other end asks for silence.
    pub fn ready(&self) -> Option<Cycle> {
        (!self.held).then(|| self.free.saturating_sub(cycles(FIFO, self.rate)))
    }

    /// Sends a whole frame of a NIC that has no pins.
    pub fn send(&mut self, now: Cycle, data: Vec<u8>) {
        self.started = now.max(self.free);
        self.sending = data;
        self.finish(now);
    }

    /// When [`Mac::take`] has the next whole frame.
    pub fn arrival(&self) -> Option<Cycle> {
        let (start, frame) = self.arriving.front()?;
        Some(start + cycles(PREAMBLE + frame.data.len() as u64 + FCS, self.rate))
    }

    /// Takes the next frame, whole, for a NIC that has no pins.
    pub fn take(&mut self) -> Option<Frame> {
        let (_, frame) = self.arriving.pop_front()?;
        self.counters.received += 1;
        self.counters.received_bytes += frame.data.len() as u64;
        Some(frame)
    }

    /// A cycle without a beat. On the wire a frame that was begun cannot wait: it ends with a wrong FCS, and
    /// the switch throws it away. What is sent next is a frame of its own.
    fn starve(&mut self, now: Cycle) {
        if self.sending.is_empty() {
            return;
        }
        self.starved += 1;
        if self.starved == UNDERRUN {
            self.starved = 0;
            self.sending.clear();
            self.counters.underruns += 1;
            self.free = now + gap_cycles(self.rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends frames as fast as the MAC takes them; gives their ends back.
    fn send(mac: &mut Mac, lengths: &[usize], limit: Cycle) -> Vec<(Cycle, usize)> {
        let (mut frame, mut at, mut ends) = (0, 0, Vec::new());
        let mut input = NicIn::default();
        for now in 0..limit {
            mac.drive(now, &mut input);
            let mut output = NicOut::default();
            if let Some(&length) = lengths.get(frame) {
                let count = (length - at).min(8);
                output.eth_tx_valid = true;
                output.eth_tx_data = u64::from_le_bytes([at as u8; 8]);
                output.eth_tx_keep = (0xFFu16 >> (8 - count)) as u8;
                output.eth_tx_last = at + count == length;
                if input.eth_tx_ready {
                    (frame, at) = if output.eth_tx_last { (frame + 1, 0) } else { (frame, at + count) };
                }
            }
            mac.observe(now, &input, &output);
            ends.extend(mac.take_sent().map(|(end, frame)| (end, frame.data.len())));
        }
        ends
    }

    #[test]
    fn frames_take_their_time_on_the_wire() {
        let ends = send(&mut Mac::new(1), &[60, 14, 100], 2000);
        assert_eq!(ends, [(72, 60), (72 + 12 + 72, 60), (72 + 12 + 72 + 12 + 112, 100)]);
        let fast = send(&mut Mac::new(8), &[64, 64], 2000);
        assert_eq!(fast, [(10, 64), (10 + 2 + 10, 64)]);
    }

    #[test]
    fn a_frame_that_lost_its_end_is_not_the_next_ones_beginning() {
        let mut mac = Mac::new(1);
        let input = NicIn { eth_tx_ready: true, ..NicIn::default() };
        let beat = NicOut { eth_tx_valid: true, eth_tx_keep: 0xFF, ..NicOut::default() };
        for now in 0..4 {
            mac.observe(now, &input, &beat);
        }
        for now in 4..u64::from(UNDERRUN) + 4 {
            assert!(!mac.is_quiet(), "it is waited for");
            mac.observe(now, &input, &NicOut::default());
        }
        assert!(mac.is_quiet());
        assert_eq!(send(&mut mac, &[100], 2000).len(), 1);
        assert_eq!((mac.counters().sent_bytes, mac.counters().underruns), (100, 1));
    }

    #[test]
    fn a_long_frame_is_taken_no_faster_than_the_wire() {
        let mut mac = Mac::new(1);
        let mut input = NicIn::default();
        let output = NicOut { eth_tx_valid: true, eth_tx_keep: 0xFF, ..NicOut::default() };
        let mut taken = 0;
        for now in 0..1000 {
            mac.drive(now, &mut input);
            taken += u64::from(input.eth_tx_ready);
            mac.observe(now, &input, &output);
        }
        assert!((1000..=1000 + FIFO + 8).contains(&(taken * 8)), "{taken}");
    }

    #[test]
    fn a_held_port_ends_its_frame_and_starts_no_other() {
        let mut mac = Mac::new(8);
        mac.held = true;
        assert_eq!(send(&mut mac, &[64], 100), []);
        mac.held = false;
        assert_eq!(send(&mut mac, &[64], 100).len(), 1);
        assert_eq!(mac.counters().held, 100);
    }

    #[test]
    fn frames_arrive_at_the_link_s_rate() {
        for (rate, expected) in
            [(1, vec![100 + 16, 100 + 24, 100 + 32, 100 + 40 + 4]), (8, vec![102, 103, 104, 106])]
        {
            let mut mac = Mac::new(rate);
            let data: Vec<u8> = (0..32).collect();
            mac.deliver(100, Frame { data: data.clone(), damaged: true });
            let (mut beats, mut found) = (Vec::new(), Vec::new());
            let mut input = NicIn::default();
            for now in 0..200 {
                mac.drive(now, &mut input);
                if input.eth_rx_valid {
                    beats.push(now);
                    found.extend_from_slice(&input.eth_rx_data.to_le_bytes());
                    assert_eq!((input.eth_rx_last, input.eth_rx_bad), (beats.len() == 4, beats.len() == 4));
                }
            }
            assert_eq!((beats, found), (expected, data));
            assert!(mac.is_quiet());
        }
    }
}
