//! Posts and looks allocate nothing and free nothing, whatever they find. The function behind them is paper; through the C interface, and with a
//! completion queue's entries, the program that counts instructions looks for the same (`bench/instructions/src/calls.c`).

mod paper;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
};

use viaduct_spec::descriptor::status;
use vipl::{Descriptor, Error, MemAttributes, Nic, Region, Vi, ViAttributes};

use self::paper::{complete, Doorbells, Paper};

/// The system's allocator, which counts what each thread asks of it.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has none any more.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: all calls are the system's allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread allocates and frees in `body`.
fn allocations(body: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    body();
    CALLS.get() - before
}

/// Calls of each kind.
const CALLS_OF_EACH: u64 = 10_000;

/// Doorbells that are counted.
#[derive(Default)]
struct Rung(AtomicU64);

impl Doorbells for Rung {
    fn store(&self, _: &Paper<Self>, _: u64, _: u64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn vi(nic: &Nic) -> (Vi, Region) {
    let ptag = nic.create_ptag().expect("a tag");
    let memory = nic.allocate(1 << 13, &MemAttributes::new(&ptag)).expect("memory");
    (nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI"), memory)
}

fn descriptor(memory: &Region) -> Descriptor {
    let data = Descriptor::new().segment(memory, 4096, 64).expect("inside");
    data.build(memory, 0).expect("aligned")
}

#[test]
fn an_allocation_is_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 2);
    assert_eq!(allocations(|| ()), 0);
}

#[test]
fn posts_and_looks_allocate_nothing() {
    let paper = Paper::new(0, Rung::default());
    let (vi, memory) = vi(&paper.nic());
    let mut own = Some(descriptor(&memory));
    let before = paper.0.load(Ordering::Relaxed);
    let found = allocations(|| {
        for round in 0..CALLS_OF_EACH {
            let one = own.take().expect("it came back");
            let is_send = round % 2 == 0;
            if is_send { vi.post_send(one) } else { vi.post_recv(one) }.expect("room");
            complete(&memory, 0, 64, status::DONE);
            own = Some(if is_send { vi.send_done() } else { vi.recv_done() }.expect("complete"));
        }
    });
    assert_eq!(found, 0, "{CALLS_OF_EACH} posts, and as many Dones that find something");
    assert_eq!(paper.0.load(Ordering::Relaxed) - before, CALLS_OF_EACH, "each has rung");
    vi.post_send(own.expect("it came back")).expect("room");
    let nothing = allocations(|| {
        for _ in 0..CALLS_OF_EACH {
            assert!(matches!(vi.send_done(), Err(Error::NotDone)));
        }
    });
    assert_eq!(nothing, 0, "{CALLS_OF_EACH} Dones that find nothing");
    complete(&memory, 0, 64, status::DONE);
    vi.send_done().expect("complete");
}

#[test]
fn looks_at_an_empty_completion_queue_allocate_nothing() {
    let cq = Paper::new(0, Rung::default()).nic().create_cq(16).expect("a queue");
    let mut found = [const { None }; 8];
    let nothing = allocations(|| {
        for _ in 0..CALLS_OF_EACH {
            assert!(matches!(cq.done(), Err(Error::NotDone)));
            assert_eq!(cq.poll::<Descriptor>(&mut found).expect("it lives"), 0);
        }
    });
    assert_eq!(nothing, 0);
}
