//! Passive endpoints: listeners.

use std::{
    ffi::{c_int, c_void},
    mem::size_of,
    net::{Ipv4Addr, SocketAddrV4},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vipl::connections::QueueListener;

use crate::via::{
    address::{self, ReservedPort},
    card::Card,
    connection,
    eq::{Eq, Events, Member},
    error::Errno,
    fabric::Fabric,
    ffi::{self, Place},
    info::Ends,
    object::{self, table, Object, Word},
    offer::Offer,
    options, request, unsupported,
};

/// Requests that may wait to be decided on, unless the program says how many.
const BACKLOG: u32 = 64;

/// What a passive endpoint is behind libfabric's structure.
type Handle = Object<ffi::fid_pep, Listener>;

struct Listener {
    /// What its event queue calls it.
    number: u64,
    card: Arc<Card>,
    /// What those who ask are told of.
    offer: Offer,
    state: Mutex<State>,
}

struct State {
    /// Nobody else on this host has it.
    port: ReservedPort,
    backlog: u32,
    eq: Option<Arc<Eq>>,
    /// There from when it listens.
    listener: Option<QueueListener>,
}

static FID: ffi::fi_ops = ffi::fi_ops { bind: Some(bind), control: Some(control), ..unsupported::ops(close) };

static EP: ffi::fi_ops_ep = ffi::fi_ops_ep {
    size: size_of::<ffi::fi_ops_ep>(),
    cancel: Some(unsupported::cancel),
    getopt: Some(options::getopt),
    setopt: Some(unsupported::setopt),
    tx_ctx: Some(unsupported::tx_ctx),
    rx_ctx: Some(unsupported::rx_ctx),
    rx_size_left: Some(unsupported::size_left),
    tx_size_left: Some(unsupported::size_left),
};

static CM: ffi::fi_ops_cm = ffi::fi_ops_cm {
    size: size_of::<ffi::fi_ops_cm>(),
    setname: Some(setname),
    getname: Some(getname),
    getpeer: Some(unsupported::getpeer),
    connect: Some(unsupported::connect),
    listen: Some(listen),
    accept: Some(unsupported::accept),
    reject: Some(reject),
    shutdown: Some(unsupported::shutdown),
    join: Some(unsupported::join),
};

impl Listener {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change of it is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it listens, or will.
    fn address(&self, state: &State) -> SocketAddrV4 {
        SocketAddrV4::new(self.card.ip(), state.port.number())
    }

    fn listen(&self, fid: Word) -> Result<(), Errno> {
        let mut state = self.lock();
        if state.listener.is_some() {
            return Err(Errno::STATE);
        }
        let eq = state.eq.as_ref().ok_or(Errno::NO_EQ)?;
        let from = self.address(&state);
        let ends = Ends { from: Some(from), to: None };
        // Before the first request can come.
        eq.add(self.number, Member::Listener { fid, offer: self.offer, ends });
        let listener = eq.queue().listen(&address::of_via(from), state.backlog, self.number);
        if listener.is_err() {
            eq.remove(self.number);
        }
        state.listener = Some(listener?);
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Those who ask later are refused, and those of whom nobody has read are rejected.
        state.listener = None;
        if let Some(eq) = &state.eq {
            eq.remove(self.number);
        }
    }
}

/// A program wants an address of this NIC's, or any.
fn is_own(card: &Card, wanted: SocketAddrV4) -> Result<(), Errno> {
    match [card.ip(), Ipv4Addr::UNSPECIFIED].contains(wanted.ip()) {
        true => Ok(()),
        false => Err(Errno::INVALID),
    }
}

/// The port of an address that a program wants, which nobody else has from then on.
fn reserved_port(card: &Card, wanted: SocketAddrV4) -> Result<ReservedPort, Errno> {
    is_own(card, wanted)?;
    ReservedPort::take(wanted.port())
}

/// libfabric's `passive_ep`.
///
/// # Safety
/// As libfabric calls it, with a fabric, an information, and a place for the endpoint.
pub unsafe extern "C" fn open(
    fabric: *mut ffi::fid_fabric,
    info: *mut ffi::fi_info,
    listener: *mut *mut ffi::fid_pep,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(listener) }?;
        // SAFETY: as above.
        let card = unsafe { Fabric::at(fabric) }?;
        // SAFETY: as above.
        let info = unsafe { ffi::read(info) }?;
        // SAFETY: as above.
        let offer = unsafe { Offer::of(info) }?;
        let wanted = match info.src_addr.is_null() {
            true => SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0),
            // SAFETY: as above.
            false => unsafe { address::read(info.src_addr, info.src_addrlen) }?,
        };
        let port = reserved_port(card, wanted)?;
        let state = State { port, backlog: BACKLOG, eq: None, listener: None };
        let own =
            Listener { number: object::number(), card: Arc::clone(card), offer, state: Mutex::new(state) };
        let face =
            ffi::fid_pep { fid: object::fid::<ffi::fid_pep>(context, &FID), ops: table(&EP), cm: table(&CM) };
        place.put(Handle::give(face, own));
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with a passive endpoint that nobody else uses now.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { Handle::take(fid.cast()) }?);
        Ok(())
    })
}

/// Its event queue.
///
/// # Safety
/// As libfabric calls it, with a passive endpoint and an event queue.
unsafe extern "C" fn bind(fid: *mut ffi::fid, other: *mut ffi::fid, flags: u64) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { Handle::at(fid.cast()) }?;
        // SAFETY: as above.
        let eq = unsafe { Events::at(other.cast()) }?;
        let mut state = own.lock();
        if flags != 0 || state.eq.is_some() {
            return Err(Errno::INVALID);
        }
        state.eq = Some(Arc::clone(eq));
        Ok(())
    })
}

/// How many requests may wait, before it listens.
///
/// # Safety
/// As libfabric calls it, with a passive endpoint, and what the command takes.
unsafe extern "C" fn control(fid: *mut ffi::fid, command: c_int, place: *mut c_void) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { Handle::at(fid.cast()) }?;
        if command as u32 != ffi::FI_BACKLOG {
            return Err(Errno::NO_CALL);
        }
        // SAFETY: as above.
        let wanted = unsafe { ffi::read(place.cast::<c_int>()) }?;
        let mut state = own.lock();
        if state.listener.is_some() {
            return Err(Errno::STATE);
        }
        state.backlog = u32::try_from(*wanted).ok().filter(|wanted| *wanted > 0).ok_or(Errno::INVALID)?;
        Ok(())
    })
}

/// Another address, before it listens.
///
/// # Safety
/// As libfabric calls it, with a passive endpoint and an address.
unsafe extern "C" fn setname(fid: *mut ffi::fid, place: *mut c_void, length: usize) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { Handle::at(fid.cast()) }?;
        // SAFETY: as above.
        let wanted = unsafe { address::read(place, length) }?;
        let mut state = own.lock();
        if state.listener.is_some() {
            return Err(Errno::STATE);
        }
        is_own(&own.card, wanted)?;
        if wanted.port() != state.port.number() {
            state.port = ReservedPort::take(wanted.port())?;
        }
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with a passive endpoint and a place for its address.
unsafe extern "C" fn getname(fid: *mut ffi::fid, place: *mut c_void, length: *mut usize) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { Handle::at(fid.cast()) }?;
        let address = own.address(&own.lock());
        // SAFETY: as above.
        unsafe { address::write(address, place, length) }
    })
}

/// # Safety
/// As libfabric calls it, with a passive endpoint.
unsafe extern "C" fn listen(listener: *mut ffi::fid_pep) -> c_int {
    // SAFETY: the caller's promise.
    ffi::answer(|| unsafe { Handle::at(listener) }?.listen(Word(listener.cast())))
}

/// # Safety
/// As libfabric calls it, with a passive endpoint, the handle of a request that nobody has decided on, and so many bytes.
unsafe extern "C" fn reject(
    listener: *mut ffi::fid_pep,
    handle: *mut ffi::fid,
    data: *const c_void,
    length: usize,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        unsafe { Handle::at(listener) }?;
        // SAFETY: as above.
        let data = unsafe { connection::data(data, length) }?;
        // SAFETY: as above.
        Ok(unsafe { request::take(handle) }?.reject(data)?)
    })
}
