//! A VI is connected and made idle, and the NIC completes what is posted before.

use std::{
    hint::spin_loop,
    time::{Duration, Instant},
};

use viaduct_driver::{address::ConnectionInfo, device::Polling, kernel_agent::ViName};

use super::Vi;
use crate::{
    backoff::Backoff,
    connections::{Endpoint, RemoteAttributes},
    queue::{Posted, Stage},
    vi_queues::Form,
    Direction, Error, ViState,
};

/// How long a disconnect waits for the NIC to flush what is posted. It is a matter of microseconds
/// unless the memory of a descriptor is no longer valid.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// How long it looks before it sleeps: as long as a sleep takes at least.
const AWAKE: Duration = Duration::from_micros(20);

impl<D: Form> Vi<D> {
    /// Connects to the VI that the peer has described. From then on its messages are received; it
    /// takes ours when it, too, has connected: nothing is sent before both know that.
    ///
    /// # Errors
    /// [`crate::Return::InvalidState`] unless idle; a peer whose level or transfer size differ.
    pub fn connect(&self, peer: &ConnectionInfo) -> Result<(), Error> {
        let mut sends = self.queues.send.rest();
        // Sends posted to an idle VI are flushed; the NIC is done with them before it starts anew.
        self.wait_complete(&[&sends])?;
        self.queues.vi.connect(peer)?;
        self.reset(Direction::Send, &mut sends)
    }

    /// Waits until everything that has been posted to send is complete, however it completed: on a reliable level what has not failed has arrived then, so
    /// that a disconnect loses nothing. The descriptors stay on the queue for send_done. What other threads post meanwhile is waited for, too. A
    /// peer that never posts a receive makes it wait for ever, if the VI's connection is one that has it sent again ([`crate::NotReady::Stay`]).
    ///
    /// # Errors
    /// [`Error::Timeout`]; the device's.
    pub fn drain(&self, timeout: Option<Duration>) -> Result<(), Error> {
        let start = Instant::now();
        let left = || timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(start.elapsed()));
        let look = || Ok(self.queues.send.look().is_complete().then_some(()));
        Backoff::default().poll(&**self.nic().agent(), left, look)
    }

    /// Ends the connection (VipDisconnect), which the peer is told, or the attempt at one: a call that is under way ends with
    /// [`Error::State`]. (Who has connected by [`Vi::connect`] tells the peer himself.) What is posted on either queue completes,
    /// flushed at the latest, and stays on the queue for send_done and recv_done. The VI is idle then. Of an idle VI, or one that is
    /// only being connected, receives stay posted.
    ///
    /// # Errors
    /// The device's.
    pub fn disconnect(&self) -> Result<(), Error> {
        self.leave();
        self.idle()
    }

    /// The peer hears that the connection ends, and nobody connects it any more.
    pub(super) fn leave(&self) {
        if let Some(wire) = self.queues.nic.wire_if_begun() {
            // The VI is disconnected whatever becomes of the peer.
            let _ = wire.leave(self.name());
        }
    }

    /// What is left of [`Vi::disconnect`] when its peer knows.
    fn idle(&self) -> Result<(), Error> {
        let (mut sends, mut receives) = (self.queues.send.rest(), self.queues.receive.rest());
        match (self.queues.vi.state()?, sends.stage()) {
            (ViState::Idle, _) => {}
            // It never was connected, to its program: receives stay posted, as they do in an idle VI.
            (_, Stage::Held { receives: first }) => self.take_back(&mut sends, &mut receives, first)?,
            _ => self.flush(&mut sends, &mut receives)?,
        }
        // From now on the NIC gets what is posted.
        sends.enter(Stage::Open);
        Ok(())
    }

    /// Has the NIC complete everything, and makes the VI idle.
    fn make_idle(&self, sends: &Posted<D>, receives: &Posted<D>) -> Result<(), Error> {
        self.queues.vi.break_off()?;
        self.wait_complete(&[sends, receives])?;
        Ok(self.queues.vi.make_idle()?)
    }

    /// Completes everything and makes the VI idle.
    pub(super) fn flush(&self, sends: &mut Posted<D>, receives: &mut Posted<D>) -> Result<(), Error> {
        self.make_idle(sends, receives)?;
        // Both, whatever the first one says.
        let first = self.reset(Direction::Send, sends);
        first.and(self.reset(Direction::Receive, receives))
    }

    /// The NIC has forgotten a queue.
    pub(super) fn reset(&self, direction: Direction, posted: &mut Posted<D>) -> Result<(), Error> {
        self.flushed(direction, posted.reset(direction))
    }

    /// The library has completed descriptors in the NIC's place: those who wait hear of it as of any other.
    pub(super) fn flushed(&self, direction: Direction, count: usize) -> Result<(), Error> {
        match self.cq(direction) {
            _ if count == 0 => Ok(()),
            Some(cq) => cq.flushed(self.index(), self.id(), direction, count),
            None => {
                self.wake(direction);
                Ok(())
            }
        }
    }

    /// The agent may connect it from now on: see [`crate::connections::Endpoint::begin`].
    pub(crate) fn begin_connect(&self) -> Result<(), Error> {
        let mut sends = self.queues.send.rest();
        // Sends posted to an idle VI are flushed; the NIC is done with them before it starts anew.
        self.wait_complete(&[&sends])?;
        let receives = self.queues.receive.look().incomplete();
        sends.enter(Stage::Held { receives });
        Ok(())
    }

    /// The send queue is held no longer, if the agent has connected the VI. One thread may hear from the peer, and answer, before
    /// another hears that there is a connection.
    pub(super) fn release(&self, sends: &mut Posted<D>) -> Result<(), Error> {
        match sends.is_held() && self.queues.vi.state()? == ViState::Connected {
            true => self.open(sends),
            false => Ok(()),
        }
    }

    /// The NIC gets what is posted to the send queue of a VI that the agent has connected.
    fn open(&self, sends: &mut Posted<D>) -> Result<(), Error> {
        sends.enter(Stage::Open);
        // The send ring has started anew.
        self.reset(Direction::Send, sends)
    }

    /// The agent has connected it, or has not: see [`crate::connections::Endpoint::end`].
    pub(crate) fn end_connect(&self, connected: bool) -> Result<(), Error> {
        if connected {
            let mut sends = self.queues.send.rest();
            // Broken since, it is as one that was broken later. An idle one has been disconnected meanwhile.
            return match sends.is_held() && self.queues.vi.state()? != ViState::Idle {
                true => self.open(&mut sends),
                false => Ok(()),
            };
        }
        // It may have been connected, before it came to nothing.
        self.idle()
    }

    /// It was connected, before that came to nothing: it is idle again, and its receives are as they were. The other end may not
    /// have had the time to use any; those that it has used are complete. The receives before the number `first` were so when it began.
    fn take_back(&self, sends: &mut Posted<D>, receives: &mut Posted<D>, first: usize) -> Result<(), Error> {
        if let Some(cq) = &self.receive_cq {
            cq.hold(self.id())?;
        }
        let idle = self.make_idle(sends, receives);
        // Those that the NIC has flushed, here or when its agent has broken it, have entries; those that it did not get to have none.
        let flushed = receives.flushed(first);
        receives.reset(Direction::Receive);
        let told = self.receive_cq.as_ref().map_or(Ok(()), |cq| cq.release(self.index(), self.id(), flushed));
        idle.and(told)?;
        self.reset(Direction::Send, sends)?;
        self.queues.receive.restore(&self.queues.vi, receives, first)
    }

    /// Waits until the NIC has completed what is posted, or will not any more. A board needs microseconds: the thread looks for a moment before it sleeps.
    pub(super) fn wait_complete(&self, queues: &[&Posted<D>]) -> Result<(), Error> {
        let agent = self.queues.nic.agent();
        let start = Instant::now();
        while !queues.iter().all(|posted| posted.is_complete()) && start.elapsed() < FLUSH_LIMIT {
            // Where time passes in the device's calls alone, nothing comes of looks.
            if agent.polling() != Polling::Pause && start.elapsed() < AWAKE {
                spin_loop();
                continue;
            }
            agent.pause();
            agent.check()?;
        }
        Ok(())
    }
}

impl<D: Form> Endpoint for Vi<D> {
    fn name(&self) -> ViName {
        Self::name(self)
    }

    fn attributes(&self) -> RemoteAttributes {
        let attributes = self.attributes();
        RemoteAttributes {
            reliability_level: attributes.reliability_level,
            max_transfer_size: attributes.max_transfer_size,
            enable_rdma_write: attributes.enable_rdma_write,
            enable_rdma_read: attributes.enable_rdma_read,
            not_ready: attributes.not_ready,
        }
    }

    fn begin(&self) -> Result<(), Error> {
        self.begin_connect()
    }

    fn end(&self, connected: bool) -> Result<(), Error> {
        self.end_connect(connected)
    }

    fn disconnect(&self) -> Result<(), Error> {
        Self::disconnect(self)
    }
}
