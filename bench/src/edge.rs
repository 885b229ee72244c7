//! What crosses a NIC's edges, packet by packet, with the cycles of its first and last beat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use viaduct_sim::clock::Cycle;
use viaduct_sim::network::Probe;
use viaduct_sim::nic::{NicIn, NicOut};
use viaduct_sim::tlp::Tlp;
use viaduct_spec::descriptor::{ALIGNMENT, COMPLETION_OFFSET};

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A store of the host's to a doorbell page.
    Doorbell,
    /// Any other store or load of the host's, or its answer.
    Register,
    /// A read of host memory.
    Read,
    /// Data of a read.
    Data,
    /// A write of Length and Status into a descriptor: nothing else starts there, as long as payload is
    /// aligned to 64 bytes.
    Completion,
    /// Any other write.
    Write,
    /// A frame to the wire.
    FrameOut,
    /// A frame from the wire.
    FrameIn,
    /// No packet that a bus has.
    Malformed,
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// Bytes: of payload on the bus, asked for in a read, without FCS on the wire.
    pub bytes: usize,
    /// Cycle of its first beat.
    pub first: Cycle,
    /// Cycle of its last beat.
    pub last: Cycle,
}

/// A packet of which some beats have passed.
#[derive(Debug)]
struct Partial<T> {
    first: Cycle,
    so_far: T,
}

impl<T: Default> Partial<T> {
    fn at(slot: &mut Option<Self>, now: Cycle) -> &mut Self {
        slot.get_or_insert_with(|| Self { first: now, so_far: T::default() })
    }
}

#[derive(Debug, Default)]
struct Log {
    events: Vec<Event>,
    down: Option<Partial<Vec<u32>>>,
    up: Option<Partial<Vec<u32>>>,
    inward: Option<Partial<usize>>,
    outward: Option<Partial<usize>>,
}

impl Log {
    fn look(&mut self, now: Cycle, input: &NicIn, output: &NicOut) {
        if input.tlp_rx_valid {
            let packet = Partial::at(&mut self.down, now);
            extend(&mut packet.so_far, input.tlp_rx_data, input.tlp_rx_keep);
            if input.tlp_rx_last {
                let doorbell = input.tlp_rx_bar == 2;
                self.events.extend(self.down.take().map(|packet| packet.down(now, doorbell)));
            }
        }
        if output.tlp_tx_valid && input.tlp_tx_ready {
            let packet = Partial::at(&mut self.up, now);
            extend(&mut packet.so_far, output.tlp_tx_data, output.tlp_tx_keep);
            if output.tlp_tx_last {
                self.events.extend(self.up.take().map(|packet| packet.up(now)));
            }
        }
        if input.eth_rx_valid {
            Partial::at(&mut self.inward, now).so_far += input.eth_rx_keep.count_ones() as usize;
            if input.eth_rx_last {
                self.events.extend(self.inward.take().map(|frame| frame.event(Kind::FrameIn, now)));
            }
        }
        if output.eth_tx_valid && input.eth_tx_ready {
            Partial::at(&mut self.outward, now).so_far += output.eth_tx_keep.count_ones() as usize;
            if output.eth_tx_last {
                self.events.extend(self.outward.take().map(|frame| frame.event(Kind::FrameOut, now)));
            }
        }
    }
}

fn extend(packet: &mut Vec<u32>, data: u64, keep: u8) {
    packet.push(data as u32);
    if keep == 0b11 {
        packet.push((data >> 32) as u32);
    }
}

impl Partial<usize> {
    fn event(self, kind: Kind, last: Cycle) -> Event {
        Event { kind, bytes: self.so_far, first: self.first, last }
    }
}

impl Partial<Vec<u32>> {
    /// What it is on its way to the NIC.
    fn down(self, last: Cycle, doorbell: bool) -> Event {
        let (kind, bytes) = match Tlp::decode(&self.so_far) {
            Ok(Tlp::Completion(completion)) => (Kind::Data, completion.data.len() * 4),
            Ok(Tlp::Write(request, _)) if doorbell => (Kind::Doorbell, request.bytes().1),
            Ok(Tlp::Write(request, _) | Tlp::Read(request)) => (Kind::Register, request.bytes().1),
            Err(_) => (Kind::Malformed, 0),
        };
        Event { kind, bytes, first: self.first, last }
    }

    /// What it is on its way from the NIC.
    fn up(self, last: Cycle) -> Event {
        let (kind, bytes) = match Tlp::decode(&self.so_far) {
            Ok(Tlp::Read(request)) => (Kind::Read, request.bytes().1),
            Ok(Tlp::Completion(completion)) => (Kind::Register, completion.data.len() * 4),
            Ok(Tlp::Write(request, _)) => {
                let (lead, bytes) = request.bytes();
                let place = (request.address + lead as u64) % ALIGNMENT as u64;
                let kind =
                    if place == COMPLETION_OFFSET && bytes == 8 { Kind::Completion } else { Kind::Write };
                (kind, bytes)
            }
            Err(_) => (Kind::Malformed, 0),
        };
        Event { kind, bytes, first: self.first, last }
    }
}

/// The record of one NIC's edges.
#[derive(Debug, Clone, Default)]
pub struct Edge(Arc<Mutex<Log>>);

impl Edge {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the network calls in each cycle.
    pub fn probe(&self) -> Probe {
        let edge = self.clone();
        Box::new(move |now, input, output| edge.log().look(now, input, output))
    }

    /// Takes what has passed since the last call, by its last beat.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.log().events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use viaduct_sim::tlp::{beat, Request};

    fn sent(address: u64, bytes: usize) -> Vec<Event> {
        let request = Request::new(address, bytes, 0, 0x100);
        let packet = Tlp::Write(request, vec![0; request.length]).encode();
        let edge = Edge::default();
        let mut probe = edge.probe();
        // Every second cycle the host does not take a beat.
        for now in 0..2 * packet.len().div_ceil(2) as u64 {
            let index = now as usize / 2;
            let (tlp_tx_data, tlp_tx_keep) = beat(&packet, index);
            let tlp_tx_last = (index + 1) * 2 >= packet.len();
            let output =
                NicOut { tlp_tx_valid: true, tlp_tx_data, tlp_tx_keep, tlp_tx_last, ..NicOut::default() };
            probe(100 + now, &NicIn { tlp_tx_ready: now % 2 == 1, ..NicIn::default() }, &output);
        }
        edge.take()
    }

    #[test]
    fn a_completion_is_known_by_its_place() {
        let event = |kind, bytes, last| [Event { kind, bytes, first: 101, last }];
        assert_eq!(sent(0x1_0000_0058, 8), event(Kind::Completion, 8, 105));
        assert_eq!(sent(0x1_0000_0040, 8), event(Kind::Write, 8, 105));
        assert_eq!(sent(0x1018, 24), event(Kind::Write, 24, 109));
    }
}
