//! Sessions speak the protocol by hand: they ask for what is not theirs, say nothing, say anything, and write anywhere.

use std::{
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::{Mtu, Service},
    cm::NotReady,
    consumer::{Cq, Vi},
    device::DmaAccess,
    kernel_agent::{CqName, ErrorClass, KernelAgent, MemoryAttributes, ViAttributes, ViName},
    memory::Mapping,
    viad::{
        protocol::{self, Answer, Request},
        socket, Client,
    },
};
use viaduct_viad_tests::{
    honest::beside_an_honest_client,
    raw::Raw,
    stage::{until, Stage, LONG},
};
use vipl::Nic;

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
    let cq = Cq::create(owner.clone(), 10).expect("a queue");
    let vi_attributes = |tag, cq| ViAttributes {
        tag,
        service: Service::ReliableDelivery,
        mtu: Mtu::DEFAULT,
        max_transfer: 1 << 20,
        send_log2: 3,
        receive_log2: 3,
        rdma_write: true,
        rdma_read: true,
        not_ready: NotReady::Break,
        send_cq: cq,
        receive_cq: None,
    };
    let vi = Vi::create(owner.clone(), vi_attributes(tag, Some(cq.index()))).expect("a VI");
    let (thief, ..) = Raw::hello(stage.socket(0));
    let class = |request: &Request| match thief.ask(request).0 {
        Err(refusal) => refusal.class,
        Ok(answer) => panic!("{request:?}: {answer:?}"),
    };
    let (Ok(Answer::Tag(own)), _) = thief.ask(&Request::CreateTag) else { panic!("no tag") };
    assert_ne!(own, tag);
    let address = memory.start().as_ptr() as u64;
    assert_eq!(class(&Request::DestroyTag(tag)), ErrorClass::Ptag);
    assert_eq!(class(&Request::Register(address, 10, attributes)), ErrorClass::Ptag);
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
                not_ready: NotReady::Break,
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
