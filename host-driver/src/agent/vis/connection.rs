//! The agent connects a VI, breaks its connection, and disconnects it. Callers are the library, when it carries a [`ConnectionInfo`] itself, and
//! the connector (`agent::connector`), when the two ends have met over the wire.

use viaduct_spec::tables::{table, transmit};

use super::{
    life::close,
    state::{check, enter, Change},
};
use crate::{
    address::ConnectionInfo,
    agent::Agent,
    cm::end::{Agreement, End},
    device_protocol::{commands::Admin, rows, template},
    kernel_agent::ViAttributes,
    kernel_agent::{AgentError, ViName},
    queues::Direction,
};

impl Agent {
    /// Connects an idle VI to a peer that is known by its [`ConnectionInfo`] alone: as many RDMA reads as the NIC has, in either direction.
    pub(in crate::agent) fn connect_vi(&self, vi: ViName, peer: ConnectionInfo) -> Result<(), AgentError> {
        // At most eight.
        let reads = self.limits.read_depth as u8;
        let agreement = Agreement {
            peer,
            reads_asked: reads,
            reads_answered: reads,
            not_ready_retries: rows::RNR_RETRIES,
        };
        self.connect_vi_as(vi, &agreement)
    }

    /// What a VI's end tells the other one, for its next connection.
    pub(in crate::agent) fn vi_end(&self, vi: ViName) -> Result<End, AgentError> {
        let mut state = self.state()?;
        let entry = state.vi(vi)?;
        let ViAttributes { rdma_write, rdma_read, not_ready, .. } = entry.attributes;
        Ok(End { rdma_write, rdma_read, not_ready, ..End::new(entry.info, self.limits.read_depth as u8) })
    }

    /// Connects an idle VI as it was agreed on.
    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi, agreement = ?agreement), ret, err(level = "debug"))]
    pub(in crate::agent) fn connect_vi_as(
        &self,
        vi: ViName,
        agreement: &Agreement,
    ) -> Result<(), AgentError> {
        let Agreement { peer, reads_asked, reads_answered, not_ready_retries } = agreement;
        let mut state = self.state()?;
        let entry = state.vi(vi)?;
        let own = entry.info;
        own.check(peer)?;
        let admin = Admin::of(&*self.device);
        check(&admin, vi.index, Change::Connect)?;
        let mtu = entry.attributes.mtu.min(peer.mtu);
        let index = u32::from(vi.index);
        for (word, row) in template::words(&own, peer, self.pkey).iter().zip(8 * index..) {
            admin.commit(table::TEMPLATE, row, &[*word])?;
        }
        // What was posted on the idle VI is not this connection's (LIFE-1).
        close(&admin, vi.index, Direction::Send)?;
        let loopback = peer.mac == own.mac && peer.ip == own.ip;
        let ViAttributes { tag, service, max_transfer, not_ready, .. } = entry.attributes;
        let rights = rows::Rights { reads: (*reads_answered).into(), ..self.rights(&entry.attributes) };
        let receive = rows::Receive { not_ready, ..rows::Receive::connected(&own, peer, tag, rights) };
        let mut send = rows::transmit(peer.starting_psn, service, loopback, (*reads_asked).into());
        let timeout = rows::timeout(peer.ack_time);
        transmit::TIMEOUT.put(&mut send, timeout.into());
        transmit::RETRIES.put(&mut send, rows::retries(timeout).into());
        transmit::RNR_RETRIES.put(&mut send, (*not_ready_retries).into());
        admin.commit(table::TRANSMIT, index, &send)?;
        admin.commit(table::RECEIVE, index, &receive.words())?;
        admin.commit(table::GATHER, index, &rows::gather(tag, service, mtu, max_transfer))?;
        let (row, words) = self.work_queue(Direction::Send, entry);
        admin.commit(table::WORK_QUEUE, row, &words)?;
        enter(&admin, vi.index, Change::Connect)
    }

    /// Breaks a VI: the NIC flushes all that is posted.
    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi), ret, err(level = "debug"))]
    pub(in crate::agent) fn break_vi(&self, vi: ViName) -> Result<(), AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        enter(&Admin::of(&*self.device), vi.index, Change::Break)
    }

    /// Makes a VI idle, and begins its next life: what its next peer is to know.
    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi), ret, err(level = "debug"))]
    pub(in crate::agent) fn idle_vi(&self, vi: ViName) -> Result<ConnectionInfo, AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        let admin = Admin::of(&*self.device);
        enter(&admin, vi.index, Change::MakeIdle)?;
        let next = state.next_connection(vi.index.into());
        let entry = state.vi(vi)?;
        (entry.info.queue_pair, entry.info.starting_psn) = next;
        self.begin_life(&admin, entry, Change::MakeIdle)?;
        Ok(entry.info)
    }
}
