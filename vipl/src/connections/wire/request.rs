//! Who asks for a connection, as a connection queue tells it.

use std::{net::Ipv4Addr, sync::Arc};

use super::{asked::Asked, attempt::Attempt, members::Inner};
use crate::{
    connections::{Answer, Endpoint, Incoming, NetAddress, RemoteAttributes},
    Error,
};

/// Somebody asks for a connection. Dropping it rejects.
pub struct ConnectionRequest {
    pub(super) queue: Arc<Inner>,
    pub(super) context: u64,
    pub(super) asked: Asked,
}

impl ConnectionRequest {
    /// The program's word for the listener that got it.
    pub fn context(&self) -> u64 {
        self.context
    }

    /// Who asks.
    pub fn remote(&self) -> NetAddress {
        self.asked.remote()
    }

    /// The IPv4 address of who asks.
    pub fn remote_ip(&self) -> Ipv4Addr {
        self.asked.remote_ip()
    }

    /// The attributes of its VI.
    pub fn attributes(&self) -> RemoteAttributes {
        self.asked.attributes()
    }

    /// Its private data.
    pub fn data(&self) -> &[u8] {
        self.asked.data()
    }

    /// Accepts it with an idle VI, whose attributes fit. [`ConnectionEvent::Connected`](crate::connections::ConnectionEvent::Connected) says when its messages may be sent; it may receive from now on.
    ///
    /// # Errors
    /// As [`Incoming::accept`]: after [`Error::Rejected`] and [`Error::PrivateData`] the other side has heard nothing, and one may try again.
    pub fn accept(&self, vi: Arc<dyn Endpoint>, data: &[u8], context: u64) -> Result<(), Error> {
        let mut members = self.queue.members();
        self.asked.begin_accept(&vi, data)?;
        let answer = Answer { attributes: self.asked.attributes(), data: Vec::new() };
        let attempt = Attempt::accepted(&self.queue.wire, vi, self.asked.id, answer);
        self.queue.keep(&mut members, context, attempt);
        Ok(())
    }

    /// Rejects it.
    ///
    /// # Errors
    /// As [`Incoming::reject`].
    pub fn reject(self, data: &[u8]) -> Result<(), Error> {
        Box::new(self.asked).reject(data)
    }

    /// It is accepted or rejected by calls that wait.
    pub fn into_incoming(self) -> Box<dyn Incoming> {
        Box::new(self.asked)
    }
}

impl std::fmt::Debug for ConnectionRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionRequest").field("remote", &self.remote()).finish_non_exhaustive()
    }
}
