//! What names the host of an endpoint.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use viaduct_driver::address::Mac;

use crate::Error;

/// What names the host of an endpoint: an address of its NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostAddress {
    /// Its Ethernet address, which VIA has. Packets need the IPv4 one, too: a hosts file has it ([`crate::connections::Connections::learn`]), or the host
    /// tells it, if it is one of Viaduct's.
    Mac(Mac),
    /// Its IPv4 address: an extension beside VIPL. ARP finds the other one, of any host in the network.
    Ip(Ipv4Addr),
}

impl From<Mac> for HostAddress {
    fn from(mac: Mac) -> Self {
        Self::Mac(mac)
    }
}

impl From<Ipv4Addr> for HostAddress {
    fn from(ip: Ipv4Addr) -> Self {
        Self::Ip(ip)
    }
}

impl TryFrom<IpAddr> for HostAddress {
    type Error = Error;

    fn try_from(ip: IpAddr) -> Result<Self, Error> {
        match ip {
            IpAddr::V4(ip) => Ok(Self::Ip(ip)),
            // ::ffff:a.b.c.d is an IPv4 address (RFC 4291, 2.5.5.2).
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(ip) => Ok(Self::Ip(ip)),
                None => Err(Error::NotSupported("an IPv6 address of a host")),
            },
        }
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => mac.fmt(f),
            Self::Ip(ip) => ip.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_is_not_offered_and_says_so() {
        let v6 = IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, 1]);
        let error = HostAddress::try_from(v6).expect_err("not offered");
        assert_eq!(error.code(), crate::Return::ErrorNotSupported);
        assert!(error.to_string().contains("IPv6"), "{error}");
        let v4 = HostAddress::try_from(IpAddr::from([10, 0, 0, 1])).expect("offered");
        assert_eq!(v4.to_string(), "10.0.0.1");
    }
}
