//! The folder that holds a simulator's sockets: the user's own, and one simulator's at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use rustix::process::geteuid;

/// Name of the control socket.
pub const CONTROL: &str = "control.sock";
const LOCK: &str = "lock";
/// Name of a socket until it listens.
const BINDING: &str = "binding";

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It is somebody else's, or others may write to it.
    #[error(
        "{path} is not a folder of this user's alone: it needs owner {uid} and no write access for others"
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Who we are.
        uid: u32,
    },
    /// Another simulator uses it.
    #[error("another simulator serves {0}: stop it, or choose another folder with --dir")]
    InUse(PathBuf),
    /// The system refused.
    #[error("{path}: {source}")]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The folder, while this simulator uses it.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    sockets: Vec<PathBuf>,
    _lock: File,
}

/// Name of a NIC's socket.
pub fn nic_socket(nic: usize) -> String {
    format!("nic{nic}.sock")
}

/// Name of the socket of a port for a peer outside.
pub fn port_socket(port: usize) -> String {
    format!("port{port}.sock")
}

/// Where the sockets are unless somebody says otherwise: `$XDG_RUNTIME_DIR/viaduct`, or
/// `/tmp/viaduct-UID`.
pub fn default_path() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_absolute()) {
        Some(runtime) => Path::new(&runtime).join("viaduct"),
        None => PathBuf::from(format!("/tmp/viaduct-{}", geteuid().as_raw())),
    }
}

impl Directory {
    /// Makes the folder if it is not there, and takes it.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let system = |path: &Path| {
            let path = path.to_owned();
            move |source| DirectoryError::System { path, source }
        };
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(system(path)(error)),
            _ => {}
        }
        // Not through a link: in /tmp anybody could have put one there.
        let found = fs::symlink_metadata(path).map_err(system(path))?;
        let uid = geteuid().as_raw();
        if !found.is_dir() || found.uid() != uid || found.mode() & 0o022 != 0 {
            return Err(DirectoryError::NotOurs { path: path.to_owned(), uid });
        }
        let lock_path = path.join(LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock_path);
        let lock = lock.map_err(system(&lock_path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| DirectoryError::InUse(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), sockets: Vec::new(), _lock: lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Listens on a socket in the folder. One that a simulator has left behind is replaced, if
    /// nobody answers on it. Whoever sees the socket can connect to it: it has its name only once it listens.
    pub fn listen(&mut self, name: &str) -> Result<UnixListener, DirectoryError> {
        let path = self.path.join(name);
        let system = |source| DirectoryError::System { path: path.clone(), source };
        if fs::symlink_metadata(&path).is_ok() {
            if UnixStream::connect(&path).is_ok() {
                return Err(DirectoryError::InUse(self.path.clone()));
            }
            fs::remove_file(&path).map_err(system)?;
        }
        // `bind` makes the file, and `listen` comes after it: a client between the two would be refused.
        let unnamed = self.path.join(BINDING);
        match fs::remove_file(&unnamed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(system(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&unnamed).map_err(system)?;
        fs::set_permissions(&unnamed, Permissions::from_mode(0o600)).map_err(system)?;
        fs::rename(&unnamed, &path).map_err(system)?;
        self.sockets.push(path.clone());
        Ok(listener)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        for socket in &self.sockets {
            // It may be gone already.
            let _ = fs::remove_file(socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_private_and_go_with_the_simulator() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("sockets");
        let mut directory = Directory::open(&path).unwrap();
        let _listener = directory.listen("nic0.sock").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("nic0.sock"))), (0o700, 0o600));
        drop(directory);
        assert!(!path.join("nic0.sock").exists());
    }

    #[test]
    fn two_simulators_do_not_share_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("sockets");
        let first = Directory::open(&path).unwrap();
        assert!(matches!(Directory::open(&path), Err(DirectoryError::InUse(_))));
        drop(first);
        Directory::open(&path).unwrap();
    }

    #[test]
    fn stale_sockets_are_replaced_and_live_ones_are_not() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o700)).unwrap();
        let mut directory = Directory::open(root.path()).unwrap();
        drop(UnixListener::bind(root.path().join("nic0.sock")).unwrap());
        directory.listen("nic0.sock").unwrap();
        let _live = UnixListener::bind(root.path().join("nic1.sock")).unwrap();
        assert!(matches!(directory.listen("nic1.sock"), Err(DirectoryError::InUse(_))));
    }

    #[test]
    fn whoever_sees_a_socket_can_connect_to_it() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o700)).unwrap();
        let mut directory = Directory::open(root.path()).unwrap();
        for round in 0..1000 {
            let name = nic_socket(round);
            let path = root.path().join(&name);
            let client = std::thread::spawn(move || {
                while !path.exists() {}
                UnixStream::connect(&path).map(drop)
            });
            let _listener = directory.listen(&name).unwrap();
            client.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("open");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Directory::open(&path), Err(DirectoryError::NotOurs { .. })));
        let link = root.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert!(matches!(Directory::open(&link), Err(DirectoryError::NotOurs { .. })));
    }
}
