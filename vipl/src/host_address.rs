//! What names the host of an endpoint.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    str::FromStr,
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

/// Neither an Ethernet address nor an IPv4 one.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0:?} is no address of a host: six bytes in hexadecimal with colons between (MAC), or four in decimal with dots (IPv4)")]
pub struct NoHostAddress(String);

impl FromStr for HostAddress {
    type Err = NoHostAddress;

    fn from_str(text: &str) -> Result<Self, NoHostAddress> {
        let mac = text.parse().map(Self::Mac).ok();
        mac.or_else(|| text.parse().map(Self::Ip).ok()).ok_or_else(|| NoHostAddress(text.into()))
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
    fn a_host_is_named_by_either_of_its_addresses() {
        for (text, address) in [
            ("02:00:00:00:00:01", HostAddress::Mac(Mac([2, 0, 0, 0, 0, 1]))),
            ("10.0.0.1", HostAddress::Ip(Ipv4Addr::new(10, 0, 0, 1))),
        ] {
            assert_eq!(text.parse::<HostAddress>().expect("an address"), address);
            assert_eq!(address.to_string(), text);
        }
        for wrong in ["", "10.0.0", "10.0.0.256", "02:00:00:00:00", "fe80::1", "node1"] {
            let error = wrong.parse::<HostAddress>().expect_err("no address").to_string();
            assert!(error.contains(&format!("{wrong:?}")) && error.contains("IPv4"), "{error}");
        }
    }

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
