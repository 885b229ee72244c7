//! A network interface of the host's: a TAP device. What the host's TCP/IP sends there is read here, frame by frame, and what is written here
//! the host receives.
//!
//! ```text
//!   host's TCP/IP -- TAP -- viad -- raw channel -- a NIC's wire
//!                      `--- viaduct sim tap -- a port of the simulator's switch
//! ```
//!
//! It is as good as a wire: what finds no room is dropped.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
};

use rustix::net::{socket_with, AddressFamily, SocketFlags, SocketType};

use super::LONGEST;
use crate::address::Mac;

/// Where TAP devices are made.
const DEVICE: &str = "/dev/net/tun";

/// The interface. It goes when this is dropped.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
}

/// Why there is no interface.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// No interface can have this name.
    #[error("{0:?} is no name of a network interface: 1 to 15 letters and digits")]
    Name(String),
    /// The kernel has no TAP devices, or this user may not open them.
    #[error("{DEVICE} (TAP devices: the kernel's module tun)")]
    Device(#[source] io::Error),
    /// The kernel does not make it.
    #[error("making it needs CAP_NET_ADMIN")]
    Make(#[source] io::Error),
    /// The kernel does not give it its address, or does not bring it up.
    #[error("setting it up needs CAP_NET_ADMIN")]
    SetUp(#[source] io::Error),
}

/// A request about the interface of a name.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: numbers, and a name: all zeros is one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

/// Asks the kernel.
fn ask(file: BorrowedFd<'_>, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: each of these requests reads and writes one `ifreq`.
    match unsafe { libc::ioctl(file.as_raw_fd(), what as _, std::ptr::from_mut(request)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Tap {
    /// Makes the interface, gives it this Ethernet address, or leaves it the kernel's choice, and brings it up. Its IP addresses are the
    /// administrator's to set.
    ///
    /// # Errors
    /// No name of an interface; no TAP devices in this kernel; no right to make one.
    pub fn open(name: &str, mac: Option<Mac>) -> Result<Self, TapError> {
        let sound = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains(['/', ' ', '%', ':']);
        if !sound {
            return Err(TapError::Name(name.into()));
        }
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let file = file.map_err(TapError::Device)?;
        let mut made = request(name);
        made.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
        ask(file.as_fd(), libc::TUNSETIFF, &mut made).map_err(TapError::Make)?;
        let tap = Self { file, name: name.into() };
        tap.set_up(mac).map_err(TapError::SetUp)?;
        Ok(tap)
    }

    fn set_up(&self, mac: Option<Mac>) -> io::Result<()> {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        if let Some(mac) = mac {
            let mut address = request(&self.name);
            let mut hardware = libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: [0; 14] };
            for (to, from) in hardware.sa_data.iter_mut().zip(mac.0) {
                *to = from as libc::c_char;
            }
            address.ifr_ifru.ifru_hwaddr = hardware;
            ask(socket.as_fd(), libc::SIOCSIFHWADDR, &mut address)?;
        }
        let mut flags = request(&self.name);
        ask(socket.as_fd(), libc::SIOCGIFFLAGS, &mut flags)?;
        // SAFETY: the kernel has just written flags.
        let now = unsafe { flags.ifr_ifru.ifru_flags };
        flags.ifr_ifru.ifru_flags = now | libc::IFF_UP as i16;
        ask(socket.as_fd(), libc::SIOCSIFFLAGS, &mut flags)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Readable when the host sends.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The next frame that the host sends, if there is one.
    ///
    /// # Errors
    /// The kernel's: the interface was deleted.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        // The interface may have an MTU that no wire of ours has: a frame that fills the last byte is too long, and dropped.
        let mut frame = vec![0; LONGEST + 1];
        loop {
            match (&self.file).read(&mut frame) {
                Ok(length) if length > LONGEST => {}
                Ok(length) => {
                    frame.truncate(length);
                    return Ok(Some(frame));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the host a frame. One that it has no room for, or that comes while the interface is down, is lost.
    pub fn send(&self, frame: &[u8]) {
        let _ = (&self.file).write(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_of_an_interface_is_refused() {
        for name in ["", "a/b", "longer-than-15-letters", "a b", "via%d"] {
            let error = Tap::open(name, None).expect_err("no name");
            assert!(error.to_string().contains("no name"), "{error}");
        }
    }
}
