//! A completion queue's state, which its lock guards: the ring that the NIC fills, the VIs that have the queue, and the entries that are off the ring
//! and that nobody has taken.

use std::collections::{BTreeMap, VecDeque};

use viaduct_driver::{consumer::Cq as AgentCq, queues::entries::Entry};

use super::entry::{CqEntry, Taken};
use crate::{queue::Try, vi_queues::Member, Error, ViId};

/// What the lock of a completion queue guards.
pub(super) struct State {
    pub cq: AgentCq,
    /// The VIs that have it, by the index that entries carry.
    pub vis: Vec<Option<ViId>>,
    /// Their work queues, by the same. A VI that ends takes itself out.
    pub members: Vec<Option<Member>>,
    /// Entries that are off the ring.
    pub entries: VecDeque<Taken>,
    /// VIs whose receives are being put back, and how many entries of theirs have come meanwhile.
    pub held: BTreeMap<ViId, usize>,
}

impl State {
    /// The state of a queue that no VI has yet.
    pub fn new(cq: AgentCq) -> Self {
        let (vis, members) = (Vec::new(), Vec::new());
        Self { cq, vis, members, entries: VecDeque::new(), held: BTreeMap::new() }
    }

    /// Takes the oldest entry.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Taken>, Error> {
        if self.entries.is_empty() {
            return self.next();
        }
        Ok(self.entries.pop_front())
    }

    /// [`State::take`], if nothing stands against it, for a caller that has seen that this is no child of a fork.
    #[inline(always)]
    pub fn try_take(&mut self) -> Try<Taken> {
        if !self.entries.is_empty() || !self.held.is_empty() {
            return Try::Unusual;
        }
        match self.cq.try_take() {
            Ok(None) => Try::Nothing,
            Ok(Some(Entry { vi: index, receive, .. })) => match self.vis.get(usize::from(index)) {
                Some(&Some(vi)) => Try::Done(Taken { index, entry: CqEntry { vi, receive } }),
                // It was nobody's: the next one is due.
                _ => Try::Unusual,
            },
            Err(_) => Try::Unusual,
        }
    }

    /// The oldest entry on the ring.
    #[inline]
    fn next(&mut self) -> Result<Option<Taken>, Error> {
        while let Some(entry) = self.cq.take()? {
            // An entry of nobody's is the NIC's error, and nobody's business.
            let Some(&Some(vi)) = self.vis.get(usize::from(entry.vi)) else { continue };
            if entry.receive && !self.held.is_empty() && self.keep(vi) {
                continue;
            }
            return Ok(Some(Taken { index: entry.vi, entry: CqEntry { vi, receive: entry.receive } }));
        }
        Ok(None)
    }

    /// Whether an entry of a receive of this VI's is kept.
    #[cold]
    fn keep(&mut self, vi: ViId) -> bool {
        self.held.get_mut(&vi).map(|kept| *kept += 1).is_some()
    }

    /// Takes everything off the ring.
    pub fn collect(&mut self) -> Result<(), Error> {
        while let Some(taken) = self.next()? {
            self.entries.push_back(taken);
        }
        Ok(())
    }
}
