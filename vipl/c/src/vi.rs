//! Virtual interfaces.

pub mod attempt;
pub mod begun;
mod connecting;

use std::{
    num::NonZeroU64,
    ptr::null_mut,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex,
    },
};

use via::{
    connections::RemoteAttributes, Direction, NotReady, RawDescriptor, Return, ViId, ViQueues, ViSlot,
    ViState,
};

use self::attempt::Attempts;
use crate::{
    cq::CQS,
    entry::{call, code, lock, read, Out},
    nic::{keep, level, OpenNic, NICS},
    notify::Notifier,
    slots::{is_unshared, Reserved, Slots},
    tag::Tag,
    types::{state, Boolean, Pvoid, ViAttributes, ViCallback, VipReturn},
};

/// The kind of the handles of VIs, in [`Slots`].
const KIND: usize = 2;
/// VIs that a process may have at a time.
const COUNT: usize = 4096;
/// Two work queues each.
const QUEUES: usize = 2;
/// What posts and looks have of a VI.
type Queues = Arc<ViQueues<RawDescriptor>>;
/// What VipCreateVi gave. Completion queues call a VI by its handle.
pub static VIS: Slots<Vi, Queues, KIND, QUEUES, COUNT> = Slots::new();
/// The queue of a VI in [`VIS`] whose door posts and looks at sends go through, with the send queue's lock.
pub const SEND: usize = 0;
/// The same for receives.
pub const RECEIVE: usize = 1;

/// A virtual interface.
pub struct Vi {
    pub handle: Pvoid,
    pub open: Arc<OpenNic>,
    /// A peer request has it too.
    pub vi: Arc<via::Vi<RawDescriptor>>,
    /// The tag's handle, and what keeps it from being destroyed.
    tag: Mutex<(Pvoid, Option<Arc<Tag>>)>,
    pub send_notifier: Notifier<ViCallback>,
    pub receive_notifier: Notifier<ViCallback>,
    /// How it comes to a connection.
    pub attempts: Attempts,
    /// The private data that its peer has sent last.
    pub peer_data: Mutex<Vec<u8>>,
    /// It has been destroyed: waits end.
    pub dead: AtomicBool,
    /// Its work queues have it, too: their locks are there.
    slot: Arc<Reserved<Vi, Queues, KIND, QUEUES, COUNT>>,
}

// SAFETY: the pointers in it are handles.
unsafe impl Send for Vi {}
// SAFETY: as above.
unsafe impl Sync for Vi {}

impl Vi {
    pub fn notifier(&self, direction: Direction) -> &Notifier<ViCallback> {
        match direction {
            Direction::Send => &self.send_notifier,
            Direction::Receive => &self.receive_notifier,
        }
    }

    /// The program has promised that no two threads are in its calls at one time.
    pub fn is_unshared(&self) -> bool {
        is_unshared(self.handle)
    }

    /// It is destroyed: who waits waits no longer.
    fn end(&self) {
        self.dead.store(true, Ordering::Release);
        self.send_notifier.stop(|| self.vi.wake(Direction::Send));
        self.receive_notifier.stop(|| self.vi.wake(Direction::Receive));
    }

    /// Says what becomes of a message that finds no receive.
    pub fn set_not_ready(&self, not_ready: NotReady) -> Result<(), Return> {
        if self.attempts.is_under_way() {
            return Err(Return::InvalidState);
        }
        // Nobody sets other attributes meanwhile.
        let _held = lock(&self.tag);
        self.vi.set_attributes(&via::ViAttributes { not_ready, ..self.vi.attributes() }).map_err(code)
    }
}

/// Ends the VIs that were made with a handle of a NIC.
pub fn close(nic_handle: Pvoid) {
    for vi in VIS.remove_all(|vi| vi.open.handle == nic_handle) {
        // Whoever waits for it finds its descriptors flushed. Of a device that is gone nothing is left to disconnect.
        let _ = vi.disconnect();
        vi.end();
    }
}

/// Attributes as the library has them, from what a program gave.
fn wanted(open: &OpenNic, given: &ViAttributes) -> Result<(via::ViAttributes, Option<Arc<Tag>>), Return> {
    let is = open.device.nic.attributes();
    let reliability_level = is
        .reliability_level_support
        .into_iter()
        .find(|&offered| level(offered) == given.reliability_level)
        .ok_or(Return::InvalidReliabilityLevel)?;
    let max_transfer_size = u32::try_from(given.max_transfer_size).map_err(|_| Return::InvalidMtu)?;
    if !given.qos.is_null() {
        return Err(Return::InvalidQos);
    }
    let (ptag, tag) = open.tag(given.ptag)?;
    if given.enable_rdma_read != 0 && !is.rdma_read_support.contains(&reliability_level) {
        return Err(Return::InvalidRdmaRead);
    }
    let attributes = via::ViAttributes {
        reliability_level,
        max_transfer_size,
        enable_rdma_write: given.enable_rdma_write != 0,
        enable_rdma_read: given.enable_rdma_read != 0,
        ..via::ViAttributes::new(&ptag)
    };
    Ok((attributes, tag))
}

/// A peer's attributes, as programs get them: its tag is its own business.
pub fn of_peer(is: &RemoteAttributes) -> ViAttributes {
    ViAttributes {
        reliability_level: level(is.reliability_level),
        max_transfer_size: is.max_transfer_size.into(),
        qos: null_mut(),
        ptag: null_mut(),
        enable_rdma_write: is.enable_rdma_write.into(),
        enable_rdma_read: is.enable_rdma_read.into(),
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipCreateVi(
    nic_handle: Pvoid,
    attributes: *const ViAttributes,
    send_cq: Pvoid,
    receive_cq: Pvoid,
    vi_handle: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(vi_handle) }?;
        // SAFETY: vipl.h.
        let given = unsafe { read(attributes) }?;
        let (mut wanted, tag) = wanted(&open, &given)?;
        let cq = |handle: Pvoid| (!handle.is_null()).then(|| CQS.get(handle)).transpose();
        let (send_cq, receive_cq) = (cq(send_cq)?, cq(receive_cq)?);
        wanted.send_cq = send_cq.map(|cq| cq.cq.clone());
        wanted.receive_cq = receive_cq.map(|cq| cq.cq.clone());
        let slot = Arc::new(VIS.reserve(open.is_unshared())?);
        let handle = slot.handle();
        let id = ViId::of(NonZeroU64::new(handle.addr() as u64).ok_or(Return::ErrorResource)?);
        let locks = [SEND, RECEIVE].map(|queue| slot.place(queue));
        let vi = Arc::new(open.device.nic.create_vi_at(&wanted, ViSlot { id, locks }).map_err(code)?);
        let vi = Arc::new(Vi {
            handle,
            open,
            vi,
            tag: Mutex::new((given.ptag, tag)),
            send_notifier: Notifier::new(),
            receive_notifier: Notifier::new(),
            attempts: Attempts::default(),
            peer_data: Mutex::default(),
            dead: AtomicBool::new(false),
            slot,
        });
        vi.slot.fill(&vi, vi.vi.queues());
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipDestroyVi(vi_handle: Pvoid) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // Nobody begins a connection meanwhile.
        let _destroying = vi.begin().map_err(|_| Return::ErrorResource)?;
        // The NIC is asked while others find their VIs.
        let is = vi.vi.query().map_err(code)?;
        if !(is.send_queue_empty && is.receive_queue_empty) {
            return Err(Return::ErrorResource);
        }
        VIS.remove(vi_handle, |_| Ok(()))?.end();
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipSetViAttributes(vi_handle: Pvoid, attributes: *const ViAttributes) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let given = unsafe { read(attributes) }?;
        if vi.attempts.is_under_way() {
            return Err(Return::InvalidState);
        }
        let (mut wanted, tag) = wanted(&vi.open, &given)?;
        let mut held = lock(&vi.tag);
        // VIPL's attributes do not have it.
        wanted.not_ready = vi.vi.attributes().not_ready;
        vi.vi.set_attributes(&wanted).map_err(code)?;
        *held = (given.ptag, tag);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipQueryVi(
    vi_handle: Pvoid,
    vi_state: *mut std::ffi::c_int,
    attributes: *mut ViAttributes,
    send_queue_empty: *mut Boolean,
    receive_queue_empty: *mut Boolean,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        let (state_out, attributes_out) = unsafe { (Out::new(vi_state)?, Out::new(attributes)?) };
        // SAFETY: vipl.h.
        let empty_out = unsafe { (Out::new(send_queue_empty)?, Out::new(receive_queue_empty)?) };
        let is = vi.vi.query().map_err(code)?;
        state_out.put(match is.state {
            ViState::Idle if vi.attempts.is_under_way() => state::CONNECT_PENDING,
            ViState::Idle => state::IDLE,
            ViState::Connected => state::CONNECTED,
            ViState::Error => state::ERROR,
        });
        attributes_out.put(ViAttributes {
            reliability_level: level(is.attributes.reliability_level),
            max_transfer_size: is.attributes.max_transfer_size.into(),
            qos: null_mut(),
            ptag: lock(&vi.tag).0,
            enable_rdma_write: is.attributes.enable_rdma_write.into(),
            enable_rdma_read: is.attributes.enable_rdma_read.into(),
        });
        empty_out.0.put(is.send_queue_empty.into());
        empty_out.1.put(is.receive_queue_empty.into());
        Ok(())
    })
}
