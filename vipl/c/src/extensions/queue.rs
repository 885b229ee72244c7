//! Connection queues.

use std::{
    ffi::{c_int, c_ulong},
    os::fd::AsRawFd,
    ptr::null_mut,
    sync::Arc,
    time::Duration,
};

use via::{
    connections::{ConnectionEvent, ConnectionQueue, Endpoint, NetAddress},
    Error, Return,
};

use super::listener::{self, backlog, Kind, Listener, LISTENERS};
use crate::{
    address::{address, local},
    connect::{accept_queued, answered, put_request},
    entry::{call, code, timeout, Out},
    handles::Table,
    nic::{keep, OpenNic, NICS},
    private_data::private_data,
    request::Request,
    types::{conn_event, ConnEvent, Pvoid, ViAttributes, VipReturn},
    vi::{
        attempt::{Attempt, Connecting},
        begun::{Begun, How},
        of_peer, Vi, VIS,
    },
    word::Word,
};

/// What VipExtCreateConnQueue gave.
static QUEUES: Table<Queue> = Table::new(6);

/// A connection queue.
struct Queue {
    handle: Word,
    open: Arc<OpenNic>,
    queue: ConnectionQueue,
}

impl Queue {
    /// It has just been taken out of [`QUEUES`]: its listeners end, and nobody takes what comes of its attempts, which are given up.
    fn end(&self) {
        let Word(own) = self.handle;
        listener::close_queue(own);
        Begun::forget_all(own);
        // A VI of another NIC may wait for its agent. One may have just been destroyed.
        let vis = VIS.handles().into_iter().filter_map(|vi| VIS.get(vi).ok());
        for vi in vis.filter(|vi| Arc::ptr_eq(&vi.open.device, &self.open.device)) {
            // Of a device that is gone nothing is left to disconnect.
            vi.attempts.end_if_of(own, || drop(vi.vi.disconnect()));
        }
    }
}

/// Ends the connection queues of a handle of a NIC.
pub fn close(nic_handle: Pvoid) {
    QUEUES.remove_all(|queue| queue.open.handle == nic_handle).iter().for_each(|queue| queue.end());
}

/// A call begins what goes on by a queue, in this way, which is told the library's word for it.
fn begin(
    connecting: Connecting<'_>,
    vi: &Vi,
    begun: Arc<Begun>,
    ask: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<(), Return> {
    connecting.go_on(|| {
        let asked = ask(begun.number()).map_err(code).and_then(|()| {
            // Who has destroyed the queue meanwhile has not found this under way.
            QUEUES.get(begun.queue.0).map(drop).inspect_err(|_| drop(vi.vi.disconnect()))
        });
        match asked {
            Ok(()) => Ok(Attempt::Queued(begun)),
            Err(error) => {
                begun.forget();
                Err(error)
            }
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtCreateConnQueue(nic_handle: Pvoid, queue_handle: *mut Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(queue_handle) }?;
        let queue = open.device.nic.connections().map_err(code)?.queue();
        let handle = QUEUES.next();
        QUEUES.insert(handle, Arc::new(Queue { handle: Word(handle), open, queue }))?;
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipExtDestroyConnQueue(queue_handle: Pvoid) -> VipReturn {
    call(|| {
        QUEUES.remove(queue_handle, |_| Ok(()))?.end();
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtConnQueueFd(queue_handle: Pvoid, fd: *mut c_int) -> VipReturn {
    call(|| {
        let queue = QUEUES.get(queue_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(fd) }?;
        out.put(queue.queue.fd().map_err(code)?.as_raw_fd());
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipExtConnQueueArm(queue_handle: Pvoid) -> VipReturn {
    call(|| QUEUES.get(queue_handle)?.queue.arm().map_err(code))
}

#[no_mangle]
pub unsafe extern "C" fn VipExtConnQueueListen(
    queue_handle: Pvoid,
    local_address: *const u8,
    requests: c_ulong,
    context: Pvoid,
    listener_handle: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let queue = QUEUES.get(queue_handle)?;
        // SAFETY: vipl_ext.h.
        let (local, out) = unsafe { (local(&queue.open, local_address)?, Out::new(listener_handle)?) };
        let own = LISTENERS.next();
        let listener = queue.queue.listen(&local, backlog(requests)?, Word(own).number()).map_err(code)?;
        let kind = Kind::Queued { queue: queue_handle, context, _listener: listener };
        LISTENERS.insert(own, Arc::new(Listener { open: queue.open.handle, kind }))?;
        keep(queue.open.handle, listener::close)?;
        // As well when the queue was destroyed meanwhile.
        QUEUES.get(queue_handle).map(drop).inspect_err(|_| listener::close_queue(queue_handle))?;
        out.put(own);
        Ok(())
    })
}

/// A VI of the program's, with which a connection queue asks somebody.
struct Ask {
    queue: Arc<Queue>,
    vi: Arc<Vi>,
    local: NetAddress,
    remote: NetAddress,
    data: Vec<u8>,
}

/// What asks: as [`ConnectionQueue::connect`].
type Asking = fn(
    &ConnectionQueue,
    Arc<dyn Endpoint>,
    &NetAddress,
    &NetAddress,
    &[u8],
    Option<Duration>,
    u64,
) -> Result<(), Error>;

impl Ask {
    /// Of what a program says.
    ///
    /// # Safety
    /// The addresses and the data are as vipl_ext.h says.
    unsafe fn of(
        queue: Pvoid,
        vi_handle: Pvoid,
        [local_address, remote_address]: [*const u8; 2],
        (data, length): (*const u8, c_ulong),
    ) -> Result<Self, Return> {
        let (queue, vi) = (QUEUES.get(queue)?, VIS.get(vi_handle)?);
        if !Arc::ptr_eq(&vi.open.device, &queue.open.device) {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: the caller's promise.
        let (local, remote) = unsafe { (local(&vi.open, local_address)?, address(remote_address)?) };
        // SAFETY: the caller's promise.
        let data = unsafe { private_data(data, length) }?;
        Ok(Self { queue, vi, local, remote, data })
    }

    fn begin(&self, ask: Asking, timeout: Option<Duration>, context: Pvoid) -> Result<(), Return> {
        let Self { queue, vi, local, remote, data } = self;
        let connecting = vi.begin()?;
        let begun = Begun::new(How::Asked, vi.handle, queue.handle.0, context);
        begin(connecting, vi, begun, |number| {
            ask(&queue.queue, vi.vi.clone(), local, remote, data, timeout, number)
        })
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipExtConnQueueRequest(
    queue_handle: Pvoid,
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
    data: *const u8,
    length: c_ulong,
    context: Pvoid,
) -> VipReturn {
    call(|| {
        // SAFETY: vipl_ext.h.
        let ask =
            unsafe { Ask::of(queue_handle, vi_handle, [local_address, remote_address], (data, length)) }?;
        ask.begin(ConnectionQueue::connect, timeout(time), context)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtConnQueuePeerRequest(
    queue_handle: Pvoid,
    vi_handle: Pvoid,
    local_address: *const u8,
    remote_address: *const u8,
    time: c_ulong,
    data: *const u8,
    length: c_ulong,
    context: Pvoid,
) -> VipReturn {
    call(|| {
        // SAFETY: vipl_ext.h.
        let ask =
            unsafe { Ask::of(queue_handle, vi_handle, [local_address, remote_address], (data, length)) }?;
        ask.begin(ConnectionQueue::connect_peer, timeout(time), context)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtConnQueueAccept(
    connection: Pvoid,
    vi_handle: Pvoid,
    data: *const u8,
    length: c_ulong,
    context: Pvoid,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl_ext.h.
        let data = unsafe { private_data(data, length) }?;
        let connecting = vi.begin()?;
        accept_queued(connection, &vi, |asked, queue_handle| {
            QUEUES.get(queue_handle)?;
            let begun = Begun::new(How::Accepted, vi_handle, queue_handle, context);
            begin(connecting, &vi, begun, |number| asked.accept(vi.vi.clone(), &data, number))
        })
    })
}

#[no_mangle]
pub extern "C" fn VipExtConnQueueDisconnect(queue_handle: Pvoid, vi_handle: Pvoid) -> VipReturn {
    call(|| {
        let (queue, vi) = (QUEUES.get(queue_handle)?, VIS.get(vi_handle)?);
        let (ended, connection) = vi.attempts.end_by(|| queue.queue.disconnect(&*vi.vi));
        // This queue has an event of its own connection yet, and none has one of another's.
        if let Some(begun) = connection.filter(|begun| begun.queue.0 != queue_handle) {
            begun.forget();
        }
        ended.map_err(code)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtConnQueueDone(
    queue_handle: Pvoid,
    event: *mut ConnEvent,
    remote_address: *mut u8,
) -> VipReturn {
    call(|| {
        let queue = QUEUES.get(queue_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(event) }?;
        // SAFETY: vipl_ext.h.
        let _room = unsafe { Out::new(remote_address) }?;
        loop {
            let happened = queue.queue.next().map_err(code)?;
            let ConnectionEvent::Requested(asked) = happened else {
                let Some(event) = of_vi(happened) else { continue };
                out.put(event);
                return Ok(());
            };
            // Of a listener that has just ended nobody hears: dropped, the request is rejected.
            let Ok(listener) = LISTENERS.get(Word::of(asked.context()).0) else { continue };
            let Kind::Queued { context, .. } = listener.kind else { continue };
            let attributes = of_peer(&asked.attributes());
            let mut connection = null_mut();
            // SAFETY: vipl_ext.h: there is room for an address with the NIC's longest discriminator. The handle is this call's.
            unsafe {
                let handle_out = Out::new(&raw mut connection)?;
                let request = Request::Queued(asked, queue_handle);
                put_request(queue.open.handle, request, remote_address, &handle_out)?;
            }
            out.put(ConnEvent {
                kind: conn_event::REQUESTED,
                context,
                connection,
                attributes,
                ..ConnEvent::none()
            });
            return Ok(());
        }
    })
}

/// What has happened to a VI, as programs hear it; None: somebody has ended the connection, or the queue, before anybody heard of it.
fn of_vi(happened: ConnectionEvent) -> Option<ConnEvent> {
    let (kind, number, outcome) = match happened {
        ConnectionEvent::Connected { context, answer } => (conn_event::CONNECTED, context, Some(Ok(answer))),
        ConnectionEvent::Failed { context, error } => (conn_event::FAILED, context, Some(Err(error))),
        ConnectionEvent::Disconnected { context } => (conn_event::DISCONNECTED, context, None),
        ConnectionEvent::Lost { context } => (conn_event::LOST, context, None),
        ConnectionEvent::Parted { context } => (conn_event::PARTED, context, None),
        // There are no others; requests are of listeners.
        _ => return None,
    };
    let begun = Begun::find(number)?;
    let is_connected = kind == conn_event::CONNECTED;
    if !is_connected {
        begun.forget();
    }
    let (Word(vi), Word(context)) = (begun.vi, begun.context);
    let event = ConnEvent { kind, vi, context, ..ConnEvent::none() };
    // It may have been destroyed meanwhile.
    let (Some(outcome), Ok(vi)) = (outcome, VIS.get(vi)) else { return Some(event) };
    let is_its = vi.attempts.end_queued(&begun, is_connected);
    if is_connected && !is_its {
        // Who destroys a queue forgets what it has begun before he ends it.
        Begun::find(number)?;
    }
    let told = match outcome {
        // Who has accepted has the peer's data since the request.
        Ok(answer) if begun.how == How::Accepted => Ok(of_peer(&answer.attributes)),
        outcome if is_its => answered(&vi, outcome),
        // The private data that the VI has are those of what was begun since.
        outcome => outcome.map(|answer| of_peer(&answer.attributes)).map_err(code),
    };
    Some(match told {
        Ok(attributes) => ConnEvent { attributes, ..event },
        Err(status) => ConnEvent { status: status as VipReturn, ..event },
    })
}

impl ConnEvent {
    fn none() -> Self {
        let attributes = ViAttributes {
            reliability_level: 0,
            max_transfer_size: 0,
            qos: null_mut(),
            ptag: null_mut(),
            enable_rdma_write: 0,
            enable_rdma_read: 0,
        };
        let (context, vi, connection) = (null_mut(), null_mut(), null_mut());
        Self { kind: 0, status: Return::Success as VipReturn, context, vi, connection, attributes }
    }
}
