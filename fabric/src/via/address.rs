//! Addresses: libfabric's `sockaddr_in`, what VIA names an endpoint by, and ports that are nobody else's.

use std::{
    ffi::c_void,
    mem::size_of,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    sync::atomic::{AtomicU32, Ordering},
};

use vipl::connections::NetAddress;

use crate::via::error::Errno;

/// Bytes of an address.
pub const BYTES: usize = size_of::<libc::sockaddr_in>();

/// Where ports begin that the system gives to who asks for none.
const EPHEMERAL: u32 = 49_152;

/// Reads an address of the program's.
///
/// # Errors
/// NULL, fewer bytes than an address has, or another family.
///
/// # Safety
/// NULL, or `length` bytes of which nobody changes any meanwhile.
pub unsafe fn read(address: *const c_void, length: usize) -> Result<SocketAddrV4, Errno> {
    if address.is_null() || length < BYTES {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's promise. Programs need not align it.
    let address = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
    if i32::from(address.sin_family) != libc::AF_INET {
        return Err(Errno::INVALID);
    }
    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
    Ok(SocketAddrV4::new(ip, u16::from_be(address.sin_port)))
}

/// The address as libfabric has it.
pub fn raw(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
        sin_zero: [0; 8],
    }
}

/// Writes an address into a buffer of the program's, whose length then is the address's.
///
/// # Errors
/// NULL. FI_ETOOSMALL: as much of it is there as there is room for.
///
/// # Safety
/// `length` is NULL, or has the bytes at `place`, which this call alone uses.
pub unsafe fn write(address: SocketAddrV4, place: *mut c_void, length: *mut usize) -> Result<(), Errno> {
    if length.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's promise.
    let room = unsafe { length.replace(BYTES) };
    if place.is_null() {
        // Who asks how long it is has no place yet.
        return if room == 0 { Err(Errno::TOO_SMALL) } else { Err(Errno::INVALID) };
    }
    let raw = raw(address);
    // SAFETY: as above; of a plain structure that many bytes can be read.
    unsafe { place.cast::<u8>().copy_from((&raw const raw).cast(), room.min(BYTES)) };
    match room < BYTES {
        true => Err(Errno::TOO_SMALL),
        false => Ok(()),
    }
}

/// What VIA names it by: the host by its IPv4 address, the discriminator is the port.
pub fn of_via(address: SocketAddrV4) -> NetAddress {
    NetAddress { host: (*address.ip()).into(), discriminator: address.port().to_be_bytes().to_vec() }
}

/// The port that a discriminator is; 0 of one that is none: a VIPL program's.
pub fn port_of(discriminator: &[u8]) -> u16 {
    discriminator.try_into().map_or(0, u16::from_be_bytes)
}

/// A port of this host's that no other process has, as long as this is there: of who listens.
///
/// The system gives each UDP port once. Nobody sends to this one: the NIC's ports are of another network.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    _socket: UdpSocket,
}

impl ReservedPort {
    /// Takes a port; 0: any that is free.
    ///
    /// # Errors
    /// FI_EADDRINUSE; the system's.
    pub fn take(wanted: u16) -> Result<Self, Errno> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, wanted))?;
        let number = socket.local_addr()?.port();
        Ok(Self { number, _socket: socket })
    }

    /// Its number; never 0.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// A port for an endpoint that asks, without a [`ReservedPort`]: nobody connects to it, so others may have the same.
pub fn unreserved_port() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id().wrapping_mul(64).wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed));
    (EPHEMERAL + number % (1 + u32::from(u16::MAX) - EPHEMERAL)) as u16
}

#[cfg(test)]
mod tests {
    use std::ptr::null;

    use super::*;

    const ONE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 0x1234);

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let mut bytes = [0xffu8; BYTES + 1];
        let mut length = bytes.len();
        // SAFETY: the array's own bytes, here and below.
        unsafe { write(ONE, bytes.as_mut_ptr().cast(), &mut length) }.expect("there is room");
        assert_eq!((length, bytes[BYTES]), (BYTES, 0xff));
        assert_eq!(bytes[2..8], [0x12, 0x34, 10, 0, 0, 1], "in the network's order");
        // SAFETY: as above.
        assert_eq!(unsafe { read(bytes.as_ptr().cast(), BYTES) }, Ok(ONE));
        // SAFETY: as above.
        assert_eq!(unsafe { read(bytes.as_ptr().cast(), BYTES - 1) }, Err(Errno::INVALID));
        bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        // SAFETY: as above, and NULL.
        unsafe {
            assert_eq!(read(bytes.as_ptr().cast(), BYTES), Err(Errno::INVALID));
            assert_eq!(read(null(), BYTES), Err(Errno::INVALID));
        }
    }

    #[test]
    fn a_buffer_that_is_too_small_is_filled_and_hears_how_long_it_should_be() {
        let mut bytes = [0xffu8; BYTES];
        let mut length = 4;
        // SAFETY: the array's own bytes.
        let written = unsafe { write(ONE, bytes.as_mut_ptr().cast(), &mut length) };
        assert_eq!((written, length), (Err(Errno::TOO_SMALL), BYTES));
        assert_eq!(bytes[2..6], [0x12, 0x34, 0xff, 0xff]);
    }

    #[test]
    fn via_names_it_by_host_and_port() {
        let address = of_via(ONE);
        assert_eq!((address.host, &address.discriminator[..]), ((*ONE.ip()).into(), &[0x12, 0x34][..]));
        assert_eq!(port_of(&address.discriminator), ONE.port());
        assert_eq!((port_of(b"server"), port_of(b"")), (0, 0));
    }

    #[test]
    fn nobody_gets_a_port_that_somebody_has() {
        let one = ReservedPort::take(0).expect("there are many");
        assert_eq!(ReservedPort::take(one.number()).expect_err("it is taken").positive(), libc::EADDRINUSE);
        assert_ne!(ReservedPort::take(0).expect("there are many").number(), one.number());
        let number = one.number();
        drop(one);
        assert_eq!(ReservedPort::take(number).expect("it is free again").number(), number);
        assert!((0..1 << 15).all(|_| unreserved_port() >= EPHEMERAL as u16));
    }
}
