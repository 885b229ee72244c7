//! What the library needs of a connection manager: VIA's client/server and peer models (VipConnectWait and those after it).

//!
//! Programs may send some bytes of their own along, *private data*: with a request, with its acceptance, with its rejection. That is an
//! extension beside VIPL, whose calls have no place for it. It is delivered when the connection's message is, and costs no message
//! of its own. A request has room for [`request_room`] bytes, an acceptance for [`ACCEPT_ROOM`], a rejection for [`REJECT_ROOM`].

pub(crate) mod wire;

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use viaduct_driver::{
    address::Mac,
    cm::{
        manager::{REJ_ROOM, REP_ROOM},
        NotReady,
    },
    kernel_agent::ViName,
};
use viaduct_spec::cm::{rdma_cm, via};

pub use self::wire::{ConnectionEvent, ConnectionQueue, ConnectionRequest, Listener, QueueListener};
pub use crate::host_address::{HostAddress, NoHostAddress};
use crate::{Error, ReliabilityLevel};
/// VIP_NIC_ATTRIBUTES.MaxDiscriminatorLen: with the address of a NIC it fits the 40 bytes that programs give a VIP_NET_ADDRESS.
pub use viaduct_spec::cm::MAX_DISCRIMINATOR;

/// Most bytes of private data with an acceptance.
pub const ACCEPT_ROOM: usize = REP_ROOM;
/// Most bytes of private data with a rejection.
pub const REJECT_ROOM: usize = REJ_ROOM;
/// Most bytes of private data with a request whose discriminators have none: they share the room.
pub const REQUEST_ROOM: usize = 92 - rdma_cm::BYTES - via::BYTES;

/// Bytes of private data that a request from one address to another has room for.
pub fn request_room(local: &NetAddress, remote: &NetAddress) -> usize {
    REQUEST_ROOM.saturating_sub(local.discriminator.len() + remote.discriminator.len())
}

/// The address of an endpoint (VIP_NET_ADDRESS).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NetAddress {
    /// The NIC's.
    pub host: HostAddress,
    /// Tells the endpoints of the NIC apart; up to [`MAX_DISCRIMINATOR`] bytes. Those of different lengths differ.
    pub discriminator: Vec<u8>,
}

/// What a VI tells its peer of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteAttributes {
    /// Reliability level.
    pub reliability_level: ReliabilityLevel,
    /// Largest message in bytes.
    pub max_transfer_size: u32,
    /// Its peer may write.
    pub enable_rdma_write: bool,
    /// Its peer may read.
    pub enable_rdma_read: bool,
    /// What it does when a message of its peer's finds no receive.
    pub not_ready: NotReady,
}

/// What the other side has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The attributes of its VI.
    pub attributes: RemoteAttributes,
    /// Its private data.
    pub data: Vec<u8>,
}

/// A VI, as a connection manager sees it.
pub trait Endpoint: Send + Sync {
    /// What its agent calls it.
    fn name(&self) -> ViName;
    /// What its peer is told.
    fn attributes(&self) -> RemoteAttributes;
    /// The agent may connect it from now on: the NIC has nothing of its send queue, and gets nothing. What is posted to it is
    /// flushed, as in any state but Connected.
    ///
    /// # Errors
    /// The device's.
    fn begin(&self) -> Result<(), Error>;
    /// The agent has connected it, both ends are ready, and it may send; or it has not, and the VI is idle.
    ///
    /// # Errors
    /// The device's.
    fn end(&self, connected: bool) -> Result<(), Error>;
    /// Ends its connection, or the attempt at one, as [`crate::Vi::disconnect`] does.
    ///
    /// # Errors
    /// The device's.
    fn disconnect(&self) -> Result<(), Error>;
}

/// What stands for an endpoint is one.
macro_rules! endpoint {
    ($($pointer:ty),*) => {$(
        impl<E: Endpoint + ?Sized> Endpoint for $pointer {
            fn name(&self) -> ViName {
                (**self).name()
            }

            fn attributes(&self) -> RemoteAttributes {
                (**self).attributes()
            }

            fn begin(&self) -> Result<(), Error> {
                (**self).begin()
            }

            fn end(&self, connected: bool) -> Result<(), Error> {
                (**self).end(connected)
            }

            fn disconnect(&self) -> Result<(), Error> {
                (**self).disconnect()
            }
        }
    )*};
}

endpoint!(&E, Arc<E>);

/// Makes the connections of one NIC, which [`crate::Vi::disconnect`] ends. It sleeps in its calls, which may come from any thread. Time-outs: None is for ever.
pub trait Connections: Send + Sync {
    /// The NIC at `host` has this IPv4 address: a hosts file says so. What nobody told is asked for on the wire.
    fn learn(&self, host: Mac, ip: Ipv4Addr);

    /// Waits until somebody asks for `local` (VipConnectWait), or until `give_up` says so.
    ///
    /// # Errors
    /// [`Error::Timeout`]; the device's.
    fn wait(
        &self,
        local: &NetAddress,
        timeout: Option<Duration>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Box<dyn Incoming>, Error>;

    /// Hears all who ask for `local`, until the listener is dropped. So many requests may wait to be decided on, and more are refused.
    ///
    /// # Errors
    /// [`Error::Backlog`]; a discriminator that is too long, or another user's; too many listen.
    fn listen(&self, local: &NetAddress, backlog: u32) -> Result<Listener, Error>;

    /// How many connections the connection manager has not forgotten. With the agent in this process these are all of the NIC's; behind a viad they are all of
    /// this user's. One that is over counts for ten seconds more, or for half a minute if the peer answers nothing: the peer may still send something
    /// about it.
    ///
    /// # Errors
    /// The device's.
    fn count(&self) -> Result<u32, Error>;

    /// A queue of connections that nobody waits for: their events are taken from it.
    fn queue(&self) -> ConnectionQueue;

    /// Asks whoever waits at `remote` for a connection with `vi`, and waits for the answer (VipConnectRequest). When it returns
    /// without an error the VI is connected.
    ///
    /// # Errors
    /// [`Error::NoMatch`], promptly, when nobody waits there; [`Error::Rejected`], with the other side's private data;
    /// [`Error::Timeout`]; [`Error::NotReachable`]; [`Error::PrivateData`]. The VI is idle then.
    fn request(
        &self,
        vi: &dyn Endpoint,
        local: &NetAddress,
        remote: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
    ) -> Result<Answer, Error>;

    /// Asks for a connection with a peer that asks for one with us, and does not wait (VipConnectPeerRequest). Each gets the other's
    /// private data.
    ///
    /// # Errors
    /// [`Error::PrivateData`]; the device's.
    fn peer_request(
        &self,
        vi: Arc<dyn Endpoint>,
        local: &NetAddress,
        remote: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
    ) -> Result<Arc<dyn PeerRequest>, Error>;
}

/// Somebody asks for a connection (VIP_CONN_HANDLE). Dropping it rejects.
pub trait Incoming: Send + Sync {
    /// Who asks: by its Ethernet address.
    fn remote(&self) -> NetAddress;
    /// The IPv4 address of who asks.
    fn remote_ip(&self) -> Ipv4Addr;
    /// The attributes of its VI.
    fn attributes(&self) -> RemoteAttributes;
    /// Its private data.
    fn data(&self) -> &[u8];
    /// Connects `vi`, whose attributes fit, with it (VipConnectAccept). When it returns without an error the VI is connected.
    ///
    /// # Errors
    /// Level or MaxTransferSize that differ: the other side hears nothing, and one may try again. [`Error::Timeout`]: the other
    /// side has given up. [`Error::PrivateData`]: nothing was done.
    fn accept(&self, vi: &dyn Endpoint, data: &[u8]) -> Result<(), Error>;
    /// Does not want it (VipConnectReject).
    ///
    /// # Errors
    /// [`Error::PrivateData`]: it is rejected without. The device's.
    fn reject(self: Box<Self>, data: &[u8]) -> Result<(), Error>;
}

/// A peer request on its way. Dropping its last clone withdraws it, and leaves the VI idle.
pub trait PeerRequest: Send + Sync {
    /// How it ended, if it has (VipConnectPeerDone). It never blocks, also while another thread waits.
    ///
    /// # Errors
    /// [`Error::NotDone`]; those of [`Connections::request`] but [`Error::NoMatch`].
    fn done(&self) -> Result<Answer, Error>;
    /// Waits until it has ended, or its time is up (VipConnectPeerWait).
    ///
    /// # Errors
    /// As [`PeerRequest::done`], and [`Error::Timeout`].
    fn wait(&self) -> Result<Answer, Error>;
}
