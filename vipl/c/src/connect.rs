//! Connections: VIPL's calls over what the library needs of a connection manager ([`via::connections`]); and those beside VIPL, with
//! private data.

use std::{
    ffi::c_ulong,
    sync::{atomic::Ordering, Arc, Mutex},
};

use via::{
    connections::{Answer, Incoming, NetAddress, PeerRequest, ACCEPT_ROOM, MAX_DISCRIMINATOR, REJECT_ROOM},
    Error, Return, ViState,
};

use crate::{
    entry::{call, code, read, timeout, Out},
    handles::Table,
    names::{host, ADDRESS_BYTES},
    nic::{keep, lock, OpenNic, NICS},
    types::{NetAddressHead, Pvoid, ViAttributes, VipReturn},
    vi::{of_peer, Vi, VIS},
};

/// What VipConnectWait gave.
static CONNECTIONS: Table<Connection> = Table::new(5);

/// Somebody asks for a connection.
struct Connection {
    open: Pvoid,
    /// Its private data.
    data: Vec<u8>,
    request: Mutex<Option<Box<dyn Incoming>>>,
}

// SAFETY: the pointer in it is a handle.
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

/// Rejects whoever asks for a connection with what was opened by this handle.
pub fn close(nic_handle: Pvoid) {
    drop(CONNECTIONS.remove_all(|connection| connection.open == nic_handle));
}

/// Ends the connection of a VI, or the attempt at one. A peer request that another thread has just made is ended too, or comes after.
pub fn disconnect(vi: &Vi) -> Result<(), Error> {
    let mut request = lock(&vi.peer_request);
    let ended = vi.vi.disconnect();
    drop(request.take());
    ended
}

/// Private data of a program's: copied, because others may write there.
///
/// # Safety
/// `length` bytes, or NULL and none.
unsafe fn private_data(data: *const u8, length: c_ulong) -> Result<Vec<u8>, Return> {
    match usize::try_from(length) {
        Ok(0) => Ok(Vec::new()),
        // No message has room for more, but how much it is depends on the message.
        Ok(length) if length <= ACCEPT_ROOM && !data.is_null() => {
            // SAFETY: the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(data, length) }.to_vec())
        }
        _ => Err(Return::InvalidParameter),
    }
}

/// Gives a program private data: all, and how many bytes they are; or only that, if there is too little room.
///
/// # Safety
/// `length` is NULL, or a VIP_ULONG; `to` is NULL, or has that many bytes.
unsafe fn put_private_data(data: &[u8], to: *mut u8, length: *mut c_ulong) -> Result<(), Return> {
    // SAFETY: the caller's promise.
    let (room, length_out) = unsafe { (read(length)?, Out::new(length)?) };
    length_out.put(data.len() as c_ulong);
    if data.is_empty() {
        return Ok(());
    }
    if (data.len() as c_ulong) > room {
        return Err(Return::ErrorResource);
    }
    if to.is_null() {
        return Err(Return::InvalidParameter);
    }
    // SAFETY: there is room for so many.
    unsafe { to.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
    Ok(())
}

/// What a peer has answered: its private data stay with the VI.
fn answered(vi: &Vi, answer: Result<Answer, Error>) -> Result<ViAttributes, Return> {
    let (data, attributes) = match answer {
        Ok(answer) => (answer.data, Ok(of_peer(&answer.attributes))),
        Err(Error::Rejected(data)) => (data, Err(Return::Reject)),
        Err(error) => (Vec::new(), Err(code(error))),
    };
    *lock(&vi.peer_data) = data;
    attributes
}

/// A VIP_NET_ADDRESS of the program's.
///
/// # Safety
/// NULL, or VIP_NET_ADDRESS.
unsafe fn address(from: *const u8) -> Result<NetAddress, Return> {
    // SAFETY: the caller's promise.
    let (host, head) = unsafe { (host(from)?, read(from.cast::<NetAddressHead>())?) };
    let length = usize::from(head.discriminator_length);
    if length > MAX_DISCRIMINATOR {
        return Err(Return::InvalidParameter);
    }
    let at = size_of::<NetAddressHead>() + usize::from(ADDRESS_BYTES);
    // SAFETY: the caller's promise: that many bytes are behind the host's address.
    let discriminator = unsafe { std::slice::from_raw_parts(from.add(at), length) }.to_vec();
    Ok(NetAddress { host, discriminator })
}

/// An address of this NIC's.
///
/// # Safety
/// As [`address`].
unsafe fn local(open: &OpenNic, from: *const u8) -> Result<NetAddress, Return> {
    // SAFETY: the caller's promise.
    let local = unsafe { address(from) }?;
    (local.host == open.device.mac).then_some(local).ok_or(Return::InvalidParameter)
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectWait(
    nic_handle: Pvoid,
    local_address: *const u8,
    time: c_ulong,
    remote_address: *mut u8,
    remote_attributes: *mut ViAttributes,
    connection: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let local = unsafe { local(&open, local_address) }?;
        // SAFETY: vipl.h.
        let (attributes_out, out) = unsafe { (Out::new(remote_attributes)?, Out::new(connection)?) };
        // SAFETY: vipl.h.
        let _room = unsafe { Out::new(remote_address) }?;
        let connections = open.device.nic.connections().map_err(code)?;
        let give_up = || NICS.get(nic_handle).is_err();
        let request = connections.wait(&local, timeout(time), &give_up).map_err(code)?;
        attributes_out.put(of_peer(&request.attributes()));
        let from = request.remote();
        let head = NetAddressHead {
            host_length: ADDRESS_BYTES,
            discriminator_length: from.discriminator.len() as u16,
        };
        // SAFETY: vipl.h: there is room for an address with the NIC's longest discriminator.
        unsafe {
            remote_address.cast::<NetAddressHead>().write_unaligned(head);
            let bytes = remote_address.add(size_of::<NetAddressHead>());
            bytes.copy_from_nonoverlapping(from.host.0.as_ptr(), from.host.0.len());
            let bytes = bytes.add(from.host.0.len());
            bytes.copy_from_nonoverlapping(from.discriminator.as_ptr(), from.discriminator.len());
        }
        let handle = CONNECTIONS.next();
        let (data, request) = (request.data().to_vec(), Mutex::new(Some(request)));
        let connection = Connection { open: nic_handle, data, request };
        CONNECTIONS.insert(handle, Arc::new(connection))?;
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

fn accept(connection: Pvoid, vi_handle: Pvoid, data: &[u8]) -> Result<(), Return> {
    let asked = CONNECTIONS.get(connection)?;
    let vi = VIS.get(vi_handle)?;
    let mut request = lock(&asked.request);
    let peer = request.as_ref().ok_or(Return::InvalidParameter)?;
    let _connecting = Connecting::begin(&vi)?;
    // On a mismatch the other side hears nothing, and the program may try again.
    let (theirs, own) = (peer.attributes(), vi.vi.attributes());
    if theirs.reliability_level != own.reliability_level {
        return Err(Return::InvalidReliabilityLevel);
    }
    if theirs.max_transfer_size != own.max_transfer_size {
        return Err(Return::InvalidMtu);
    }
    peer.accept(&vi.vi, data).map_err(code)?;
    lock(&vi.peer_data).clone_from(&asked.data);
    // It is used up; drop does no more than forget it.
    drop(request.take());
    drop(request);
    CONNECTIONS.remove(connection, |_| Ok(()))?;
    Ok(())
}

#[no_mangle]
pub extern "C" fn VipConnectAccept(connection: Pvoid, vi_handle: Pvoid) -> VipReturn {
    call(|| accept(connection, vi_handle, &[]))
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectAcceptData(
    connection: Pvoid,
    vi_handle: Pvoid,
    data: *const u8,
    length: c_ulong,
) -> VipReturn {
    // SAFETY: vipl.h.
    call(|| accept(connection, vi_handle, &unsafe { private_data(data, length) }?))
}

fn reject(connection: Pvoid, data: &[u8]) -> Result<(), Return> {
    if data.len() > REJECT_ROOM {
        return Err(Return::InvalidParameter);
    }
    let asked = CONNECTIONS.remove(connection, |_| Ok(()))?;
    let request = lock(&asked.request).take().ok_or(Return::InvalidParameter)?;
    request.reject(data).map_err(code)
}

#[no_mangle]
pub extern "C" fn VipConnectReject(connection: Pvoid) -> VipReturn {
    call(|| reject(connection, &[]))
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectRejectData(
    connection: Pvoid,
    data: *const u8,
    length: c_ulong,
) -> VipReturn {
    // SAFETY: vipl.h.
    call(|| reject(connection, &unsafe { private_data(data, length) }?))
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectRequest(
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
    remote_attributes: *mut ViAttributes,
) -> VipReturn {
    let none = std::ptr::null();
    // SAFETY: the caller's promise; there are no private data.
    unsafe {
        VipConnectRequestData(vi_handle, local_address, remote_address, time, remote_attributes, none, 0)
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectRequestData(
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
    remote_attributes: *mut ViAttributes,
    data: *const u8,
    length: c_ulong,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let (local, remote) = unsafe { (local(&vi.open, local_address)?, address(remote_address)?) };
        // SAFETY: vipl.h.
        let (data, out) = unsafe { (private_data(data, length)?, Out::new(remote_attributes)?) };
        let connections = vi.open.device.nic.connections().map_err(code)?;
        let _connecting = Connecting::begin(&vi)?;
        out.put(answered(&vi, connections.request(&vi.vi, &local, &remote, &data, timeout(time)))?);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectPeerRequest(
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
) -> VipReturn {
    // SAFETY: the caller's promise; there are no private data.
    unsafe { VipConnectPeerRequestData(vi_handle, local_address, remote_address, time, std::ptr::null(), 0) }
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectPeerRequestData(
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
    data: *const u8,
    length: c_ulong,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let (local, remote) = unsafe { (local(&vi.open, local_address)?, address(remote_address)?) };
        // SAFETY: vipl.h.
        let data = unsafe { private_data(data, length) }?;
        let connections = vi.open.device.nic.connections().map_err(code)?;
        let _connecting = Connecting::begin(&vi)?;
        // Who disconnects it finds the request, or comes before it.
        let mut request = lock(&vi.peer_request);
        let endpoint = Arc::clone(&vi.vi);
        let asked = connections.peer_request(endpoint, &local, &remote, &data, timeout(time));
        *request = Some(asked.map_err(code)?);
        Ok(())
    })
}

/// How the peer request of a VI ended, if it has.
unsafe fn peer(
    vi_handle: Pvoid,
    remote_attributes: *mut ViAttributes,
    how: impl FnOnce(&dyn PeerRequest) -> Result<Answer, Error>,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(remote_attributes) }?;
        // Not under the lock: whoever waits keeps nobody else from the VI.
        let request = lock(&vi.peer_request).clone().ok_or(Return::InvalidState)?;
        let ended = how(&*request);
        if matches!(ended, Err(Error::NotDone)) {
            return Err(Return::NotDone);
        }
        let answer = answered(&vi, ended);
        // Connected or not, there is no request any more.
        lock(&vi.peer_request).take_if(|now| Arc::ptr_eq(now, &request));
        out.put(answer?);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectPeerDone(vi: Pvoid, remote_attributes: *mut ViAttributes) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { peer(vi, remote_attributes, |request| request.done()) }
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectPeerWait(vi: Pvoid, remote_attributes: *mut ViAttributes) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { peer(vi, remote_attributes, |request| request.wait()) }
}

#[no_mangle]
pub extern "C" fn VipDisconnect(vi_handle: Pvoid) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        disconnect(&vi).map_err(code)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipGetRequestData(
    connection: Pvoid,
    data: *mut u8,
    length: *mut c_ulong,
) -> VipReturn {
    // SAFETY: vipl.h.
    call(|| unsafe { put_private_data(&CONNECTIONS.get(connection)?.data, data, length) })
}

#[no_mangle]
pub unsafe extern "C" fn VipGetPeerData(vi_handle: Pvoid, data: *mut u8, length: *mut c_ulong) -> VipReturn {
    call(|| {
        let has = lock(&VIS.get(vi_handle)?.peer_data).clone();
        // SAFETY: vipl.h.
        unsafe { put_private_data(&has, data, length) }
    })
}

/// A VI that is idle, and being connected as long as this lives.
pub struct Connecting<'a>(&'a Vi);

impl<'a> Connecting<'a> {
    /// # Errors
    /// It is not idle, or somebody connects it.
    pub fn begin(vi: &'a Vi) -> Result<Self, Return> {
        if lock(&vi.peer_request).is_some() || vi.connecting.swap(true, Ordering::AcqRel) {
            return Err(Return::InvalidState);
        }
        let connecting = Self(vi);
        match vi.vi.query().map_err(code)?.state {
            ViState::Idle => Ok(connecting),
            _ => Err(Return::InvalidState),
        }
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        self.0.connecting.store(false, Ordering::Release);
    }
}
