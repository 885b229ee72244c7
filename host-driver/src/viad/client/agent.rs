//! A session is a Kernel Agent: most of what it is asked, it asks viad.

use std::{
    net::Ipv4Addr,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc,
    },
    time::{Duration, Instant},
};

use viaduct_spec::{layout::Code, register::counter};

use super::{
    super::{
        ask::ask,
        doorbell_page::Kind,
        notice::EVENTS,
        protocol::{Answer, Request},
    },
    bell::Bell,
    Client, PAUSE,
};
use crate::{
    address::{ConnectionInfo, Mac},
    device::{DeviceError, Polling},
    device_memory::DeviceMemory,
    kernel_agent::{
        connection_agent::ConnectionAgent,
        control::{control_calls, methods_of},
        AgentError, CqName, CreatedCq, CreatedVi, Event, KernelAgent, Limits, MemoryAttributes, NicKind,
        ViAttributes, ViName,
    },
    queues::{consumer_ring::ConsumerRing, entries::Entries, ring::Ring, work_queues::WorkQueues, ViState},
    wait::{Vectors, LONGEST_SLEEP},
    wakeup::Wakeup,
};

/// A hosts file that is longer is cut off, in bytes.
const LONGEST_HOSTS: usize = 1 << 20;

impl Vectors for Client {
    fn generation(&self, vector: u8) -> Option<u64> {
        let Bell { notice, sleepers, .. } = &*self.bell;
        (vector < self.welcome.vectors).then(|| sleepers.generation(notice, vector)).flatten()
    }

    fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool {
        let start = Instant::now();
        loop {
            if self.generation(vector) != Some(seen) {
                return true;
            }
            let left = timeout.saturating_sub(start.elapsed());
            // Who asks next whether the NIC still answers hears that viad is gone.
            if left.is_zero() || self.bell.check().is_err() {
                return false;
            }
            self.bell.sleepers.sleep(&self.bell.notice, vector, seen, left);
        }
    }

    fn wake(&self, vector: u8) {
        self.bell.sleepers.wake(&self.bell.notice, vector);
        if let Some(wakeups) = self.bell.waiting.vectors.get(usize::from(vector)) {
            wakeups.signal();
        }
    }
}

impl KernelAgent for Client {
    control_calls! { methods_of KernelAgent ask }

    fn kind(&self) -> NicKind {
        self.welcome.kind
    }

    fn limits(&self) -> Limits {
        self.welcome.limits
    }

    fn mac(&self) -> Mac {
        self.welcome.mac
    }

    fn ip(&self) -> Ipv4Addr {
        self.welcome.ip
    }

    fn dma_bytes(&self) -> u64 {
        self.leased.as_ref().map_or(self.welcome.bytes, |leased| leased.bytes())
    }

    fn check_here(&self) -> Result<(), AgentError> {
        Client::check_here(self)
    }

    fn end_words(&self) -> [Option<&AtomicU32>; 2] {
        [Some(&self.bell.gone), Some(self.bell.notice.ended())]
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }

    fn polling(&self) -> Polling {
        self.welcome.polling
    }

    fn vectors(&self) -> u8 {
        self.welcome.vectors
    }

    fn hold_off(&self, _vector: u8, _holdoff: Duration) -> Result<(), AgentError> {
        Err(DeviceError::Refused {
            request: "interrupt moderation".into(),
            reason: "the vectors of a viad's NIC are common to its clients: its configuration sets it".into(),
        }
        .into())
    }

    fn allocate(self: Arc<Self>, length: usize) -> Result<DeviceMemory, AgentError> {
        match self.leased {
            Some(_) => DeviceMemory::new(length).map_err(AgentError::NoMemory),
            None => self.lend(length),
        }
    }

    unsafe fn register(
        &self,
        address: usize,
        length: usize,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        let (address, length) = (address as u64, length as u64);
        if let Some(leased) = &self.leased {
            // SAFETY: the caller's promise.
            return unsafe { self.register_leased(leased, address, length, attributes) };
        }
        let pool = match self.pools.find(address, length) {
            Some(found) => Some(found),
            None => self.find_in_heap(address, length)?,
        };
        self.handle(&match pool {
            Some((pool, offset)) => Request::RegisterShared(pool, offset, address, length, attributes),
            None => Request::Register(address, length, attributes),
        })
    }

    fn deregister(&self, handle: u32) -> Result<(), AgentError> {
        match &self.leased {
            Some(leased) => self.deregister_leased(leased, handle),
            None => self.done(&Request::Deregister(handle)),
        }
    }

    fn create_vi(&self, attributes: ViAttributes) -> Result<CreatedVi, AgentError> {
        let (answer, files) = self.call(&Request::CreateVi(attributes))?;
        let Answer::Vi { name, info, rings, vectors } = answer else { return Err(self.wrong(&answer)) };
        let ring = |offset: u32, log2| {
            Ring::new(&self.arena, offset as usize, log2)
                .ok_or_else(|| self.broken("a ring outside the arena"))
        };
        let (send, receive) =
            (ring(rings[0], attributes.send_log2)?, ring(rings[1], attributes.receive_log2)?);
        let doorbells = self.page(Kind::Vi, name.index, files.into_iter().next())?;
        Ok(CreatedVi { name, info, queues: WorkQueues::new(send, receive, vectors, doorbells) })
    }

    fn create_cq(&self, entries: usize) -> Result<CreatedCq, AgentError> {
        let count = u32::try_from(entries).map_err(|_| AgentError::Entries(entries))?;
        let (answer, files) = self.call(&Request::CreateCq(count))?;
        let Answer::Cq { name, vector } = answer else { return Err(self.wrong(&answer)) };
        let mut files = files.into_iter();
        let ring = self.entries(files.next(), entries)?;
        let ring = ConsumerRing::new(self.page(Kind::Cq, name.index, files.next())?, ring);
        Ok(CreatedCq { name, vector, ring })
    }

    fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(Entries, u32), AgentError> {
        let count = u32::try_from(entries).map_err(|_| AgentError::Entries(entries))?;
        let (answer, files) = self.call(&Request::ResizeCq(cq, count))?;
        let Answer::Resized { written } = answer else { return Err(self.wrong(&answer)) };
        Ok((self.entries(files.into_iter().next(), entries)?, written))
    }

    fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, AgentError> {
        let start = Instant::now();
        loop {
            // viad raises it when it has the events. What it was raised for before the last fetch has been fetched.
            let seen = self.notices(EVENTS);
            let events = match seen == self.events_seen.load(Ordering::Relaxed) {
                true => {
                    self.check_here()?;
                    Vec::new()
                }
                false => {
                    let events = self.take_events()?;
                    self.events_seen.store(seen, Ordering::Relaxed);
                    events
                }
            };
            let left = timeout.saturating_sub(start.elapsed());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            self.sleep_until_notice(EVENTS, seen, left.min(LONGEST_SLEEP));
        }
    }

    fn on_vector(&self, vector: u8, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        let Some(wakeups) =
            self.bell.waiting.vectors.get(usize::from(vector)).filter(|_| vector < self.welcome.vectors)
        else {
            return Err(AgentError::UnknownVector(vector));
        };
        wakeups.add(wakeup);
        self.watch_pages()
    }

    fn on_events(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        self.bell.waiting.events.add(wakeup);
        self.watch_pages()
    }

    fn arm_events(&self) -> Result<(), AgentError> {
        // viad says each time that there are some.
        self.check_here()
    }

    fn connections(self: Arc<Self>) -> Result<Arc<dyn ConnectionAgent>, AgentError> {
        Ok(self)
    }

    fn hosts(&self) -> Result<Option<String>, AgentError> {
        let mut text = Vec::new();
        loop {
            match self.call(&Request::Hosts(text.len() as u32))?.0 {
                Answer::Hosts(None) => return Ok(None),
                Answer::Hosts(Some(piece)) if piece.is_empty() || text.len() > LONGEST_HOSTS => {
                    return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
                }
                Answer::Hosts(Some(piece)) => text.extend(piece),
                other => return Err(self.wrong(&other)),
            }
        }
    }

    fn counters(&self) -> Result<Vec<(&'static Code, u64)>, AgentError> {
        static CODES: &[Code] = counter::CODES.codes;
        match self.call(&Request::Counters)?.0 {
            Answer::Counters(values) => Ok(CODES.iter().zip(values).collect()),
            other => Err(self.wrong(&other)),
        }
    }
}
