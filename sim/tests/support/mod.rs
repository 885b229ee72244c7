//! What the tests of the sockets share.

pub mod client;
pub mod scripted;

use std::ops::Deref;

use viaduct_sim::network::Network;
use viaduct_sim::served::Served;

/// A live network with its sockets, in a folder of its own.
pub struct Simulator {
    served: Served,
    _folder: tempfile::TempDir,
}

impl Simulator {
    pub fn start(network: Network) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { served: Served::start(network, &folder.path().join("sockets")).unwrap(), _folder: folder }
    }
}

impl Deref for Simulator {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}
