//! What a NIC has let out from one reset to the next: memory writes, frames, entries of completion queues, events and interrupts,
//! each kind as the sequence that it is.

use std::collections::HashMap;

use viaduct_sim::memory::INTERRUPTS;
use viaduct_sim::watch::Seen;
use viaduct_spec::register::{event, event_code};
use viaduct_spec::tables::cq_entry;

use super::places::{describe, Header, Place, Places};
use super::rings::Rings;
use crate::operation::End;
use crate::rows;
use crate::trace::{Trace, What};

/// A write into an end's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The moment.
    pub at: usize,
    /// DMA address.
    pub address: u64,
    /// Bytes.
    pub data: Vec<u8>,
    /// The number of its first byte among all that are written.
    pub first: usize,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The moment.
    pub at: usize,
    /// The cycle of its first beat.
    pub began: u64,
    /// The frame.
    pub frame: Vec<u8>,
}

/// An event, as it stands in the error ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its code.
    pub code: u8,
    /// Of the receive queue.
    pub receive: bool,
    /// It broke the VI.
    pub broke: bool,
}

/// What an end lets out, but for memory.
#[derive(Debug, Default)]
pub struct OfEnd {
    /// Frames: requests, and answers.
    pub frames: [Vec<Left>; 2],
    /// Tokens in completion queues: of the send queue, and of the receive queue.
    pub entries: [Vec<(usize, u64)>; 2],
    /// Events: the VI's, and those of its completion queues.
    pub events: [Vec<(usize, Event)>; 2],
    /// Interrupts.
    pub interrupts: Vec<usize>,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Outputs {
    /// By end.
    pub ends: Vec<OfEnd>,
    /// Writes into ends' memory.
    pub written: Vec<Written>,
}

/// An event of an entry of the error ring: whose, of which kind, and what.
pub fn event(places: &Places<'_>, token: u64) -> Option<(End, usize, Event)> {
    let word = [token];
    let code = event::CODE.get(&word) as u8;
    let number = event::VI.get(&word) as usize;
    let found = Event { code, receive: event::RECEIVE.get(&word) != 0, broke: event::BROKE.get(&word) != 0 };
    match code {
        event_code::CQ_OVERRUN => Some((places.owner(number)?, 1, found)),
        _ => Some((places.end_of(number)?, 0, found)),
    }
}

/// What an entry says but for its phase: token, VI, receive queue.
pub fn entry(words: [u64; 2]) -> (u64, usize, bool) {
    (cq_entry::TOKEN.get(&words), cq_entry::VI.get(&words) as usize, cq_entry::RECEIVE.get(&words) != 0)
}

impl Outputs {
    /// What leaves in these moments; those from `cut` on are the next epoch's but for what was under way. The error says what no
    /// program allows.
    pub fn read(
        places: &Places<'_>,
        trace: &Trace,
        moments: std::ops::Range<usize>,
        rings: &mut Rings,
    ) -> Result<Self, String> {
        let mut outputs = Self::default();
        outputs.ends.resize_with(2 * places.program.connections.len(), OfEnd::default);
        let mut bytes = 0;
        let mut halves: HashMap<u64, u64> = HashMap::new();
        for at in moments {
            let moment = &trace.moments[at];
            let cycle = moment.cycle;
            match &moment.what {
                What::Seen(seen @ (Seen::FrameOut { data, began } | Seen::Loopback { data, began })) => {
                    let loopback = matches!(seen, Seen::Loopback { .. });
                    let sender = Header::of(data).and_then(|header| Some((places.sender_to(header.vi, loopback)?, header)));
                    let Some((end, header)) = sender else {
                        return Err(format!("cycle {cycle}: a frame of nobody's: {}", describe(data)));
                    };
                    let left = Left { at, began: *began, frame: data.clone() };
                    outputs.ends[end].frames[usize::from(header.answer)].push(left);
                }
                What::Seen(Seen::Write { address, data }) if INTERRUPTS.contains(address) => {
                    let vector = data.iter().rev().fold(0, |vector, byte| vector << 8 | usize::from(*byte));
                    match places.ends().contains(&vector) {
                        true => outputs.ends[vector].interrupts.push(at),
                        false => return Err(format!("cycle {cycle}: an interrupt of vector {vector}, which is nobody's")),
                    }
                }
                What::Seen(Seen::Write { address, data }) => match places.place(*address) {
                    Place::Data(end) | Place::Descriptor(end) if places.ends().contains(&end) => {
                        let (address, data, first) = (*address, data.clone(), bytes);
                        bytes += data.len();
                        outputs.written.push(Written { at, address, data, first });
                    }
                    Place::Entry { queue, other, slot, within } if data.len() % 8 == 0 => {
                        for (word, bytes) in (within / 8..).zip(data.chunks_exact(8)) {
                            let value = bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
                            let base = address - within;
                            if word == 0 {
                                halves.insert(base, value);
                            } else {
                                let Some(token) = halves.remove(&base) else {
                                    return Err(format!("cycle {cycle}: an entry's second word ahead of its first"));
                                };
                                let words = [token, value];
                                rings.take(at, cycle, (queue, other, slot), words)?;
                                outputs.entry(places, at, cycle, queue, words)?;
                            }
                        }
                    }
                    _ => return Err(format!("cycle {cycle}: a write of {} bytes at {address:#x}, where the NIC has nothing to write", data.len())),
                },
                _ => {}
            }
        }
        match halves.is_empty() {
            true => Ok(outputs),
            false => Err("an entry without its second word".into()),
        }
    }

    fn entry(
        &mut self,
        places: &Places<'_>,
        at: usize,
        cycle: u64,
        queue: usize,
        words: [u64; 2],
    ) -> Result<(), String> {
        let nobody = || format!("cycle {cycle}: in queue {queue} an entry of nobody's: {words:x?}");
        let (token, vi, receive) = entry(words);
        if queue == rows::ERROR_RING {
            let (end, kind, event) = event(places, token).ok_or_else(nobody)?;
            if event.code != event_code::CQ_OVERRUN && (vi != places.vi(end) || receive != event.receive) {
                return Err(nobody());
            }
            self.ends[end].events[kind].push((at, event));
            return Ok(());
        }
        let end = places.end_of(vi).ok_or_else(nobody)?;
        let own = rows::cq_of(&places.program.connections[end / 2], end, usize::from(receive));
        if own != Some(queue) {
            return Err(format!("cycle {cycle}: in queue {queue} an entry of another's: {words:x?}"));
        }
        self.ends[end].entries[usize::from(receive)].push((at, token));
        Ok(())
    }

    /// What of it an end lets out; the rest is other ends'.
    pub fn of(&mut self, places: &Places<'_>, end: End) -> (OfEnd, Vec<Written>) {
        let own = |written: &Written| match places.place(written.address) {
            Place::Data(owner) | Place::Descriptor(owner) => owner == end,
            _ => false,
        };
        let (mut own, rest): (Vec<Written>, _) = std::mem::take(&mut self.written).into_iter().partition(own);
        self.written = rest;
        let mut first = 0;
        for written in &mut own {
            written.first = first;
            first += written.data.len();
        }
        (std::mem::take(&mut self.ends[end]), own)
    }
}
