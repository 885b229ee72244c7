//! Two ends of a channel connect VIs through it.

use std::io::{Read, Write};

use viaduct_driver::address::ConnectionInfo;

use super::Vi;
use crate::{form::Form, Error};

/// The longest line that a peer may say while a connection is made.
const MAX_LINE: usize = 4096;
/// What each end says when it is ready to receive.
const READY: &str = "ready";

impl<D: Form> Vi<D> {
    /// Connects to the peer at the other end of a channel, which does the same: each says who it is,
    /// connects, and waits until the other has connected. Time-outs are the channel's.
    pub fn connect_through(&self, channel: &mut (impl Read + Write)) -> Result<(), Error> {
        say(channel, &self.connection_info().to_json())?;
        let line = hear(channel)?;
        let peer = ConnectionInfo::from_json(&line).map_err(|_| Error::Peer(line))?;
        self.connect(&peer)?;
        say(channel, READY)?;
        match hear(channel)? {
            line if line == READY => Ok(()),
            line => Err(Error::Peer(line)),
        }
    }
}

/// Says one line on a channel.
fn say(channel: &mut impl Write, line: &str) -> Result<(), Error> {
    channel.write_all(format!("{line}\n").as_bytes())?;
    Ok(channel.flush()?)
}

/// Hears one line, byte by byte: what comes after it is not ours.
fn hear(channel: &mut impl Read) -> Result<String, Error> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        channel.read_exact(&mut byte)?;
        if byte == *b"\n" {
            return String::from_utf8(line).map_err(|e| Error::Peer(e.to_string()));
        }
        if line.len() >= MAX_LINE {
            return Err(Error::Peer(String::from_utf8_lossy(&line).into()));
        }
        line.push(byte[0]);
    }
}
