//! Clients that are against us. Whatever they do, an honest client's bytes and completions stay as they are, and everything
//! that they had comes back.

use std::{
    io::Write,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    process::Command,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::{ConnectionInfo, Mtu, Service},
    agent::{vis::ViAttributes, ErrorClass, MemoryAttributes},
    device::DmaAccess,
    kernel_agent::{CqName, KernelAgent, ViName},
    memory::Mapping,
    viad::{
        protocol::{self, Answer, Request},
        socket, Client,
    },
};
use viaduct_viad_tests::child::{self, child, lines, user};
use viaduct_viad_tests::fuse;
use viaduct_viad_tests::honest::{beside_an_honest_client, honest};
use viaduct_viad_tests::program::program;
use viaduct_viad_tests::raw::Raw;
use viaduct_viad_tests::skip::skip;
use viaduct_viad_tests::stage::{connected, until, End, Stage, BUFFER, LONG};
use vipl::{Error, MemAttributes, Nic};

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    // Its session is to be another user's.
    let nic = if role.starts_with("blocker") { None } else { Some(Nic::open(&name).expect("it serves")) };
    let nic = || nic.as_ref().expect("it is open");
    match role.split_once(' ').unwrap_or((&role, "0")) {
        // Messages to itself, so many; each is looked at.
        ("honest", rounds) => honest(nic(), rounds.parse().expect("a number")),
        // It forks; the child may do nothing, and lives on.
        ("forker", _) => forker(nic()),
        // Started as root, it becomes this user, and registers memory that never answers.
        ("blocker", uid) => blocker(&name, uid.parse().expect("a number")),
        // It connects with whom it likes, and is refused.
        ("intruder", peer) => intruder(nic(), &ConnectionInfo::from_json(peer).expect("an end's")),
        _ => panic!("{role}"),
    }
}

fn intruder(nic: &Nic, peer: &ConnectionInfo) {
    let end = End::new(nic);
    // As it is, as it may be next, and one that may be somebody's some time.
    for queue_pair in [peer.queue_pair, peer.queue_pair ^ 1 << 10, peer.queue_pair ^ 1 << 9] {
        let error = end.vi.connect(&ConnectionInfo { queue_pair, ..*peer }).expect_err("not its own");
        assert!(error.to_string().contains("not this user's"), "{queue_pair:#x}: {error}");
    }
    honest(nic, 3);
}

fn blocker(name: &str, uid: u32) {
    // A file system of its own, which never answers a read; mapped while it may.
    let folder = tempfile::tempdir().expect("a folder");
    let (file, server) = match fuse::open(folder.path()) {
        Ok(served) => served,
        Err(error) => {
            println!("\nno file system in user space: {error}");
            return;
        }
    };
    let length = fuse::BYTES as usize;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let memory = unsafe {
        libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
    };
    assert_ne!(memory, libc::MAP_FAILED);
    let memory = std::ptr::NonNull::new(memory.cast()).expect("mapped");
    // SAFETY: this process has one thread that matters, and says who it is.
    unsafe {
        assert_eq!(libc::setresgid(uid, uid, uid), 0);
        assert_eq!(libc::setresuid(uid, uid, uid), 0);
        // Its memory is its own to open again.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1), 0);
    }
    let nic = Nic::open(name).expect("it serves");
    let ptag = nic.create_ptag().expect("a tag");
    // SAFETY: it stays until the process ends.
    let region = unsafe { nic.register(memory, length, &MemAttributes::new(&ptag)) }.expect("any memory");
    let words = nic.allocate(4096, &MemAttributes::new(&ptag)).expect("memory");
    let end = [(); 2].map(|()| nic.create_vi(&vipl::ViAttributes::new(&ptag)).expect("a VI"));
    end[0].connect(&end[1].connection_info()).expect("idle");
    end[1].connect(&end[0].connection_info()).expect("idle");
    let send = vipl::Descriptor::new().segment(&region, 4096, 64).expect("inside");
    let send = send.build(&words, 0).expect("aligned");
    println!("\nblocking {}", server.process);
    std::io::stdout().flush().expect("a pipe");
    end[0].post_send(send).expect("posted");
    // From here on each of its own changes of its memory waits, too.
    std::thread::sleep(LONG);
}

fn forker(nic: &Nic) {
    let (one, other) = connected(nic, nic);
    other.post_recv(1, BUFFER, 64);
    let made = one.descriptor(0, BUFFER, 4);
    // SAFETY: the child calls what returns errors, and ends without running anything of the parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let forked = |error: Error| error.to_string().contains("fork");
        let refused = [
            one.vi.post_send(made).is_err_and(forked),
            // The memory is the parent's: the child has none of it.
            one.memory.write(BUFFER, b"x").is_err_and(forked),
            one.memory.read(BUFFER, &mut [0]).is_err_and(forked),
            other.vi.recv_done().is_err_and(forked),
            other.vi.recv_wait(None).is_err_and(forked),
            nic.create_ptag().is_err_and(forked),
            other.vi.disconnect().is_err_and(forked),
        ];
        drop((one, other));
        // SAFETY: sleeping and ending are always allowed.
        unsafe {
            libc::sleep(if refused.iter().all(|refused| *refused) { 20 } else { 0 });
            libc::_exit(0);
        }
    }
    std::thread::sleep(Duration::from_millis(200));
    let mut status = 0;
    // SAFETY: our child, and our variable.
    let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
    assert_eq!(ended, 0, "every call of the child's was an error, and it sleeps");
    // Neither its posts nor its end of our VIs reached the NIC.
    one.send(0, BUFFER, b"still here");
    assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 10);
    honest(nic, 20);
    println!("child {child}");
    std::io::stdout().flush().expect("a pipe");
    // Killed, with the child alive.
    std::thread::sleep(LONG);
}

#[test]
fn a_forked_child_gets_errors_and_keeps_no_session_alive() {
    let stage = Stage::new(1);
    let mut parent = child("forker", &stage.name(0), None);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(parent.0.stdout.take().expect("piped")));
    let pid = loop {
        let line = lines.next().expect("it says the child's number").expect("text");
        if let Some((_, pid)) = line.split_once("child ") {
            if let Ok(pid) = pid.trim().parse::<i32>() {
                break pid;
            }
        }
    };
    parent.0.kill().expect("it lives");
    assert!(until(LONG, || stage.log(0).contains("its process ended")), "{}", stage.log(0));
    let child = rustix::process::Pid::from_raw(pid).expect("a number");
    assert!(rustix::process::test_kill_process(child).is_ok(), "the child lives");
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
    // Not to leave it behind.
    let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
}

#[test]
fn eight_processes_of_eight_users_share_a_nic() {
    let stage = Stage::new(1);
    let mut children: Vec<_> = (0..8).map(|n| child("honest 60", &stage.name(0), user(n))).collect();
    for child in &mut children {
        assert!(child.0.wait().expect("it ends").success());
    }
}

#[test]
fn numbers_of_others_do_not_exist() {
    let stage = Stage::new(1);
    let owner = Client::open(stage.socket(0)).expect("it serves");
    let tag = owner.create_tag().expect("a tag");
    let memory = Mapping::new(8192).expect("memory");
    let attributes = MemoryAttributes { tag, rdma_write: true, rdma_read: true };
    // SAFETY: the mapping outlives the client.
    let handle =
        unsafe { owner.register(memory.start().as_ptr() as usize, 8192, attributes) }.expect("memory");
    let cq = owner.clone().create_cq(10).expect("a queue");
    let vi_attributes = |tag, cq| ViAttributes {
        tag,
        service: Service::ReliableDelivery,
        mtu: Mtu::DEFAULT,
        max_transfer: 1 << 20,
        send_log2: 3,
        receive_log2: 3,
        rdma_write: true,
        rdma_read: true,
        send_cq: cq,
        receive_cq: None,
    };
    let vi = owner.clone().create_vi(vi_attributes(tag, Some(cq.index()))).expect("a VI");
    let (thief, ..) = Raw::hello(stage.socket(0));
    let class = |request: &Request| match thief.ask(request).0 {
        Err(refusal) => refusal.class,
        Ok(answer) => panic!("{request:?}: {answer:?}"),
    };
    let (Ok(Answer::Tag(own)), _) = thief.ask(&Request::CreateTag) else { panic!("no tag") };
    assert_ne!(own, tag);
    let address = memory.start().as_ptr() as u64;
    assert_eq!(class(&Request::DestroyTag(tag)), ErrorClass::Ptag);
    assert_eq!(class(&Request::Register { address, length: 10, attributes }), ErrorClass::Ptag);
    assert_eq!(class(&Request::CreateVi(vi_attributes(tag, None))), ErrorClass::Ptag);
    for index in 0..8 {
        assert_eq!(
            class(&Request::CreateVi(vi_attributes(own, Some(index)))),
            ErrorClass::Parameter,
            "{index}"
        );
    }
    assert_eq!(class(&Request::Deregister(handle)), ErrorClass::Parameter);
    assert_eq!(class(&Request::MemoryAttributes(handle)), ErrorClass::Parameter);
    assert_eq!(class(&Request::SetMemoryAttributes(handle, attributes)), ErrorClass::Parameter);
    for name in [vi.name(), ViName { index: vi.index(), life: 0 }] {
        for request in [
            Request::BreakVi(name),
            Request::IdleVi(name),
            Request::ViState(name),
            Request::DestroyVi(name),
            Request::SetViAttributes(name, vi_attributes(own, None), true),
            Request::ConnectVi(name, vi.info()),
        ] {
            assert_eq!(class(&request), ErrorClass::Parameter);
        }
    }
    for life in 0..4 {
        let name = CqName { index: cq.index(), life };
        assert_eq!(class(&Request::ResizeCq(name, 20)), ErrorClass::Parameter);
        assert_eq!(class(&Request::DestroyCq(name)), ErrorClass::Parameter);
    }
    // None of it was touched.
    assert_eq!(owner.memory_attributes(handle).expect("it is there"), attributes);
    assert_eq!(vi.state().expect("it is there"), vipl::ViState::Idle);
    vi.destroy().expect("it is there");
    cq.destroy().expect("it is there");
    owner.deregister(handle).expect("it is there");
}

#[test]
fn nobody_sends_to_a_neighbour_who_was_not_asked() {
    let stage = Stage::new(1);
    let Some(stranger) = user(6) else {
        return skip("we are not root, and cannot be another user");
    };
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    let mut ends: Vec<u32> = Vec::new();
    for end in [&one, &other] {
        let info = end.vi.connection_info();
        ends.push(info.queue_pair);
        let mut intruder = child(&format!("intruder {}", info.to_json()), &stage.name(0), Some(stranger));
        assert!(intruder.0.wait().expect("it ends").success());
    }
    // The next ones are not to be guessed either.
    ends.extend((0..5).map(|_| End::new(&nic).vi.connection_info().queue_pair));
    let steps: std::collections::HashSet<u32> =
        ends.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
    assert!(steps.len() > 3, "{ends:x?}");
}

#[test]
fn memory_that_does_not_answer_stops_nobody_else() {
    let stage = Stage::new(1);
    let Some(stranger) = user(7) else {
        return skip("we are not root, and cannot be another user");
    };
    let mut victim = child(&format!("blocker {stranger}"), &stage.name(0), None);
    let mut said = lines(&mut victim);
    let first = said.find(|line| line.starts_with("blocking ") || line.starts_with("no file system"));
    let first = first.expect("it says so");
    let Some(server) = first.strip_prefix("blocking ") else {
        return skip(first);
    };
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let given_up = || {
        let log = std::fs::read_to_string(stage.folder.path().join("sim.log")).unwrap_or_default();
        log.contains("a client's memory does not answer")
    };
    let start = Instant::now();
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    while rounds < 20 || !given_up() {
        let one = Instant::now();
        honest(&nic, 5);
        rounds += 1;
        longest = longest.max(one.elapsed());
        assert!(start.elapsed() < LONG, "it is not given up");
    }
    println!("{rounds} rounds in {:?}, the longest {longest:?}", start.elapsed());
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    // A process cannot end while somebody waits for its memory: only who provides it can change that. Then all of it comes back.
    victim.0.kill().expect("it lives");
    let server = rustix::process::Pid::from_raw(server.parse().expect("a number")).expect("a process");
    rustix::process::kill_process(server, rustix::process::Signal::KILL).expect("it lives");
    assert!(until(LONG, || stage.log(0).contains("session ended")), "{}", stage.log(0));
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
    honest(&nic, 5);
}

#[test]
fn who_does_not_say_hello_counts_all_the_same() {
    let stage = Stage::with(1, "[user]\nsessions = 3\n");
    let mute: Vec<Raw> = (0..3).map(|_| Raw::connect(stage.socket(0))).collect();
    assert!(until(LONG, || stage.log(0).matches("a client ").count() == 3));
    let error = Nic::open(&stage.name(0)).expect_err("there are three").to_string();
    assert!(error.contains("3 sessions") && error.contains("limit is 3"), "{error}");
    drop(mute);
    assert!(until(LONG, || Nic::open(&stage.name(0)).is_ok()), "{}", stage.log(0));
    // There is room for the descriptors of many.
    let pid = rustix::process::Pid::from_child(&stage.viads[0].0).as_raw_nonzero();
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("it lives");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    let numbers: Vec<&str> = files.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect();
    assert_eq!(numbers[0], numbers[1], "{files}");
}

#[test]
fn a_viad_that_takes_no_doorbells_is_given_up() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let end = End::new(&nic);
    end.post_recv(1, BUFFER, 64);
    let pid = rustix::process::Pid::from_child(&stage.viads[0].0);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it lives");
    // A signal takes its time: its other threads may run on for a while.
    let threads = format!("/proc/{}/task", pid.as_raw_nonzero());
    let stops = |thread: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(thread.expect("a thread").path().join("stat")).expect("it lives");
        stat.contains(") T ")
    };
    assert!(until(LONG, || std::fs::read_dir(&threads).expect("it lives").all(stops)));
    let start = Instant::now();
    let error = end.vi.post_recv(end.descriptor(2, BUFFER, 64)).expect_err("nobody takes it");
    assert!(error.is_gone() && error.to_string().contains("takes no doorbells"), "{error}");
    assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
    assert!(nic.create_ptag().expect_err("the session has ended").is_gone());
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("it lives");
    drop((end, nic));
    honest(&Nic::open(&stage.name(0)).expect("it serves others"), 3);
}

#[test]
fn garbage_ends_the_session_that_it_comes_from() {
    let stage = Stage::new(1);
    let seed: u64 = rand::random();
    println!("seed {seed:#x}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    beside_an_honest_client(&stage, || {
        for round in 0..200 {
            let greeted = round % 2 == 0;
            let raw = if greeted { Raw::hello(stage.socket(0)).0 } else { Raw::connect(stage.socket(0)) };
            for _ in 0..random.random_range(1..20) {
                let mut bytes = vec![0; random.random_range(1..300)];
                random.fill(&mut bytes[..]);
                bytes[0] %= 32;
                if raw.send(&bytes).is_err() {
                    break;
                }
            }
        }
        // Every one was ended, with its reason.
        let hello = protocol::encode(&Request::Hello { magic: protocol::MAGIC, version: 99 }).expect("short");
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").expect("it is there");
        let cases: [(&[u8], usize, &str); 5] = [
            (b"\xff\xff\xff", 0, "what is no request"),
            (&protocol::encode(&Request::CreateTag).expect("short"), 0, "its first request is not Hello"),
            (&hello, 3, "speaks version"),
            (
                &protocol::encode(&Request::Hello { magic: *b"12345678", version: 1 }).expect("short"),
                0,
                "no library",
            ),
            (
                &protocol::encode(&Request::Hello { magic: protocol::MAGIC, version: protocol::VERSION })
                    .expect("short"),
                2,
                "are not /proc/",
            ),
        ];
        for (bytes, files, reason) in cases {
            let raw = Raw::connect(stage.socket(0));
            socket::send(&raw.socket, bytes, &vec![null.as_fd(); files]).expect("it listens");
            let _ = raw.receive();
            assert!(raw.receive().is_none(), "it is closed");
            assert!(until(LONG, || stage.log(0).contains(reason)), "{reason}: {}", stage.log(0));
        }
    });
    assert!(!stage.log(0).contains("panicked"), "{}", stage.log(0));
}

#[test]
fn floods_hold_up_nobody_else() {
    let stage = Stage::with(1, "[user]\nrequests = 2000\nburst = 100\n");
    beside_an_honest_client(&stage, || {
        let start = Instant::now();
        // One that asks and reads, one that never reads, one that wakes the forwarder.
        let (asker, ..) = Raw::hello(stage.socket(0));
        let (deaf, ..) = Raw::hello(stage.socket(0));
        let (waker, _, files) = Raw::hello(stage.socket(0));
        let request = protocol::encode(&Request::Counters).expect("short");
        let mut answered = 0;
        while start.elapsed() < Duration::from_secs(2) {
            let _ = deaf.send(&request);
            let _ = rustix::io::write(&files[3], &(u64::MAX / 2).to_ne_bytes());
            if asker.send(&request).is_ok() && asker.receive().is_some() {
                answered += 1;
            }
        }
        let most = 100 + (start.elapsed().as_secs_f64() * 2000.0) as usize + 1;
        println!("{answered} requests in {:?}", start.elapsed());
        assert!((1..=most).contains(&answered), "{answered} of at most {most}");
        drop(waker);
    });
}

#[test]
fn whatever_is_written_into_rings_and_pages_hurts_only_its_writer() {
    let stage = Stage::new(1);
    let seed: u64 = rand::random();
    println!("seed {seed:#x}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    beside_an_honest_client(&stage, || {
        for _ in 0..6 {
            let (raw, welcome, files) = Raw::hello(stage.socket(0));
            // Nothing there can be made shorter, and the notice page cannot be written.
            for file in &files[..3] {
                assert!(rustix::fs::ftruncate(file, 0).is_err());
            }
            for page in &files[..2] {
                assert!(Mapping::of(page.as_fd(), 4096, DmaAccess::ReadWrite).is_err());
                assert!(rustix::io::pwrite(page, &[1; 8], 0).is_err());
            }
            let arena =
                Mapping::of(files[2].as_fd(), welcome.arena as usize, DmaAccess::ReadWrite).expect("ours");
            let (Ok(Answer::Tag(tag)), _) = raw.ask(&Request::CreateTag) else { panic!("no tag") };
            let (Ok(Answer::Cq { name: cq, .. }), cq_files) = raw.ask(&Request::CreateCq(8)) else {
                panic!("no queue")
            };
            let attributes = ViAttributes {
                tag,
                service: Service::ReliableDelivery,
                mtu: Mtu::DEFAULT,
                max_transfer: 4096,
                send_log2: 3,
                receive_log2: 3,
                rdma_write: true,
                rdma_read: true,
                send_cq: Some(cq.index),
                receive_cq: Some(cq.index),
            };
            let (Ok(Answer::Vi { name, info, .. }), vi_files) = raw.ask(&Request::CreateVi(attributes))
            else {
                panic!("no VI")
            };
            assert!(raw.ask(&Request::ConnectVi(name, info)).0.is_ok());
            let page = |file: &OwnedFd, length| {
                Mapping::of(file.as_fd(), length, DmaAccess::ReadWrite).expect("ours")
            };
            let pages = [page(&vi_files[0], 4096), page(&cq_files[1], 4096)];
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(200) {
                for memory in pages.iter().chain([&arena]) {
                    let words = memory.length().min(64) / 8;
                    let word = random.random_range(0..words);
                    // Region indices that others have, any position.
                    let value = u64::from(random.random_range(0..40u16)) << 34
                        | random.random::<u64>() << 50
                        | random.random_range(0..64);
                    // SAFETY: inside the mapping, and accessed as atomics by everybody.
                    let place =
                        unsafe { &*memory.start().as_ptr().cast::<std::sync::atomic::AtomicU64>().add(word) };
                    place.store(value, Ordering::Relaxed);
                }
                let _ = rustix::io::write(&files[3], &1u64.to_ne_bytes());
            }
            let _ = raw.ask(&Request::ResizeCq(cq, 20));
            let _ = raw.ask(&Request::TakeEvents);
            println!("descriptor {}", raw.socket.as_raw_fd());
        }
    });
    assert!(!stage.log(0).contains("panicked"), "{}", stage.log(0));
}

/// When a call failed, and how.
fn timed(wait: impl FnOnce() -> Error) -> (Instant, Error) {
    let error = wait();
    (Instant::now(), error)
}

#[test]
fn when_viad_is_killed_every_caller_has_its_error_within_a_second() {
    let mut stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    let cq = nic.create_cq(4).expect("room");
    other.post_recv(1, BUFFER, 64);
    let sent = End::new(&nic);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| timed(|| other.vi.recv_wait(None).expect_err("nothing comes")));
        let queue = scope.spawn(|| timed(|| cq.wait(None).expect_err("nothing comes")));
        let events = scope.spawn(|| {
            timed(|| loop {
                if let Err(error) = nic.wait_events(LONG) {
                    return error;
                }
            })
        });
        let caller = scope.spawn(|| {
            timed(|| loop {
                if let Err(error) = nic.create_ptag() {
                    return error;
                }
            })
        });
        std::thread::sleep(Duration::from_millis(200));
        stage.kill(0);
        let killed = Instant::now();
        for (who, thread) in [("sleeper", sleeper), ("queue", queue), ("events", events), ("caller", caller)]
        {
            let (when, error) = thread.join().expect("no panic");
            let late = when.saturating_duration_since(killed);
            println!("{who}: {late:?}");
            assert!(error.is_gone() && late < Duration::from_secs(1), "{who}: {late:?}, {error}");
        }
    });
    // Posts say so too, and a new viad serves a new session.
    let error = one.vi.post_send(one.descriptor(0, BUFFER, 4)).expect_err("it is gone");
    assert!(error.is_gone(), "{error}");
    drop((one, other, sent, cq));
    let viad = stage.start(0);
    let again = Nic::open(&stage.name(0)).expect("it serves");
    honest(&again, 3);
    assert!(nic.create_ptag().expect_err("its session is gone").is_gone());
    drop(viad);
}

#[test]
fn a_signal_ends_viad_in_order() {
    let mut stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    other.post_recv(1, BUFFER, 64);
    // Nobody else serves there meanwhile.
    let second = Command::new(program("viad"))
        .args(["--nic", "vfio-user:/nowhere", "--socket"])
        .arg(stage.socket(0))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("/nowhere"), "{said}");
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| timed(|| other.vi.recv_wait(None).expect_err("nothing comes")));
        std::thread::sleep(Duration::from_millis(100));
        let pid = rustix::process::Pid::from_child(&stage.viads[0].0);
        let told = Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
        let (when, error) = sleeper.join().expect("no panic");
        // Either it is woken first, or its receive is flushed first.
        let flushed = matches!(&error, Error::Descriptor(head) if head.status().is_error());
        assert!(error.is_gone() || flushed, "{error}");
        assert!(when.saturating_duration_since(told) < Duration::from_secs(1), "{error}");
    });
    let ended = stage.viads[0].0.wait().expect("it ends");
    assert!(ended.success(), "{}", stage.log(0));
    assert!(!stage.socket(0).exists(), "its socket is gone");
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
    assert!(nic.create_ptag().expect_err("it has ended").is_gone());
    drop((one, other));
}
