//! What the library needs of a connection manager: VIA's client/server and peer models (VipConnectWait and those after it).

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use viaduct_driver::{address::Mac, kernel_agent::ViName};

use crate::{form::Form, Error, Nic, ReliabilityLevel, Vi};

/// Longest discriminator in bytes (VIP_NIC_ATTRIBUTES.MaxDiscriminatorLen): with the address of a NIC it fits the 40 bytes that
/// programs give a VIP_NET_ADDRESS.
pub const MAX_DISCRIMINATOR: usize = 22;

/// The address of an endpoint (VIP_NET_ADDRESS).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NetAddress {
    /// The NIC's.
    pub host: Mac,
    /// Tells the endpoints of the NIC apart; up to [`MAX_DISCRIMINATOR`] bytes. Those of different lengths differ.
    pub discriminator: Vec<u8>,
}

/// What a VI tells its peer of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAttributes {
    /// Reliability level.
    pub reliability_level: ReliabilityLevel,
    /// Largest message in bytes.
    pub max_transfer_size: u32,
    /// Its peer may write.
    pub enable_rdma_write: bool,
    /// Its peer may read.
    pub enable_rdma_read: bool,
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
        }
    }

    fn begin(&self) -> Result<(), Error> {
        self.begin_connect()
    }

    fn end(&self, connected: bool) -> Result<(), Error> {
        self.end_connect(connected)
    }
}

/// Makes and ends the connections of one NIC. It sleeps in its calls, which may come from any thread. Time-outs: None is for ever.
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

    /// Asks whoever waits at `remote` for a connection with `vi`, and waits for the answer (VipConnectRequest). When it returns
    /// without an error the VI is connected.
    ///
    /// # Errors
    /// [`Error::NoMatch`], promptly, when nobody waits there; [`Error::Rejected`]; [`Error::Timeout`];
    /// [`Error::NotReachable`]. The VI is idle then.
    fn request(
        &self,
        vi: &dyn Endpoint,
        local: &NetAddress,
        remote: &NetAddress,
        timeout: Option<Duration>,
    ) -> Result<RemoteAttributes, Error>;

    /// Asks for a connection with a peer that asks for one with us, and does not wait (VipConnectPeerRequest).
    ///
    /// # Errors
    /// The device's.
    fn peer_request(
        &self,
        vi: &dyn Endpoint,
        local: &NetAddress,
        remote: &NetAddress,
        timeout: Option<Duration>,
    ) -> Result<Arc<dyn PeerRequest>, Error>;

    /// Ends the connection of `vi`, which the peer is told, or the attempt at one: a call that is under way ends with
    /// [`Error::State`]. The VI itself is disconnected by the caller, after.
    ///
    /// # Errors
    /// The device's.
    fn disconnect(&self, vi: &dyn Endpoint) -> Result<(), Error>;
}

/// Somebody asks for a connection (VIP_CONN_HANDLE). Dropping it rejects.
pub trait Incoming: Send + Sync {
    /// Who asks.
    fn remote(&self) -> NetAddress;
    /// The attributes of its VI.
    fn attributes(&self) -> RemoteAttributes;
    /// Connects `vi`, whose attributes fit, with it (VipConnectAccept). When it returns without an error the VI is connected.
    ///
    /// # Errors
    /// Level or MaxTransferSize that differ: the other side hears nothing, and one may try again. [`Error::Timeout`]: the other
    /// side has given up.
    fn accept(&self, vi: &dyn Endpoint) -> Result<(), Error>;
    /// Does not want it (VipConnectReject).
    ///
    /// # Errors
    /// The device's.
    fn reject(self: Box<Self>) -> Result<(), Error>;
}

/// A peer request on its way. Dropping its last clone withdraws it.
pub trait PeerRequest: Send + Sync {
    /// How it ended, if it has (VipConnectPeerDone). It never blocks, also while another thread waits.
    ///
    /// # Errors
    /// [`Error::NotDone`]; those of [`Connections::request`] but [`Error::NoMatch`].
    fn done(&self, vi: &dyn Endpoint) -> Result<RemoteAttributes, Error>;
    /// Waits until it has ended, or its time is up (VipConnectPeerWait).
    ///
    /// # Errors
    /// As [`PeerRequest::done`], and [`Error::Timeout`].
    fn wait(&self, vi: &dyn Endpoint) -> Result<RemoteAttributes, Error>;
}

impl Nic {
    /// Its connection manager.
    ///
    /// # Errors
    /// The device's, when it is begun.
    pub fn connections(&self) -> Result<Arc<dyn Connections>, Error> {
        Ok(Arc::new(self.wire()?))
    }
}
