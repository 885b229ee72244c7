//! Addresses of endpoints, as programs give them.

use std::net::IpAddr;

use via::{
    connections::{HostAddress, NetAddress, MAX_DISCRIMINATOR},
    Mac, Return,
};

use crate::{
    entry::{code, read},
    names::ADDRESS_BYTES,
    nic::OpenNic,
    types::NetAddressHead,
};

/// Bytes of a host's IPv4 address.
const IPV4_BYTES: u16 = 4;
/// And of an IPv6 one.
const IPV6_BYTES: u16 = 16;

/// A VIP_NET_ADDRESS of the program's.
///
/// # Safety
/// NULL, or VIP_NET_ADDRESS.
pub unsafe fn address(from: *const u8) -> Result<NetAddress, Return> {
    // SAFETY: the caller's promise.
    let head = unsafe { read(from.cast::<NetAddressHead>()) }?;
    let at = size_of::<NetAddressHead>();
    // SAFETY: the caller's promise: so many bytes are behind the lengths.
    let bytes =
        |at: usize, length: usize| unsafe { std::slice::from_raw_parts(from.add(at), length) }.to_vec();
    let host = match head.host_length {
        ADDRESS_BYTES => bytes(at, 6).try_into().ok().map(|mac| HostAddress::Mac(Mac(mac))),
        IPV4_BYTES => <[u8; 4]>::try_from(bytes(at, 4)).ok().map(|ip| HostAddress::Ip(ip.into())),
        IPV6_BYTES => match <[u8; 16]>::try_from(bytes(at, 16)).map(IpAddr::from) {
            Ok(ip) => Some(HostAddress::try_from(ip).map_err(code)?),
            Err(_) => None,
        },
        // Nothing is looked at behind a length that cannot be.
        _ => return Err(Return::InvalidParameter),
    };
    let length = usize::from(head.discriminator_length);
    if length > MAX_DISCRIMINATOR {
        return Err(Return::InvalidParameter);
    }
    let discriminator = bytes(at + usize::from(head.host_length), length);
    Ok(NetAddress { host: host.ok_or(Return::InvalidParameter)?, discriminator })
}

/// An address of this NIC's.
///
/// # Safety
/// As [`address`].
pub unsafe fn local(open: &OpenNic, from: *const u8) -> Result<NetAddress, Return> {
    // SAFETY: the caller's promise.
    let local = unsafe { address(from) }?;
    let is_own = match local.host {
        HostAddress::Mac(mac) => mac == open.device.mac,
        HostAddress::Ip(ip) => ip == open.device.nic.attributes().ip,
        // There are no others.
        _ => false,
    };
    is_own.then_some(local).ok_or(Return::InvalidParameter)
}
