//! A network interface of the host's on the NIC's wire: a TAP device with the NIC's Ethernet address. What the host sends goes out by the
//! raw channel; frames to the NIC's address that are no VI's and not about connections come in.
//!
//! ```text
//!   host's TCP/IP -- TAP -- viad -- raw channel -- wire -- RoCE, ARP, IP of others
//! ```
//!
//! It is as good as a wire: what finds no room is dropped.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
};

use anyhow::{ensure, Context, Result};
use rustix::net::{socket_with, AddressFamily, SocketFlags, SocketType};
use viaduct_driver::address::Mac;

/// Where TAP devices are made.
const DEVICE: &str = "/dev/net/tun";
/// Largest packet of the interface: Ethernet's. With its header it fits a frame of the raw channel.
const LONGEST: usize = 2048;

/// The interface. It goes when this is dropped.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
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
    /// Makes the interface, gives it the NIC's address and brings it up. Its IP addresses are the administrator's to set.
    ///
    /// # Errors
    /// No name of an interface; no TAP devices in this kernel; no right to make one.
    pub fn open(name: &str, mac: Mac) -> Result<Self> {
        let sound = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains(['/', ' ', '%', ':']);
        ensure!(sound, "{name:?} is no name of a network interface: 1 to 15 letters and digits");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(DEVICE)
            .with_context(|| format!("{DEVICE} (TAP devices: the kernel's module tun)"))?;
        let mut made = request(name);
        made.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
        ask(file.as_fd(), libc::TUNSETIFF, &mut made).context("making it needs CAP_NET_ADMIN")?;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        let tap = Self { file, name: name.into() };
        tap.set(&socket, mac).context("setting it up needs CAP_NET_ADMIN")?;
        Ok(tap)
    }

    fn set(&self, socket: &OwnedFd, mac: Mac) -> io::Result<()> {
        let mut address = request(&self.name);
        let mut hardware = libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: [0; 14] };
        for (to, from) in hardware.sa_data.iter_mut().zip(mac.0) {
            *to = from as libc::c_char;
        }
        address.ifr_ifru.ifru_hwaddr = hardware;
        ask(socket.as_fd(), libc::SIOCSIFHWADDR, &mut address)?;
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
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut frame = vec![0; LONGEST];
        match (&self.file).read(&mut frame) {
            Ok(length) => {
                frame.truncate(length);
                Ok(Some(frame))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
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
            let error = Tap::open(name, Mac([2, 0, 0, 0, 0, 1])).expect_err("no name");
            assert!(error.to_string().contains("no name"), "{error}");
        }
    }
}
