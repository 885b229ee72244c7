//! What the tests of the sockets share.

pub mod client;
pub mod scripted;

use std::path::PathBuf;

use viaduct_sim::directory::{nic_socket, Directory};
use viaduct_sim::live::{Handle, Live};
use viaduct_sim::network::Network;
use viaduct_sim::vfio_user::serve;

/// A live network with its sockets.
pub struct Simulator {
    pub handle: Handle,
    directory: Directory,
    _folder: tempfile::TempDir,
}

impl Simulator {
    pub fn start(network: Network) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = Directory::open(&folder.path().join("sockets")).unwrap();
        let (live, handle) = Live::new(network);
        std::thread::spawn(|| live.run());
        for nic in 0..handle.nics() {
            serve(directory.listen(&nic_socket(nic)).unwrap(), nic, handle.clone()).unwrap();
        }
        Self { handle, directory, _folder: folder }
    }

    pub fn socket(&self, nic: usize) -> PathBuf {
        self.directory.path().join(nic_socket(nic))
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.handle.stop();
    }
}
