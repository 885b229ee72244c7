//! What a viad says of its sessions, to who may know: root and viad's own user of all of them, others of their own.

use serde::{Deserialize, Serialize};

use crate::{
    address::{Mtu, Service},
    cm::progress::{Phase, Progress},
    kernel_agent::ViName,
    queues::ViState,
};

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    /// Its number.
    pub session: u64,
    /// Its process.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    /// Its age.
    pub seconds: u64,
    /// Virtual interfaces.
    pub vis: u32,
    /// Completion queues.
    pub cqs: u32,
    /// Regions.
    pub regions: u32,
    /// Bytes in regions, whole pages.
    pub bytes: u64,
    /// It is trusted: it has the function itself.
    pub trusted: bool,
}

/// What all sessions have together but the one that asks, of whichever user they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Sessions.
    pub sessions: u32,
    /// Virtual interfaces.
    pub vis: u32,
    /// Completion queues.
    pub cqs: u32,
    /// Regions.
    pub regions: u32,
    /// Bytes in regions, whole pages.
    pub bytes: u64,
}

/// A virtual interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViReport {
    /// What the agent calls it.
    pub name: ViName,
    /// Reliability level.
    pub service: Service,
    /// Largest packet.
    pub mtu: Mtu,
    /// Largest message in bytes.
    pub max_transfer: u32,
    /// Its state in the NIC.
    pub state: ViState,
    /// Its connection by the connection manager, or the attempt at one.
    pub connection: Option<Progress>,
    /// Its send queue.
    pub send: QueueReport,
    /// Its receive queue.
    pub receive: QueueReport,
}

/// A work queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueReport {
    /// Slots of its ring.
    pub slots: u32,
    /// Position of the last descriptor that the NIC was told of; None: it was told of none since the queue began, or by its client itself, and then
    /// `open` is None, too.
    pub last: Option<u16>,
    /// Its client has rung a doorbell that has not been passed on.
    pub unforwarded: bool,
    /// Descriptors that the NIC was told of and that are not complete, as far as the client's memory says; None: it cannot be
    /// read.
    pub open: Option<u32>,
}

impl QueueReport {
    /// The NIC was told of descriptors that are not complete, as far as one knows.
    fn is_open(&self) -> bool {
        self.last.is_some() && self.open != Some(0)
    }
}

impl ViReport {
    /// What has to happen before it goes on, in words; nothing if nothing is under way.
    pub fn waits_for(&self) -> Vec<String> {
        let mut waits = Vec::new();
        for (queue, name) in [(&self.send, "send"), (&self.receive, "receive")] {
            if queue.unforwarded {
                waits.push(format!("viad, to pass on its {name} doorbell"));
            }
        }
        let attempt = self.connection.as_ref().filter(|progress| progress.phase != Phase::Established);
        match (self.state, attempt) {
            (_, Some(progress)) => waits.push(progress.waits_for()),
            (ViState::Error, None) => waits.push("its owner, to disconnect it: it is broken".into()),
            (ViState::Idle, None) if self.receive.is_open() => {
                waits.push("a connection: it has receives posted".into());
            }
            (ViState::Idle, None) => {}
            (ViState::Connected, None) => self.wait_connected(&mut waits),
        }
        waits
    }

    fn wait_connected(&self, waits: &mut Vec<String>) {
        let queued = |queue: &QueueReport| match queue.open {
            Some(open) => format!("{open} posted"),
            None => "its memory cannot be read".into(),
        };
        if self.send.is_open() {
            let whose =
                if self.service.is_reliable() { "its peer, to acknowledge" } else { "the NIC, to send" };
            waits.push(format!("{whose} what it sends ({})", queued(&self.send)));
        }
        if self.receive.open == Some(0) {
            waits.push("its owner, to post a receive: a message that comes now breaks it, or is lost".into());
        } else {
            waits.push(format!("a message from its peer ({})", queued(&self.receive)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(last: Option<u16>, open: Option<u32>) -> QueueReport {
        QueueReport { slots: 8, last, unforwarded: false, open }
    }

    #[test]
    fn what_a_virtual_interface_waits_for() {
        let mut vi = ViReport {
            name: ViName { index: 1, life: 1 },
            service: Service::ReliableDelivery,
            mtu: Mtu::DEFAULT,
            max_transfer: 1,
            state: ViState::Idle,
            connection: None,
            send: queue(None, Some(0)),
            receive: queue(None, Some(0)),
        };
        assert!(vi.waits_for().is_empty());
        vi.receive = queue(Some(2), Some(3));
        assert!(vi.waits_for()[0].contains("a connection"));
        vi.state = ViState::Connected;
        assert_eq!(vi.waits_for(), ["a message from its peer (3 posted)"]);
        vi.send = queue(Some(9), Some(1));
        assert!(vi.waits_for()[0].contains("its peer, to acknowledge what it sends (1 posted)"));
        vi.receive = queue(Some(2), Some(0));
        vi.send.unforwarded = true;
        let waits = vi.waits_for().join("; ");
        assert!(
            waits.contains("pass on its send doorbell") && waits.contains("to post a receive"),
            "{waits}"
        );
        // Its client rings the NIC's own doorbells.
        let unseen = QueueReport { unforwarded: false, ..queue(None, None) };
        let trusted = ViReport { send: unseen.clone(), receive: unseen, ..vi.clone() };
        assert_eq!(trusted.waits_for(), ["a message from its peer (its memory cannot be read)"]);
        vi.state = ViState::Error;
        assert!(vi.waits_for()[1].contains("to disconnect it"));
    }
}
