//! What the library puts into memory and onto the doorbells, and what it refuses. The function
//! behind it is paper: registers that read as a NIC's and doorbells that are written down; the test
//! completes descriptors itself. What a NIC does is tested on the RTL.

use std::{
    ptr::NonNull,
    sync::{atomic::Ordering, mpsc::channel, Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use viaduct_driver::device::{DmaAccess, Polling};
use viaduct_spec::{
    descriptor::{control_segment, data_segment, status},
    doorbell::token,
};
use vipl::{
    Descriptor, Error, MemAttributes, Nic, Ptag, Region, ReliabilityLevel, Return, Status, StillRegistered,
    Vi, ViAttributes,
};

mod paper;
use paper::{complete, Doorbells, Paper};

/// Doorbells that are written down.
#[derive(Default)]
struct Book {
    doorbells: Mutex<Vec<(u64, u64)>>,
    /// Who has it stops the device behind each of them.
    slow: Mutex<()>,
}

impl Doorbells for Book {
    fn store(&self, _: &Paper<Self>, offset: u64, value: u64) {
        self.doorbells.lock().expect("no panic").push((offset, value));
        drop(self.slow.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

struct Bench {
    paper: Arc<Paper<Book>>,
    nic: Nic,
    ptag: Ptag,
    memory: Region,
    vi: Vi,
}

fn bench() -> Bench {
    let paper = Paper::new(0, Book::default());
    let nic = paper.nic();
    let ptag = nic.create_ptag().expect("a tag");
    let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag)).expect("memory");
    let vi = nic.create_vi(&ViAttributes { depth: 8, ..ViAttributes::new(&ptag) }).expect("a VI");
    Bench { paper, nic, ptag, memory, vi }
}

fn descriptor(bench: &Bench, offset: usize) -> Descriptor {
    let data = Descriptor::new().segment(&bench.memory, 4096, 100).expect("inside");
    data.build(&bench.memory, offset).expect("aligned")
}

fn words(memory: &Region, offset: usize, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; 8 * count];
    memory.read(offset, &mut bytes).expect("inside");
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
}

#[test]
fn a_posted_descriptor_is_vias_in_memory_its_ring_and_its_doorbell() {
    let bench = bench();
    let built = Descriptor::new()
        .segment(&bench.memory, 4097, 100)
        .and_then(|b| b.segment(&bench.memory, 8192, 0))
        .and_then(|b| b.immediate(0xdead_beef).build(&bench.memory, 128))
        .expect("a sound descriptor");
    // Dirt of an earlier life must not look like a completion.
    complete(&bench.memory, 128, 1, status::DONE);
    bench.vi.post_send(built).expect("room");

    let words = words(&bench.memory, 128, 8);
    assert_eq!(control_segment::SEG_COUNT.get(&words), 2);
    assert_eq!(control_segment::CONTROL.get(&words), 4);
    assert_eq!(control_segment::IMMEDIATE.get(&words), 0xdead_beef);
    assert_eq!(control_segment::LENGTH.get(&words), 100);
    assert_eq!(control_segment::STATUS.get(&words), 0);
    assert_eq!(data_segment::ADDRESS.get(&words[4..]), bench.memory.address() as u64 + 4097);
    assert_eq!(data_segment::HANDLE.get(&words[4..]), u64::from(bench.memory.handle()));
    assert_eq!(data_segment::LENGTH.get(&words[4..]), 100);
    assert_eq!(data_segment::LENGTH.get(&words[6..]), 0);

    let doorbells = bench.paper.doorbells.doorbells.lock().expect("no panic").clone();
    let [(page, word)] = doorbells[..] else { panic!("one store: {doorbells:?}") };
    assert_eq!(page, 0, "the send doorbell of VI 0");
    assert_eq!(token::REGION.get(&[word]), u64::from(bench.memory.handle() & 0xffff));
    assert_eq!(token::OFFSET.get(&[word]), 2);
    assert_eq!(token::POSITION.get(&[word]), 0);
}

#[test]
fn done_looks_at_the_head_only() {
    let bench = bench();
    assert!(matches!(bench.vi.recv_done(), Err(Error::Empty)));
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    bench.vi.post_recv(descriptor(&bench, 64)).expect("room");
    complete(&bench.memory, 64, 7, status::DONE | status::OP_RECEIVE);
    assert!(matches!(bench.vi.recv_done(), Err(Error::NotDone)));
    complete(&bench.memory, 0, 9, status::DONE | status::OP_RECEIVE | status::LENGTH_ERROR);
    let error = bench.vi.recv_done().expect_err("a length error");
    assert_eq!(error.code(), Return::DescriptorError);
    assert!(error.to_string().contains("LENGTH_ERROR"), "{error}");
    let Error::Descriptor(head) = error else { panic!("{error}") };
    assert_eq!((head.offset(), head.length()), (0, 9));
    assert_eq!(head.status(), Status::DONE | Status::LENGTH_ERROR);
    let next = bench.vi.recv_done().expect("complete");
    assert_eq!((next.offset(), next.length(), next.immediate()), (64, 7, None));
    assert!(matches!(bench.vi.recv_done(), Err(Error::Empty)));
}

#[test]
#[cfg_attr(miri, ignore = "too many posts for Miri")]
fn a_full_ring_refuses_and_positions_wrap() {
    let bench = bench();
    let mut free: Vec<Descriptor> = (0..9).map(|n| descriptor(&bench, 64 * n)).collect();
    let spare = free.pop().expect("nine");
    for descriptor in free {
        bench.vi.post_send(descriptor).expect("room for eight");
    }
    let error = bench.vi.post_send(spare).expect_err("the ninth");
    assert!(matches!(error, Error::Overrun(8)));
    assert_eq!(error.code(), Return::ErrorResource);
    // Round and round: 2^14 positions and some more.
    for n in 0..(1 << 14) + 20 {
        complete(&bench.memory, 64 * (n % 8), 0, status::DONE);
        let head = bench.vi.send_done().expect("complete");
        assert_eq!(head.offset(), 64 * (n % 8));
        bench.vi.post_send(head).expect("one slot is free");
    }
    let doorbells = bench.paper.doorbells.doorbells.lock().expect("no panic");
    for (n, (_, word)) in doorbells.iter().enumerate() {
        assert_eq!(token::POSITION.get(&[*word]), n as u64 % (1 << 14));
        assert_eq!(token::OFFSET.get(&[*word]), n as u64 % 8);
    }
    drop(doorbells);
    for n in 0..8 {
        complete(&bench.memory, 64 * n, 0, status::DONE);
    }
}

#[test]
fn what_breaks_a_rule_is_refused_with_its_code() {
    let bench = bench();
    let memory = &bench.memory;
    let with = |count| (0..count).try_fold(Descriptor::new(), |b, _| b.segment(memory, 0, 1));
    let code = |result: Result<Descriptor, Error>| result.err().map(|e| e.code());
    let invalid = Some(Return::InvalidParameter);
    assert_eq!(code(Descriptor::new().build(memory, 32)), invalid, "not aligned");
    assert_eq!(code(Descriptor::new().build(memory, 1 << 16)), invalid, "outside");
    assert_eq!(code(Descriptor::new().build(memory, usize::MAX - 63)), invalid, "outside");
    assert_eq!(code(with(252).expect("252 segments").build(memory, 0)), None);
    assert_eq!(with(253).err().map(|e| e.code()), invalid, "253 segments");
    let long = with(3).expect("three segments").build(memory, (1 << 16) - 64);
    assert_eq!(code(long), invalid, "its end is outside");
    let range = Descriptor::new().segment(memory, (1 << 16) - 1, 2);
    assert!(matches!(range, Err(Error::Range { .. })));
    assert!(matches!(Descriptor::new().segment(memory, usize::MAX, 2), Err(Error::Range { .. })));

    let other = bench.paper.nic();
    let stranger = other.create_ptag().expect("a tag");
    let wrong = bench.nic.allocate(64, &MemAttributes::new(&stranger)).expect_err("another NIC's tag");
    assert_eq!(wrong.code(), Return::InvalidPtag);
    let memory = other.allocate(64, &MemAttributes::new(&stranger)).expect("memory");
    let foreign = Descriptor::new().build(&memory, 0).expect("sound by itself");
    assert!(matches!(bench.vi.post_send(foreign), Err(Error::OtherNic)));

    for level in [ReliabilityLevel::UnreliableDelivery, ReliabilityLevel::ReliableReception] {
        let attributes = ViAttributes { reliability_level: level, ..ViAttributes::new(&bench.ptag) };
        let vi = bench.nic.create_vi(&attributes).expect("all levels are offered");
        let error = vi.connect(&bench.vi.connection_info()).expect_err("the other end has another level");
        assert_eq!(error.code(), Return::InvalidReliabilityLevel);
    }
    let size = ViAttributes { max_transfer_size: u32::MAX, ..ViAttributes::new(&bench.ptag) };
    assert_eq!(bench.nic.create_vi(&size).err().map(|e| e.code()), Some(Return::InvalidMtu));
}

#[test]
#[cfg_attr(miri, ignore = "it asks the system what may be written")]
fn memory_that_the_program_has_is_registered_as_it_is() {
    static CONSTANT: [u8; 200] = [7; 200];
    let bench = bench();
    let attributes = MemAttributes::new(&bench.ptag);
    // SAFETY: static memory stays for ever; it is constant, and registered as such.
    let region = unsafe { bench.nic.register(NonNull::from(&CONSTANT[1..]).cast(), 150, &attributes) };
    let region = region.expect("memory");
    assert_eq!(region.address(), CONSTANT.as_ptr() as usize + 1);
    let mut bytes = [0; 150];
    region.read(0, &mut bytes).expect("inside");
    assert_eq!(bytes, [7; 150]);
    assert!(matches!(region.write(0, &[1]), Err(Error::ReadOnly)), "a constant");
    let inside = 64 - (region.address() & 63);
    assert!(matches!(Descriptor::new().build(&region, inside), Err(Error::ReadOnly)));

    let mut own = vec![0u8; 4096];
    let start = NonNull::from(&mut own[..]).cast::<u8>();
    // SAFETY: the vector outlives the region, and is not touched meanwhile.
    let region = unsafe { bench.nic.register(start, 4096, &attributes) }.expect("memory");
    let aligned = (64 - (region.address() & 63)) % 64;
    let built = Descriptor::new().build(&region, aligned).expect("aligned in memory, if not in the region");
    bench.vi.post_send(built).expect("room");
    let word = bench.paper.doorbells.doorbells.lock().expect("no panic")[0].1;
    // The unit is 64 bytes from the region's base rounded down to 64.
    assert_eq!(token::OFFSET.get(&[word]), u64::from(aligned != 0));
    complete(&region, aligned, 0, status::DONE);
    drop(bench.vi.send_done().expect("complete"));
    drop(region);
}

#[test]
#[cfg_attr(miri, ignore = "too many looks for Miri")]
fn a_wait_ends_in_time_and_at_once_when_the_device_is_gone() {
    let bench = bench();
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    let start = Instant::now();
    assert!(matches!(bench.vi.recv_wait(Some(Duration::from_millis(50))), Err(Error::Timeout)));
    assert!(start.elapsed() >= Duration::from_millis(50) && start.elapsed() < Duration::from_secs(2));
    bench.paper.burn();
    let start = Instant::now();
    let error = bench.vi.recv_wait(None).expect_err("nobody completes it");
    assert!(error.is_gone() && error.to_string().contains("it burnt"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
#[cfg_attr(miri, ignore = "it leaks, as it should")]
fn what_a_dead_nic_might_still_reach_is_not_given_back() {
    let bench = bench();
    let (address, length) = (bench.memory.address() as u64, bench.memory.length() as u64);
    bench.paper.burn();
    drop(bench);
    let still = viaduct_driver::memory::access(address, address + length);
    assert_eq!(still.ok(), Some(DmaAccess::ReadWrite), "it is still mapped");
}

#[test]
#[cfg_attr(miri, ignore = "too many looks for Miri")]
fn a_done_that_finds_nothing_pauses_only_where_time_passes_in_that() {
    const LOOKS: usize = 5000;
    let bench = bench();
    let cq = bench.nic.create_cq(4).expect("a queue");
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    // The completion queue never has anything: its row of misses goes on.
    for (polling, pauses) in [(Polling::Spin, 0), (Polling::Yield, 0), (Polling::Pause, 2 * LOOKS - 64)] {
        *bench.paper.polling.lock().expect("no panic") = polling;
        let before = bench.paper.pauses.load(Ordering::SeqCst);
        for _ in 0..LOOKS {
            assert!(matches!(bench.vi.recv_done(), Err(Error::NotDone)));
            assert!(matches!(cq.done(), Err(Error::NotDone)));
        }
        assert_eq!(bench.paper.pauses.load(Ordering::SeqCst) - before, pauses, "{polling:?}");
        // What is found ends the row of misses.
        complete(&bench.memory, 0, 0, status::DONE | status::OP_RECEIVE);
        let head = bench.vi.recv_done().expect("complete");
        bench.vi.post_recv(head).expect("room");
    }
    complete(&bench.memory, 0, 0, status::DONE | status::OP_RECEIVE);
}

#[test]
fn threads_may_copy_in_and_out_and_post_at_once() {
    const ROUNDS: u8 = if cfg!(miri) { 4 } else { 250 };
    let bench = bench();
    let memory = &bench.memory;
    // Neighbours in one word, by two threads: no write is lost. Two ends of one range that overlap, at odd places. And copies of a
    // descriptor while it is posted, completed and taken.
    let neighbour = |place: usize, length: usize| {
        for round in 0..ROUNDS {
            let bytes = vec![round; length];
            memory.write(place, &bytes).expect("inside");
            let mut read = vec![0; length];
            memory.read(place, &mut read).expect("inside");
            assert_eq!(read, bytes, "nobody else writes there");
        }
    };
    let crowd = |place: usize| {
        for round in 1..ROUNDS {
            memory.write(place, &[round; 21]).expect("inside");
            let mut read = [0; 21];
            memory.read(place, &mut read).expect("inside");
            assert!(read.iter().all(|&byte| (1..ROUNDS).contains(&byte)));
        }
    };
    let mut receive = Some(descriptor(&bench, 0));
    std::thread::scope(|scope| {
        scope.spawn(|| neighbour(1025, 2));
        scope.spawn(|| neighbour(1027, 7));
        scope.spawn(|| crowd(2050));
        scope.spawn(|| crowd(2060));
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                memory.read(4, &mut [0; 60]).expect("inside");
            }
        });
        for _ in 0..ROUNDS {
            bench.vi.post_recv(receive.take().expect("it is back")).expect("room");
            complete(memory, 0, 1, status::DONE | status::OP_RECEIVE);
            receive = Some(bench.vi.recv_done().expect("complete"));
        }
    });
}

#[test]
fn memory_stays_registered_until_the_nic_has_let_go_of_it() {
    let bench = bench();
    let attributes = MemAttributes::new(&bench.ptag);
    let mut own = vec![0u64; 512];
    let start = NonNull::from(&mut own[..]).cast::<u8>();
    // SAFETY: the vector outlives the registration, and is not touched meanwhile.
    let region = unsafe { bench.nic.register(start, 4096, &attributes) }.expect("memory");
    let handle = region.handle();

    // A descriptor has a clone: the NIC may have been told of it.
    let built =
        Descriptor::new().segment(&region, 0, 8).and_then(|b| b.build(&bench.memory, 0)).expect("sound");
    let StillRegistered { region, error } = region.deregister().expect_err("a descriptor has it");
    assert!(matches!(error, Error::InUse));
    assert_eq!(error.code(), Return::ErrorResource);
    drop(built);

    // The device does not let go of it: it says so, as often as it is asked, and the region is as it was.
    bench.paper.keeps_memory.store(true, Ordering::SeqCst);
    let StillRegistered { region, error } = region.deregister().expect_err("the device has it");
    assert!(error.to_string().contains("it keeps it"), "{error}");
    let StillRegistered { region, .. } = region.deregister().expect_err("the device has it still");
    assert_eq!(region.handle(), handle);
    region.set_attributes(&attributes).expect("it is registered");
    bench.paper.keeps_memory.store(false, Ordering::SeqCst);
    region.deregister().expect("it lets go");

    if cfg!(miri) {
        // What follows leaks, as it should.
        return;
    }
    // Memory of the library's own is not given back either.
    let region = bench.nic.allocate(1 << 16, &attributes).expect("memory");
    let at = region.address() as u64;
    bench.paper.keeps_memory.store(true, Ordering::SeqCst);
    drop(region);
    let still = viaduct_driver::memory::access(at, at + (1 << 16));
    assert_eq!(still.ok(), Some(DmaAccess::ReadWrite), "it is still mapped");
    bench.paper.keeps_memory.store(false, Ordering::SeqCst);
}

#[test]
#[cfg_attr(miri, ignore = "it waits for other threads")]
fn done_does_not_wait_behind_a_post_that_the_device_is_slow_to_take() {
    let bench = bench();
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    std::thread::scope(|scope| {
        // Dropped before the threads are waited for, also in a panic.
        let slow = bench.paper.slow.lock().expect("no panic");
        let next = descriptor(&bench, 64);
        scope.spawn(|| bench.vi.post_recv(next).expect("room"));
        while bench.paper.doorbells.doorbells.lock().expect("no panic").len() < 2 {
            std::thread::yield_now();
        }
        // It is in its call. What is complete is found, and so is that nothing else is.
        complete(&bench.memory, 0, 5, status::DONE | status::OP_RECEIVE);
        let (tell, told) = channel();
        let bench = &bench;
        scope.spawn(move || {
            tell.send(bench.vi.recv_done().map(|head| head.length())).expect("it listens");
            tell.send(bench.vi.recv_done().map(|head| head.length())).expect("it listens");
        });
        let soon = Duration::from_secs(10);
        assert_eq!(told.recv_timeout(soon).expect("at once").expect("complete"), 5);
        assert!(matches!(told.recv_timeout(soon).expect("at once"), Err(Error::NotDone)));
        drop(slow);
    });
    complete(&bench.memory, 64, 0, status::DONE | status::OP_RECEIVE);
}

#[test]
fn the_nic_says_what_it_can_do() {
    let bench = bench();
    let attributes = bench.nic.attributes();
    assert_eq!(attributes.name, "paper");
    assert!(attributes.max_transfer_size >= 32 << 10, "VIA's least");
    assert!(attributes.max_descriptors_per_queue >= 300 && attributes.max_segments_per_desc >= 252);
    assert_eq!(attributes.max_register_regions, 28);
    assert_eq!(attributes.max_cq, 3, "one is the agent's");
    assert!(attributes.max_cq_entries >= 1024);
    // The bench has one region; the rest is there, and the one that connections take when they begin, and no more.
    let more: Vec<Region> = (1..=attributes.max_register_regions)
        .map(|_| bench.nic.allocate(1, &MemAttributes::new(&bench.ptag)).expect("as promised"))
        .collect();
    let error = bench.nic.allocate(1, &MemAttributes::new(&bench.ptag)).expect_err("one too many");
    assert_eq!(error.code(), Return::ErrorResource);
    drop(more);
    bench.nic.allocate(1, &MemAttributes::new(&bench.ptag)).expect("room again");
}
