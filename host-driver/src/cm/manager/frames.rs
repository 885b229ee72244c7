//! Frames of the connection manager: those that have come, and what is sent.
//!
//! Frames to this NIC itself never leave: no network carries them back. The manager hears them behind each call
//! ([`Manager::hear_own_frames`]).

use std::time::Duration;

use super::{
    super::{
        arp::Arp,
        datagram::Datagram,
        mad::Mad,
        message::Message,
        wrong::{need, Wrong},
    },
    Manager,
};

/// Frames to ourselves that are taken in a call; more wait for the next tick.
const OWN_FRAMES: usize = 64;

/// What [`Manager::frame`] made of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It was about a connection.
    Connection,
    /// It was ARP's: others may want it too.
    Arp,
    /// It is nothing for the manager.
    Other,
    /// It was for the manager, and wrong.
    Wrong(Wrong),
}

impl Manager {
    /// A frame has come.
    pub fn frame(&mut self, frame: &[u8], now: Duration) -> Heard {
        let heard = match self.hear(frame, now) {
            Ok(heard) => heard,
            Err(wrong) => {
                self.counts.wrong += 1;
                Heard::Wrong(wrong)
            }
        };
        self.hear_own_frames(now);
        heard
    }

    /// The next frame that is to be sent.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        self.outbox.next()
    }

    /// Hands a frame to whom it is for, if it is for the manager and right.
    fn hear(&mut self, frame: &[u8], now: Duration) -> Result<Heard, Wrong> {
        if let Some(arp) = Arp::decode(frame)? {
            self.hear_arp(&arp, now);
            return Ok(Heard::Arp);
        }
        let Some(datagram) = Datagram::decode(frame)? else { return Ok(Heard::Other) };
        let Datagram { target, source, pkey, .. } = datagram;
        let rule = "our address";
        need(target.ip == self.config.own.ip, "the IPv4 target", u32::from(target.ip), rule)?;
        let is_one = !(source.ip.is_unspecified() || source.ip.is_broadcast() || source.ip.is_multicast());
        need(is_one, "the IPv4 source", u32::from(source.ip), "the address of one host")?;
        let rule = "the address of one NIC";
        need(source.mac.is_unicast(), "the Ethernet source", source.mac.0[0], rule)?;
        let same = (pkey ^ self.config.pkey) & 0x7fff == 0;
        need(same, "the P_Key", pkey, "ours, apart from the membership bit")?;
        let mad = Mad::decode(&datagram.mad)?;
        self.hear_mad(source, &mad, now)?;
        Ok(Heard::Connection)
    }

    /// Sends a message to the other end of a connection, if there is one to send.
    pub(super) fn send_some(&mut self, id: u32, message: Option<Message>) {
        if let Some(message) = message {
            self.send(id, &message);
        }
    }

    /// Sends a message to the other end of a connection.
    pub(super) fn send(&mut self, id: u32, message: &Message) {
        let Some(connection) = self.connections.get(&id) else { return };
        if let Some(host) = connection.host {
            self.outbox.message(connection.party, host, connection.transaction, message);
        }
    }

    /// Hears what we have sent to ourselves.
    pub(super) fn hear_own_frames(&mut self, now: Duration) {
        for _ in 0..OWN_FRAMES {
            let Some(frame) = self.outbox.next_looped() else { return };
            if self.hear(&frame, now).is_err() {
                self.counts.wrong += 1;
            }
        }
    }
}
