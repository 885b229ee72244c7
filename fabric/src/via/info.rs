//! libfabric's `fi_info`: what is offered, in memory of C's, which libfabric frees.

use std::{
    ffi::{c_char, c_void, CString},
    mem::{size_of, ManuallyDrop},
    net::SocketAddrV4,
    ptr::{null_mut, NonNull},
};

use crate::via::{
    address::{self, BYTES},
    card::Card,
    error::Errno,
    ffi,
    offer::{self, Offer},
    request,
};

/// What the fabric is called: there is one.
pub const FABRIC: &str = "via";
/// And the provider.
const PROVIDER: &str = "via";

/// An information, and all that it points to. It is freed as `fi_freeinfo` does it.
#[derive(Debug)]
pub struct Info(NonNull<ffi::fi_info>);

// SAFETY: what it points to is its own.
unsafe impl Send for Info {}

/// Where an endpoint is, or is to be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ends {
    /// Ours.
    pub from: Option<SocketAddrV4>,
    /// The peer's.
    pub to: Option<SocketAddrV4>,
}

impl Info {
    /// An information of this offer. Without a NIC it has attributes alone.
    ///
    /// # Errors
    /// No memory.
    pub fn new(offer: &Offer, card: Option<&Card>, ends: Ends) -> Result<Self, Errno> {
        // It frees what it has got so far, should there be no more.
        let own = Self(zeroed()?);
        // SAFETY: it is new, and nobody else has it.
        let info = unsafe { &mut *own.0.as_ptr() };
        (info.caps, info.mode) = (offer.caps, offer.mode());
        info.addr_format = ffi::FI_SOCKADDR_IN;
        for (end, place, length) in [
            (ends.from, &mut info.src_addr, &mut info.src_addrlen),
            (ends.to, &mut info.dest_addr, &mut info.dest_addrlen),
        ] {
            if let Some(end) = end {
                *place = memory(address::raw(end))?.as_ptr().cast();
                *length = BYTES;
            }
        }
        info.tx_attr = memory(sends(offer))?.as_ptr();
        info.rx_attr = memory(receives(offer))?.as_ptr();
        info.ep_attr = memory(endpoint())?.as_ptr();
        info.domain_attr = memory(domain(offer, card))?.as_ptr();
        info.fabric_attr = zeroed::<ffi::fi_fabric_attr>()?.as_ptr();
        // SAFETY: both are new, and there.
        unsafe {
            (*info.fabric_attr).name = text(FABRIC)?;
            if let Some(card) = card {
                (*info.domain_attr).name = text(card.name())?;
            }
        }
        Ok(own)
    }

    /// The request that the information is of. It does not come by way of libfabric, which would have put the provider's name into it.
    ///
    /// # Errors
    /// No memory; the request is still the caller's then.
    pub fn set_request(&mut self, request: impl FnOnce() -> *mut ffi::fid) -> Result<(), Errno> {
        let name = text(PROVIDER)?;
        // SAFETY: all of it is its own.
        unsafe {
            let info = self.0.as_mut();
            (*info.fabric_attr).prov_name = name;
            info.handle = request();
        }
        Ok(())
    }

    /// Where it is, for who looks at it without having it.
    pub fn pointer(&self) -> *mut ffi::fi_info {
        self.0.as_ptr()
    }

    /// Takes back what a program was given.
    ///
    /// # Safety
    /// It was given by [`Info::give`], and nobody has freed it.
    #[cfg(test)]
    pub unsafe fn take(pointer: *mut ffi::fi_info) -> Self {
        Self(NonNull::new(pointer).expect("an information"))
    }

    /// Gives it to the program, which frees it.
    pub fn give(self) -> *mut ffi::fi_info {
        ManuallyDrop::new(self).0.as_ptr()
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: all of it is its own, from `zeroed`, `memory` and `text`, or NULL; it is not used any more.
        unsafe {
            let info = &*self.0.as_ptr();
            // Nobody has seen the request: it is rejected.
            request::forget(info.handle);
            if let Some(domain) = info.domain_attr.as_ref() {
                libc::free(domain.name.cast());
            }
            if let Some(fabric) = info.fabric_attr.as_ref() {
                libc::free(fabric.name.cast());
                libc::free(fabric.prov_name.cast());
            }
            let parts: [*mut c_void; 7] = [
                info.src_addr,
                info.dest_addr,
                info.tx_attr.cast(),
                info.rx_attr.cast(),
                info.ep_attr.cast(),
                info.domain_attr.cast(),
                info.fabric_attr.cast(),
            ];
            for part in parts {
                libc::free(part);
            }
            libc::free(self.0.as_ptr().cast());
        }
    }
}

fn sends(offer: &Offer) -> ffi::fi_tx_attr {
    ffi::fi_tx_attr {
        caps: offer.tx_caps(),
        mode: offer.mode(),
        op_flags: offer.flags[0],
        msg_order: offer::ORDER,
        comp_order: offer::COMPLETION_ORDER,
        inject_size: offer::INJECT,
        size: offer.depths[0],
        iov_limit: offer::SEGMENTS,
        rma_iov_limit: 1,
        tclass: 0,
    }
}

fn receives(offer: &Offer) -> ffi::fi_rx_attr {
    ffi::fi_rx_attr {
        caps: offer.rx_caps(),
        mode: offer.mode(),
        op_flags: offer.flags[1],
        msg_order: offer::ORDER,
        comp_order: offer::COMPLETION_ORDER,
        total_buffered_recv: 0,
        size: offer.depths[1],
        iov_limit: offer::SEGMENTS,
    }
}

fn endpoint() -> ffi::fi_ep_attr {
    ffi::fi_ep_attr {
        type_: ffi::FI_EP_MSG,
        protocol: offer::PROTOCOL,
        protocol_version: 1,
        max_msg_size: offer::MESSAGE,
        msg_prefix_size: 0,
        max_order_raw_size: offer::MESSAGE,
        max_order_war_size: 0,
        max_order_waw_size: offer::MESSAGE,
        mem_tag_format: 0,
        tx_ctx_cnt: 1,
        rx_ctx_cnt: 1,
        auth_key_size: 0,
        auth_key: null_mut(),
    }
}

fn domain(offer: &Offer, card: Option<&Card>) -> ffi::fi_domain_attr {
    let number = |of: fn(&Card) -> u32| card.map_or(0, |card| of(card) as usize);
    let vis = number(|card| card.attributes.max_vi);
    // The headers of a newer libfabric have more fields, for which 0 is right.
    // SAFETY: a structure of C's, of which nothing but zeros is a value.
    let mut domain: ffi::fi_domain_attr = unsafe { std::mem::zeroed() };
    domain.threading = offer.threading;
    domain.control_progress = offer.progress[0];
    domain.data_progress = offer.progress[1];
    domain.resource_mgmt = ffi::FI_RM_ENABLED;
    domain.av_type = ffi::FI_AV_UNSPEC;
    domain.mr_mode = offer.mr_mode();
    domain.mr_key_size = offer::KEY_BYTES;
    domain.cq_data_size = offer::DATA_BYTES;
    domain.cq_cnt = number(|card| card.attributes.max_cq);
    (domain.ep_cnt, domain.tx_ctx_cnt, domain.rx_ctx_cnt) = (vis, vis, vis);
    (domain.max_ep_tx_ctx, domain.max_ep_rx_ctx) = (1, 1);
    domain.mr_iov_limit = 1;
    domain.caps = offer::DOMAIN_CAPS;
    domain.max_err_data = vipl::connections::REJECT_ROOM;
    domain.mr_cnt = number(|card| card.attributes.max_register_regions);
    domain
}

/// Bytes behind each structure, all zero: a libfabric that is newer than the headers may have more fields there, and reads them.
const NEWER: usize = 128;

/// Memory of C's for a structure, all zero.
fn zeroed<T>() -> Result<NonNull<T>, Errno> {
    // SAFETY: a plain call.
    let place = unsafe { libc::calloc(1, size_of::<T>() + NEWER) };
    NonNull::new(place.cast()).ok_or(Errno::MEMORY)
}

/// Memory of C's with a value in it.
fn memory<T>(value: T) -> Result<NonNull<T>, Errno> {
    let place = zeroed::<T>()?;
    // SAFETY: it is new; C's memory is aligned for all that C has.
    unsafe { place.as_ptr().write(value) };
    Ok(place)
}

/// A text of C's.
fn text(text: &str) -> Result<*mut c_char, Errno> {
    let text = CString::new(text).map_err(|_| Errno::INVALID)?;
    // SAFETY: it is a text of C's.
    let copy = unsafe { libc::strdup(text.as_ptr()) };
    match copy.is_null() {
        true => Err(Errno::MEMORY),
        false => Ok(copy),
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::CStr, net::Ipv4Addr};

    use super::*;

    #[test]
    fn an_information_says_what_is_offered_and_where() {
        // SAFETY: no hints.
        let offer = unsafe { Offer::to(1 << 16 | 17, None) }.expect("all is offered");
        let [from, to] = [1, 2].map(|host| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), 7));
        let own = Info::new(&offer, None, Ends { from: Some(from), to: Some(to) }).expect("memory");
        // SAFETY: it is there, with all its parts.
        unsafe {
            let info = own.0.as_ref();
            assert_eq!(address::read(info.src_addr, info.src_addrlen), Ok(from));
            assert_eq!(address::read(info.dest_addr, info.dest_addrlen), Ok(to));
            assert_eq!((*info.ep_attr).max_msg_size, 1 << 30);
            assert_eq!(CStr::from_ptr((*info.fabric_attr).name), c"via");
            assert!((*info.fabric_attr).prov_name.is_null(), "libfabric sets it");
            // It is what was offered, and offers it again.
            assert_eq!(Offer::of(info), Ok(offer));
            assert_eq!(Offer::to(1 << 16 | 17, Some(info)), Ok(offer));
        }
    }

    #[test]
    fn an_information_without_a_nic_has_no_name_and_no_addresses() {
        // SAFETY: no hints.
        let offer = unsafe { Offer::to(1 << 16 | 17, None) }.expect("all is offered");
        let pointer = Info::new(&offer, None, Ends::default()).expect("memory").give();
        // SAFETY: it was given away, and is taken back.
        unsafe {
            assert!((*pointer).src_addr.is_null() && (*(*pointer).domain_attr).name.is_null());
            drop(Info::take(pointer));
        }
    }
}
