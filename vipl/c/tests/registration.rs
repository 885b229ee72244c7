//! Registered memory: of every kind that programs have, of any alignment, again and again, beside other threads' words, and across a
//! fork. The NIC is another process's, which reaches this one's memory as docs/memory.md says.

use std::{
    fs,
    hint::black_box,
    ptr::{null_mut, NonNull},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use rustix::process::{getrlimit, prlimit, Pid, Resource, Rlimit};
use via::{Descriptor, Error, MemAttributes, Nic, Ptag, Region, Vi, ViAttributes};

use crate::common::Simulator;

const LONG: Option<Duration> = Some(Duration::from_secs(30));
const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// A VI, and memory for its descriptors.
struct End {
    nic: Nic,
    ptag: Ptag,
    descriptors: Region,
    vi: Vi,
}

impl End {
    fn on(nic: &Nic) -> Self {
        let ptag = nic.create_ptag().expect("a tag");
        let descriptors = nic.allocate(PAGE, &MemAttributes::new(&ptag)).expect("memory");
        let vi = nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI");
        Self { nic: nic.clone(), ptag, descriptors, vi }
    }

    /// Registers memory that stays as long as the test uses the region.
    fn register(&self, start: *mut u8, length: usize) -> Region {
        let start = NonNull::new(start).expect("not null");
        // SAFETY: each test keeps its memory until its regions are gone, and looks at it by pointers and atomics alone.
        unsafe { self.nic.register(start, length, &MemAttributes::new(&self.ptag)) }
            .expect("it is registered")
    }

    fn describe(&self, slot: usize, region: &Region, offset: usize, length: usize) -> Descriptor {
        let one = Descriptor::new().segment(region, offset, length).expect("inside");
        one.build(&self.descriptors, 64 * slot).expect("a place")
    }
}

/// Two ends on the two NICs of a simulator, connected.
fn pair(simulator: &Simulator) -> (End, End) {
    let nics = [0, 1].map(|nic| Nic::open(&simulator.nic(nic)).expect("it is there"));
    let (a, b) = (End::on(&nics[0]), End::on(&nics[1]));
    connect(&a, &b);
    (a, b)
}

fn connect(a: &End, b: &End) {
    let infos = [a.vi.connection_info(), b.vi.connection_info()];
    a.vi.connect(&infos[1]).expect("idle");
    b.vi.connect(&infos[0]).expect("idle");
}

/// Moves a message from one region into another.
fn send((a, from, at): (&End, &Region, usize), (b, to, there): (&End, &Region, usize), length: usize) {
    b.vi.post_recv(b.describe(0, to, there, length)).expect("room");
    b.nic.check().expect("it is posted");
    a.vi.post_send(a.describe(0, from, at, length)).expect("room");
    a.vi.send_wait(LONG).expect("it is sent");
    b.vi.recv_wait(LONG).expect("it is received");
}

/// Memory that is mapped for a test.
fn map(length: usize, flags: libc::c_int, file: libc::c_int) -> Option<*mut u8> {
    // SAFETY: a new mapping, where the system likes it.
    let start = unsafe { libc::mmap(null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

/// Huge pages: of the pool if there is one, else as the system gives them. Aligned, as both are.
fn huge() -> (*mut u8, &'static str) {
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    if let Some(start) = map(HUGE, private | libc::MAP_HUGETLB, -1) {
        return (start, "MAP_HUGETLB");
    }
    let start = map(2 * HUGE, private, -1).expect("memory");
    // SAFETY: inside the mapping that was just made.
    unsafe {
        let aligned = start.add(start.align_offset(HUGE));
        libc::madvise(aligned.cast(), HUGE, libc::MADV_HUGEPAGE);
        (aligned, "MADV_HUGEPAGE")
    }
}

#[test]
fn memory_of_every_kind_carries_messages_at_any_alignment() {
    static mut STATIC: [u8; 3 * PAGE] = [0; 3 * PAGE];
    let simulator = Simulator::start();
    let (a, b) = pair(&simulator);
    let mut stack = [0u8; 3 * PAGE];
    let mut heap = vec![0u8; 3 * PAGE];
    let file = tempfile::tempfile().expect("a file");
    file.set_len(3 * PAGE as u64).expect("room");
    let of_file = map(3 * PAGE, libc::MAP_SHARED, std::os::fd::AsRawFd::as_raw_fd(&file)).expect("memory");
    let private = map(3 * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory");
    let shared = map(3 * PAGE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1).expect("memory");
    let (huge, how) = huge();
    println!("huge pages by {how}");
    let kinds = [
        ("stack", stack.as_mut_ptr()),
        ("heap", heap.as_mut_ptr()),
        ("static data", (&raw mut STATIC).cast()),
        ("a mapped file", of_file),
        ("private memory", private),
        ("shared memory", shared),
        ("huge pages", huge),
    ];
    // From each to the next, at odd addresses and over the bounds of pages; nothing beside it changes.
    for (n, (name, from)) in kinds.iter().enumerate() {
        let (next, to) = kinds[(n + 1) % kinds.len()];
        let (at, there, length) = (1 + 13 * n, 7 + 29 * n, 2 * PAGE + 1);
        // SAFETY: each kind has three pages; nobody else knows of them.
        unsafe {
            from.write_bytes(n as u8 + 1, 3 * PAGE);
            to.write_bytes(0xee, 3 * PAGE);
        }
        let (source, target) =
            (a.register(from.wrapping_add(at), length), b.register(to.wrapping_add(there), length));
        send((&a, &source, 0), (&b, &target, 0), length);
        for offset in 0..3 * PAGE {
            let want = if (there..there + length).contains(&offset) { n as u8 + 1 } else { 0xee };
            // SAFETY: as above.
            let is = unsafe { to.wrapping_add(offset).read_volatile() };
            assert_eq!(is, want, "from {name} to {next}, byte {offset}");
        }
    }
    black_box((&stack, &heap));
}

#[test]
fn registrations_overlap_and_repeat_and_each_ends_for_itself() {
    let simulator = Simulator::start();
    let (a, b) = pair(&simulator);
    let memory = map(8 * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory");
    let source = a.nic.allocate(PAGE, &MemAttributes::new(&a.ptag)).expect("memory");
    // The same bytes three times, and ranges that share some of them.
    let mut regions = vec![
        b.register(memory, 4 * PAGE),
        b.register(memory, 4 * PAGE),
        b.register(memory, 4 * PAGE),
        b.register(memory.wrapping_add(100), 3 * PAGE),
        b.register(memory.wrapping_add(3 * PAGE - 1), 2),
        b.register(memory.wrapping_add(2 * PAGE), 6 * PAGE),
    ];
    let handles: std::collections::BTreeSet<u32> = regions.iter().map(Region::handle).collect();
    assert_eq!(handles.len(), regions.len(), "each has a handle of its own");
    // Whichever goes, in whatever order, the others carry what is sent to them.
    for round in 0..6u8 {
        for region in &regions {
            let length = region.length().min(PAGE / 2);
            source.write(0, &vec![round + 1; length]).expect("inside");
            send((&a, &source, 0), (&b, region, region.length() - length), length);
            let mut last = [0; 1];
            region.read(region.length() - 1, &mut last).expect("inside");
            assert_eq!(last[0], round + 1);
        }
        let gone = regions.remove(usize::from(round) * 5 % regions.len());
        let (offset, handle) = (gone.address(), gone.handle());
        drop(gone);
        // Its handle is nobody's any more: a new region of the same bytes has another.
        let again = b.register(offset as *mut u8, 2);
        assert_ne!(again.handle(), handle);
    }
}

#[test]
fn no_write_of_a_neighbour_is_lost() {
    const WORDS: usize = 256;
    let simulator = Simulator::start();
    let (a, b) = pair(&simulator);
    // Every second word belongs to threads, those between them to the NIC.
    let words: Vec<AtomicU64> = (0..2 * WORDS).map(|_| AtomicU64::new(0)).collect();
    let over = AtomicBool::new(false);
    let source = a.nic.allocate(PAGE, &MemAttributes::new(&a.ptag)).expect("memory");
    let start = words.as_ptr() as *mut u8;
    let rounds = 400u64;
    std::thread::scope(|scope| {
        let writers = [0, 1].map(|half| {
            let (words, over) = (&words, &over);
            scope.spawn(move || {
                let mut turns = 0u64;
                while !over.load(Ordering::Relaxed) {
                    turns += 1;
                    for word in (half..WORDS).step_by(2) {
                        // What it wrote last must be there still.
                        let before = words[2 * word].load(Ordering::Relaxed);
                        assert_eq!(before, turns - 1, "word {word}");
                        words[2 * word].store(turns, Ordering::Relaxed);
                    }
                }
                turns
            })
        });
        for round in 1..=rounds {
            // Registered and deregistered while they write; and the NIC writes between them.
            let word = (round as usize * 37) % WORDS;
            let region = b.register(start.wrapping_add(16 * word + 8), 8);
            let whole = b.register(start, 16 * WORDS);
            source.write(0, &round.to_le_bytes()).expect("inside");
            let to = if round % 2 == 0 { (&b, &region, 0) } else { (&b, &whole, 16 * word + 8) };
            send((&a, &source, 0), to, 8);
            assert_eq!(words[2 * word + 1].load(Ordering::Acquire), round);
        }
        over.store(true, Ordering::Relaxed);
        for (half, writer) in writers.into_iter().enumerate() {
            let turns = writer.join().expect("no write is lost");
            assert!((half..WORDS).step_by(2).all(|word| words[2 * word].load(Ordering::Relaxed) == turns));
            println!("{turns} turns of 128 words beside {rounds} messages and {} registrations", 2 * rounds);
        }
    });
}

#[test]
fn a_fork_shares_no_write_in_either_direction() {
    let simulator = Simulator::start();
    let (a, b) = pair(&simulator);
    let memory = map(2 * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory");
    // SAFETY: two pages of this test's.
    unsafe { memory.write_bytes(b'o', 2 * PAGE) };
    let target = b.register(memory, 2 * PAGE);
    let source = a.nic.allocate(PAGE, &MemAttributes::new(&a.ptag)).expect("memory");
    source.write(0, &[b'n'; PAGE]).expect("inside");
    // Posted before the fork, while parent and child share the page.
    b.vi.post_recv(b.describe(0, &target, 0, 100)).expect("room");
    let mut pipes = [[0; 2]; 2];
    for pipe in &mut pipes {
        // SAFETY: a place for two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    }
    let [[told, tell], [answered, answer]] = pipes;
    // SAFETY: the child calls nothing but read, write and _exit, and touches memory.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; the descriptors are its own copies.
        unsafe {
            let mut byte = 0u8;
            libc::read(told, (&raw mut byte).cast(), 1);
            // What the NIC wrote for the parent is not here; and what is written here is not there.
            let is = memory.read_volatile();
            memory.add(200).write_volatile(b'c');
            libc::write(answer, (&raw const is).cast(), 1);
            libc::read(told, (&raw mut byte).cast(), 1);
            libc::_exit(0);
        }
    }
    assert!(child > 0);
    a.vi.post_send(a.describe(0, &source, 0, 100)).expect("room");
    a.vi.send_wait(LONG).expect("it is sent");
    b.vi.recv_wait(LONG).expect("it is received, in this process");
    let mut bytes = [0; 201];
    target.read(0, &mut bytes).expect("inside");
    assert_eq!((&bytes[..100], bytes[100]), (&[b'n'; 100][..], b'o'));
    let mut of_child = 0u8;
    // SAFETY: one byte, to and from places of this function's.
    unsafe {
        assert_eq!(libc::write(tell, (&raw const of_child).cast(), 1), 1);
        assert_eq!(libc::read(answered, (&raw mut of_child).cast(), 1), 1);
    }
    assert_eq!(of_child, b'o', "the child's page is as it was");
    // The child lives and has written: nothing of it is here, and messages go on.
    target.read(0, &mut bytes).expect("inside");
    assert_eq!(bytes[200], b'o');
    send((&a, &source, 0), (&b, &target, 150), 51);
    target.read(0, &mut bytes).expect("inside");
    assert_eq!((bytes[149], bytes[150], bytes[200]), (b'o', b'n', b'n'));
    let mut status = 1;
    // SAFETY: the child is this process's, and the rest as above.
    unsafe {
        assert_eq!(libc::write(tell, (&raw const of_child).cast(), 1), 1);
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    assert_eq!(status, 0);
}

#[test]
fn as_many_regions_as_the_nic_has_take_no_descriptors() {
    let simulator = Simulator::start();
    let (a, b) = pair(&simulator);
    let server = Pid::from_raw(simulator.id() as i32).expect("a process");
    let count = |process: &str| fs::read_dir(format!("/proc/{process}/fd")).expect("it is there").count();
    let both = || [count("self"), count(&simulator.id().to_string())];
    let before = both();
    // Both sides have room for a few more, and no more than that.
    for process in [None, Some(server)] {
        let room = *before.iter().max().expect("two") as u64 + 8;
        let limit = Rlimit { current: Some(room), ..getrlimit(Resource::Nofile) };
        prlimit(process, Resource::Nofile, limit).expect("a lower limit");
    }
    let source = a.nic.allocate(PAGE, &MemAttributes::new(&a.ptag)).expect("memory");
    let memory = map(256 * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory");
    let most = b.nic.attributes().max_register_regions as usize;
    let place = |n: usize| memory.wrapping_add(n % 255 * PAGE + 8 * (n / 255));
    // It has one for its descriptors.
    let regions: Vec<Region> = (1..most).map(|n| b.register(place(n), 100)).collect();
    println!("{} regions, descriptors {before:?} and then {:?}", regions.len() + 1, both());
    assert!(both().iter().zip(before).all(|(now, before)| *now <= before + 2));
    for region in [&regions[0], &regions[regions.len() / 2], &regions[regions.len() - 1]] {
        source.write(0, &region.handle().to_le_bytes()).expect("inside");
        send((&a, &source, 0), (&b, region, 50), 4);
        let mut bytes = [0; 4];
        region.read(50, &mut bytes).expect("inside");
        assert_eq!(u32::from_le_bytes(bytes), region.handle());
    }
}

#[test]
fn a_region_that_is_gone_is_reached_by_nobody() {
    let simulator = Simulator::start();
    let (a, b) = pair(&simulator);
    let source = a.nic.allocate(PAGE, &MemAttributes::new(&a.ptag)).expect("memory");
    let memory = map(PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory");
    let region = b.register(memory, PAGE);
    // The posted descriptor keeps it; when that is off the queue, and the last clone is dropped, it is gone.
    b.vi.post_recv(b.describe(0, &region, 0, 100)).expect("room");
    b.nic.check().expect("it is posted");
    drop(region);
    source.write(0, &[1; 100]).expect("inside");
    a.vi.post_send(a.describe(0, &source, 0, 100)).expect("room");
    a.vi.send_wait(LONG).expect("it is sent");
    let received = b.vi.recv_wait(LONG).expect("the descriptor has kept its region");
    assert_eq!(received.length(), 100);
    drop(received);
    // Its memory may go now. The NIC has nothing of it any more.
    // SAFETY: nobody uses it: the region is gone.
    assert_eq!(unsafe { libc::munmap(memory.cast(), PAGE) }, 0);
    assert!(matches!(b.vi.recv_done(), Err(Error::Empty)));
    let other = b.nic.allocate(PAGE, &MemAttributes::new(&b.ptag)).expect("memory");
    send((&a, &source, 0), (&b, &other, 0), 100);
}
