//! A host's memory as it was at any moment of a trace.

use viaduct_sim::watch::Seen;

use crate::memory;
use crate::trace::{Trace, What};

/// Bytes of a page of it.
const PAGE: usize = 0x1000;

/// A write: at which moment, where in its page, and what.
type Write = (usize, usize, Vec<u8>);

/// See the module's description.
#[derive(Debug)]
pub struct History {
    first: u64,
    memory: Vec<u8>,
    /// Of each page, in order.
    writes: Vec<Vec<Write>>,
}

impl History {
    /// Of a trace of host `host`'s NIC.
    pub fn new(host: usize, trace: &Trace) -> Self {
        let first = memory::FIRST[host];
        let mut writes = vec![Vec::new(); trace.memory.len().div_ceil(PAGE)];
        for (at, moment) in trace.moments.iter().enumerate() {
            let (What::Host(address, data) | What::Seen(Seen::Write { address, data })) = &moment.what else {
                continue;
            };
            let mut done = 0;
            while done < data.len() {
                let Some(place) = (address + done as u64).checked_sub(first) else { break };
                let (page, within) = (place as usize / PAGE, place as usize % PAGE);
                let count = (PAGE - within).min(data.len() - done);
                if let Some(page) = writes.get_mut(page) {
                    page.push((at, within, data[done..done + count].to_vec()));
                }
                done += count;
            }
        }
        Self { first, memory: trace.memory.clone(), writes }
    }

    /// What stood there before a moment; `None` if there is no such memory.
    pub fn read(&self, address: u64, length: usize, before: usize) -> Option<Vec<u8>> {
        let place = address.checked_sub(self.first)? as usize;
        let mut data = self.memory.get(place..place.checked_add(length)?)?.to_vec();
        if length == 0 {
            return Some(data);
        }
        for page in place / PAGE..=(place + length - 1) / PAGE {
            for (at, within, bytes) in &self.writes[page] {
                let from = page * PAGE + within;
                if *at >= before {
                    break;
                }
                let (begin, end) = (from.max(place), (from + bytes.len()).min(place + length));
                if begin < end {
                    data[begin - place..end - place].copy_from_slice(&bytes[begin - from..end - from]);
                }
            }
        }
        Some(data)
    }
}
