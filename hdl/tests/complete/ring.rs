//! A ring of which memory can be read, drawn at random and opened.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::Commit;
use viaduct_spec::tables::{table, work_queue};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// Where a ring lies, and the tag of its reads.
pub struct Ring {
    pub region: u64,
    pub offset: u64,
    pub tag: u64,
}

impl Ring {
    /// Commits a work queue's row with any ring.
    pub fn open(dut: &mut Bench, random: &mut ChaCha8Rng) -> Self {
        let (region, offset, tag) = (
            random.random_range(1..1 << 16),
            random.random_range(0..1 << 34),
            random.random_range(0..1 << 16),
        );
        let mut row = [0; 2];
        work_queue::RING_REGION.put(&mut row, region);
        work_queue::RING_OFFSET.put(&mut row, offset);
        work_queue::OPEN.put(&mut row, 1);
        work_queue::SYSTEM_TAG.put(&mut row, tag);
        let line = random.random_range(0..128);
        let words =
            [("target", table::WORK_QUEUE.into()), ("row", line), ("word0", row[0]), ("word1", row[1])];
        Bundle::of::<Commit>("commit").set(dut, &words);
        dut.set("commit_valid", 1);
        dut.tick();
        dut.set("commit_valid", 0);
        Self { region, offset, tag }
    }
}
