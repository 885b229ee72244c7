//! Asynchronous errors: one thread for each NIC hears of them and calls the program's handler.

use std::{
    ffi::{c_int, c_ulong},
    ptr::null_mut,
    sync::{atomic::Ordering, Arc},
    thread::JoinHandle,
    time::Duration,
};

use via::{Event, Return};
use viaduct_spec::{descriptor::status, register::event_code};

use crate::{
    cq::CQS,
    device::Device,
    entry::{call, lock},
    nic::{OpenNic, NICS},
    types::{resource, ErrorDescriptor, ErrorHandler, Pvoid, VipReturn, CATASTROPHIC},
    vi::VIS,
};

/// How long the thread listens before it looks whether it is still wanted.
const SLICE: Duration = Duration::from_millis(100);

/// Starts the thread of a NIC. Without one there is nobody to call handlers.
pub fn listen(device: &Arc<Device>) -> Option<JoinHandle<()>> {
    let device = Arc::downgrade(device);
    let listen = move || loop {
        let Some(device) = device.upgrade().filter(|device| !device.closed.load(Ordering::Acquire)) else {
            return;
        };
        match device.nic.wait_events(SLICE) {
            Ok(events) => events.iter().for_each(|event| tell(&device, event)),
            Err(error) => {
                eprintln!("vipl: {error}");
                for open in NICS.all(|open| Arc::ptr_eq(&open.device, &device)) {
                    deliver(&open, &mut of(&open, resource::NIC, CATASTROPHIC, 0));
                }
                return;
            }
        }
    };
    viaduct_driver::thread::spawn("vipl-errors", listen).ok()
}

/// An error, as programs get it.
fn of(open: &OpenNic, resource_code: c_int, error_code: c_int, op_code: u32) -> ErrorDescriptor {
    ErrorDescriptor {
        nic: open.handle,
        vi: null_mut(),
        cq: null_mut(),
        descriptor: null_mut(),
        op_code: op_code.into(),
        resource_code,
        error_code,
    }
}

/// Tells whose it is of an event.
fn tell(device: &Arc<Device>, event: &Event) {
    if event.code == event_code::CQ_OVERRUN {
        // There the number is the queue's.
        let found = CQS.find_map(|cq| {
            let is_its = Arc::ptr_eq(&cq.open.device, device) && cq.cq.is_of(event);
            is_its.then(|| (cq.handle, Arc::clone(&cq.open)))
        });
        if let Some((cq, open)) = found {
            deliver(&open, &mut ErrorDescriptor { cq, ..of(&open, resource::CQ, CATASTROPHIC, 0) });
        }
        return;
    }
    // The program may destroy it while the handler runs, and what it had.
    let found = VIS.find_map(|vi| {
        let is_its = Arc::ptr_eq(&vi.open.device, device) && vi.vi.is_of(event);
        is_its.then(|| (vi.handle, Arc::clone(&vi.open)))
    });
    let Some((vi, open)) = found else { return };
    let operation = match event.code {
        event_code::RDMAW_PROT | event_code::RDMAW_ABORT => status::OP_REMOTE_RDMA_WRITE,
        event_code::RDMAR_PROT | event_code::RDMA_TRANSPORT => status::OP_RDMA_READ,
        _ if event.receive => status::OP_RECEIVE,
        _ => status::OP_SEND,
    };
    // Events are VIA's codes plus 1.
    let code = c_int::from(event.code) - 1;
    deliver(&open, &mut ErrorDescriptor { vi, ..of(&open, resource::VI, code, operation) });
}

/// Calls the program's handler, or writes the error down; or the program takes it when it likes.
fn deliver(open: &OpenNic, error: &mut ErrorDescriptor) {
    if let Some(waiting) = &mut *lock(&open.waiting) {
        waiting.put(*error);
        return;
    }
    let handler = *lock(&open.handler);
    match handler {
        // SAFETY: the program gave it: vipl.h.
        Some((handler, context)) => unsafe { handler(context, error) },
        None => {
            let code = u64::try_from(error.error_code + 1).unwrap_or(0);
            let codes = event_code::CODES.codes;
            let known = codes.iter().find(|known| known.value == code && error.error_code != CATASTROPHIC);
            let name = known.map_or("CATASTROPHIC", |known| known.name);
            let (vi, cq): (Pvoid, Pvoid) = (error.vi, error.cq);
            let operation: c_ulong = error.op_code;
            eprintln!(
                "vipl: VIP_ERROR_{name}: NIC {:p}, VI {vi:p}, CQ {cq:p}, operation {operation:#x}",
                error.nic
            );
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipErrorCallback(
    nic_handle: Pvoid,
    context: Pvoid,
    handler: Option<ErrorHandler>,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        *lock(&open.handler) = handler.map(|handler| (handler, context));
        Ok::<(), Return>(())
    })
}
