//! What the library puts into memory and onto the doorbells, and what it refuses. The function
//! behind it is paper: registers that read as a NIC's and doorbells that are written down; the test
//! completes descriptors itself. What a NIC does is tested on the RTL.

mod many;
mod memory;
#[path = "../paper/mod.rs"]
mod paper;
mod polls;
mod posts;
mod unshared;
mod waits;

use std::sync::{Arc, Mutex, PoisonError};

use vipl::{Descriptor, MemAttributes, Nic, Ptag, Region, Return, Vi, ViAttributes};

use self::paper::{Doorbells, Paper};

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
