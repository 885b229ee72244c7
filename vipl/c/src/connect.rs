//! Connections: VIPL's calls over what the library needs of a connection manager ([`via::connections`]).

use std::{
    ffi::c_ulong,
    sync::{atomic::Ordering, Arc, Mutex},
};

use via::{
    connections::{Incoming, NetAddress, RemoteAttributes, MAX_DISCRIMINATOR},
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

/// Ends the connection of a VI, or the attempt at one: first nobody connects it any more, and the peer hears of it, then it is made
/// idle.
pub fn disconnect(vi: &Vi) -> Result<(), Error> {
    if vi.has_connected.load(Ordering::Acquire) {
        if let Ok(connections) = vi.open.device.nic.connections() {
            // The VI is disconnected whatever becomes of the peer.
            let _ = connections.disconnect(&vi.vi);
        }
    }
    lock(&vi.peer_request).take();
    vi.vi.disconnect()
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
        let connection = Connection { open: nic_handle, request: Mutex::new(Some(request)) };
        CONNECTIONS.insert(handle, Arc::new(connection))?;
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipConnectAccept(connection: Pvoid, vi_handle: Pvoid) -> VipReturn {
    call(|| {
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
        vi.has_connected.store(true, Ordering::Release);
        peer.accept(&vi.vi).map_err(code)?;
        // It is used up; drop does no more than forget it.
        drop(request.take());
        drop(request);
        CONNECTIONS.remove(connection, |_| Ok(()))?;
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipConnectReject(connection: Pvoid) -> VipReturn {
    call(|| {
        let asked = CONNECTIONS.remove(connection, |_| Ok(()))?;
        let request = lock(&asked.request).take().ok_or(Return::InvalidParameter)?;
        request.reject().map_err(code)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectRequest(
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
    remote_attributes: *mut ViAttributes,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let (local, remote) = unsafe { (local(&vi.open, local_address)?, address(remote_address)?) };
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(remote_attributes) }?;
        let connections = vi.open.device.nic.connections().map_err(code)?;
        let _connecting = Connecting::begin(&vi)?;
        vi.has_connected.store(true, Ordering::Release);
        let is = connections.request(&vi.vi, &local, &remote, timeout(time)).map_err(code)?;
        out.put(of_peer(&is));
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
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let (local, remote) = unsafe { (local(&vi.open, local_address)?, address(remote_address)?) };
        let connections = vi.open.device.nic.connections().map_err(code)?;
        let _connecting = Connecting::begin(&vi)?;
        vi.has_connected.store(true, Ordering::Release);
        let request = connections.peer_request(&vi.vi, &local, &remote, timeout(time)).map_err(code)?;
        *lock(&vi.peer_request) = Some(request);
        Ok(())
    })
}

/// How the peer request of a VI ended, if it has.
unsafe fn peer(
    vi_handle: Pvoid,
    remote_attributes: *mut ViAttributes,
    how: impl FnOnce(&dyn via::connections::PeerRequest, &Vi) -> Result<RemoteAttributes, Error>,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(remote_attributes) }?;
        // Not under the lock: whoever waits keeps nobody else from the VI.
        let request = lock(&vi.peer_request).clone().ok_or(Return::InvalidState)?;
        let ended = how(&*request, &vi);
        if matches!(ended, Err(Error::NotDone)) {
            return Err(Return::NotDone);
        }
        // Connected or not, there is no request any more.
        lock(&vi.peer_request).take_if(|now| Arc::ptr_eq(now, &request));
        out.put(of_peer(&ended.map_err(code)?));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectPeerDone(vi: Pvoid, remote_attributes: *mut ViAttributes) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { peer(vi, remote_attributes, |request, vi| request.done(&vi.vi)) }
}

#[no_mangle]
pub unsafe extern "C" fn VipConnectPeerWait(vi: Pvoid, remote_attributes: *mut ViAttributes) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { peer(vi, remote_attributes, |request, vi| request.wait(&vi.vi)) }
}

#[no_mangle]
pub extern "C" fn VipDisconnect(vi_handle: Pvoid) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        disconnect(&vi).map_err(code)
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
