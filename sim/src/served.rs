//! A live network behind its sockets: one for each NIC, one for each port to the outside, and the one for control.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use crate::control;
use crate::directory::{nic_socket, port_socket, Directory, DirectoryError, CONTROL};
use crate::live::{Handle, Live};
use crate::network::Network;
use crate::{port_server, vfio_user};

/// A network whose sockets are open. What drops it stops it, and takes the sockets away.
#[derive(Debug)]
pub struct Served {
    handle: Handle,
    directory: Directory,
    running: Option<JoinHandle<Network>>,
}

/// Sockets that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The folder is not to be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// No thread can be started.
    #[error("a socket cannot be served: {0}")]
    Thread(#[from] io::Error),
}

impl Served {
    /// Opens the sockets in this folder. They are answered while the live network runs. `pcap` is the capture that the control socket tells of.
    ///
    /// # Errors
    /// The folder is somebody else's, another simulator's, or the system refuses.
    pub fn open(network: Network, folder: &Path, pcap: Option<PathBuf>) -> Result<(Live, Self), ServedError> {
        let mut directory = Directory::open(folder)?;
        let (live, handle) = Live::new(network);
        for nic in 0..handle.nics() {
            vfio_user::serve(directory.listen(&nic_socket(nic))?, nic, handle.clone())?;
        }
        for port in 0..handle.ports() {
            port_server::serve(directory.listen(&port_socket(port))?, port, handle.clone())?;
        }
        control::serve(directory.listen(CONTROL)?, handle.clone(), pcap)?;
        Ok((live, Self { handle, directory, running: None }))
    }

    /// The same, and runs the network on a thread of its own.
    ///
    /// # Errors
    /// As [`Served::open`].
    pub fn start(network: Network, folder: &Path) -> Result<Self, ServedError> {
        let (live, mut served) = Self::open(network, folder, None)?;
        let running = std::thread::Builder::new().name("network".into()).spawn(|| live.run())?;
        served.running = Some(running);
        Ok(served)
    }

    /// The network's.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The folder of the sockets.
    pub fn folder(&self) -> &Path {
        self.directory.path()
    }

    /// A NIC's socket.
    pub fn socket(&self, nic: usize) -> PathBuf {
        self.folder().join(nic_socket(nic))
    }

    /// The socket of a port for a peer outside.
    pub fn port(&self, port: usize) -> PathBuf {
        self.folder().join(port_socket(port))
    }

    /// A NIC's name for those who open it.
    pub fn name(&self, nic: usize) -> String {
        format!("vfio-user:{}", self.socket(nic).display())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(running) = self.running.take() {
            // A panic of the network's has been told on standard error already.
            drop(running.join());
        }
    }
}
