//! Registered memory of clients of a viad: huge pages, words beside those that the NIC writes, and as many regions as there are.
//! `vipl/c/tests/registration.rs` shows the same, and more, of programs that own their NIC.

use std::{
    ptr::{null_mut, NonNull},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use rustix::process::{getrlimit, prlimit, setrlimit, Pid, Resource, Rlimit};
use viaduct_spec::profile::REGIONS;
use viaduct_viad_tests::{
    child::{self, child, user},
    stage::{connect, End, Stage, LONG},
};
use vipl::{Descriptor, MemAttributes, Nic, Ptag, Region, ViAttributes};

const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;
/// Open files that a process may have, usually.
const FILES: u64 = 1024;

/// Row 0, which is none; the agent's two, viad's raw channel and the session's arena; the memory of two ends.
const TAKEN: usize = 7;

/// Two ends whose tags are known.
struct Pair {
    nic: Nic,
    ptag: Ptag,
    one: End,
    other: End,
}

impl Pair {
    fn new(name: &str) -> Self {
        let nic = Nic::open(name).expect("it serves");
        let ptag = nic.create_ptag().expect("a tag");
        let end = || {
            let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag)).expect("memory");
            let vi = nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI");
            End { vi: vi.into(), memory, nic: nic.clone() }
        };
        let (one, other) = (end(), end());
        connect(&one, &other);
        Self { nic, ptag, one, other }
    }

    fn register(&self, start: *mut u8, length: usize) -> Region {
        let start = NonNull::new(start).expect("not null");
        // SAFETY: each test keeps its memory until its regions are gone, and looks at it by pointers and atomics alone.
        unsafe { self.nic.register(start, length, &MemAttributes::new(&self.ptag)) }
            .expect("it is registered")
    }

    /// Moves a message from one region into another.
    fn send(&self, (from, at): (&Region, usize), (to, there): (&Region, usize), length: usize) {
        let describe = |end: &End, region: &Region, offset| {
            let one = Descriptor::new().segment(region, offset, length).expect("inside");
            one.build(&end.memory, 0).expect("aligned")
        };
        self.other.vi.post_recv(describe(&self.other, to, there)).expect("posted");
        self.one.vi.post_send(describe(&self.one, from, at)).expect("posted");
        assert_eq!(self.other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), length);
        self.one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
    }
}

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    match role.as_str() {
        "huge" => huge(&name),
        "neighbours" => neighbours(&name),
        "many" => many(&name),
        _ => panic!("{role}"),
    }
}

/// Runs one of these as a user of its own, over a viad.
fn run(role: &str, stage: &Stage) {
    let mut process = child(role, &stage.name(0), user(1));
    assert!(process.0.wait().expect("it ends").success(), "{role}");
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
}

#[test]
fn huge_pages_carry_messages_at_any_alignment() {
    run("huge", &Stage::new(1));
}

/// Two huge pages: of the pool if there is one, else as the system gives them.
fn two_huge_pages() -> (*mut u8, &'static str) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new mappings, and advice about the inside of one.
    unsafe {
        let start = libc::mmap(null_mut(), 2 * HUGE, access, flags | libc::MAP_HUGETLB, -1, 0);
        if start != libc::MAP_FAILED {
            return (start.cast(), "MAP_HUGETLB");
        }
        let start = libc::mmap(null_mut(), 3 * HUGE, access, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        let start = start.cast::<u8>();
        let aligned = start.add(start.align_offset(HUGE));
        libc::madvise(aligned.cast(), 2 * HUGE, libc::MADV_HUGEPAGE);
        (aligned, "MADV_HUGEPAGE")
    }
}

fn huge(name: &str) {
    let pair = Pair::new(name);
    let (memory, how) = two_huge_pages();
    println!("huge pages by {how}");
    // SAFETY: the pages are this function's; nobody else knows of them.
    unsafe { memory.write_bytes(0xee, 2 * HUGE) };
    // All of both; and pieces of them, over the bound between them.
    let whole = pair.register(memory, 2 * HUGE);
    let length = 10_001;
    let (at, there) = (1, HUGE - 4999);
    for byte in 0..length {
        // SAFETY: as above.
        unsafe { memory.add(at + byte).write((byte * 7) as u8) };
    }
    let piece = pair.register(memory.wrapping_add(there), length);
    pair.send((&whole, at), (&piece, 0), length);
    let mut bytes = vec![0; 2 * HUGE];
    whole.read(0, &mut bytes).expect("inside");
    let written = (at..at + length).chain(there..there + length);
    for place in written {
        let n = if place < HUGE / 2 { place - at } else { place - there };
        assert_eq!(bytes[place], (n * 7) as u8, "byte {place}");
        bytes[place] = 0xee;
    }
    assert!(bytes.iter().all(|byte| *byte == 0xee), "beside it nothing changed");
    // Each ends for itself.
    drop(whole);
    pair.send((&piece, 0), (&piece, 5000), 5000);
}

#[test]
fn no_write_of_a_neighbour_is_lost() {
    run("neighbours", &Stage::new(1));
}

/// Threads write words while the NIC writes those between them, and ranges around both are registered and deregistered.
fn neighbours(name: &str) {
    const WORDS: usize = 256;
    const ROUNDS: u64 = 150;
    let pair = Pair::new(name);
    let words: Vec<AtomicU64> = (0..2 * WORDS).map(|_| AtomicU64::new(0)).collect();
    let start = words.as_ptr() as *mut u8;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let end = Over(&over);
        let writers = [0, 1].map(|half| {
            let (words, over) = (&words, &over);
            scope.spawn(move || {
                let mut turns = 0u64;
                while !over.load(Ordering::Relaxed) {
                    turns += 1;
                    for word in (half..WORDS).step_by(2) {
                        // What it wrote last must be there still.
                        assert_eq!(words[2 * word].load(Ordering::Relaxed), turns - 1, "word {word}");
                        words[2 * word].store(turns, Ordering::Relaxed);
                    }
                    std::thread::yield_now();
                }
                turns
            })
        });
        for round in 1..=ROUNDS {
            let word = (round as usize * 37) % WORDS;
            let region = pair.register(start.wrapping_add(16 * word + 8), 8);
            let whole = pair.register(start, 16 * WORDS);
            pair.one.memory.write(PAGE, &round.to_le_bytes()).expect("inside");
            let to = if round % 2 == 0 { (&region, 0) } else { (&whole, 16 * word + 8) };
            pair.send((&pair.one.memory, PAGE), to, 8);
            assert_eq!(words[2 * word + 1].load(Ordering::Acquire), round);
        }
        drop(end);
        for (half, writer) in writers.into_iter().enumerate() {
            let turns = writer.join().expect("no write is lost");
            let all = (half..WORDS).step_by(2).all(|word| words[2 * word].load(Ordering::Relaxed) == turns);
            assert!(all && turns > 1, "{turns} turns");
        }
    });
}

/// As many as there are, in processes that may have 1024 open files: the client, viad and the simulator.
#[test]
fn every_region_is_registered_with_the_usual_file_limit() {
    let stage = Stage::with(1, &format!("[user]\nregions = {REGIONS}\n"));
    for process in [stage.viads[0].0.id(), stage.simulator()] {
        let process = Pid::from_raw(process as i32);
        let limit = Rlimit { current: Some(FILES), ..getrlimit(Resource::Nofile) };
        prlimit(process, Resource::Nofile, limit).expect("a lower limit");
    }
    run("many", &stage);
}

fn many(name: &str) {
    let limit = Rlimit { current: Some(FILES), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    let pair = Pair::new(name);
    let words: Vec<AtomicU64> = (0..1 << 12).map(|_| AtomicU64::new(0)).collect();
    let start = words.as_ptr() as *mut u8;
    let before = std::fs::read_dir("/proc/self/fd").expect("it is there").count();
    // They overlap, at any alignment.
    let most = REGIONS - TAKEN;
    let regions: Vec<Region> =
        (0..most).map(|n| pair.register(start.wrapping_add(n * 251 % ((1 << 15) - 200)), 200)).collect();
    println!("{} regions", regions.len() + 2);
    let now = std::fs::read_dir("/proc/self/fd").expect("it is there").count();
    assert!(now <= before + 2, "{before} descriptors, then {now}");
    for region in [&regions[0], &regions[most / 2], &regions[most - 1]] {
        let message: Vec<u8> = (0..200).map(|n| (n ^ region.handle()) as u8).collect();
        pair.one.memory.write(PAGE, &message).expect("inside");
        pair.send((&pair.one.memory, PAGE), (region, 0), 200);
        let mut arrived = vec![0; 200];
        region.read(0, &mut arrived).expect("inside");
        assert_eq!(arrived, message);
    }
}
