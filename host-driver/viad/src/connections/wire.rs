//! Threads hear the wire, and send what the host sends, until they are stopped.

use std::{sync::atomic::Ordering, time::Duration};

use anyhow::Context;
use rustix::{
    event::{poll, PollFd, PollFlags},
    io::Errno,
};
use viaduct_driver::kernel_agent::AgentError;

use super::Connections;

/// How long the thread sleeps before it looks whether it is still wanted.
const SLICE: Duration = Duration::from_millis(100);
/// How long one waits before one looks again whether the raw channel has room.
const ROOM: Duration = Duration::from_micros(50);
/// Looks for it, before a frame is lost.
const ROOM_LOOKS: u32 = 2000;

impl Connections {
    /// Hears the wire until [`Connections::stop`].
    ///
    /// # Errors
    /// The device's: it is gone.
    pub fn run(&self) -> Result<(), AgentError> {
        while !self.stopped.load(Ordering::Relaxed) {
            let seen = self.connector.event_count();
            self.hand_out(&mut self.routes())?;
            if let Some(tap) = &self.tap {
                while let Some(frame) = self.connector.next_other() {
                    tap.send(&frame);
                }
            }
            self.connector.wait(seen, SLICE)?;
        }
        Ok(())
    }

    /// Sends what the host sends, until [`Connections::stop`]; nothing to do without an interface.
    ///
    /// # Errors
    /// The device's; the interface's, that of one that was deleted.
    pub fn run_tap(&self) -> anyhow::Result<()> {
        let Some(tap) = &self.tap else { return Ok(()) };
        while !self.stopped.load(Ordering::Relaxed) {
            let mut files = [
                PollFd::from_borrowed_fd(tap.as_fd(), PollFlags::IN),
                PollFd::new(&self.stop_tap, PollFlags::IN),
            ];
            match poll(&mut files, None) {
                Err(Errno::INTR) => continue,
                result => result?,
            };
            while let Some(frame) = tap.receive().context("the network interface")? {
                self.send(&frame)?;
                if self.stopped.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Sends a frame of the host's. The host is not faster than the wire: it waits for room, for a while.
    fn send(&self, frame: &[u8]) -> Result<(), AgentError> {
        for _ in 0..ROOM_LOOKS {
            match self.connector.send_other(frame) {
                Err(AgentError::RawFull) => std::thread::sleep(ROOM),
                // What is no frame is no frame of ours.
                Err(AgentError::Frame(_)) => return Ok(()),
                result => return result,
            }
        }
        Ok(())
    }
}
