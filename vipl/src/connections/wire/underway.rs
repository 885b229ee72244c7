//! A VI that is being connected, until it is connected, or nothing comes of it.

use viaduct_driver::cm::ConnectionId;

/// Tells the queues of a NIC apart.
pub(super) type QueueId = u64;

/// A VI that is being connected.
#[derive(Debug)]
pub(super) struct Underway {
    /// The connection, from when there is one.
    id: Option<ConnectionId>,
    stage: Stage,
    /// The queue that brings it to its end, and the program's word for it.
    queue: Option<(QueueId, u64)>,
}

/// How far an attempt at a connection has come.
///
/// | | the call returns | a disconnect | somebody claims it |
/// |---|---|---|---|
/// | `Called` | `Waiting` | `Ended` | `Ending` |
/// | `Waiting` | | it is over | `Ending` |
/// | `Ended` | `Ended` | `Ended` | `Ending`, and hears that it was ended |
/// | `Ending` | `Ending` | `Ending` | not his |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A call is in it.
    Called,
    /// No call is in it: a peer request on its way, or a queue's attempt.
    Waiting,
    /// Somebody has disconnected the VI, and the call that is in it is to find out.
    Ended,
    /// Somebody brings it to its end: nobody else does.
    Ending,
}

impl Underway {
    /// One that a call begins.
    pub(super) fn new(id: Option<ConnectionId>) -> Self {
        Self { id, stage: Stage::Called, queue: None }
    }

    /// Its connection.
    pub(super) fn id(&self) -> Option<ConnectionId> {
        self.id
    }

    /// The queue that brings it to its end, and the program's word for it.
    pub(super) fn queue(&self) -> Option<(QueueId, u64)> {
        self.queue
    }

    /// The agent has been asked: there is a connection now, or there is none. Whether the attempt was ended meanwhile.
    pub(super) fn ask(&mut self, id: Option<ConnectionId>) -> bool {
        self.id = id;
        self.stage == Stage::Ended
    }

    /// Whether `id` is its connection, and nobody has ended it.
    pub(super) fn goes_on(&self, id: ConnectionId) -> bool {
        self.id == Some(id) && self.stage != Stage::Ended
    }

    /// The call that began it returns. Who brings it to its end: the program, or this queue.
    pub(super) fn leave(&mut self, queue: Option<(QueueId, u64)>) {
        self.queue = queue;
        if self.stage == Stage::Called {
            self.stage = Stage::Waiting;
        }
    }

    /// Somebody disconnects the VI. Whether the attempt is over: else who is in it finds out.
    pub(super) fn disconnect(&mut self) -> bool {
        if self.stage == Stage::Called {
            self.stage = Stage::Ended;
        }
        self.stage == Stage::Waiting
    }

    /// Who calls brings it to its end, if `id` is its connection: from now on nobody else does. Whether it was ended by a disconnect; None: it is
    /// somebody else's to end.
    pub(super) fn claim(&mut self, id: ConnectionId) -> Option<bool> {
        if self.id != Some(id) || self.stage == Stage::Ending {
            return None;
        }
        Some(std::mem::replace(&mut self.stage, Stage::Ending) == Stage::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stage after each step of the table, and what a claim hears.
    fn steps(stage: Stage) -> ([Option<Stage>; 2], Option<bool>) {
        let id = ConnectionId::of(1);
        let at = || Underway { id: Some(id), stage, queue: None };
        let (mut left, mut disconnected, mut claimed) = (at(), at(), at());
        left.leave(None);
        let is_over = disconnected.disconnect();
        let claim = claimed.claim(id);
        assert!(claim.is_none() || claimed.stage == Stage::Ending);
        ([Some(left.stage), (!is_over).then_some(disconnected.stage)], claim)
    }

    #[test]
    fn an_attempt_goes_as_the_table_says() {
        use Stage::{Called, Ended, Ending, Waiting};
        assert_eq!(steps(Called), ([Some(Waiting), Some(Ended)], Some(false)));
        assert_eq!(steps(Waiting), ([Some(Waiting), None], Some(false)));
        assert_eq!(steps(Ended), ([Some(Ended), Some(Ended)], Some(true)));
        assert_eq!(steps(Ending), ([Some(Ending), Some(Ending)], None));
    }

    #[test]
    fn another_connection_of_the_vi_is_not_claimed() {
        let (one, other) = (ConnectionId::of(1), ConnectionId::of(2));
        let mut attempt = Underway::new(None);
        assert!(!attempt.ask(Some(one)) && attempt.goes_on(one) && !attempt.goes_on(other));
        assert_eq!((attempt.claim(other), attempt.claim(one)), (None, Some(false)));
    }
}
