//! Ends that find each other over the wire, by the library's own calls, whoever has the agents.

use std::{os::fd::BorrowedFd, time::Duration};

use rustix::{
    event::{epoll, poll, PollFd, PollFlags},
    time::Timespec,
};
use vipl::{
    connections::{Answer, Incoming, NetAddress},
    Error, Mac, Nic,
};

use crate::stage::{End, Stage, LONG};

/// An address of a stage's NIC.
pub fn address(nic: usize, discriminator: &str) -> NetAddress {
    NetAddress { host: Mac([2, 0, 0, 0, 0, nic as u8 + 1]).into(), discriminator: discriminator.into() }
}

/// NICs 0 and 1, with all kinds of agents.
///
/// # Panics
/// As the test does; a NIC that does not open.
pub fn on_each(test: impl Fn([&Nic; 2])) {
    // The last ones of a stage's NICs have no viads.
    for free in 0..3 {
        println!("{free} of two agents in this process");
        let stage = Stage::with_free(2, free, "");
        let name = |nic| if nic < 2 - free { stage.name(nic) } else { stage.device(nic) };
        let [client, server] = [0, 1].map(|nic| Nic::open(&name(nic)).expect("it is there"));
        test([&client, &server]);
    }
}

/// Waits at "server" of NIC 1 for one who asks, and does this with it.
///
/// # Panics
/// Nobody asks.
pub fn serve(nic: &Nic, decide: impl FnOnce(Box<dyn Incoming>)) {
    let connections = nic.connections().expect("it serves");
    decide(connections.wait(&address(1, "server"), Some(LONG), &|| false).expect("somebody asks"));
}

/// Asks "server" of NIC 1 with this until somebody waits.
///
/// # Errors
/// Those of the request.
///
/// # Panics
/// The NIC makes no connections.
pub fn ask(nic: &Nic, end: &End, data: &[u8]) -> Result<Answer, Error> {
    let connections = nic.connections().expect("it serves");
    let (from, to) = (address(0, "client"), address(1, "server"));
    loop {
        match connections.request(&end.vi, &from, &to, data, Some(LONG)) {
            Err(Error::NoMatch) => std::thread::sleep(Duration::from_millis(2)),
            result => return result,
        }
    }
}

/// Connects the two ends.
///
/// # Panics
/// They are not connected.
pub fn meet(nics: [&Nic; 2], ends: [&End; 2]) {
    std::thread::scope(|scope| {
        scope.spawn(|| serve(nics[1], |asked| asked.accept(&ends[1].vi, &[]).expect("they fit")));
        ask(nics[0], ends[0], &[]).expect("it is accepted");
    });
}

/// Whether a descriptor becomes readable within a time.
///
/// # Panics
/// It is none.
pub fn is_readable(file: BorrowedFd<'_>, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).expect("a time");
    let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
    let polled = rustix::io::retry_on_intr(|| poll(&mut files, Some(&limit))).expect("a descriptor") == 1;
    let set = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a set");
    epoll::add(&set, file, epoll::EventData::new_u64(0), epoll::EventFlags::IN).expect("it can wait");
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let waited = rustix::io::retry_on_intr(|| epoll::wait(&set, &mut events[..], Some(&at_once)));
    // It may have become readable since.
    assert!(!polled || waited == Ok(1), "poll says that it is readable, and epoll does not: {waited:?}");
    polled
}
