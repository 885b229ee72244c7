//! What a VI tells its completion queue: that it has it, that it is gone, and what becomes of entries while its receives are put back.

use super::{
    entry::{CqEntry, Taken},
    Cq,
};
use crate::{vi_queues::Member, Direction, Error, ViId};

impl Cq {
    /// A VI that has it, with nothing posted yet: what is on the ring is of an earlier VI's of that index.
    pub(crate) fn add(&self, index: u16, vi: ViId, queues: Member) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        state.collect()?;
        let index = usize::from(index);
        if state.vis.len() <= index {
            state.vis.resize(index + 1, None);
            state.members.resize_with(index + 1, || None);
        }
        state.vis[index] = Some(vi);
        state.members[index] = Some(queues);
        Ok(())
    }

    /// The VI is gone, and its entries with it. Its index may be another's already.
    pub(crate) fn forget(&self, index: u16, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        let collected = state.collect();
        let index = usize::from(index);
        if state.vis.get(index) == Some(&Some(vi)) {
            state.vis[index] = None;
            state.members[index] = None;
        }
        state.entries.retain(|taken| taken.entry.vi != vi);
        collected
    }

    /// Descriptors that the NIC could not complete are flushed: their entries, behind those that it has made.
    pub(crate) fn flushed(
        &self,
        index: u16,
        vi: ViId,
        direction: Direction,
        count: usize,
    ) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let mut state = self.0.state.lock();
        state.collect()?;
        let entry = CqEntry { vi, receive: direction == Direction::Receive };
        state.entries.extend(std::iter::repeat_n(Taken { index, entry }, count));
        drop(state);
        // The NIC has made no interrupt for them.
        self.wake();
        Ok(())
    }

    /// The receives of a VI are flushed, and put back after: entries of theirs that are not taken, and those that come, are kept.
    pub(crate) fn hold(&self, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        state.collect()?;
        let before = state.entries.len();
        state.entries.retain(|taken| taken.entry.vi != vi || !taken.entry.receive);
        let kept = before - state.entries.len();
        state.held.insert(vi, kept);
        Ok(())
    }

    /// They are back: of the entries that were kept, those of `flushed` receives are nobody's.
    pub(crate) fn release(&self, index: u16, vi: ViId, flushed: usize) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        let collected = state.collect();
        let kept = state.held.remove(&vi).unwrap_or(0);
        drop(state);
        collected.and(self.flushed(index, vi, Direction::Receive, kept.saturating_sub(flushed)))
    }
}
