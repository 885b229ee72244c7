//! `fi_getinfo`: which of what is offered fits what a program asks for, and at which addresses.

use std::{
    ffi::{c_char, c_int, CStr},
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs},
    ptr::null,
};

use crate::via::{
    address,
    card::Card,
    error::Errno,
    ffi::{self, Place, FI_NUMERICHOST, FI_PROV_ATTR_ONLY, FI_SOURCE},
    info::{Ends, Info, FABRIC},
    offer::Offer,
};

/// libfabric's `getinfo`.
///
/// # Safety
/// As libfabric calls it: texts of C's or NULL, hints with their parts or NULL, and a place for the answer.
pub unsafe extern "C" fn getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const ffi::fi_info,
    info: *mut *mut ffi::fi_info,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(info) }?;
        // SAFETY: as above.
        let hints = unsafe { hints.as_ref() };
        // SAFETY: as above.
        let (node, service) = unsafe { (text(node)?, text(service)?) };
        // SAFETY: as above.
        let found = unsafe { find(version, node, service, flags, hints) };
        let found =
            found.inspect_err(|error| tracing::debug!(?error, ?node, ?service, "nothing that fits"))?;
        place.put(found.give());
        Ok(())
    })
}

/// # Safety
/// As [`getinfo`].
unsafe fn find(
    version: u32,
    node: Option<&str>,
    service: Option<&str>,
    flags: u64,
    hints: Option<&ffi::fi_info>,
) -> Result<Info, Errno> {
    // SAFETY: the caller's promise.
    let offer = unsafe { Offer::to(version, hints) }?;
    // SAFETY: as above.
    let asked = unsafe { Asked::of(hints) }?;
    if flags & FI_PROV_ATTR_ONLY != 0 {
        return Info::new(&offer, None, Ends::default());
    }
    // Last, because the NIC is opened for it.
    let card = Card::open().map_err(|_| Errno::NO_DATA)?;
    if asked.domain.is_some_and(|name| name != card.name()) {
        return Err(Errno::NO_DATA);
    }
    let ends = asked.ends(node, service, flags, card.ip())?;
    Info::new(&offer, Some(&card), ends)
}

/// What hints say of names and addresses.
#[derive(Debug, Default)]
struct Asked<'a> {
    domain: Option<&'a str>,
    from: Option<SocketAddrV4>,
    to: Option<SocketAddrV4>,
}

impl<'a> Asked<'a> {
    /// # Safety
    /// As [`getinfo`].
    unsafe fn of(hints: Option<&'a ffi::fi_info>) -> Result<Self, Errno> {
        let Some(hints) = hints else { return Ok(Self::default()) };
        // SAFETY: the caller's promise.
        let (domain, fabric) = unsafe { (hints.domain_attr.as_ref(), hints.fabric_attr.as_ref()) };
        // SAFETY: as above.
        let domain = unsafe { text(domain.map_or(null(), |domain| domain.name.cast_const())) }?;
        // SAFETY: as above.
        let fabric = unsafe { text(fabric.map_or(null(), |fabric| fabric.name.cast_const())) }?;
        if fabric.is_some_and(|name| name != FABRIC) {
            return Err(Errno::NO_DATA);
        }
        // An address of another family is for another provider.
        let address = |at, length| -> Result<_, Errno> {
            if length == 0 {
                return Ok(None);
            }
            // SAFETY: the caller's promise.
            unsafe { address::read(at, length) }.map(Some).map_err(|_| Errno::NO_DATA)
        };
        let from = address(hints.src_addr, hints.src_addrlen)?;
        let to = address(hints.dest_addr, hints.dest_addrlen)?;
        Ok(Self { domain, from, to })
    }

    /// Where the endpoint is, and its peer. Node and service are this end's, if the flag says so, else the peer's; where there are none, the hints count.
    fn ends(
        &self,
        node: Option<&str>,
        service: Option<&str>,
        flags: u64,
        own: Ipv4Addr,
    ) -> Result<Ends, Errno> {
        let named = match (node, service) {
            (None, None) => None,
            _ => Some(SocketAddrV4::new(host(node, flags)?, port(service)?)),
        };
        let (from, to) = match flags & FI_SOURCE != 0 {
            true => (named.or(self.from), self.to),
            // A service alone is where this end listens.
            false if node.is_none() => (named.or(self.from), self.to),
            false => (self.from, named.or(self.to)),
        };
        let from = from.unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        if ![own, Ipv4Addr::UNSPECIFIED].contains(from.ip()) {
            return Err(Errno::NO_DATA);
        }
        Ok(Ends { from: Some(SocketAddrV4::new(own, from.port())), to })
    }
}

/// The IPv4 address of a host.
fn host(node: Option<&str>, flags: u64) -> Result<Ipv4Addr, Errno> {
    let Some(node) = node else { return Ok(Ipv4Addr::UNSPECIFIED) };
    if let Ok(ip) = node.parse() {
        return Ok(ip);
    }
    if flags & FI_NUMERICHOST != 0 {
        return Err(Errno::NO_DATA);
    }
    let mut found = (node, 0).to_socket_addrs().map_err(|_| Errno::NO_DATA)?;
    let four = found.find_map(|address| match address {
        SocketAddr::V4(address) => Some(*address.ip()),
        SocketAddr::V6(_) => None,
    });
    four.ok_or(Errno::NO_DATA)
}

/// A port, which is a number.
fn port(service: Option<&str>) -> Result<u16, Errno> {
    service.map_or(Ok(0), |service| service.parse().map_err(|_| Errno::NO_DATA))
}

/// A text of C's. NULL is none.
///
/// # Safety
/// NULL, or a text of C's that nobody changes as long as it is used.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, Errno> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map(Some).map_err(|_| Errno::NO_DATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn ends(node: Option<&str>, service: Option<&str>, flags: u64) -> Result<Ends, Errno> {
        Asked::default().ends(node, service, flags, OWN)
    }

    #[test]
    fn a_node_is_the_peer_and_with_the_flag_it_is_this_end() {
        let found = ends(Some("10.0.0.2"), Some("7"), 0).expect("it is one");
        assert_eq!(
            (found.from, found.to),
            (Some(SocketAddrV4::new(OWN, 0)), Some(SocketAddrV4::new(PEER, 7)))
        );
        let found = ends(Some("10.0.0.1"), Some("7"), FI_SOURCE).expect("it is ours");
        assert_eq!((found.from, found.to), (Some(SocketAddrV4::new(OWN, 7)), None));
        let found = ends(None, Some("7"), FI_SOURCE).expect("any of ours");
        assert_eq!(found.from, Some(SocketAddrV4::new(OWN, 7)));
        assert_eq!(
            ends(Some("10.0.0.2"), None, FI_SOURCE).map(|_| ()),
            Err(Errno::NO_DATA),
            "it is not ours"
        );
        assert_eq!(ends(None, None, 0).expect("nothing is asked").from, Some(SocketAddrV4::new(OWN, 0)));
    }

    #[test]
    fn what_is_no_address_of_ipv4_is_not_found() {
        assert_eq!(ends(Some("no.such.host.invalid"), None, FI_NUMERICHOST).map(|_| ()), Err(Errno::NO_DATA));
        assert_eq!(ends(Some("fe80::1"), None, FI_NUMERICHOST).map(|_| ()), Err(Errno::NO_DATA));
        assert_eq!(ends(Some("10.0.0.2"), Some("http"), 0).map(|_| ()), Err(Errno::NO_DATA));
    }

    #[test]
    fn hints_say_where_when_nobody_else_does() {
        let [from, to] = [OWN, PEER].map(|ip| SocketAddrV4::new(ip, 9));
        let asked = Asked { domain: None, from: Some(from), to: Some(to) };
        let found = asked.ends(None, None, 0, OWN).expect("ours");
        assert_eq!((found.from, found.to), (Some(from), Some(to)));
        let other = Asked { domain: None, from: Some(to), to: None };
        assert_eq!(other.ends(None, None, 0, OWN).map(|_| ()), Err(Errno::NO_DATA));
    }
}
