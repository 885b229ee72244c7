//! Event queues: what happens to connections, and what programs write there themselves.

mod calls;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::event::epoll;
use viaduct_driver::wakeup::Wakeup;
use vipl::{
    connections::{ConnectionEvent, ConnectionQueue},
    Error,
};

pub use self::calls::open;
use crate::via::{
    card::Card,
    error::Errno,
    event::Event,
    ffi,
    info::{Ends, Info},
    link::{Link, State as LinkState},
    object::{Object, Word},
    offer::Offer,
    request,
};

/// What an event queue is behind libfabric's structure.
pub type Events = Object<ffi::fid_eq, Arc<Eq>>;

/// An event queue. Endpoints and listeners that are bound to it have clones.
pub struct Eq {
    card: Arc<Card>,
    queue: ConnectionQueue,
    /// What one waits on, if the program has asked for it.
    readable: Option<Readable>,
    state: Mutex<State>,
}

/// A descriptor that is readable when the NIC has an event of connections, an endpoint's VI has broken, or the program has written an event.
struct Readable {
    file: OwnedFd,
    written: Arc<Wakeup>,
}

#[derive(Default)]
struct State {
    /// What the program has not read yet.
    events: VecDeque<Event>,
    /// Whose events come here, by their numbers.
    members: BTreeMap<u64, Member>,
    /// What came with the error that was read last: the program has a pointer to it.
    last: Vec<u8>,
}

/// Who is bound to an event queue.
#[derive(Debug)]
pub enum Member {
    /// A listener.
    Listener {
        /// Its fid.
        fid: Word,
        /// What those who ask are told of: as the listener's own information.
        offer: Offer,
        /// Where it is.
        ends: Ends,
    },
    /// An endpoint.
    Endpoint {
        /// Its fid.
        fid: Word,
        /// The program's word for it.
        context: Word,
        /// Its state.
        link: Arc<Link>,
    },
}

impl fmt::Debug for Eq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Eq").finish_non_exhaustive()
    }
}

impl Readable {
    fn new(queue: &ConnectionQueue) -> Result<Self, Errno> {
        let written = Wakeup::new()?;
        let file = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Which of the two is readable nobody asks.
        let any = epoll::EventData::new_u64(0);
        epoll::add(&file, queue.fd()?, any, epoll::EventFlags::IN)?;
        epoll::add(&file, written.as_fd(), any, epoll::EventFlags::IN)?;
        Ok(Self { file, written })
    }
}

impl Eq {
    fn new(card: &Arc<Card>, waits: bool) -> Result<Self, Errno> {
        let queue = card.nic.connections()?.queue();
        let readable = waits.then(|| Readable::new(&queue)).transpose()?;
        Ok(Self { card: Arc::clone(card), queue, readable, state: Mutex::default() })
    }

    /// The NIC's connections whose events come here.
    pub fn queue(&self) -> &ConnectionQueue {
        &self.queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic may have lost an event; what is there is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who waits for the descriptor wakes when this endpoint's VI breaks, from now on.
    pub fn wake_on(&self, link: &Link) {
        if let Some(readable) = &self.readable {
            link.wakes(&readable.written);
        }
    }

    /// Whoever has this number gets events from now on.
    pub fn add(&self, number: u64, member: Member) {
        self.lock().members.insert(number, member);
    }

    /// Whoever had this number gets no more, and what is not read yet is gone. Of an endpoint whose VI is disconnected nothing is under way then.
    pub fn remove(&self, number: u64) {
        let mut state = self.lock();
        state.members.remove(&number);
        // What is known of its connection is taken: attempts have clones of VIs. Of a NIC that is gone nothing comes.
        let _ = self.collect(&mut state);
        state.events.retain(|event| !event.is_of(number));
    }

    /// Puts an event behind the others.
    fn push(&self, event: Event) {
        self.lock().events.push_back(event);
        if let Some(readable) = &self.readable {
            readable.written.signal();
        }
    }

    /// Takes what the NIC has.
    ///
    /// # Errors
    /// The device's. When it is gone, that is the end of all connections, which are events.
    fn collect(&self, state: &mut State) -> Result<(), Errno> {
        loop {
            match self.queue.next() {
                Ok(event) => state.hear(event, &self.card),
                Err(Error::NotDone) => {
                    state.tell_broken();
                    return Ok(());
                }
                Err(error) => {
                    if error.is_gone() {
                        state.lose();
                    }
                    return Err(error.into());
                }
            }
        }
    }

    /// Looks at the oldest event, when the NIC's are there, too.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]; the device's, when there is nothing before it; those of `look`.
    fn look<T>(&self, look: impl FnOnce(&mut State) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut state = self.lock();
        if state.events.is_empty() {
            let collected = self.collect(&mut state);
            if state.events.is_empty() {
                collected?;
                return Err(Errno::AGAIN);
            }
        }
        look(&mut state)
    }

    /// The descriptor says when something comes from now on.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]: something is here already. There is no descriptor; the device's.
    pub fn ready_to_wait(&self) -> Result<(), Errno> {
        let readable = self.readable.as_ref().ok_or(Errno::INVALID)?;
        let mut state = self.lock();
        if state.events.is_empty() {
            readable.written.clear();
            self.queue.arm()?;
            let collected = self.collect(&mut state);
            if state.events.is_empty() {
                return collected;
            }
        }
        Err(Errno::AGAIN)
    }

    /// The descriptor.
    fn file(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.readable.as_ref().map(|readable| readable.file.as_fd()).ok_or(Errno::NO_CALL)
    }
}

impl State {
    /// Something has happened to a connection.
    fn hear(&mut self, event: ConnectionEvent, card: &Card) {
        match event {
            ConnectionEvent::Requested(asked) => {
                let number = asked.context();
                let Some(Member::Listener { fid, offer, ends }) = self.members.get(&number) else { return };
                let (data, to) = (asked.data().to_vec(), Some(request::peer(&asked)));
                // Without memory for it, it is rejected.
                let Ok(mut info) = Info::new(offer, Some(card), Ends { to, ..*ends }) else { return };
                let of = (number, *fid);
                if info.set_request(|| request::keep(asked)).is_ok() {
                    self.events.push_back(Event::Request { of, info, data });
                }
            }
            ConnectionEvent::Connected { context, answer } => {
                let Some((fid, _, link)) = self.endpoint(context) else { return };
                if link.change(LinkState::Connecting, LinkState::Connected) {
                    let (of, what) = ((context, fid), ffi::FI_CONNECTED);
                    self.events.push_back(Event::Connection { of, what, data: answer.data });
                }
            }
            ConnectionEvent::Failed { context, error } => {
                let data = match &error {
                    Error::Rejected(data) => data.clone(),
                    _ => Vec::new(),
                };
                self.fail(context, error.into(), data);
            }
            ConnectionEvent::Disconnected { context } | ConnectionEvent::Lost { context } => {
                self.shut_down(context)
            }
            // The end was this side's, which knows it.
            ConnectionEvent::Parted { .. } => {}
            // Nothing else is known of connections.
            _ => {}
        }
    }

    /// The endpoint with this number: its fid, the program's word for it, and its state.
    fn endpoint(&self, number: u64) -> Option<(Word, Word, Arc<Link>)> {
        match self.members.get(&number)? {
            Member::Endpoint { fid, context, link } => Some((*fid, *context, Arc::clone(link))),
            Member::Listener { .. } => None,
        }
    }

    /// The connection that an endpoint was to have has come to nothing.
    fn fail(&mut self, number: u64, error: Errno, data: Vec<u8>) {
        let Some((fid, context, link)) = self.endpoint(number) else { return };
        link.end();
        self.events.push_back(Event::Failed { of: (number, fid), context, error, data });
    }

    /// The peer has ended a connection, or is gone.
    fn shut_down(&mut self, number: u64) {
        let Some((fid, _, link)) = self.endpoint(number) else { return };
        if matches!(link.end(), LinkState::Connected | LinkState::Broken) {
            let (of, what) = ((number, fid), ffi::FI_SHUTDOWN);
            self.events.push_back(Event::Connection { of, what, data: Vec::new() });
        }
    }

    /// Endpoints whose VIs have broken have no connection any more, whatever the connection manager still thinks.
    fn tell_broken(&mut self) {
        let is_broken = |member: &Member| match member {
            Member::Endpoint { link, .. } => link.state() == LinkState::Broken,
            Member::Listener { .. } => false,
        };
        let broken = self.members.iter().filter(|(_, member)| is_broken(member));
        let broken: Vec<u64> = broken.map(|(number, _)| *number).collect();
        broken.into_iter().for_each(|number| self.shut_down(number));
    }

    /// The NIC is gone, and all connections with it.
    fn lose(&mut self) {
        let numbers: Vec<u64> = self.members.keys().copied().collect();
        for number in numbers {
            match self.endpoint(number).map(|(_, _, link)| link.state()) {
                Some(LinkState::Connected | LinkState::Broken) => self.shut_down(number),
                Some(LinkState::Connecting) => self.fail(number, Errno::ABORTED, Vec::new()),
                Some(LinkState::Idle | LinkState::Over) | None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(state: &mut State, number: u64) -> Arc<Link> {
        let (word, link) = (Word(std::ptr::null_mut()), Arc::new(Link::new()));
        let member = Member::Endpoint { fid: word, context: word, link: Arc::clone(&link) };
        state.members.insert(number, member);
        link
    }

    #[test]
    fn a_connection_that_ends_is_told_once_and_only_if_it_had_begun() {
        let mut state = State::default();
        let link = member(&mut state, 7);
        state.shut_down(7);
        assert!(state.events.is_empty(), "it was not connected");
        assert_eq!(link.state(), LinkState::Over);
        let link = member(&mut state, 8);
        assert!(link.change(LinkState::Idle, LinkState::Connecting));
        assert!(link.change(LinkState::Connecting, LinkState::Connected));
        state.shut_down(8);
        state.shut_down(8);
        assert_eq!(state.events.len(), 1);
        assert!(state.events[0].is_of(8) && state.events[0].what() == ffi::FI_SHUTDOWN);
    }

    #[test]
    fn a_vi_that_breaks_is_the_end_of_its_connection_and_is_told_once() {
        let mut state = State::default();
        let link = member(&mut state, 7);
        assert!(link.change(LinkState::Idle, LinkState::Connecting));
        assert!(link.change(LinkState::Connecting, LinkState::Connected));
        state.tell_broken();
        assert!(state.events.is_empty(), "it is connected");
        assert!(link.change(LinkState::Connected, LinkState::Broken));
        state.tell_broken();
        // What the connection manager hears later is nothing new.
        state.shut_down(7);
        state.tell_broken();
        assert_eq!((state.events.len(), state.events[0].what()), (1, ffi::FI_SHUTDOWN));
    }

    #[test]
    fn a_nic_that_goes_ends_what_is_connected_and_what_is_on_its_way() {
        let mut state = State::default();
        let links = [1, 2, 3].map(|number| member(&mut state, number));
        assert!(links[1..].iter().all(|link| link.change(LinkState::Idle, LinkState::Connecting)));
        assert!(links[2].change(LinkState::Connecting, LinkState::Connected));
        state.lose();
        state.lose();
        let told: Vec<_> = state.events.iter().map(|event| (event.is_of(2), event.is_failure())).collect();
        assert_eq!(told, [(true, true), (false, false)]);
        assert_eq!(links.map(|link| link.state()), [LinkState::Idle, LinkState::Over, LinkState::Over]);
    }
}
