//! A port of a NIC, at which one program waits and another one asks: their first words are the private data of the connection's messages.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{anyhow, bail, Context, Result};
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use vipl::{
    connections::{Connections, HostAddress, Incoming, NetAddress, RemoteAttributes, REJECT_ROOM},
    Error, Mac, Nic, Vi,
};

use super::Options;
use crate::stop::Stop;

/// What the private data of these programs begins with.
const MAGIC: [u8; 4] = *b"vdct";
/// How often a client asks a server that is not there yet.
const AGAIN: Duration = Duration::from_millis(50);
/// Most bytes of the reason for a refusal: what is left of the room behind magic, purpose and length.
const REASON: usize = REJECT_ROOM - MAGIC.len() - 1 - 2;

/// Which pair of commands a program belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// `viaduct send` and `viaduct receive`.
    Transfer,
    /// `viaduct perf`.
    Perf,
}

impl Purpose {
    /// What the server's program is called.
    fn server(self) -> &'static str {
        match self {
            Self::Transfer => "viaduct receive",
            Self::Perf => "viaduct perf",
        }
    }

    /// The private data that says this.
    fn encode(self, what: &impl Serialize) -> Result<Vec<u8>> {
        Ok(postcard::to_stdvec(&(MAGIC, self, what))?)
    }

    /// What private data says, if it is of a program with this purpose.
    fn decode<T: DeserializeOwned>(self, data: &[u8]) -> Option<T> {
        let (magic, purpose, what) = postcard::from_bytes::<([u8; 4], Self, T)>(data).ok()?;
        (magic == MAGIC && purpose == self).then_some(what)
    }
}

/// A port.
pub struct Port {
    connections: Arc<dyn Connections>,
    /// Our NIC.
    host: Mac,
    /// And the port.
    own: NetAddress,
    port: u16,
    purpose: Purpose,
    stop: Stop,
    timeout: Duration,
}

/// Somebody asks for this program. Dropping it refuses.
pub struct Request<T> {
    incoming: Box<dyn Incoming>,
    purpose: Purpose,
    /// What the client offers.
    pub offer: T,
}

impl Port {
    /// The port that the options name.
    ///
    /// # Errors
    /// The NIC's.
    pub fn new(nic: &Nic, options: &Options, purpose: Purpose, stop: &Stop) -> Result<Self> {
        let host = nic.attributes().local_nic_address;
        let port = options.port;
        Ok(Self {
            connections: nic.connections()?,
            host,
            own: address(host.into(), port),
            port,
            purpose,
            stop: stop.clone(),
            timeout: options.timeout(),
        })
    }

    /// The address of our NIC.
    pub fn host(&self) -> Mac {
        self.host
    }

    /// Waits for a client. Programs that are no such client are refused.
    ///
    /// # Errors
    /// A signal; another program waits at the port; the NIC's.
    pub fn wait<T: DeserializeOwned>(&self) -> Result<Request<T>> {
        loop {
            tracing::debug!(host = %self.own.host, port = self.port, "waits for a client");
            let asked = self.connections.wait(&self.own, None, &|| self.stop.check().is_err());
            self.stop.check()?;
            let incoming = asked.with_context(|| format!("waiting at port {}", self.port))?;
            match self.purpose.decode(incoming.data()) {
                Some(offer) => return Ok(Request { incoming, purpose: self.purpose, offer }),
                None => {
                    let from = incoming.remote().host;
                    eprintln!("{from} asks for something else than `{}`: refused", self.purpose.server());
                    let reason = format!("here waits `{}`", self.purpose.server());
                    // Whoever that was: it changes nothing here.
                    let _ = incoming.reject(&self.purpose.encode(&reason)?);
                }
            }
        }
    }

    /// Asks the server at `server` for a connection with `vi`, until it is there, and says what it answers.
    ///
    /// # Errors
    /// No such server in time; it refuses, and why; the NIC's.
    pub fn ask<A: DeserializeOwned>(
        &self,
        vi: &Vi,
        server: HostAddress,
        offer: &impl Serialize,
    ) -> Result<A> {
        let data = self.purpose.encode(offer)?;
        let (to, start) = (address(server, self.port), Instant::now());
        let place = format!("port {} of {server}", self.port);
        let program = self.purpose.server();
        let mut host_is_there = false;
        loop {
            self.stop.check()?;
            let left = self.timeout.saturating_sub(start.elapsed());
            let answer = self.connections.request(vi, &self.own, &to, &data, Some(left));
            if let Err(error) = &answer {
                tracing::debug!(%server, port = self.port, %error, "asked in vain");
            }
            match answer {
                Ok(answer) => {
                    let answer = self.purpose.decode(&answer.data);
                    return answer.with_context(|| {
                        format!("what waits at {place} does not answer as `{program}` does")
                    });
                }
                Err(Error::Rejected(data)) => match self.purpose.decode::<String>(&data) {
                    Some(reason) => bail!("the server at {place} refuses: {reason}"),
                    None => bail!("what waits at {place} refuses, and is not `{program}` of this version"),
                },
                Err(Error::NoMatch) => host_is_there = true,
                Err(Error::NotReachable(_) | Error::Timeout) => {}
                Err(error) => return Err(anyhow!(error).context(format!("asking {place}"))),
            }
            if start.elapsed() >= self.timeout {
                let nobody = match host_is_there {
                    true => "nobody waits there",
                    false => "no NIC with that address answers",
                };
                bail!("no `{program}` at {place} within {} s: {nobody}", self.timeout.as_secs());
            }
            std::thread::sleep(AGAIN);
        }
    }
}

impl<T> Request<T> {
    /// Who asks.
    pub fn from(&self) -> HostAddress {
        self.incoming.remote().host
    }

    /// What its VI has been created with.
    pub fn attributes(&self) -> RemoteAttributes {
        self.incoming.attributes()
    }

    /// Connects `vi` with the client's, and says this to it.
    ///
    /// # Errors
    /// The VI's attributes are not the client's; the client has given up; the NIC's.
    pub fn accept(&self, vi: &Vi, answer: &impl Serialize) -> Result<()> {
        let accepted = self.incoming.accept(vi, &self.purpose.encode(answer)?);
        accepted.with_context(|| format!("connecting with {}", self.from()))
    }

    /// Tells the client why there will be no connection. The same is the error that this program ends with.
    pub fn refuse(self, reason: String) -> anyhow::Error {
        let from = self.from();
        let mut end = reason.len().min(REASON);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        // A client that does not hear it finds that it is refused all the same.
        if let Ok(data) = self.purpose.encode(&&reason[..end]) {
            let _ = self.incoming.reject(&data);
        }
        anyhow!("{from} asked, and was refused: {reason}")
    }
}

/// A discriminator of two bytes is a port.
fn address(host: HostAddress, port: u16) -> NetAddress {
    NetAddress { host, discriminator: port.to_be_bytes().to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_data_is_understood_by_the_same_purpose_alone() {
        let data = Purpose::Perf.encode(&(7u32, "seven")).expect("encoded");
        assert_eq!(Purpose::Perf.decode(&data), Some((7u32, "seven".to_owned())));
        assert_eq!(Purpose::Transfer.decode::<(u32, String)>(&data), None);
        for length in 0..data.len() {
            assert_eq!(Purpose::Perf.decode::<(u32, String)>(&data[..length]), None, "{length} bytes");
        }
        let mut other = data;
        other[0] ^= 1;
        assert_eq!(Purpose::Perf.decode::<(u32, String)>(&other), None);
    }

    #[test]
    fn the_longest_reason_fits_a_rejection() {
        let data = Purpose::Perf.encode(&"x".repeat(REASON)).expect("encoded");
        assert_eq!(data.len(), REJECT_ROOM);
    }
}
