//! The daemon: the NIC that it owns, its socket, and the threads.

use std::{
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{FileTypeExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc,
    },
    time::{Duration, Instant},
};

use anyhow::{bail, Context, Result};
use rustix::{
    event::{eventfd, poll, EventfdFlags, PollFd, PollFlags},
    io::Errno,
    net::{
        accept_with, bind, connect, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags,
        SocketType,
    },
    process::{getrlimit, setrlimit, Resource, Rlimit},
};
use signal_hook::consts::{SIGINT, SIGTERM};
use viaduct_driver::{
    agent::{Agent, Options, EVENT_VECTOR},
    ethernet::Tap,
    name::DeviceName,
    viad::notice::Notice,
};

use crate::{
    accounts::Accounts, config::Config, connections::Connections, events::Events, forwarder::Forwarder,
    nic::Nic, opening, record::Records, service, session, throttle::Throttles, trust::Trust,
};

/// Sessions at a time: each has a thread.
const MOST_SESSIONS: usize = 1024;
/// Events that wait for viad: those of one client's VIs keep nobody else's from being heard, as long as viad gets a processor now and then.
const EVENTS: usize = 4095;
/// How long the sessions have to give everything back when viad ends.
const ENDING: Duration = Duration::from_secs(5);

/// Serves until a signal comes or the NIC is gone.
pub fn run(config: &Config) -> Result<()> {
    // First of all: what is wrong with it is told before the NIC is taken, and no descriptor of ours can be taken for it.
    let given = service::listener()?;
    raise_files();
    let nic = || format!("{:?} as the NIC", config.nic);
    let name: DeviceName = config.nic.parse().with_context(nic)?;
    let options = Options { events: EVENTS, ..name.options };
    let device = opening::open(&name).with_context(nic)?;
    // There is one thread so far.
    let trust = Trust::new(&config.trusted, device.sharing()).with_context(nic)?;
    let agent = Agent::open(device, options).with_context(nic)?;
    trust.reserve(agent.limits().regions.into())?;
    let holdoff = Duration::from_micros(config.holdoff_us);
    for vector in 0..if holdoff.is_zero() { 0 } else { agent.vectors() } {
        agent.hold_off(vector, holdoff)?;
    }
    let tap = config.tap.as_ref().map(|name| {
        Tap::open(name, Some(agent.mac()))
            .with_context(|| format!("{name:?} as the host's network interface"))
    });
    let tap = tap.transpose()?;
    let (notice, notice_file) = Notice::create()?;
    let notice = Arc::new(notice);
    let poll_time = Duration::from_micros(config.poll_us);
    let accounts = Accounts::new(&config.user, &agent.limits());
    let silence = Duration::from_millis(config.silence_ms);
    let nic = Arc::new(Nic {
        config: config.clone(),
        forwarder: Forwarder::new(Arc::clone(agent.device()), Arc::clone(&notice), poll_time)?,
        events: Events::new(Arc::clone(&agent)),
        records: Records::default(),
        trust: Arc::new(trust),
        throttles: Throttles::new(config.user.requests, config.user.burst),
        connections: Connections::open(&agent, (rand::random(), silence), tap, &accounts)?,
        accounts,
        agent,
        notice,
        watchers: Arc::default(),
        notice_file,
        stop: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        sessions: AtomicUsize::new(0),
    });
    let (told, alone) = (Arc::clone(&nic.notice), nic.agent.vectors() == 1);
    let watchers = Arc::clone(&nic.watchers);
    nic.agent.listen(Box::new(move |vector| {
        // Events go to the inboxes of those whose they are.
        if vector != EVENT_VECTOR || alone {
            told.raise(vector);
            watchers.wake();
        }
    }));
    let signalled = Arc::clone(&nic);
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("viad-signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            signalled.end("a signal");
        }
    })?;
    let listener = Listener::open(config, given)?;
    tracing::info!(
        nic = config.nic,
        mac = %nic.agent.mac(),
        ip = %nic.agent.ip(),
        tap = config.tap,
        socket = %listener.path.display(),
        "serving"
    );
    service::tell_ready(&format!("serving {} at {}", config.nic, listener.path.display()));
    std::thread::scope(|scope| {
        let threads = [
            scope.spawn(|| nic.forwarder.run().map_err(|error| nic.fail(&error))),
            scope.spawn(|| nic.events.run().map_err(|error| nic.fail(&error))),
            scope.spawn(|| nic.connections.run().map_err(|error| nic.fail(&error))),
            scope.spawn(|| nic.connections.run_tap().map_err(|error| nic.fail(&format!("{error:#}")))),
        ];
        let served = accept(&nic, &listener.socket);
        service::tell_stopping();
        // First of all, so that nobody comes.
        listener.close();
        nic.end("");
        // Each session ends its connections and VIs, and then its client hears of it: a trusted one unmaps its memory as soon as it does. Of a NIC
        // that takes no commands any more all hear at once.
        if !nic.agent.can_end_in_order() {
            nic.agent.stop_dma();
            nic.notice.end();
        }
        let start = Instant::now();
        while nic.sessions.load(Ordering::Acquire) > 0 && start.elapsed() < ENDING {
            std::thread::sleep(Duration::from_millis(1));
        }
        if nic.sessions.load(Ordering::Acquire) > 0 {
            tracing::warn!("not all sessions have ended in {ENDING:?}: the NIC's DMA is stopped");
            nic.agent.stop_dma();
        }
        nic.notice.end();
        nic.forwarder.stop();
        nic.events.stop();
        nic.connections.stop();
        let failed = threads.into_iter().any(|thread| !matches!(thread.join(), Ok(Ok(()))));
        served?;
        if failed {
            bail!("the NIC is gone");
        }
        Ok(())
    })
}

/// Each session has some eight descriptors: as many as are allowed.
fn raise_files() {
    let now = getrlimit(Resource::Nofile);
    let most = Rlimit { current: now.maximum, ..now };
    if let Err(error) = setrlimit(Resource::Nofile, most) {
        tracing::warn!(%error, "the limit of descriptors stays as it is");
    }
}

/// Takes clients until viad ends.
fn accept(nic: &Arc<Nic>, listener: &OwnedFd) -> Result<()> {
    loop {
        let mut files = [PollFd::new(listener, PollFlags::IN), PollFd::new(&nic.stop, PollFlags::IN)];
        match poll(&mut files, None) {
            Err(Errno::INTR) => continue,
            result => result?,
        };
        if !files[1].revents().is_empty() {
            return Ok(());
        }
        let socket = match accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(socket) => socket,
            Err(Errno::INTR | Errno::AGAIN | Errno::CONNABORTED) => continue,
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)) => {
                tracing::warn!(%error, "no more clients now");
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            Err(error) => return Err(io::Error::from(error).into()),
        };
        if nic.sessions.fetch_add(1, Ordering::AcqRel) >= MOST_SESSIONS {
            nic.sessions.fetch_sub(1, Ordering::AcqRel);
            tracing::warn!("more than {MOST_SESSIONS} sessions: a client is turned away");
            continue;
        }
        let alive = Alive(Arc::clone(nic));
        let started = std::thread::Builder::new().name("viad-session".into()).spawn(move || {
            // The reason is logged.
            let _ = session::serve(&alive.0, socket);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "no thread for a client");
        }
    }
}

/// A session that lives.
struct Alive(Arc<Nic>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The socket that clients connect to.
struct Listener {
    socket: OwnedFd,
    path: PathBuf,
    /// It is the service manager's, which keeps it for the next viad.
    is_given: bool,
}

impl Listener {
    /// The one that the service manager has given, or else a new one.
    fn open(config: &Config, given: Option<OwnedFd>) -> Result<Self> {
        let is_given = given.is_some();
        let (socket, path) = match given {
            Some(socket) => {
                let path = service::path(&socket)?;
                (socket, path)
            }
            None => {
                let socket = bind_socket(config);
                (
                    socket.with_context(|| format!("socket {}", config.socket.display()))?,
                    config.socket.clone(),
                )
            }
        };
        // Of a given socket, too: clients that connect from now on see this process as their server, and not the service manager.
        listen(socket.as_fd(), 128)?;
        Ok(Self { socket, path, is_given })
    }

    fn close(self) {
        if !self.is_given {
            // Whoever has removed it before does not harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A socket of no other viad's.
fn bind_socket(config: &Config) -> Result<OwnedFd> {
    let path: &Path = &config.socket;
    let address = SocketAddrUnix::new(path)?;
    let new = || socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if connect(&new()?, &address).is_ok() {
            bail!("another viad serves it");
        }
        fs::remove_file(path)?;
    }
    let listener = new()?;
    // Nobody can connect before it has its owner and its permissions.
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o777));
    let bound = bind(&listener, &address);
    rustix::process::umask(before);
    bound?;
    std::os::unix::fs::chown(path, None, config.group)?;
    fs::set_permissions(path, fs::Permissions::from_mode(config.mode))?;
    Ok(listener)
}
