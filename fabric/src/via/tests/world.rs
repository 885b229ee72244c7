//! A NIC, and all of libfabric's objects on it that a program has.

use std::{
    ffi::c_void,
    mem::{size_of, zeroed},
    ptr::{null, null_mut},
    sync::{Mutex, MutexGuard, PoisonError},
};

use viaduct_viad_tests::stage::{until, Stage, LONG};

use crate::via::{
    card,
    ffi::{self, FI_READ, FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_SEND, FI_WRITE},
    info::Info,
    provider,
};

/// Calls a function of a table of an object's.
macro_rules! call {
    ($object:expr, $table:ident.$name:ident($($argument:expr),* $(,)?)) => {{
        let object = $object;
        // SAFETY: the object is the provider's and lives, and the arguments are what the function takes.
        unsafe { (*(*object).$table).$name.expect("it is there")(object, $($argument),*) }
    }};
}

/// Calls a function that every object has.
macro_rules! of_fid {
    ($object:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let fid: *mut $crate::via::ffi::fid = $object.cast();
        // SAFETY: as above.
        unsafe { (*(*fid).ops).$name.expect("it is there")(fid, $($argument),*) }
    }};
}
pub(super) use {call, of_fid};

/// The program's word of each endpoint.
pub const WORD: usize = 0x5eed;

/// A process has one NIC, so one test at a time has it.
static ONE: Mutex<()> = Mutex::new(());

/// What a program has.
pub struct World {
    pub info: *mut ffi::fi_info,
    pub fabric: *mut ffi::fid_fabric,
    pub domain: *mut ffi::fid_domain,
    pub eq: *mut ffi::fid_eq,
    pub cq: *mut ffi::fid_cq,
    pub listener: *mut ffi::fid_pep,
    stage: Stage,
    _one: MutexGuard<'static, ()>,
}

/// An event of connections.
pub struct Event {
    pub what: u32,
    pub fid: *mut ffi::fid,
    pub info: *mut ffi::fi_info,
    pub data: Vec<u8>,
}

/// Registered memory.
pub struct Buffer {
    _bytes: Vec<u64>,
    start: *mut c_void,
    mr: *mut ffi::fid_mr,
}

/// Bytes of it.
pub const BYTES: usize = 1 << 16;

/// A structure of C's that says nothing.
pub fn nothing<T>() -> T {
    // SAFETY: used for libfabric's attributes alone, of which nothing but zeros is a value.
    unsafe { zeroed() }
}

impl World {
    /// A fabric, a domain, queues, and somebody who listens.
    pub fn new() -> Self {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = Stage::new(1);
        std::env::set_var(card::VARIABLE, stage.name(0));
        let info = Self::find(None).expect("something is offered");
        let mut fabric = null_mut();
        // SAFETY: it stays.
        let open = unsafe { &*provider::provider() }.fabric.expect("it is there");
        // SAFETY: the attributes of the information, and a place.
        assert_eq!(unsafe { open((*info).fabric_attr, &mut fabric, null_mut()) }, 0);
        let (mut domain, mut eq, mut cq) = (null_mut(), null_mut(), null_mut());
        assert_eq!(call!(fabric, ops.domain(info, &mut domain, null_mut())), 0);
        let mut attributes = ffi::fi_eq_attr { wait_obj: ffi::FI_WAIT_FD, ..nothing() };
        assert_eq!(call!(fabric, ops.eq_open(&mut attributes, &mut eq, null_mut())), 0);
        let (format, wait_obj) = (ffi::FI_CQ_FORMAT_DATA, ffi::FI_WAIT_FD);
        let mut attributes = ffi::fi_cq_attr { format, wait_obj, ..nothing() };
        assert_eq!(call!(domain, ops.cq_open(&mut attributes, &mut cq, null_mut())), 0);
        let mut listener = null_mut();
        assert_eq!(call!(fabric, ops.passive_ep(info, &mut listener, null_mut())), 0);
        assert_eq!(of_fid!(listener, bind(eq.cast(), 0)), 0);
        assert_eq!(call!(listener, cm.listen()), 0);
        Self { info, fabric, domain, eq, cq, listener, stage, _one: one }
    }

    /// What fi_getinfo answers to hints, or its error.
    pub fn find(hints: Option<&ffi::fi_info>) -> Result<*mut ffi::fi_info, i32> {
        let mut info = null_mut();
        // SAFETY: it stays.
        let getinfo = unsafe { &*provider::provider() }.getinfo.expect("it is there");
        let hints = hints.map_or(null(), |hints| &raw const *hints);
        // SAFETY: no node, no service, hints whose parts live as long as they do, and a place for the answer.
        match unsafe { getinfo(1 << 16 | 17, null(), null(), 0, hints, &mut info) } {
            0 => Ok(info),
            error => Err(error),
        }
    }

    /// The NIC's viad is killed: for its programs the NIC is gone.
    pub fn lose_the_nic(&mut self) {
        self.stage.kill(0);
    }

    /// Where the listener is.
    pub fn address(&self) -> libc::sockaddr_in {
        Self::address_of(self.listener)
    }

    /// Where a listener is.
    pub fn address_of(listener: *mut ffi::fid_pep) -> libc::sockaddr_in {
        // SAFETY: a plain structure of C's.
        let mut address: libc::sockaddr_in = unsafe { zeroed() };
        let mut length = size_of::<libc::sockaddr_in>();
        let place = (&raw mut address).cast();
        let fid: *mut ffi::fid = listener.cast();
        // SAFETY: the listener lives, and there is a place for its address.
        let named = unsafe { (*(*listener).cm).getname.expect("it is there")(fid, place, &mut length) };
        assert_eq!((named, length), (0, size_of::<libc::sockaddr_in>()));
        address
    }

    /// An endpoint of this information that nothing is bound to.
    pub fn bare(&self, info: *mut ffi::fi_info) -> *mut ffi::fid_ep {
        let mut endpoint = null_mut();
        let word = std::ptr::without_provenance_mut(WORD);
        assert_eq!(call!(self.domain, ops.endpoint(info, &mut endpoint, word)), 0);
        endpoint
    }

    /// An endpoint that has its queues, the completion queue with these flags, and is not enabled.
    pub fn bound(&self, info: *mut ffi::fi_info, flags: u64) -> *mut ffi::fid_ep {
        let endpoint = self.bare(info);
        assert_eq!(of_fid!(endpoint, bind(self.eq.cast(), 0)), 0);
        assert_eq!(of_fid!(endpoint, bind(self.cq.cast(), flags)), 0);
        endpoint
    }

    /// An endpoint that is enabled.
    pub fn endpoint(&self, info: *mut ffi::fi_info) -> *mut ffi::fid_ep {
        let endpoint = self.bound(info, FI_SEND | FI_RECV);
        assert_eq!(enable(endpoint), 0);
        endpoint
    }

    /// Asks the listener, with data.
    pub fn ask(&self, endpoint: *mut ffi::fid_ep, data: &[u8]) {
        Self::ask_at(endpoint, self.address(), data);
    }

    /// Asks whoever listens there.
    pub fn ask_at(endpoint: *mut ffi::fid_ep, address: libc::sockaddr_in, data: &[u8]) {
        let place: *const c_void = (&raw const address).cast();
        assert_eq!(call!(endpoint, cm.connect(place, data.as_ptr().cast(), data.len())), 0);
    }

    /// Two endpoints that are connected: who has asked, and who was asked.
    pub fn connected(&self) -> [*mut ffi::fid_ep; 2] {
        self.joined(self.endpoint(self.info), |info| self.endpoint(info))
    }

    /// Two endpoints that are connected, of which `server` makes the second one for the request of the first.
    pub fn joined(
        &self,
        client: *mut ffi::fid_ep,
        server: impl FnOnce(*mut ffi::fi_info) -> *mut ffi::fid_ep,
    ) -> [*mut ffi::fid_ep; 2] {
        self.ask(client, b"may I?");
        let event = self.event();
        assert_eq!((event.what, &event.data[..]), (ffi::FI_CONNREQ, &b"may I?"[..]));
        assert!(event.fid.cast() == self.listener);
        let server = server(event.info);
        let data = b"you may";
        assert_eq!(call!(server, cm.accept(data.as_ptr().cast(), data.len())), 0);
        // SAFETY: it was given with the event.
        drop(unsafe { Info::take(event.info) });
        for _ in 0..2 {
            let event = self.event();
            assert_eq!(event.what, ffi::FI_CONNECTED);
            let wanted: &[u8] = if event.fid.cast() == client { data } else { b"" };
            assert_eq!(event.data, wanted);
        }
        [client, server]
    }

    /// The next event.
    pub fn event(&self) -> Event {
        let (mut what, mut place) = (0, [0u64; 16]);
        let room = size_of::<[u64; 16]>();
        let timeout = LONG.as_millis() as i32;
        let count = call!(self.eq, ops.sread(&mut what, place.as_mut_ptr().cast(), room, timeout, 0));
        assert!(count >= 16, "{count}");
        let bytes: Vec<u8> = place.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let data = bytes[16..count as usize].to_vec();
        Event { what, fid: place[0] as *mut _, info: place[1] as *mut _, data }
    }

    /// The next event, which is an error: its endpoint, number and data.
    pub fn failure(&self) -> (*mut ffi::fid_ep, i32, Vec<u8>) {
        let (mut what, mut place) = (0, [0u64; 16]);
        let timeout = LONG.as_millis() as i32;
        let count = call!(self.eq, ops.sread(&mut what, place.as_mut_ptr().cast(), 128, timeout, 0));
        assert_eq!(count, -(ffi::FI_EAVAIL as isize));
        let mut entry: ffi::fi_eq_err_entry = nothing();
        let read = call!(self.eq, ops.readerr(&mut entry, 0));
        assert_eq!(read as usize, size_of::<ffi::fi_eq_err_entry>());
        // SAFETY: the provider's data stay until the queue is read again.
        let data = unsafe { ffi::slice(entry.err_data.cast::<u8>(), entry.err_data_size) };
        (entry.fid.cast(), entry.err, data.expect("there are some").to_vec())
    }

    /// Takes an event, if one is there: what the call answers.
    fn read_event(&self) -> isize {
        let (mut what, mut place) = (0, [0u64; 16]);
        call!(self.eq, ops.read(&mut what, place.as_mut_ptr().cast(), 128, 0))
    }

    /// No event is there.
    pub fn no_event(&self) {
        assert_eq!(self.read_event(), -(libc::EAGAIN as isize));
    }

    /// Takes all events that are there.
    pub fn take_events(&self) {
        while self.read_event() > 0 {}
    }

    /// The next completion.
    pub fn completion(&self) -> ffi::fi_cq_data_entry {
        let mut entry: ffi::fi_cq_data_entry = nothing();
        let timeout = LONG.as_millis() as i32;
        let place = (&raw mut entry).cast();
        let count = call!(self.cq, ops.sread(place, 1, std::ptr::null(), timeout));
        assert_eq!(count, 1);
        entry
    }

    /// The next two completions, that of the receive first.
    pub fn both(&self) -> [ffi::fi_cq_data_entry; 2] {
        let mut both = [self.completion(), self.completion()];
        both.sort_by_key(|entry| entry.flags & FI_SEND);
        both
    }

    /// No completion is there.
    pub fn no_completion(&self) {
        let mut place: ffi::fi_cq_data_entry = nothing();
        assert_eq!(call!(self.cq, ops.read((&raw mut place).cast(), 1)), -(libc::EAGAIN as isize));
    }

    /// The next completion, which is an error: its context and number.
    pub fn error(&self) -> (usize, i32) {
        let mut entry: ffi::fi_cq_err_entry = nothing();
        assert!(until(LONG, || {
            let mut place: ffi::fi_cq_data_entry = nothing();
            let count = call!(self.cq, ops.read((&raw mut place).cast(), 1));
            assert!(count < 0, "an operation that has gone well");
            count == -(ffi::FI_EAVAIL as isize)
        }));
        assert_eq!(call!(self.cq, ops.readerr(&mut entry, 0)), 1);
        (entry.op_context.addr(), entry.err)
    }

    /// Memory for all that there is.
    pub fn buffer(&self) -> Buffer {
        let mut bytes = vec![0u64; BYTES / 8];
        let access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
        let (fid, start) = (self.domain.cast(), bytes.as_mut_ptr().cast::<c_void>());
        let mut mr = null_mut();
        // SAFETY: the domain lives, and the memory stays until it is closed.
        let registered = unsafe {
            let reg = (*(*self.domain).mr).reg.expect("it is there");
            reg(fid, start, BYTES, access, 0, 0, 0, &mut mr, null_mut())
        };
        assert_eq!(registered, 0);
        Buffer { _bytes: bytes, start, mr }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // What is open keeps the rest.
            return;
        }
        close(self.listener.cast());
        close(self.cq.cast());
        close(self.eq.cast());
        close(self.domain.cast());
        close(self.fabric.cast());
        // SAFETY: it was given to this.
        drop(unsafe { Info::take(self.info) });
        card::close();
    }
}

/// Enables an endpoint: what it answers.
pub fn enable(endpoint: *mut ffi::fid_ep) -> i32 {
    of_fid!(endpoint, control(ffi::FI_ENABLE as i32, null_mut()))
}

/// Closes an object, which must go well.
pub fn close(fid: *mut ffi::fid) {
    assert_eq!(of_fid!(fid, close()), 0);
}

impl Buffer {
    /// The descriptor for operations.
    pub fn descriptor(&self) -> *mut c_void {
        // SAFETY: it is open.
        unsafe { (*self.mr).mem_desc }
    }

    /// The key for a peer.
    pub fn key(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.mr).key }
    }

    /// Posts a receive of so many bytes at an offset, with a number for its context.
    pub fn receive(&self, endpoint: *mut ffi::fid_ep, offset: usize, length: usize, number: usize) {
        let (place, descriptor) = (self.at(offset), self.descriptor());
        assert_eq!(call!(endpoint, msg.recv(place, length, descriptor, 0, number as *mut _)), 0);
    }

    /// Posts a send.
    pub fn send(&self, endpoint: *mut ffi::fid_ep, offset: usize, length: usize, number: usize) {
        let (place, descriptor) = (self.at(offset), self.descriptor());
        assert_eq!(call!(endpoint, msg.send(place, length, descriptor, 0, number as *mut _)), 0);
    }

    /// A piece of it, for a list of pieces.
    pub fn piece(&self, offset: usize, length: usize) -> ffi::iovec {
        ffi::iovec { iov_base: self.at(offset), iov_len: length }
    }

    /// Where byte `offset` is.
    pub fn at(&self, offset: usize) -> *mut c_void {
        assert!(offset < BYTES);
        self.start.wrapping_byte_add(offset)
    }

    /// Copies bytes into it.
    pub fn put(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= BYTES);
        // SAFETY: inside; nothing is posted there now.
        unsafe { self.at(offset).cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
    }

    /// Copies bytes out of it.
    pub fn get(&self, offset: usize, length: usize) -> Vec<u8> {
        assert!(offset + length <= BYTES);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.at(offset).cast::<u8>(), length) }.to_vec()
    }

    /// Ends its registration: what that answers.
    pub fn end(&self) -> i32 {
        of_fid!(self.mr, close())
    }

    /// Ends its registration, which must go well.
    pub fn close(self) {
        assert_eq!(self.end(), 0);
    }
}
