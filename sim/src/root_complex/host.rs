//! The host's loads and stores at the function's BARs.

use std::collections::HashMap;

use viaduct_driver::device::Bar;
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;

use crate::clock::Cycle;
use crate::tlp::{Completion, Request};

/// Where enumeration has put BAR 0: below 4 GiB, so that registers are reached by 3-DW headers.
pub const BAR0_BASE: u64 = 0xFE00_0000;
/// Where enumeration has put BAR 2: above, so that doorbells are reached by 4-DW headers.
pub const BAR2_BASE: u64 = 0x40_0000_0000;
/// The host bridge.
pub const HOST_ID: u16 = 0x0000;

/// A load or store of at most 8 bytes that a processor makes in one access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    bar: Bar,
    offset: u64,
    length: usize,
}

impl Access {
    /// 1, 2, 4 or 8 bytes, naturally aligned and inside the BAR; otherwise nothing.
    pub fn new(bar: Bar, offset: u64, length: usize) -> Option<Self> {
        let whole = matches!(length, 1 | 2 | 4 | 8) && offset % length as u64 == 0;
        let inside = offset < bar_bytes(bar);
        (whole && inside).then_some(Self { bar, offset, length })
    }

    /// The BAR.
    pub fn bar(&self) -> Bar {
        self.bar
    }

    /// Byte offset in the BAR.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The BAR's number, as the edge shows it.
    pub fn number(&self) -> u8 {
        match self.bar {
            Bar::Registers => 0,
            Bar::Doorbells => 2,
        }
    }

    /// The request on the bus.
    pub fn request(&self, tag: u8) -> Request {
        let base = match self.bar {
            Bar::Registers => BAR0_BASE,
            Bar::Doorbells => BAR2_BASE,
        };
        Request::new(base + self.offset, self.length, tag, HOST_ID)
    }

    /// `value` in the lanes of the request's double words.
    pub fn lanes(&self, value: u64) -> Vec<u32> {
        let shifted = if self.length == 8 { value } else { value << (8 * (self.offset & 3)) };
        let words = [shifted as u32, (shifted >> 32) as u32];
        words[..self.request(0).length].to_vec()
    }

    /// All ones: what a load reads that nobody answers.
    pub fn ones(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.length)
    }
}

/// Size of a BAR in bytes.
pub fn bar_bytes(bar: Bar) -> u64 {
    match bar {
        Bar::Registers => BAR0_BYTES,
        Bar::Doorbells => BAR2_BYTES,
    }
}

/// Names a load until its answer is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoadId(pub(crate) u64);

#[derive(Debug)]
struct Pending {
    id: LoadId,
    access: Access,
    deadline: Cycle,
}

/// Loads in flight and their answers.
#[derive(Debug, Default)]
pub struct Loads {
    next: u64,
    /// By tag. A tag whose load timed out stays taken until reset: its completion may still come.
    pending: HashMap<u8, Option<Pending>>,
    answers: HashMap<LoadId, u64>,
}

impl Loads {
    fn id(&mut self) -> LoadId {
        self.next += 1;
        LoadId(self.next)
    }

    /// A load that is answered at once.
    pub fn answered(&mut self, value: u64) -> LoadId {
        let id = self.id();
        self.answers.insert(id, value);
        id
    }

    /// A load to send; without a tag it cannot be sent, and reads as all ones.
    pub fn start(&mut self, access: Access, deadline: Cycle) -> (LoadId, Option<Request>) {
        match (0..=u8::MAX).find(|tag| !self.pending.contains_key(tag)) {
            Some(tag) => {
                let id = self.id();
                self.pending.insert(tag, Some(Pending { id, access, deadline }));
                (id, Some(access.request(tag)))
            }
            None => (self.answered(access.ones()), None),
        }
    }

    /// Takes a load's answer, once.
    pub fn take(&mut self, id: LoadId) -> Option<u64> {
        self.answers.remove(&id)
    }

    /// Some load waits for its completion.
    pub fn waiting(&self) -> bool {
        self.pending.values().any(Option::is_some)
    }

    /// The NIC's completion has come: the load and what it reads, for [`Loads::give`], if somebody
    /// still waits for it; and what is wrong with the completion.
    pub fn complete(&mut self, completion: &Completion) -> (Option<(LoadId, u64)>, Result<(), &'static str>) {
        let pending = match self.pending.get(&completion.tag) {
            None => return (None, Err("a completion for no load")),
            // The load timed out: its tag may be used again now.
            Some(None) => {
                self.pending.remove(&completion.tag);
                return (None, Ok(()));
            }
            Some(Some(pending)) => pending,
        };
        let (id, access) = (pending.id, pending.access);
        let request = access.request(completion.tag);
        self.pending.remove(&completion.tag);
        if !completion.is_success() {
            tracing::warn!(offset = access.offset, bar = access.number(), "a load was refused by the NIC");
            return (Some((id, access.ones())), Ok(()));
        }
        let mut value = 0u64;
        for (n, &dw) in completion.data.iter().take(2).enumerate() {
            value |= u64::from(dw) << (32 * n);
        }
        let (lead, count) = request.bytes();
        let answer = (id, value >> (8 * lead) & access.ones());
        let lower = (request.address as usize + lead) as u8 & 0x7F;
        let right = if completion.requester != HOST_ID {
            Err("a completion for another requester")
        } else if completion.data.len() != request.length || completion.byte_count != count {
            Err("a completion of the wrong length")
        } else if completion.lower_address != lower {
            Err("a completion with the wrong lower address")
        } else {
            Ok(())
        };
        (Some(answer), right)
    }

    /// Lets the host have a load's answer.
    pub fn give(&mut self, id: LoadId, value: u64) {
        self.answers.insert(id, value);
    }

    /// Answers what has waited too long.
    pub fn expire(&mut self, now: Cycle) {
        for (tag, slot) in &mut self.pending {
            if let Some(pending) = slot.take_if(|pending| pending.deadline <= now) {
                let Pending { id, access, .. } = pending;
                tracing::error!(
                    tag,
                    offset = access.offset,
                    bar = access.number(),
                    "the NIC has not answered a load: it reads as all ones"
                );
                self.answers.insert(id, access.ones());
            }
        }
    }

    /// The function is being reset: no load is answered any more, but a completion may be on its way.
    pub fn give_up(&mut self) {
        for slot in self.pending.values_mut() {
            if let Some(pending) = slot.take() {
                self.answers.insert(pending.id, pending.access.ones());
            }
        }
    }

    /// It is reset: what has been given up is not answered.
    pub fn forget(&mut self) {
        self.pending.retain(|_, slot| slot.is_some());
    }

    /// With the link down no completion comes any more.
    pub fn reset(&mut self) {
        for (_, slot) in self.pending.drain() {
            if let Some(pending) = slot {
                self.answers.insert(pending.id, pending.access.ones());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_natural_and_inside() {
        assert!(Access::new(Bar::Registers, 0x28, 8).is_some());
        assert!(Access::new(Bar::Registers, 0x24, 8).is_none());
        assert!(Access::new(Bar::Registers, BAR0_BYTES - 4, 4).is_some());
        assert!(Access::new(Bar::Registers, BAR0_BYTES, 4).is_none());
        assert!(Access::new(Bar::Doorbells, u64::MAX - 7, 8).is_none());
        assert!(Access::new(Bar::Registers, 0, 3).is_none());
    }

    #[test]
    fn bytes_go_into_their_lanes() {
        let byte = Access::new(Bar::Registers, 0x2A, 1).unwrap();
        assert_eq!(byte.lanes(0xAB), [0x00AB_0000]);
        assert_eq!(byte.request(0).first_be, 0b0100);
        let high = Access::new(Bar::Doorbells, 0x1004, 4).unwrap();
        assert_eq!(high.lanes(0x1122_3344), [0x1122_3344]);
        let whole = Access::new(Bar::Doorbells, 8, 8).unwrap();
        assert_eq!(whole.lanes(0x1122_3344_5566_7788), [0x5566_7788, 0x1122_3344]);
        assert_eq!((whole.request(0).first_be, whole.request(0).last_be), (0xF, 0xF));
    }

    fn answer(request: &Request, data: Vec<u32>) -> Completion {
        let (lead, byte_count) = request.bytes();
        Completion {
            status: 0,
            byte_count,
            lower_address: (request.address as usize + lead) as u8 & 0x7F,
            tag: request.tag,
            requester: request.requester,
            completer: 0x100,
            poisoned: false,
            data,
        }
    }

    fn complete(loads: &mut Loads, completion: &Completion) -> Result<(), &'static str> {
        let (answer, right) = loads.complete(completion);
        if let Some((id, value)) = answer {
            loads.give(id, value);
        }
        right
    }

    #[test]
    fn loads_are_answered_by_their_completion() {
        let mut loads = Loads::default();
        let (word, request) = loads.start(Access::new(Bar::Registers, 0x28, 8).unwrap(), 100);
        let (half, second) = loads.start(Access::new(Bar::Registers, 0x36, 2).unwrap(), 100);
        complete(&mut loads, &answer(&second.unwrap(), vec![0xBEEF_1234])).unwrap();
        complete(&mut loads, &answer(&request.unwrap(), vec![1, 2])).unwrap();
        assert_eq!((loads.take(word), loads.take(half)), (Some(0x2_0000_0001), Some(0xBEEF)));
        assert_eq!(loads.take(word), None);
        assert!(complete(&mut loads, &answer(&request.unwrap(), vec![1, 2])).is_err(), "twice");
    }

    #[test]
    fn a_load_that_nobody_answers_reads_as_ones_and_keeps_its_tag() {
        let mut loads = Loads::default();
        let (id, request) = loads.start(Access::new(Bar::Registers, 0, 4).unwrap(), 100);
        loads.expire(99);
        assert!(loads.waiting());
        loads.expire(100);
        assert_eq!(loads.take(id), Some(0xFFFF_FFFF));
        let (_, next) = loads.start(Access::new(Bar::Registers, 0, 4).unwrap(), 200);
        assert_ne!(next.unwrap().tag, request.unwrap().tag);
        complete(&mut loads, &answer(&request.unwrap(), vec![7])).unwrap();
        assert_eq!(loads.take(id), None, "too late");
    }

    #[test]
    fn a_refused_load_reads_as_ones() {
        let mut loads = Loads::default();
        let (id, request) = loads.start(Access::new(Bar::Registers, 0, 8).unwrap(), 100);
        let refused = Completion { status: 1, data: vec![], ..answer(&request.unwrap(), vec![]) };
        complete(&mut loads, &refused).unwrap();
        assert_eq!(loads.take(id), Some(u64::MAX));
    }
}
