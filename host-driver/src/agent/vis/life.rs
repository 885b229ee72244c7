//! A life of a VI, in the NIC's rows: from the commit of its TRANSMIT row to the next one of it (LIFE-2). The agent begins a life of an idle VI
//! with both queues empty. It does so when it makes a VI, when it disconnects one, and when it gives one other attributes.

use viaduct_spec::tables::table;

use super::{
    entry::{row, Entry},
    state::{enter, Change},
};
use crate::{
    agent::{interrupts::EVENT_VECTOR, Agent},
    device_protocol::{commands::Admin, rows},
    kernel_agent::AgentError,
    kernel_agent::ViAttributes,
    queues::Direction,
};

/// Closes a work queue: nothing of it is fetched any more.
pub(super) fn close(admin: &Admin<'_>, vi: u16, direction: Direction) -> Result<(), AgentError> {
    Ok(admin.commit(table::WORK_QUEUE, row(vi, direction), &[0, 0])?)
}

/// Ends the life of a VI that is not connected, whatever the NIC still has of it (LIFE-3), by a change behind which it is idle: with these rows, and
/// its work queues closed.
pub(super) fn end_life(
    admin: &Admin<'_>,
    vi: u16,
    by: Change,
    transmit: &[u64; 2],
    receive: &[u64; 2],
) -> Result<(), AgentError> {
    close(admin, vi, Direction::Send)?;
    close(admin, vi, Direction::Receive)?;
    admin.commit(table::TRANSMIT, vi.into(), transmit)?;
    admin.commit(table::RECEIVE, vi.into(), receive)?;
    // Nothing that was granted reaches memory later,
    admin.drain()?;
    // and what was wrong with the old queues breaks nothing any more.
    enter(admin, vi, by)
}

impl Agent {
    /// The interrupt vector of one of a VI's queues.
    pub(super) fn vi_vector(&self, entry: &Entry, direction: Direction) -> u8 {
        self.interrupts.as_ref().map_or(EVENT_VECTOR, |all| all.of_queue(entry.row(direction)))
    }

    /// Row and contents of one of its work queues.
    pub(super) fn work_queue(&self, direction: Direction, entry: &Entry) -> (u32, [u64; 2]) {
        let ring = entry.ring(direction);
        let words = rows::WorkQueue {
            ring_offset: ring.offset() as u64 / 64,
            ring_region: entry.arena.region(),
            ring_log2: ring.log2(),
            system_tag: self.system_tag,
            tag: entry.attributes.tag,
            vector: self.vi_vector(entry, direction),
            cq: entry.attributes.cq(direction),
        }
        .words();
        (entry.row(direction), words)
    }

    /// What its peer may do.
    pub(super) fn rights(&self, attributes: &ViAttributes) -> rows::Rights {
        let ViAttributes { rdma_write: write, rdma_read: read, .. } = *attributes;
        rows::Rights { write, read, reads: self.limits.read_depth }
    }

    /// Begins a life of a VI that this change makes idle, or finds so, with both queues empty; the doorbells open last.
    pub(super) fn begin_life(&self, admin: &Admin<'_>, entry: &Entry, by: Change) -> Result<(), AgentError> {
        let (transmit, receive) = self.idle_transmit_and_receive(entry);
        end_life(admin, entry.name.index, by, &transmit, &receive)?;
        self.idle_gather(admin, entry)?;
        for direction in [Direction::Send, Direction::Receive] {
            entry.ring(direction).clear();
            let (row, words) = self.work_queue(direction, entry);
            admin.commit(table::WORK_QUEUE, row, &words)?;
        }
        Ok(())
    }

    /// Writes the rows of an idle VI that are not its work queues'.
    pub(super) fn idle_rows(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        let vi = u32::from(entry.name.index);
        let (transmit, receive) = self.idle_transmit_and_receive(entry);
        admin.commit(table::TRANSMIT, vi, &transmit)?;
        admin.commit(table::RECEIVE, vi, &receive)?;
        self.idle_gather(admin, entry)
    }

    /// The TRANSMIT and the RECEIVE row of an idle VI.
    fn idle_transmit_and_receive(&self, entry: &Entry) -> ([u64; 2], [u64; 2]) {
        let ViAttributes { tag, service, .. } = entry.attributes;
        let own = &entry.info;
        let receive = rows::Receive::idle(own, tag, self.rights(&entry.attributes));
        // It sends nothing: the PSN is the peer's to say.
        (rows::transmit(0, service, false, 0), receive.words())
    }

    /// Writes the GATHER row of an idle VI.
    fn idle_gather(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        let ViAttributes { tag, service, mtu, max_transfer, .. } = entry.attributes;
        let row = rows::gather(tag, service, mtu, max_transfer);
        Ok(admin.commit(table::GATHER, entry.name.index.into(), &row)?)
    }
}
