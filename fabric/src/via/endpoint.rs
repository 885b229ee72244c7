//! Endpoints: a VI, from fi_endpoint to fi_close.

use std::{
    ffi::{c_int, c_void},
    mem::size_of,
    net::SocketAddrV4,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use vipl::{
    connections::ConnectionRequest, Direction, NotReady, ReliabilityLevel, Vi, ViAttributes, WITHOUT_END,
};

use crate::via::{
    address, connection,
    cq::{Cq, Queue},
    domain::{self, Domain},
    eq::{Eq, Events, Member},
    error::Errno,
    ffi::{self, Place, FI_RECV, FI_SELECTIVE_COMPLETION, FI_SEND},
    link::{Link, State as LinkState},
    message,
    object::{self, is_of, table, Object, Shell, Word},
    offer::{self, Offer},
    options, request, rma, unsupported,
    work::Work,
};

/// InfiniBand's code of the time after which a message is sent again that found no receive: 0.64 ms.
const AGAIN: u8 = 12;
/// How long the end of an endpoint waits for what was sent to arrive. In tests, which wait for it, it is less.
pub const DRAIN: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(5) };
/// The directions, in the order in which everything of both is kept.
const DIRECTIONS: [Direction; 2] = [Direction::Send, Direction::Receive];

/// What an endpoint is behind libfabric's structure.
pub type Handle = Object<ffi::fid_ep, Endpoint>;

/// An endpoint.
pub struct Endpoint {
    /// What its queues call it.
    pub number: u64,
    domain: Arc<Domain>,
    /// How much it may post, and the flags of its operations.
    pub offer: Offer,
    /// Its state, which its event queue changes.
    pub link: Arc<Link>,
    setup: Mutex<Setup>,
    /// There from when it is enabled.
    open: OnceLock<Open>,
}

/// What is bound to an endpoint, and where it is.
pub struct Setup {
    /// Its event queue.
    pub eq: Option<Arc<Eq>>,
    /// Completion queues of its sends and of its receives.
    cqs: [Option<Bound>; 2],
    /// Who has asked for it, until that is accepted.
    pub request: Option<ConnectionRequest>,
    /// Its own address, and its peer's.
    pub from: SocketAddrV4,
    pub to: Option<SocketAddrV4>,
}

/// A completion queue of an endpoint's.
#[derive(Clone)]
pub struct Bound {
    cq: Arc<Cq>,
    /// It tells of some operations only.
    pub is_selective: bool,
}

/// What an endpoint has that is enabled.
pub struct Open {
    /// Its VI.
    pub vi: Arc<Vi>,
    /// What it has posted.
    pub work: Arc<Work>,
    /// Of a direction that its capabilities do not have there may be none.
    cqs: [Option<Bound>; 2],
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

impl Endpoint {
    /// What is bound to it.
    pub fn setup(&self) -> MutexGuard<'_, Setup> {
        // Each change of it is one assignment.
        self.setup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The VI of an endpoint that is enabled.
    ///
    /// # Errors
    /// It is not.
    pub fn enabled(&self) -> Result<&Open, Errno> {
        self.open.get().ok_or(Errno::STATE)
    }

    /// The VI of an endpoint that may send, and who is told.
    ///
    /// # Errors
    /// It is not enabled, or has no completion queue for that, or is not connected.
    pub fn to_send(&self) -> Result<(&Open, &Bound), Errno> {
        let open = self.enabled()?;
        let bound = open.cqs[0].as_ref().ok_or(Errno::NO_CQ)?;
        match self.link.state() {
            LinkState::Connected => Ok((open, bound)),
            _ => Err(Errno::NOT_CONNECTED),
        }
    }

    /// The VI of an endpoint that may post receives, and who is told: also before it is connected.
    ///
    /// # Errors
    /// It is not enabled, or has no completion queue for that.
    pub fn to_receive(&self) -> Result<(&Open, &Bound), Errno> {
        let open = self.enabled()?;
        Ok((open, open.cqs[1].as_ref().ok_or(Errno::NO_CQ)?))
    }

    /// Makes the VI, if it is not there.
    ///
    /// # Errors
    /// The event queue is missing, or the completion queue of a direction that the capabilities have (fi_endpoint(3), fi_ep_bind); no room in one; no VI left.
    pub fn enable(&self) -> Result<&Open, Errno> {
        let setup = self.setup();
        if let Some(open) = self.open.get() {
            return Ok(open);
        }
        if setup.eq.is_none() {
            return Err(Errno::NO_EQ);
        }
        let cqs = setup.cqs.clone();
        if self.offer.directions().iter().zip(&cqs).any(|(is_needed, cq)| *is_needed && cq.is_none()) {
            return Err(Errno::NO_CQ);
        }
        self.reserve(&cqs)?;
        let made = self.make(&cqs);
        if made.is_err() {
            self.release(&cqs);
        }
        let (vi, work) = made?;
        Ok(self.open.get_or_init(|| Open { vi, work, cqs }))
    }

    fn make(&self, cqs: &[Option<Bound>; 2]) -> Result<(Arc<Vi>, Arc<Work>), Errno> {
        let depths = self.offer.depths;
        let work = Arc::new(Work::new(&self.domain, self.number, &self.link, depths)?);
        let attributes = ViAttributes {
            reliability_level: ReliabilityLevel::ReliableReception,
            max_transfer_size: offer::MESSAGE as u32,
            depth: depths[0].max(depths[1]),
            enable_rdma_write: true,
            enable_rdma_read: true,
            not_ready: NotReady::Stay { timer: AGAIN, retries: WITHOUT_END },
            send_cq: cqs[0].as_ref().map(|bound| bound.cq.queue().clone()),
            receive_cq: cqs[1].as_ref().map(|bound| bound.cq.queue().clone()),
            context: self.number,
            ..ViAttributes::new(&self.domain.ptag)
        };
        let vi = Arc::new(self.domain.card.nic.create_vi(&attributes)?);
        cqs.iter().flatten().for_each(|bound| bound.cq.add(&work));
        Ok((vi, work))
    }

    /// Makes room in its completion queues for all that it may post.
    fn reserve(&self, [sends, receives]: &[Option<Bound>; 2]) -> Result<(), Errno> {
        let reserve = |bound: &Option<Bound>, depth| match bound {
            Some(bound) => bound.cq.reserve(depth),
            None => Ok(()),
        };
        reserve(sends, self.offer.depths[0])?;
        reserve(receives, self.offer.depths[1]).inspect_err(|_| self.release(std::slice::from_ref(sends)))
    }

    fn release(&self, cqs: &[Option<Bound>]) {
        for (bound, depth) in cqs.iter().zip(self.offer.depths) {
            bound.iter().for_each(|bound| bound.cq.release(depth));
        }
    }

    /// Waits for what was sent, and ends the connection: what is posted completes.
    pub fn disconnect(&self, eq: &Eq, open: &Open) {
        if self.link.end() == LinkState::Connected {
            // What has not arrived by then, or finds the peer gone, is lost.
            if let Err(error) = open.vi.drain(Some(DRAIN)) {
                tracing::debug!(%error, "sends that have not arrived");
            }
        }
        if let Err(error) = eq.queue().disconnect(&open.vi) {
            tracing::debug!(%error, "a VI that could not be disconnected");
        }
    }

    /// Its end. All that it has posted is in its completion queues then, and nothing of it in its event queue. The completion queues keep its shell.
    fn end(self, shell: Shell) {
        let Self { number, offer, open, setup, link, .. } = self;
        let setup = setup.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Who has asked for it, and was not accepted, is rejected.
        drop(setup.request);
        let Some(eq) = setup.eq else { return };
        if let Some(Open { vi, work, cqs, .. }) = open.into_inner() {
            let cqs = || {
                let ends = cqs.iter().zip(DIRECTIONS).zip(offer.depths);
                ends.filter_map(|((bound, direction), depth)| Some((&bound.as_ref()?.cq, direction, depth)))
            };
            for (cq, direction, _) in cqs() {
                cq.settle(&vi, &work, direction);
            }
            eq.remove(number);
            // The last one: an attempt that was under way has ended with `remove`.
            drop(vi);
            let shell = Arc::new(shell);
            for (cq, direction, depth) in cqs() {
                cq.bury(&work, direction);
                cq.keep(&shell);
                cq.release(depth);
            }
        }
        eq.remove(number);
        link.end();
    }
}

/// libfabric's `endpoint`.
///
/// # Safety
/// As libfabric calls it, with a domain, an information, and a place for the endpoint. If the information has a request, nobody has decided on that.
pub unsafe extern "C" fn open(
    domain: *mut ffi::fid_domain,
    info: *mut ffi::fi_info,
    endpoint: *mut *mut ffi::fid_ep,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(endpoint) }?;
        // SAFETY: as above.
        let domain = unsafe { domain::Handle::at(domain) }?;
        // SAFETY: as above.
        let asked = unsafe { ffi::read(info) }?;
        // SAFETY: as above.
        let offer = unsafe { Offer::of(asked) }?;
        let read = |place: *mut c_void, length| match place.is_null() {
            true => Ok(None),
            // SAFETY: as above.
            false => unsafe { address::read(place, length) }.map(Some),
        };
        let from = read(asked.src_addr, asked.src_addrlen)?;
        let to = read(asked.dest_addr, asked.dest_addrlen)?;
        let port =
            from.map(|from| from.port()).filter(|port| *port != 0).unwrap_or_else(address::unreserved_port);
        // Last, for it is taken: a second endpoint of the same request is none.
        let handle = asked.handle;
        // SAFETY: as above.
        let request = match unsafe { request::is_one(handle) } {
            true => {
                // SAFETY: as above.
                let request = unsafe { request::take(handle) }?;
                // SAFETY: as above; the information is the program's, which lets this call change it.
                unsafe { (&raw mut (*info).handle).write(std::ptr::null_mut()) };
                Some(request)
            }
            false => None,
        };
        let from = SocketAddrV4::new(domain.card.ip(), port);
        let setup = Setup { eq: None, cqs: [None, None], request, from, to };
        let own = Endpoint {
            number: object::number(),
            domain: Arc::clone(domain),
            offer,
            link: Arc::new(Link::new()),
            setup: Mutex::new(setup),
            open: OnceLock::new(),
        };
        let face = ffi::fid_ep {
            fid: object::fid::<ffi::fid_ep>(context, &FID),
            ops: table(&EP),
            cm: table(&connection::OPS),
            msg: table(&message::OPS),
            rma: table(&rma::OPS),
            tagged: std::ptr::null_mut(),
            atomic: std::ptr::null_mut(),
            collective: std::ptr::null_mut(),
        };
        place.put(Handle::give(face, own));
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with an endpoint that nobody else uses now.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let (endpoint, shell) = unsafe { Handle::hollow(fid.cast()) }?;
        let eq = endpoint.setup().eq.clone();
        if let (Some(eq), Some(open)) = (eq, endpoint.open.get()) {
            endpoint.disconnect(&eq, open);
        }
        endpoint.end(shell);
        Ok(())
    })
}

/// Its queues.
///
/// # Safety
/// As libfabric calls it, with an endpoint and an event or a completion queue.
unsafe extern "C" fn bind(fid: *mut ffi::fid, other: *mut ffi::fid, flags: u64) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let endpoint = unsafe { Handle::at(fid.cast()) }?;
        let mut setup = endpoint.setup();
        if endpoint.open.get().is_some() {
            return Err(Errno::STATE);
        }
        // SAFETY: as above.
        if unsafe { is_of(other, ffi::FI_CLASS_EQ as usize) } {
            // SAFETY: as above.
            let eq = unsafe { Events::at(other.cast()) }?;
            if flags != 0 || setup.eq.is_some() {
                return Err(Errno::INVALID);
            }
            // SAFETY: as above; read as a whole.
            let context = Word(unsafe { (&raw const (*fid).context).read() });
            let (fid, link) = (Word(fid.cast()), Arc::clone(&endpoint.link));
            eq.wake_on(&link);
            eq.add(endpoint.number, Member::Endpoint { fid, context, link });
            setup.eq = Some(Arc::clone(eq));
            return Ok(());
        }
        // SAFETY: as above.
        let cq = unsafe { Queue::at(other.cast()) }?;
        if !cq.is_in(&endpoint.domain) || flags & !(FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION) != 0 {
            return Err(Errno::INVALID);
        }
        let is_selective = flags & FI_SELECTIVE_COMPLETION != 0;
        let wanted = [FI_SEND, FI_RECV].map(|direction| flags & direction != 0);
        let are_free = wanted.iter().zip(&setup.cqs).all(|(wanted, cq)| !wanted || cq.is_none());
        if !are_free || wanted == [false; 2] {
            return Err(Errno::INVALID);
        }
        for (place, _) in setup.cqs.iter_mut().zip(wanted).filter(|(_, wanted)| *wanted) {
            *place = Some(Bound { cq: Arc::clone(cq), is_selective });
        }
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with an endpoint.
unsafe extern "C" fn control(fid: *mut ffi::fid, command: c_int, _: *mut c_void) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let endpoint = unsafe { Handle::at(fid.cast()) }?;
        match command as u32 {
            ffi::FI_ENABLE => endpoint.enable().map(|_| ()),
            _ => Err(Errno::NO_CALL),
        }
    })
}
