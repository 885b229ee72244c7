//! A file whose bytes never come: that of a file system in user space, which answers everything but reads.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Read, Write},
    os::fd::AsRawFd,
    path::Path,
};

/// Bytes of the file.
pub const BYTES: u64 = 1 << 20;
/// Of a request's header, and of a reply's.
const HEADER: usize = 40;
const ROOT: u64 = 1;

mod operation {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const RELEASE: u32 = 18;
    pub const INIT: u32 = 26;
}

/// Serves a file system with one such file, in a mount namespace of this thread's own, and opens the file there. Its server is a process, which
/// ends with this thread, or [`Server`].
///
/// # Errors
/// The system's: no /dev/fuse, no right to mount.
pub fn open(folder: &Path) -> io::Result<(File, Server)> {
    let device = File::options().read(true).write(true).open("/dev/fuse")?;
    let text = |text: String| CString::new(text).map_err(io::Error::other);
    let folder_text = text(folder.display().to_string())?;
    let options = text(format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd()))?;
    let done = |result: i32| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: system calls with strings that outlive them.
    unsafe {
        done(libc::unshare(libc::CLONE_NEWNS))?;
        let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
        done(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
        let options = options.as_ptr().cast();
        done(libc::mount(
            c"silent".as_ptr(),
            folder_text.as_ptr(),
            c"fuse".as_ptr(),
            libc::MS_NOSUID,
            options,
        ))?;
    }
    // A process of its own: one that waits for its own memory ends badly.
    // SAFETY: the child serves, and ends without running anything of the parent's.
    let server = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: it ends with this thread.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            serve(&device);
            // SAFETY: ending is always allowed.
            unsafe { libc::_exit(0) }
        }
        server => Server { folder: folder_text, process: server },
    };
    drop(device);
    let file = File::options().read(true).write(true).open(folder.join("silent"))?;
    Ok((file, server))
}

/// The file system; when it is dropped, all that waits for it fails.
pub struct Server {
    folder: CString,
    /// Its process.
    pub process: libc::pid_t,
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: our own child, and a string that outlives the call.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            libc::waitpid(self.process, std::ptr::null_mut(), 0);
            libc::umount2(self.folder.as_ptr(), libc::MNT_FORCE | libc::MNT_DETACH);
        }
    }
}

fn serve(device: &File) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = (&*device).read(&mut request) {
        let request = &request[..length];
        if length < HEADER {
            return;
        }
        let word =
            |at: usize| u32::from_le_bytes([request[at], request[at + 1], request[at + 2], request[at + 3]]);
        let unique = &request[8..16];
        let node = u64::from(word(16));
        let (error, body) = match word(4) {
            operation::INIT => (0, words(&[7, 31, 0, 0, 0, 4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            operation::LOOKUP => {
                let entry = [words(&[2, 0, 0, 0, 1000, 0, 1000, 0, 0, 0]), attributes(2)].concat();
                (0, entry)
            }
            operation::GETATTR => (0, [words(&[1000, 0, 0, 0]), attributes(node)].concat()),
            operation::OPEN => (0, words(&[1, 0, 0, 0])),
            operation::RELEASE => (0, Vec::new()),
            operation::FORGET | operation::READ => continue,
            _ => (-libc::ENOSYS, Vec::new()),
        };
        let mut reply = words(&[(16 + body.len()) as u32, error as u32]);
        reply.extend_from_slice(unique);
        reply.extend_from_slice(&body);
        if (&*device).write_all(&reply).is_err() {
            return;
        }
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = if node == ROOT { (0o040_755, 0) } else { (0o100_666, BYTES as u32) };
    let numbers = words(&[node as u32, 0, size, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    [numbers, words(&[mode, 1, 0, 0, 0, 4096, 0])].concat()
}
