//! Who takes the entries of a completion queue.

use std::collections::{BTreeMap, VecDeque};

use viaduct_driver::agent::vis::Direction;
use viaduct_driver::agent::CqEntry;
use viaduct_driver::consumer::Cq;
use viaduct_tests::raw::{Completion, Descriptor, RawVi};
use viaduct_tests::world::Host;

/// Who takes the entries of a queue, and knows what was posted.
pub struct Consumer {
    pub cq: Cq,
    /// Tokens and places of what is posted and has no entry yet, for each work queue.
    pub posted: BTreeMap<(u16, bool), VecDeque<(u64, usize)>>,
    pub taken: usize,
}

impl Consumer {
    /// With room for so many entries.
    pub fn new(host: &Host, entries: usize) -> Self {
        let cq = Cq::create(host.agent.clone(), entries).expect("a queue");
        Self { cq, posted: BTreeMap::new(), taken: 0 }
    }

    /// For those who make a VI.
    pub fn index(&self) -> Option<u16> {
        Some(self.cq.index())
    }

    /// Posts what will make an entry here.
    pub fn post(
        &mut self,
        host: &mut Host,
        vi: &mut RawVi,
        direction: Direction,
        descriptor: &Descriptor,
    ) -> usize {
        let receive = direction == Direction::Receive;
        let position = if receive { vi.receives } else { vi.sends };
        let place = vi.post(host, direction, descriptor);
        let token = host.region.token(host.memory.address(place), position);
        self.posted.entry((vi.index(), receive)).or_default().push_back((token, place));
        place
    }

    /// Descriptors that have no entry yet.
    pub fn outstanding(&self) -> usize {
        self.posted.values().map(VecDeque::len).sum()
    }

    /// Takes an entry: it is the oldest of its work queue's, and the descriptor's status is there.
    pub fn take(&mut self, host: &Host) -> Option<(CqEntry, Completion)> {
        let entry = self.cq.take().expect("the NIC is there")?;
        let queue =
            self.posted.get_mut(&(entry.vi, entry.receive)).expect("a work queue that has this queue");
        let (token, place) = queue.pop_front().expect("one entry for each descriptor");
        assert_eq!(entry.token, token, "in the order of the work queue");
        let completion = Completion::read(&host.memory, place);
        assert!(completion.is_complete(), "the status comes before the entry");
        self.taken += 1;
        Some((entry, completion))
    }
}
