//! Whose turn it is to send, and the way out: the wire, or back to ourselves.

use viaduct_spec::register::counter;
use viaduct_spec::tables::transmit;

use super::device::Device;
use super::frame::{self, Packet};

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the link.
    Wire,
    /// Back into this NIC.
    Loopback,
}

impl Device {
    fn way(&self, vi: usize) -> Way {
        match self.tables.transmit[vi].is(transmit::LOOPBACK) {
            true => Way::Loopback,
            false => Way::Wire,
        }
    }

    fn has_packet(&self, vi: usize) -> bool {
        let answers = self.vis[vi].responder.has_answer() && self.host.config.bus_master();
        answers || self.has_request(vi)
    }

    /// Whether some VI has a packet for this way.
    pub fn has_packets(&self, way: Way) -> bool {
        (0..self.vis.len()).any(|vi| self.way(vi) == way && self.has_packet(vi))
    }

    /// Makes one packet of the VI whose turn it is; of those on the wire only if that can take one. Whether there was
    /// one. A frame for the wire is in `outgoing` then.
    pub fn make_packet_in_turn(&mut self, wire_ready: bool) -> bool {
        let count = self.vis.len();
        let mut circle = (0..count).map(|n| (self.turn + n) % count);
        let ready = |vi: &usize| (wire_ready || self.way(*vi) == Way::Loopback) && self.has_packet(*vi);
        let Some(vi) = circle.find(ready) else { return false };
        self.turn = (vi + 1) % count;
        // Answers and requests take turns, so that neither waits for the end of the other.
        let answers = self.vis[vi].responder.has_answer();
        let requests = self.has_request(vi);
        let answer = answers && (!requests || !self.vis[vi].answered);
        self.vis[vi].answered = answer;
        if answer {
            self.send_answer(vi);
        } else {
            self.send_request(vi);
        }
        true
    }

    /// A packet of a VI's leaves.
    pub fn emit(&mut self, vi: usize, packet: &Packet) {
        let frame = frame::build(&self.tables.template_of(vi), packet);
        self.counters.count(counter::FRAMES_SENT);
        self.give(vi, frame);
    }

    /// A frame of the raw channel's leaves.
    pub fn emit_raw(&mut self, vi: usize, frame: Vec<u8>) {
        self.counters.count(counter::FRAMES_SENT);
        self.give(vi, frame);
    }

    fn give(&mut self, vi: usize, frame: Vec<u8>) {
        match self.way(vi) {
            Way::Loopback => {
                // One behind the other, whatever is chosen meanwhile.
                let arrives = self.now + self.choices.packet_cycles + self.choices.loopback_cycles;
                let before = self.loopback.back().map_or(0, |(when, _)| *when);
                self.loopback.push_back((arrives.max(before), frame));
            }
            Way::Wire => self.outgoing = Some(frame),
        }
    }
}
