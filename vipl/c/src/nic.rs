//! NICs and protection tags.

use std::{
    collections::BTreeMap,
    env,
    ffi::{c_char, c_ulong, CStr},
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use via::{connections::MAX_DISCRIMINATOR, full_name, Mac, Nic, Ptag, ReliabilityLevel, Return};
use viaduct_driver::log;

use crate::{
    entry::{call, code, watch_forks, Out},
    events,
    handles::Table,
    hosts::Hosts,
    memory::Memories,
    notify,
    types::{ErrorHandler, NicAttributes, Pvoid, VipReturn, SMI_AUTODISCOVERY},
};

/// What VipOpenNic gave.
pub static NICS: Table<OpenNic> = Table::new(1);
/// What VipCreatePtag gave.
pub static PTAGS: Table<Tag> = Table::new(4);
/// The NICs that are open, or about to be: a process may open one several times. Nobody waits for a NIC with this lock.
static DEVICES: Mutex<BTreeMap<String, Slot>> = Mutex::new(BTreeMap::new());
/// One of them has changed.
static CHANGED: Condvar = Condvar::new();
/// How long a NIC that was closed may take until it can be opened again: calls that were under way end first.
const CLOSING: Duration = Duration::from_secs(5);

/// A NIC that somebody has asked for.
enum Slot {
    /// A thread opens it.
    Opening,
    /// It is open, or was: whoever closes it takes it off the list.
    Open(Weak<Device>),
}

/// A NIC, however often it is open.
pub struct Device {
    /// Its name in [`DEVICES`].
    target: String,
    pub nic: Nic,
    pub mac: Mac,
    /// Its registered memory, by handle.
    pub memory: RwLock<Memories>,
    /// Hears of asynchronous errors.
    listener: Mutex<Option<JoinHandle<()>>>,
    /// The listener shall end.
    pub closed: AtomicBool,
    /// The tag of all that the process has, where things without one are taken.
    common_tag: Mutex<Option<Ptag>>,
}

/// A NIC as one VipOpenNic gave it.
pub struct OpenNic {
    pub handle: Pvoid,
    name: String,
    pub device: Arc<Device>,
    /// What has no tag is taken: see [`is_null_ptag_taken`].
    lenient: bool,
    pub names: Mutex<Option<Hosts>>,
    /// The program's handler of asynchronous errors, and its word for it.
    pub handler: Mutex<Option<(ErrorHandler, Pvoid)>>,
    /// Its asynchronous errors, when the program has asked for a descriptor to wait for them on.
    pub waiting: Mutex<Option<events::Waiting>>,
}

/// A protection tag.
pub struct Tag {
    pub open: Pvoid,
    pub ptag: Ptag,
}

// SAFETY: the pointers in it, and in the errors that wait, are handles, and the program's word for its handler, which the library only gives back.
unsafe impl Send for OpenNic {}
// SAFETY: as above.
unsafe impl Sync for OpenNic {}
// SAFETY: as above.
unsafe impl Send for Tag {}
// SAFETY: as above.
unsafe impl Sync for Tag {}

/// Whether VIs and memory without a protection tag are taken: the variable `VIPL_COMPAT` is `null-ptag`. A VI without a tag may use all
/// memory of its process, whatever tag that has, as on the NICs that such programs were written for. The hardware compares one tag with one
/// tag: so all tags of the process are one in the NIC, which its handles only name, and nothing of the process is protected from itself.
fn is_null_ptag_taken() -> bool {
    env::var("VIPL_COMPAT").is_ok_and(|value| value == "null-ptag")
}

/// What was made with a handle of a NIC's has just been put where others find it. If the NIC was closed meanwhile, it may be too late
/// for `close`, which ends all that was made with it: then that is done once more.
pub fn keep(nic_handle: Pvoid, close: impl FnOnce(Pvoid)) -> Result<(), Return> {
    NICS.get(nic_handle).map(drop).inspect_err(|_| close(nic_handle))
}

fn close_tags(nic_handle: Pvoid) {
    drop(PTAGS.remove_all(|tag| tag.open == nic_handle));
}

/// Takes a lock, also after a thread has panicked with it: no step leaves what it guards half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Opens a NIC, or finds it open; `insert` makes it known that it is. Two threads that open one open it once, and one that closes
    /// it meanwhile does so before or after. Other NICs do not wait for this one. `name` is what the program called it.
    fn open(
        name: &str,
        target: &str,
        insert: impl FnOnce(Arc<Self>) -> Result<(), Return>,
    ) -> Result<(), Return> {
        let mut dead = Weak::new();
        while let Some(device) = Self::find(target, &dead)? {
            if device.nic.check().is_err_and(|error| error.is_gone()) {
                dead = Arc::downgrade(&device);
                continue;
            }
            let devices = lock(&DEVICES);
            // If it was closed meanwhile, that is waited for.
            if !device.closed.load(Ordering::Acquire) {
                let inserted = insert(device);
                drop(devices);
                return inserted;
            }
        }
        // It is this thread's to open.
        let opening = Opening(target);
        let said = |error: via::Error| {
            match name == target {
                true => eprintln!("vipl: {name}: {error}"),
                false => eprintln!("vipl: {name}, an alias of {target}: {error}"),
            }
            code(error)
        };
        let nic = Nic::open(target).map_err(said)?;
        // From here on peers are answered, if only that nobody waits for them. Should that not be possible, the calls that connect
        // say so.
        drop(nic.connections());
        let device = Arc::new(Self {
            target: target.into(),
            mac: nic.attributes().local_nic_address,
            nic,
            memory: RwLock::default(),
            listener: Mutex::default(),
            closed: AtomicBool::new(false),
            common_tag: Mutex::default(),
        });
        *lock(&device.listener) = events::listen(&device);
        opening.end(device, insert)
    }

    /// One that is open, and not `dead`: its handles stay as they are, but who opens the NIC now gets the one that is there instead of
    /// it. None: there is none, and who asks is to open it. Waits for those who open or close it.
    fn find(target: &str, dead: &Weak<Self>) -> Result<Option<Arc<Self>>, Return> {
        let (mut last, mut start) = (Weak::new(), Instant::now());
        let mut devices = lock(&DEVICES);
        loop {
            match devices.get(target) {
                Some(Slot::Open(device)) if !device.ptr_eq(dead) => {
                    let open = |device: &Arc<Self>| !device.closed.load(Ordering::Acquire);
                    if let Some(device) = device.upgrade().filter(open) {
                        return Ok(Some(device));
                    }
                    // Others may be quicker, and open and close it anew.
                    if !device.ptr_eq(&last) {
                        (last, start) = (device.clone(), Instant::now());
                    } else if start.elapsed() > CLOSING {
                        return Err(Return::ErrorResource);
                    }
                }
                Some(Slot::Opening) => {}
                Some(Slot::Open(_)) | None => {
                    devices.insert(target.into(), Slot::Opening);
                    return Ok(None);
                }
            }
            devices = CHANGED.wait_timeout(devices, CLOSING).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes it, if nobody has the NIC open any more. It can be opened again when this returns, unless a handler of its own asks.
    fn close(self: Arc<Self>) {
        let devices = lock(&DEVICES);
        let is_open = NICS.find_map(|open| Arc::ptr_eq(&open.device, &self).then_some(())).is_some();
        if is_open || self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let listener = lock(&self.listener).take();
        drop(devices);
        // It has the NIC.
        drop(lock(&self.common_tag).take());
        // A handler may close the NIC.
        let in_handler = notify::is_handler()
            || listener
                .as_ref()
                .is_some_and(|listener| listener.thread().id() == std::thread::current().id());
        if let Some(listener) = listener.filter(|_| !in_handler) {
            let _ = listener.join();
        }
        let (target, this) = (self.target.clone(), Arc::downgrade(&self));
        let end = move || {
            // Calls that were under way end, and let go of it.
            let start = Instant::now();
            while (Arc::strong_count(&self) > 1 || self.nic.is_used()) && start.elapsed() < CLOSING {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(self);
            let mut devices = lock(&DEVICES);
            if matches!(devices.get(&target), Some(Slot::Open(listed)) if listed.ptr_eq(&this)) {
                devices.remove(&target);
            }
            drop(devices);
            CHANGED.notify_all();
        };
        match in_handler {
            // The handler itself is a call under way.
            // Without a thread it is closed when the last call that is under way lets go of it.
            true => drop(viaduct_driver::thread::spawn("vipl-closing", end)),
            false => end(),
        }
    }
}

/// A NIC that this thread opens. Dropped, it could not be.
struct Opening<'a>(&'a str);

impl Opening<'_> {
    /// It is open.
    fn end(
        self,
        device: Arc<Device>,
        insert: impl FnOnce(Arc<Device>) -> Result<(), Return>,
    ) -> Result<(), Return> {
        let mut devices = lock(&DEVICES);
        devices.insert(self.0.into(), Slot::Open(Arc::downgrade(&device)));
        let inserted = insert(device);
        drop(devices);
        inserted
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let mut devices = lock(&DEVICES);
        if matches!(devices.get(self.0), Some(Slot::Opening)) {
            devices.remove(self.0);
        }
        drop(devices);
        CHANGED.notify_all();
    }
}

impl OpenNic {
    /// A tag for a new handle.
    fn new_tag(&self) -> Result<Ptag, Return> {
        if !self.lenient {
            return self.device.nic.create_ptag().map_err(code);
        }
        let mut common = lock(&self.device.common_tag);
        if let Some(ptag) = &*common {
            return Ok(ptag.clone());
        }
        Ok(common.insert(self.device.nic.create_ptag().map_err(code)?).clone())
    }

    /// The tag that a handle names; NULL names one, too, where the program is allowed that.
    pub fn tag(&self, handle: Pvoid) -> Result<(Ptag, Option<Arc<Tag>>), Return> {
        if handle.is_null() && self.lenient {
            return Ok((self.new_tag()?, None));
        }
        let tag = PTAGS.get(handle).map_err(|_| Return::InvalidPtag)?;
        Ok((tag.ptag.clone(), Some(tag)))
    }

    /// Whether things without attributes are taken.
    pub fn is_lenient(&self) -> bool {
        self.lenient
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipOpenNic(device_name: *const c_char, nic_handle: *mut Pvoid) -> VipReturn {
    call(|| {
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(nic_handle) }?;
        if device_name.is_null() {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: vipl.h: a string.
        let name = unsafe { CStr::from_ptr(device_name) }.to_str().map_err(|_| Return::InvalidParameter)?;
        watch_forks();
        log::start(None).map_err(|error| {
            eprintln!("vipl: {error}");
            Return::InvalidParameter
        })?;
        let handle = NICS.next();
        let target = full_name(name).map_err(|error| {
            eprintln!("vipl: {error}");
            code(error)
        })?;
        Device::open(name, &target, |device| {
            let open = OpenNic {
                handle,
                name: name.into(),
                device,
                lenient: is_null_ptag_taken(),
                names: Mutex::default(),
                handler: Mutex::default(),
                waiting: Mutex::default(),
            };
            NICS.insert(handle, Arc::new(open))
        })?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipCloseNic(nic_handle: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.remove(nic_handle, |_| Ok(()))?;
        // What was made with this handle ends with it.
        crate::extensions::close(nic_handle);
        crate::connect::close(nic_handle);
        crate::vi::close(nic_handle);
        crate::cq::close(nic_handle);
        let ended = crate::memory::close(&open);
        close_tags(nic_handle);
        let device = Arc::clone(&open.device);
        drop(open);
        device.close();
        // It is closed all the same; the program keeps its memory.
        ended
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipQueryNic(nic_handle: Pvoid, attributes: *mut NicAttributes) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(attributes) }?;
        let is = open.device.nic.attributes();
        let mut name = [0; 64];
        for (to, from) in name[..63].iter_mut().zip(open.name.bytes()) {
            *to = from as c_char;
        }
        out.put(NicAttributes {
            name,
            hardware_version: is.hardware_version.into(),
            provider_version: is.provider_version.into(),
            nic_address_length: 6,
            local_nic_address: open.device.mac.0.as_ptr(),
            thread_safe: is.thread_safe.into(),
            max_discriminator_length: MAX_DISCRIMINATOR as u16,
            max_register_bytes: is.max_register_bytes,
            max_register_regions: is.max_register_regions.into(),
            max_register_block_bytes: is.max_register_block_bytes,
            max_vi: is.max_vi.into(),
            max_descriptors_per_queue: is.max_descriptors_per_queue.into(),
            max_segments_per_desc: is.max_segments_per_desc.into(),
            max_cq: is.max_cq.into(),
            max_cq_entries: is.max_cq_entries.into(),
            max_transfer_size: is.max_transfer_size.into(),
            native_mtu: is.native_mtu.into(),
            max_ptags: is.max_ptags.into(),
            reliability_level_support: mask(&is.reliability_level_support),
            rdma_read_support: mask(&is.rdma_read_support),
        });
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipQuerySystemManagementInfo(
    nic_handle: Pvoid,
    info_type: c_ulong,
    info: Pvoid,
) -> VipReturn {
    call(|| {
        NICS.get(nic_handle)?;
        if info.is_null() || info_type != SMI_AUTODISCOVERY {
            return Err(Return::InvalidParameter);
        }
        Err(Return::ErrorNotSupported)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipCreatePtag(nic_handle: Pvoid, ptag: *mut Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(ptag) }?;
        let tag = Tag { open: nic_handle, ptag: open.new_tag()? };
        let handle = PTAGS.next();
        PTAGS.insert(handle, Arc::new(tag))?;
        keep(nic_handle, close_tags)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipDestroyPtag(nic_handle: Pvoid, ptag: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        PTAGS.remove(ptag, |tag| {
            if tag.open != nic_handle {
                return Err(Return::InvalidParameter);
            }
            // A call that is about to use it, and what was made with its handle, holds the thing itself; whoever uses it a clone of
            // the tag, which may be other handles' too.
            let used = Arc::strong_count(tag) > 1 || (!open.lenient && tag.ptag.is_used());
            (!used).then_some(()).ok_or(Return::ErrorResource)
        })?;
        Ok(())
    })
}

/// VIP_RELIABILITY_LEVEL of one level.
pub fn level(level: ReliabilityLevel) -> u16 {
    match level {
        ReliabilityLevel::UnreliableDelivery => 1,
        ReliabilityLevel::ReliableDelivery => 2,
        ReliabilityLevel::ReliableReception => 4,
    }
}

fn mask(levels: &[ReliabilityLevel]) -> u16 {
    levels.iter().fold(0, |mask, &one| mask | level(one))
}
