//! NICs that this process has, each once, however often the program has opened it: [`DEVICES`] is the table of them. A NIC goes through three
//! states there: a thread opens it ([`Slot::Opening`]), it is open ([`Slot::Open`]), and it is being closed ([`Slot::Closing`]), until all calls that were
//! under way have let go of it and it leaves the table. Of a NIC that has gone the handles stay as they are: whoever opens it next gets a new one.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use via::{Mac, Nic, Ptag, Return};

use crate::{
    entry::{code, lock},
    notify,
    registration::Memories,
};

/// The NICs that are open, or about to be: a process may open one several times. Nobody waits for a NIC with this lock.
static DEVICES: Mutex<BTreeMap<String, Slot>> = Mutex::new(BTreeMap::new());
/// One of them has changed.
static CHANGED: Condvar = Condvar::new();
/// How long a NIC that was closed may take until it can be opened again: calls that were under way end first.
const CLOSING: Duration = Duration::from_secs(5);

/// A NIC that somebody has asked for.
enum Slot {
    /// A thread opens the NIC.
    Opening,
    /// The NIC is open.
    Open(Weak<Device>),
    /// The NIC is being closed: who closes it takes it off the list.
    Closing(Weak<Device>),
}

impl Slot {
    /// Whether this device is open there.
    fn is_open(&self, device: &Weak<Device>) -> bool {
        matches!(self, Self::Open(listed) if listed.ptr_eq(device))
    }
}

/// A NIC, however often it is open.
pub struct Device {
    /// Its name in [`DEVICES`].
    target: String,
    pub nic: Nic,
    pub mac: Mac,
    /// Its registered memory, by handle.
    memory: RwLock<Memories>,
    /// Hears of asynchronous errors.
    listener: Mutex<Option<JoinHandle<()>>>,
    /// The NIC is being closed, or was: the listener shall end.
    pub closed: AtomicBool,
    /// The tag of all that the process has, where things without one are taken.
    pub common_tag: Mutex<Option<Ptag>>,
}

impl Device {
    // Nobody waits for the NIC, or for viad, with this lock.
    /// Its registered memory.
    pub fn memory(&self) -> RwLockReadGuard<'_, Memories> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to change it.
    pub fn memory_mut(&self) -> RwLockWriteGuard<'_, Memories> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a NIC, or finds it open; `insert` makes it known that it is. Two threads that open one open it once, and one that closes
    /// it meanwhile does so before or after. Other NICs do not wait for this one. `name` is what the program called it. `listen` starts the thread
    /// that hears of the asynchronous errors of one that this call has opened.
    pub fn open(
        name: &str,
        target: &str,
        listen: impl FnOnce(&Arc<Self>) -> Option<JoinHandle<()>>,
        insert: impl FnOnce(Arc<Self>) -> Result<(), Return>,
    ) -> Result<(), Return> {
        let mut dead = Weak::new();
        while let Some(device) = Self::find(target, &dead)? {
            if device.nic.check().is_err_and(|error| error.is_gone()) {
                dead = Arc::downgrade(&device);
                continue;
            }
            let devices = lock(&DEVICES);
            // If it is being closed meanwhile, that is waited for.
            if devices.get(target).is_some_and(|slot| slot.is_open(&Arc::downgrade(&device))) {
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
        *lock(&device.listener) = listen(&device);
        opening.end(device, insert)
    }

    /// One that is open, and not `dead`: its handles stay as they are, but who opens the NIC now gets the one that is there instead of
    /// it. None: there is none, and who asks is to open it. Waits for those who open or close it.
    fn find(target: &str, dead: &Weak<Self>) -> Result<Option<Arc<Self>>, Return> {
        let (mut last, mut start) = (Weak::new(), Instant::now());
        let mut devices = lock(&DEVICES);
        loop {
            if let Some(Slot::Open(device)) = devices.get(target) {
                if let Some(device) = device.upgrade().filter(|_| !device.ptr_eq(dead)) {
                    return Ok(Some(device));
                }
            }
            match devices.get(target) {
                Some(Slot::Closing(device)) if !device.ptr_eq(dead) => {
                    // Others may be quicker, and open and close it anew.
                    if !device.ptr_eq(&last) {
                        (last, start) = (device.clone(), Instant::now());
                    } else if start.elapsed() > CLOSING {
                        return Err(Return::ErrorResource);
                    }
                }
                Some(Slot::Opening) => {}
                // Of one that is open still nobody has a handle, or it is dead.
                Some(Slot::Open(_) | Slot::Closing(_)) | None => {
                    devices.insert(target.into(), Slot::Opening);
                    return Ok(None);
                }
            }
            devices = CHANGED.wait_timeout(devices, CLOSING).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes it, unless somebody has the NIC open, as `is_open` says. It can be opened again when this returns, unless a handler of its own asks.
    pub fn close(self: Arc<Self>, is_open: impl FnOnce(&Arc<Self>) -> bool) {
        let mut devices = lock(&DEVICES);
        if is_open(&self) || self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        // Another device may stand there, if this one's NIC has gone.
        let this = Arc::downgrade(&self);
        match devices.get_mut(&self.target) {
            Some(slot) if slot.is_open(&this) => *slot = Slot::Closing(this.clone()),
            _ => {}
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
        let target = self.target.clone();
        let end = move || {
            // Calls that were under way end, and let go of it.
            let start = Instant::now();
            while (Arc::strong_count(&self) > 1 || self.nic.is_used()) && start.elapsed() < CLOSING {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(self);
            let mut devices = lock(&DEVICES);
            if matches!(devices.get(&target), Some(Slot::Closing(listed)) if listed.ptr_eq(&this)) {
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
    /// The NIC is open.
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
