//! The model: the rules of docs/semantics.md, without any cycles.

use std::collections::VecDeque;

use viaduct_spec::profile::{CQS, VIS};
use viaduct_spec::register::{event, event_code};

use super::REFUSED_REGION;

/// A completion queue's row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ring {
    pub offset: u64,
    pub region: u64,
    pub log2: u64,
    pub live: bool,
    pub events: bool,
    pub tag: u64,
    pub vector: u64,
}

/// A descriptor that has ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub vi: u64,
    pub receive: u64,
    pub region: u64,
    pub offset: u64,
    pub written: bool,
}

impl End {
    /// As the block is given it.
    pub fn fields(&self) -> [(&'static str, u64); 5] {
        [
            ("vi", self.vi),
            ("receive", self.receive),
            ("region", self.region),
            ("offset", self.offset),
            ("written", self.written.into()),
        ]
    }
}

/// Something that the queues do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Entry { region: u64, tag: u64, address: u64, token: u64, vi: u64, receive: u64, phase: u64, ok: bool },
    Break { vi: u64, receive: u64, code: u8 },
    Raise { vector: u64 },
}

/// Why there is no entry.
enum Lost {
    /// No room.
    Room,
    /// No queue, or no memory.
    Gone,
}

/// What the contract makes of it: the rules of docs/semantics.md, without any cycles.
#[derive(Clone)]
pub struct Model {
    pub rings: Vec<Ring>,
    pub written: Vec<u64>,
    pub taken: Vec<u64>,
    pub armed: Vec<bool>,
    pub told: Vec<bool>,
    /// Queue and position of each work queue.
    pub work: Vec<(Option<usize>, u64)>,
    pub error_ring: Option<usize>,
    pub overruns: u64,
    pub lost: u64,
    pub ignored: u64,
    pub deeds: VecDeque<Deed>,
}

impl Model {
    pub fn new() -> Self {
        Self {
            rings: vec![Ring::default(); CQS],
            written: vec![0; CQS],
            taken: vec![0; CQS],
            armed: vec![false; CQS],
            told: vec![false; CQS],
            work: vec![(None, 0); 2 * VIS],
            error_ring: None,
            overruns: 0,
            lost: 0,
            ignored: 0,
            deeds: VecDeque::new(),
        }
    }

    pub fn room(&self, cq: usize) -> u64 {
        let used = (self.written[cq].wrapping_sub(self.taken[cq])) & 0x3_FFFF;
        (1u64 << self.rings[cq].log2).saturating_sub(used)
    }

    /// An entry, or why there is none.
    fn entry(&mut self, cq: usize, token: u64, vi: u64, receive: u64) -> Result<(), Lost> {
        let ring = self.rings[cq];
        if !ring.live {
            return Err(Lost::Gone);
        }
        if self.room(cq) == 0 {
            return Err(Lost::Room);
        }
        let slot = self.written[cq] & ((1 << ring.log2) - 1);
        let ok = ring.region != REFUSED_REGION;
        self.deeds.push_back(Deed::Entry {
            region: ring.region,
            tag: ring.tag,
            address: ring.offset * 64 + slot * 16,
            token,
            vi,
            receive,
            phase: !(self.written[cq] >> ring.log2) & 1,
            ok,
        });
        if ok {
            self.written[cq] = (self.written[cq] + 1) & 0x3_FFFF;
            self.told[cq] = false;
            if std::mem::take(&mut self.armed[cq]) {
                self.deeds.push_back(Deed::Raise { vector: ring.vector });
            }
        }
        ok.then_some(()).ok_or(Lost::Gone)
    }

    pub fn end(&mut self, end: &End) {
        let queue = (2 * end.vi + end.receive) as usize;
        let (cq, position) = self.work[queue];
        self.work[queue].1 = (position + 1) % (1 << 14);
        let Some(cq) = cq.filter(|_| end.written) else { return };
        let token = position << 50 | end.region << 34 | end.offset;
        match self.entry(cq, token, end.vi, end.receive) {
            Ok(()) => {}
            Err(Lost::Gone) => self.deeds.push_back(Deed::Break {
                vi: end.vi,
                receive: end.receive,
                code: event_code::COMP_PROT,
            }),
            Err(Lost::Room) => {
                self.overruns += 1;
                self.deeds.push_back(Deed::Break {
                    vi: end.vi,
                    receive: end.receive,
                    code: event_code::CONN_LOST,
                });
                if self.error_ring.is_some() && !std::mem::replace(&mut self.told[cq], true) {
                    // The word names the queue alone; the entry's owner is nobody's business.
                    let mut word = [0];
                    event::CODE.put(&mut word, event_code::CQ_OVERRUN.into());
                    event::VI.put(&mut word, cq as u64);
                    self.report(word[0], end.vi, end.receive);
                }
            }
        }
    }

    pub fn event(&mut self, code: u8, vi: u64, receive: u64, broke: bool) {
        let mut word = [0];
        event::CODE.put(&mut word, code.into());
        event::VI.put(&mut word, vi);
        event::RECEIVE.put(&mut word, receive);
        event::BROKE.put(&mut word, broke.into());
        self.report(word[0], vi, receive);
    }

    fn report(&mut self, word: u64, vi: u64, receive: u64) {
        let entered = self.error_ring.is_some_and(|cq| self.entry(cq, word, vi, receive).is_ok());
        self.lost += u64::from(!entered);
    }

    pub fn store(&mut self, (cq, index, arm): (usize, u64, bool)) {
        if !self.rings[cq].live {
            self.ignored += 1;
        } else if !arm {
            self.taken[cq] = index;
        } else if self.written[cq] == index {
            self.armed[cq] = true;
        } else {
            self.armed[cq] = false;
            self.deeds.push_back(Deed::Raise { vector: self.rings[cq].vector });
        }
    }
}
