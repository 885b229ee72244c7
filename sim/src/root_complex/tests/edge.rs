//! The other end of the edge, and packets that it sends.

use std::collections::VecDeque;
use std::os::unix::fs::FileExt;

use viaduct_spec::tlp::class;

use crate::clock::Cycle;
use crate::memory::Range;
use crate::nic::{NicIn, NicOut};
use crate::root_complex::{Options, RootComplex, NIC_ID};
use crate::tlp::{beat, Completion, Request, Tlp};

/// Where memory is.
pub const BASE: u64 = 0x8_0000_0000;

/// The other end of the edge: sends what it is given, keeps what it gets.
pub struct Edge {
    pub complex: RootComplex,
    pub now: Cycle,
    /// Packets to be sent.
    pub queue: VecDeque<Vec<u32>>,
    /// Beats of the first one that are sent.
    pub sent: usize,
    /// What has come of the packet on its way.
    pub receiving: Vec<u32>,
    /// Arrival of the last beat, BAR, packet.
    pub got: Vec<(Cycle, u8, Vec<u32>)>,
    /// Loads are taken.
    pub np_ready: bool,
    /// Cycles of a function reset so far.
    draining: u64,
    /// After so many it is done.
    pub drains: u64,
    /// It sends all the same.
    pub insists: bool,
    pub input: NicIn,
}

impl Edge {
    /// A root complex with four pages of memory.
    pub fn new(options: Options) -> Self {
        Self::with(options, 4)
    }

    /// The same with so many pages.
    pub fn with(options: Options, pages: u64) -> Self {
        let file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..pages * 4096).map(|n| (n ^ n >> 8) as u8).collect();
        file.write_all_at(&content, 0).unwrap();
        let mut complex = RootComplex::new(options);
        let range = Range { iova: BASE, length: pages * 4096, offset: 0, readable: true, writable: true };
        complex.memory.map(&range, Some(file)).unwrap();
        complex.config_write(0, 4, &[6, 0]);
        Self {
            complex,
            now: 0,
            queue: VecDeque::new(),
            sent: 0,
            receiving: Vec::new(),
            got: Vec::new(),
            np_ready: true,
            draining: 0,
            drains: 20,
            insists: false,
            input: NicIn::default(),
        }
    }

    /// Sends a packet when those before it are sent.
    pub fn queue(&mut self, packet: &Tlp) {
        self.queue.push_back(packet.encode());
    }

    /// So many cycles.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.complex.drive(self.now, &mut self.input);
            let mut output = NicOut { tlp_rx_np_ready: self.np_ready, ..NicOut::default() };
            if self.input.cfg_function_reset && self.sent == 0 && !self.insists {
                self.queue.clear();
            }
            if let Some(packet) = self.queue.front() {
                let (data, keep) = beat(packet, self.sent);
                output.tlp_tx_valid = true;
                (output.tlp_tx_data, output.tlp_tx_keep) = (data, keep);
                output.tlp_tx_last = self.sent * 2 + 2 >= packet.len();
                output.tlp_tx_class = match packet[0] >> 24 {
                    0x40 | 0x60 => class::POSTED,
                    0x00 | 0x20 => class::NON_POSTED,
                    _ => class::COMPLETION,
                };
            }
            self.draining = if self.input.cfg_function_reset { self.draining + 1 } else { 0 };
            output.function_reset_done = self.draining > self.drains;
            self.complex.observe(self.now, &self.input, &output);
            if output.tlp_tx_valid && self.input.tlp_tx_ready {
                self.sent += 1;
                if output.tlp_tx_last {
                    self.queue.pop_front();
                    self.sent = 0;
                }
            }
            if self.input.tlp_rx_valid {
                self.receiving.push(self.input.tlp_rx_data as u32);
                if self.input.tlp_rx_keep == 0b11 {
                    self.receiving.push((self.input.tlp_rx_data >> 32) as u32);
                }
                if self.input.tlp_rx_last {
                    let packet = std::mem::take(&mut self.receiving);
                    self.got.push((self.now, self.input.tlp_rx_bar, packet));
                }
            }
            self.now += 1;
        }
    }

    /// The completions that have come.
    pub fn completions(&self) -> Vec<Completion> {
        let decoded = self.got.iter().map(|(_, _, packet)| Tlp::decode(packet).unwrap());
        let only = decoded.filter_map(|packet| match packet {
            Tlp::Completion(completion) => Some(completion),
            _ => None,
        });
        only.collect()
    }

    /// Bytes of the memory.
    pub fn memory(&self, iova: u64, length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        self.complex.memory.read(iova, &mut data).unwrap();
        data
    }
}

/// A read of the memory.
pub fn read(offset: u64, bytes: usize, tag: u8) -> Tlp {
    Tlp::Read(Request::new(BASE + offset, bytes, tag, NIC_ID))
}

/// A write of the same double word again and again.
pub fn write(offset: u64, bytes: usize, value: u32) -> Tlp {
    let request = Request::new(BASE + offset, bytes, 0, NIC_ID);
    Tlp::Write(request, vec![value; request.length])
}
