//! Connections: VIPL's calls over what the library needs of a connection manager ([`via::connections`]); and those beside VIPL, with
//! private data.

use std::{
    ffi::c_ulong,
    sync::{Arc, Mutex},
};

use via::{
    connections::{Answer, ConnectionRequest, HostAddress, PeerRequest, RemoteAttributes, REJECT_ROOM},
    Error, Return,
};

use crate::{
    address::{address, local},
    entry::{call, code, lock, timeout, Out},
    handles::Table,
    names::ADDRESS_BYTES,
    nic::{keep, NICS},
    private_data::{private_data, put_private_data},
    request::Request,
    types::{NetAddressHead, Pvoid, ViAttributes, VipReturn},
    vi::{attempt::Attempt, of_peer, Vi, VIS},
};

/// What VipConnectWait gave.
static CONNECTIONS: Table<Connection> = Table::new(5);

/// Somebody asks for a connection.
struct Connection {
    open: Pvoid,
    /// Its private data.
    data: Vec<u8>,
    request: Mutex<Option<Request>>,
}

// SAFETY: the pointer in it is a handle.
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

/// Rejects whoever asks for a connection with what was opened by this handle.
pub fn close(nic_handle: Pvoid) {
    drop(CONNECTIONS.remove_all(|connection| connection.open == nic_handle));
}

/// What a peer has answered: its private data stay with the VI.
pub fn answered(vi: &Vi, answer: Result<Answer, Error>) -> Result<ViAttributes, Return> {
    let (data, attributes) = match answer {
        Ok(answer) => (answer.data, Ok(of_peer(&answer.attributes))),
        Err(Error::Rejected(data)) => (data, Err(Return::Reject)),
        Err(error) => (Vec::new(), Err(code(error))),
    };
    *lock(&vi.peer_data) = data;
    attributes
}

/// Gives a program who asks: an address, and a handle.
///
/// # Safety
/// `remote_address` has room for an address with the longest discriminator.
pub unsafe fn put_request(
    nic_handle: Pvoid,
    request: Request,
    remote_address: *mut u8,
    out: &Out<Pvoid>,
) -> Result<(), Return> {
    let from = request.remote();
    // It is what the frames of the request came from.
    let HostAddress::Mac(host) = from.host else { return Err(Return::ErrorResource) };
    let head =
        NetAddressHead { host_length: ADDRESS_BYTES, discriminator_length: from.discriminator.len() as u16 };
    // SAFETY: the caller's promise.
    unsafe {
        remote_address.cast::<NetAddressHead>().write_unaligned(head);
        let bytes = remote_address.add(size_of::<NetAddressHead>());
        bytes.copy_from_nonoverlapping(host.0.as_ptr(), host.0.len());
        let bytes = bytes.add(host.0.len());
        bytes.copy_from_nonoverlapping(from.discriminator.as_ptr(), from.discriminator.len());
    }
    let handle = CONNECTIONS.next();
    let (data, request) = (request.data(), Mutex::new(Some(request)));
    CONNECTIONS.insert(handle, Arc::new(Connection { open: nic_handle, data, request }))?;
    keep(nic_handle, close)?;
    out.put(handle);
    Ok(())
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
        // SAFETY: vipl.h: there is room for an address with the NIC's longest discriminator.
        unsafe { put_request(nic_handle, Request::Waits(request), remote_address, &out) }
    })
}

/// Whether a VI is of the NIC that was asked, and has the peer's attributes. On a mismatch the other side hears nothing, and the program may try again.
fn fit(asked: &Connection, theirs: &RemoteAttributes, vi: &Vi) -> Result<(), Return> {
    // Another NIC's may have the number of one of this NIC's.
    if !Arc::ptr_eq(&NICS.get(asked.open)?.device, &vi.open.device) {
        return Err(Return::InvalidParameter);
    }
    let own = vi.vi.attributes();
    if theirs.reliability_level != own.reliability_level {
        return Err(Return::InvalidReliabilityLevel);
    }
    if theirs.max_transfer_size != own.max_transfer_size {
        return Err(Return::InvalidMtu);
    }
    Ok(())
}

fn accept(connection: Pvoid, vi_handle: Pvoid, data: &[u8]) -> Result<(), Return> {
    let asked = CONNECTIONS.get(connection)?;
    let vi = VIS.get(vi_handle)?;
    let mut request = lock(&asked.request);
    let peer = request.take().ok_or(Return::InvalidParameter)?.into_incoming();
    let accepted = vi.begin().and_then(|_connecting| {
        fit(&asked, &peer.attributes(), &vi)?;
        peer.accept(&vi.vi, data).map_err(code)
    });
    if let Err(error) = accepted {
        *request = Some(Request::Waits(peer));
        return Err(error);
    }
    lock(&vi.peer_data).clone_from(&asked.data);
    // It is used up; drop does no more than forget it.
    drop(peer);
    drop(request);
    CONNECTIONS.remove(connection, |_| Ok(()))?;
    Ok(())
}

/// Accepts a request that a connection queue gave with a VI, in this way, which is told the queue.
pub fn accept_queued(
    connection: Pvoid,
    vi: &Vi,
    how: impl FnOnce(&ConnectionRequest, Pvoid) -> Result<(), Return>,
) -> Result<(), Return> {
    let asked = CONNECTIONS.get(connection)?;
    let mut request = lock(&asked.request);
    match request.as_ref().ok_or(Return::InvalidParameter)? {
        Request::Waits(_) => return Err(Return::InvalidState),
        Request::Queued(peer, queue) => {
            fit(&asked, &peer.attributes(), vi)?;
            how(peer, *queue)?;
        }
    }
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
    request.into_incoming().reject(data).map_err(code)
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
        let _connecting = vi.begin()?;
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
        let connecting = vi.begin()?;
        connecting.go_on(|| {
            let endpoint = Arc::clone(&vi.vi);
            let asked = connections.peer_request(endpoint, &local, &remote, &data, timeout(time));
            asked.map(Attempt::Peer).map_err(code)
        })
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
        let request = vi.attempts.peer().ok_or(Return::InvalidState)?;
        let ended = how(&*request);
        if matches!(ended, Err(Error::NotDone)) {
            return Err(Return::NotDone);
        }
        let answer = answered(&vi, ended);
        // Connected or not, there is no request any more.
        vi.attempts.end_peer(&request);
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
        vi.disconnect().map_err(code)
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
