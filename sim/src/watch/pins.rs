//! A NIC with pins, seen cycle by cycle: beats are put together to packets and frames.

use std::collections::HashMap;

use viaduct_driver::device::Bar;

use super::{Seen, Watch, Watcher};
use crate::clock::Cycle;
use crate::fabric::UNDERRUN;
use crate::nic::{NicIn, NicOut};
use crate::root_complex::bar_bytes;
use crate::tlp::Tlp;

/// A read of the NIC's that is not answered whole: where the next byte belongs, and how many are to come.
#[derive(Debug, Clone, Copy)]
struct Asked {
    address: u64,
    left: usize,
}

/// The edges of a NIC with pins.
#[derive(Debug)]
pub struct Pins {
    watch: Watch,
    master: bool,
    msix: bool,
    reset: bool,
    /// Power-up, hot reset, or the link is down: what is half over an edge is lost.
    dead: bool,
    receiving: Vec<u32>,
    sending: Vec<u32>,
    frame_in: Vec<u8>,
    frame_out: Leaving,
    loopback: Leaving,
    /// Loads that are not answered, by tag.
    loads: HashMap<u8, (Bar, u64, usize)>,
    /// Reads that are not answered, by tag.
    reads: HashMap<u8, Asked>,
}

/// A frame that leaves.
#[derive(Debug, Default)]
struct Leaving {
    data: Vec<u8>,
    /// The cycle of its first beat.
    began: Cycle,
    /// Cycles in which its next beat was waited for.
    starved: u32,
}

impl Leaving {
    /// A cycle in which a beat can be taken, and the beat (data, keep, last): the frame, if that was its last.
    fn take(&mut self, now: Cycle, beat: Option<(u64, u8, bool)>) -> Option<(Vec<u8>, Cycle)> {
        let Some((data, keep, last)) = beat else {
            // As the port has it: a frame that a reset has cut off.
            self.starved += u32::from(!self.data.is_empty());
            if self.starved == UNDERRUN {
                self.data.clear();
            }
            return None;
        };
        self.starved = 0;
        if self.data.is_empty() {
            self.began = now;
        }
        extend(&mut self.data, data, keep);
        last.then(|| (std::mem::take(&mut self.data), self.began))
    }
}

fn push(packet: &mut Vec<u32>, data: u64, keep: u8) {
    packet.push(data as u32);
    if keep == 0b11 {
        packet.push((data >> 32) as u32);
    }
}

fn extend(frame: &mut Vec<u8>, data: u64, keep: u8) {
    let count = (!keep).trailing_zeros().min(8) as usize;
    frame.extend_from_slice(&data.to_le_bytes()[..count]);
}

/// The bytes that a packet enables of its double words.
fn bytes(data: &[u32], lead: usize, count: usize) -> Vec<u8> {
    data.iter().flat_map(|word| word.to_le_bytes()).skip(lead).take(count).collect()
}

impl Pins {
    /// What passes is told to this watcher.
    pub fn new(watcher: Watcher) -> Self {
        let mut watch = Watch::default();
        watch.set(watcher);
        Self {
            watch,
            master: false,
            msix: false,
            reset: false,
            dead: false,
            receiving: Vec::new(),
            sending: Vec::new(),
            frame_in: Vec::new(),
            frame_out: Leaving::default(),
            loopback: Leaving::default(),
            loads: HashMap::new(),
            reads: HashMap::new(),
        }
    }

    /// The ports in a cycle.
    pub fn look(&mut self, now: Cycle, input: &NicIn, output: &NicOut) {
        self.watch.now = now;
        self.look_at_bus(input);
        if input.tlp_rx_valid {
            push(&mut self.receiving, input.tlp_rx_data, input.tlp_rx_keep);
            if input.tlp_rx_last {
                let packet = std::mem::take(&mut self.receiving);
                // What is malformed is nothing that the NIC takes.
                if let Ok(packet) = Tlp::decode(&packet) {
                    self.received(packet, input.tlp_rx_bar);
                }
            }
        }
        if input.eth_rx_valid {
            extend(&mut self.frame_in, input.eth_rx_data, input.eth_rx_keep);
            if input.eth_rx_last {
                let (data, damaged) = (std::mem::take(&mut self.frame_in), input.eth_rx_bad);
                self.watch.tell(|| Seen::FrameIn { data, damaged });
            }
        }
        if self.dead {
            return;
        }
        if output.tlp_tx_valid && input.tlp_tx_ready {
            push(&mut self.sending, output.tlp_tx_data, output.tlp_tx_keep);
            if output.tlp_tx_last {
                let packet = std::mem::take(&mut self.sending);
                // What is malformed is a violation, and counted as one.
                if let Ok(packet) = Tlp::decode(&packet) {
                    self.sent(packet);
                }
            }
        }
        if input.eth_tx_ready {
            let beat =
                output.eth_tx_valid.then_some((output.eth_tx_data, output.eth_tx_keep, output.eth_tx_last));
            if let Some((data, began)) = self.frame_out.take(now, beat) {
                self.watch.tell(|| Seen::FrameOut { data, began });
            }
        }
        if output.loopback_ready {
            let beat = output.loopback_valid.then_some((
                output.loopback_data,
                output.loopback_keep,
                output.loopback_last,
            ));
            if let Some((data, began)) = self.loopback.take(now, beat) {
                self.watch.tell(|| Seen::Loopback { data, began });
            }
        }
    }

    fn look_at_bus(&mut self, input: &NicIn) {
        self.dead = input.reset || input.link_down;
        if self.dead {
            self.sending.clear();
            self.frame_out.data.clear();
            self.loopback.data.clear();
            self.reads.clear();
        }
        // At a function reset the packet that is being sent is sent to its end.
        let reset = self.dead || input.cfg_function_reset;
        if reset && !self.reset {
            self.loads.clear();
            self.watch.tell(|| Seen::FunctionReset);
        }
        self.reset = reset;
        if input.cfg_bus_master != self.master {
            self.master = input.cfg_bus_master;
            let master = self.master;
            self.watch.tell(|| Seen::Master(master));
        }
        let msix = input.cfg_msix_enable && !input.cfg_msix_mask;
        if msix != self.msix {
            self.msix = msix;
            self.watch.tell(|| Seen::Msix(msix));
        }
    }

    /// A packet for the NIC.
    fn received(&mut self, packet: Tlp, number: u8) {
        let bar = if number == 0 { Bar::Registers } else { Bar::Doorbells };
        match packet {
            Tlp::Write(request, data) => {
                let (lead, length) = request.bytes();
                let offset = (request.address + lead as u64) & (bar_bytes(bar) - 1);
                let value = bytes(&data, lead, length.min(8));
                let value = value.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                self.watch.tell(|| Seen::Store { bar, offset, length, value });
            }
            Tlp::Read(request) => {
                let (lead, length) = request.bytes();
                let offset = (request.address + lead as u64) & (bar_bytes(bar) - 1);
                self.loads.insert(request.tag, (bar, offset, length));
            }
            Tlp::Completion(completion) => {
                let Some(asked) = self.reads.get_mut(&completion.tag) else { return };
                let Asked { address, left } = *asked;
                let carried = 4 * completion.data.len() - (address & 3) as usize % 4;
                let count = carried.min(left);
                if !completion.is_success() || completion.data.is_empty() || count == left {
                    self.reads.remove(&completion.tag);
                } else {
                    *asked = Asked { address: address + count as u64, left: left - count };
                }
                if completion.is_success() && count != 0 {
                    let data = bytes(&completion.data, (address & 3) as usize, count);
                    self.watch.tell(|| Seen::Read { address, data });
                }
            }
        }
    }

    /// A packet of the NIC's.
    fn sent(&mut self, packet: Tlp) {
        match packet {
            Tlp::Write(request, data) => {
                let (lead, count) = request.bytes();
                let (address, data) = (request.address + lead as u64, bytes(&data, lead, count));
                self.watch.tell(|| Seen::Write { address, data });
            }
            Tlp::Read(request) => {
                let (lead, left) = request.bytes();
                self.reads.insert(request.tag, Asked { address: request.address + lead as u64, left });
            }
            Tlp::Completion(completion) => {
                let Some((bar, offset, length)) = self.loads.remove(&completion.tag) else { return };
                let lead = (offset & 3) as usize;
                let value = bytes(&completion.data, lead, length.min(8));
                let value = value.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                self.watch.tell(|| Seen::Load { bar, offset, length, value });
            }
        }
    }
}
