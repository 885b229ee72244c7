//! Virtual interfaces, as the agent has them: it makes them, gives them other attributes and destroys them. A library asks for this through
//! [`KernelAgent`](crate::kernel_agent::KernelAgent); viad calls [`Agent::new_vi`], and gives the rings to its client.
//!
//! | file | what it is about |
//! |---|---|
//! | `arena` | the memory of rings |
//! | `entry` | what the agent remembers of a VI |
//! | `state` | idle, connected, in error: the table of what changes it |
//! | `life` | the rows of an idle VI, which begin a life |
//! | `connection` | connect, break, disconnect |
//! | `queue_pair` | the number of a connection |
//!
//! All calls hold the agent's lock from the first command to the NIC to the last.

mod arena;
mod connection;
mod entry;
mod life;
mod queue_pair;
mod state;

use std::sync::Arc;

pub use self::{arena::Arena, state::Change};
pub(super) use self::{entry::Entry, state::enter};
use self::{
    life::end_life,
    state::{check, query},
};
use super::{Agent, AgentError};
pub use crate::queues::{
    ring::{arena_bytes, Ring, MAX_RING_LOG2, MIN_RING_LOG2},
    Direction, ViState,
};
use crate::{
    address::ConnectionInfo,
    device_protocol::commands::Admin,
    kernel_agent::{CreatedVi, ViAttributes, ViName},
    queues::{doorbells::Doorbells, ring::RING_BYTES, work_queues::WorkQueues},
};

/// A VI that the agent has made: what its consumer's end is built of.
#[derive(Debug, Clone)]
pub struct NewVi {
    /// What the agent calls it.
    pub name: ViName,
    /// For its first connection.
    pub info: ConnectionInfo,
    /// Its send ring.
    pub send: Ring,
    /// Its receive ring.
    pub receive: Ring,
    /// Interrupt vectors of the send and the receive queue.
    pub vectors: [u8; 2],
}

impl Agent {
    /// Creates a VI, idle.
    ///
    /// # Errors
    /// A ring size or transfer size that the NIC has not, RDMA reads without reliability; a tag or completion queue
    /// that does not exist; no VI left.
    pub fn create_vi(&self, attributes: ViAttributes) -> Result<CreatedVi, AgentError> {
        let NewVi { name, info, send, receive, vectors } = self.new_vi(&self.arena, None, attributes)?;
        let page = self.limits.vi_page(name.index);
        let doorbells = Doorbells::of_device(Arc::clone(&self.device), page);
        Ok(CreatedVi { name, info, queues: WorkQueues::new(send, receive, vectors, doorbells) })
    }

    /// Creates a VI with its rings at the `place`-th pair of an arena; None: the pair of its index.
    #[tracing::instrument(level = "debug", skip_all, fields(attributes = ?attributes), err(level = "debug"))]
    pub fn new_vi(
        &self,
        arena: &Arc<Arena>,
        place: Option<usize>,
        attributes: ViAttributes,
    ) -> Result<NewVi, AgentError> {
        self.check_alarm()?;
        attributes.check()?;
        let mut guard = self.state()?;
        let state = &mut *guard;
        self.check_not_system(attributes.tag)?;
        state.tags.check(attributes.tag)?;
        let count = state.vis.len();
        let index = (0..count)
            .map(|n| (state.next_vi + n) % count)
            .find(|n| state.vis[*n].is_none())
            .ok_or(AgentError::Full(count, "virtual interface"))?;
        let place = place.unwrap_or(index);
        let ring = |receive: usize, log2| {
            let offset = place.saturating_mul(2).saturating_add(receive).saturating_mul(RING_BYTES);
            Ring::new(arena.memory(), offset, log2).ok_or(AgentError::Ring(log2))
        };
        let (send, receive) = (ring(0, attributes.send_log2)?, ring(1, attributes.receive_log2)?);

        let (queue_pair, starting_psn) = state.next_connection(index);
        state.lives[index] = state.lives[index].wrapping_add(1);
        let name = ViName { index: index as u16, life: state.lives[index] };
        let info = ConnectionInfo {
            mac: self.mac,
            ip: self.ip,
            queue_pair,
            starting_psn,
            first_psn: None,
            mtu: attributes.mtu,
            service: attributes.service,
            max_transfer: attributes.max_transfer,
            ack_time: self.ack_time,
        };
        let entry = Entry { name, attributes, info, arena: Arc::clone(arena), send, receive };
        let cqs = [attributes.send_cq, attributes.receive_cq];
        for (n, cq) in cqs.iter().enumerate().filter_map(|(n, cq)| Some((n, (*cq)?))) {
            if let Err(error) = state.use_cq(cq, 1) {
                for taken in cqs[..n].iter().flatten() {
                    state.use_cq(*taken, -1)?;
                }
                return Err(error);
            }
        }
        let admin = Admin::of(&*self.device);
        enter(&admin, name.index, Change::Make)?;
        self.begin_life(&admin, &entry, Change::Make)?;
        state.tags.take(attributes.tag)?;
        let vectors =
            [Direction::Send, Direction::Receive].map(|direction| self.vi_vector(&entry, direction));
        let (send, receive) = (entry.send.clone(), entry.receive.clone());
        state.vis[index] = Some(entry);
        state.next_vi = (index + 1) % count;
        tracing::debug!(vi = ?name, ?info, "a VI is made");
        Ok(NewVi { name, info, send, receive, vectors })
    }

    /// The state that the NIC has a VI in.
    pub(super) fn vi_state(&self, vi: ViName) -> Result<ViState, AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        query(&Admin::of(&*self.device), vi.index)
    }

    /// Whether a VI is in a state in which this may be done to it. The agent looks itself before it connects a VI or gives it other attributes. That a VI
    /// is broken which is to be made idle it takes its program's word for, since a look is a round trip of each connection; viad, which takes no
    /// client's word, looks.
    ///
    /// # Errors
    /// It is in another state, or does not exist; the device's.
    pub fn check_vi(&self, vi: ViName, change: Change) -> Result<(), AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        check(&Admin::of(&*self.device), vi.index, change)
    }

    /// Gives an idle VI other attributes: what its next peer is to know. With `anew` both its rings begin anew, else what is posted to receive stays.
    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi, attributes = ?new), ret, err(level = "debug"))]
    pub(super) fn set_vi_attributes(
        &self,
        vi: ViName,
        new: ViAttributes,
        anew: bool,
    ) -> Result<ConnectionInfo, AgentError> {
        new.check()?;
        let mut guard = self.state()?;
        let state = &mut *guard;
        let mut entry = state.vi(vi)?.clone();
        let old = entry.attributes;
        let admin = Admin::of(&*self.device);
        check(&admin, vi.index, Change::SetAttributes)?;
        self.check_not_system(new.tag)?;
        if !anew && new.tag != old.tag {
            return Err(AgentError::UnknownTag(new.tag));
        }
        state.tags.take(new.tag)?;
        let ViAttributes { send_log2, receive_log2, send_cq, receive_cq, .. } = old;
        entry.attributes = ViAttributes { send_log2, receive_log2, send_cq, receive_cq, ..new };
        let info = &mut entry.info;
        (info.mtu, info.service, info.max_transfer) = (new.mtu, new.service, new.max_transfer);
        let info = *info;
        if anew {
            self.begin_life(&admin, &entry, Change::SetAttributes)?;
        } else {
            self.idle_rows(&admin, &entry)?;
        }
        state.tags.give_back(old.tag);
        *state.vi(vi)? = entry;
        Ok(info)
    }

    /// Destroys a VI, in whatever state it is. Its name names nothing any more.
    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi), ret, err(level = "debug"))]
    pub(super) fn destroy_vi(&self, vi: ViName) -> Result<(), AgentError> {
        let mut state = self.state()?;
        let ViAttributes { tag, send_cq, receive_cq, .. } = state.vi(vi)?.attributes;
        let admin = Admin::of(&*self.device);
        enter(&admin, vi.index, Change::Destroy)?;
        // Whoever has the index next finds nothing of this life. Generation 0 is in no queue pair number.
        end_life(&admin, vi.index, Change::Destroy, &[0, 0], &[0, 0])?;
        self.empty_error_ring(&mut state)?;
        state.tags.give_back(tag);
        for cq in [send_cq, receive_cq].into_iter().flatten() {
            state.use_cq(cq, -1)?;
        }
        state.vis[usize::from(vi.index)] = None;
        Ok(())
    }
}
