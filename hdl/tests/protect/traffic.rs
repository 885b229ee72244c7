//! Random tables, accesses, commits, drains and back pressure.

use rand::Rng;
use viaduct_spec::profile::DMA_ADDRESS_BITS;

use crate::harness::{Harness, Pace};
use crate::model::{Access, Region};

/// A region of some shape: the top and bottom of the address space, and odd sizes, come often.
fn region(rng: &mut impl Rng) -> Region {
    let page_shift = match rng.random_range(0..4) {
        0 => 12,
        1 => rng.random_range(12..=43),
        2 => rng.random_range(12..=16),
        _ => [11, 12, 13, 21, 30, 43, 44, 63][rng.random_range(0..8)],
    };
    let length = match rng.random_range(0..4) {
        0 => rng.random_range(0..200),
        1 => rng.random_range(0..20_000),
        2 => rng.random::<u64>() >> rng.random_range(16..52),
        _ => (1 << 48) - 1 - rng.random_range(0..3),
    };
    let base: u64 = match rng.random_range(0..5) {
        0 => rng.random_range(0..200),
        1 => 0u64.wrapping_sub(length),
        2 => 0u64.wrapping_sub(length).wrapping_sub(rng.random_range(0..5000)),
        3 => rng.random::<u64>() & !63,
        _ => rng.random(),
    };
    // A page size with which the page table can hold the region, mostly.
    let needed = (64 - length.leading_zeros()).saturating_sub(10) as u8;
    let page_shift = if rng.random_bool(0.9) { page_shift.max(needed) } else { page_shift };
    Region {
        base: base.min(u64::MAX - length.saturating_sub(1)),
        length,
        tag: rng.random_range(1..4),
        key: rng.random_range(0..3),
        first_page: match rng.random_range(0..8) {
            0 => rng.random_range(2040..2060),
            1 => rng.random(),
            _ => rng.random_range(0..2000),
        },
        page_shift,
        live: rng.random_bool(0.95),
        system: rng.random_bool(0.3),
        read_only: rng.random_bool(0.2),
        rdma_write: rng.random_bool(0.6),
        rdma_read: rng.random_bool(0.6),
    }
}

/// An access that is mostly right, and mostly at a border.
fn access(rng: &mut impl Rng, regions: &[Region]) -> Access {
    let index = match rng.random_range(0..30) {
        0 => 0,
        1 => rng.random(),
        _ => rng.random_range(1..16),
    };
    let region = regions[usize::from(index) % 16];
    let length = match rng.random_range(0..6) {
        0 => 64,
        1 => rng.random_range(1..=4096),
        2 => [1, 8, 4095, 4096][rng.random_range(0..4)],
        3 => (region.length % 4097) as u16,
        4 if rng.random_bool(0.1) => [0, 4097, 8191][rng.random_range(0..3)],
        _ => rng.random_range(1..100),
    };
    let length = match u16::try_from(region.length.max(1)) {
        Ok(most) if rng.random_bool(0.7) => length.min(most),
        _ => length,
    };
    let span: u32 = match rng.random_range(0..12) {
        0 => (region.length as u32).wrapping_add(rng.random_range(0..3)).wrapping_sub(1),
        1 => rng.random(),
        2 => rng.random_range(0..10_000),
        _ => length.into(),
    };
    let wiggle = rng.random_range(0..5u64).wrapping_sub(2);
    let end = region.base.wrapping_add(region.length);
    let place = match rng.random_range(0..12) {
        0 => region.base.wrapping_add(wiggle),
        1 => end.wrapping_add(wiggle),
        2 => end.wrapping_sub(length.into()).wrapping_add(wiggle),
        3 => end.wrapping_sub(length.max(span as u16).into()).wrapping_add(wiggle),
        4 => end.wrapping_sub(span.into()).wrapping_add(wiggle),
        5 => (region.base.wrapping_add(rng.random_range(0..=region.length)) | 0xfff).wrapping_add(wiggle),
        6 => rng.random(),
        _ => region.base.wrapping_add(rng.random_range(0..=region.length.saturating_sub(length.into()))),
    };
    let remote = if rng.random_bool(0.7) { 0 } else { rng.random_range(1..4) };
    // A peer's access never moves more than it has to come.
    let span = if remote == 0 { span } else { span.max(length.into()) };
    let by_offset = rng.random_bool(0.4);
    // Truncation holes: the same place, with a high bit turned over.
    let place = if rng.random_bool(0.03) { place ^ 1 << rng.random_range(32..64) } else { place };
    Access {
        address: if by_offset { place.wrapping_sub(region.base & !63) } else { place },
        span,
        length,
        region: index,
        key: if rng.random_bool(0.95) { region.key } else { rng.random() },
        tag: if rng.random_bool(0.95) { region.tag } else { rng.random_range(0..5) },
        by_offset,
        system: region.system ^ rng.random_bool(0.05),
        write: rng.random_bool(if region.read_only { 0.1 } else { 0.5 }),
        clip: rng.random_bool(0.3),
        remote,
        user: rng.random(),
    }
}

/// Low bits within the smallest page are not kept; any others would be the agent's mistake, and so would be an address
/// that the table does not hold.
fn page_address(rng: &mut impl Rng) -> u64 {
    (rng.random::<u64>() >> (64 - DMA_ADDRESS_BITS)) & !0xfff_ffff_ffff
}

fn run(harness: &mut Harness, accesses: u64, commits: f64) {
    let mut regions = [Region::default(); 16];
    for (index, row) in regions.iter_mut().enumerate().skip(1) {
        *row = region(&mut harness.rng);
        harness.commit_region(index as u16, *row);
    }
    for row in 0..2048 {
        let address = page_address(&mut harness.rng);
        harness.commit_page(row, address);
    }
    // Region numbers beyond the table have no row: what is committed there goes nowhere.
    harness.commit_region(0x100, Region { live: true, ..regions[1] });
    harness.settle();
    let until = harness.accepted + accesses;
    while harness.accepted < until {
        for client in 0..4 {
            if harness.offered(client) == 0 && harness.rng.random_bool(0.3) {
                let next = access(&mut harness.rng, &regions);
                harness.offer(client, next);
            }
        }
        if harness.committing() == 0 && harness.rng.random_bool(commits) {
            let index = harness.rng.random_range(1..16);
            regions[index] = region(&mut harness.rng);
            harness.commit_region(index as u16, regions[index]);
            if harness.rng.random_bool(0.3) {
                let row = harness.rng.random_range(0..2060);
                let address = page_address(&mut harness.rng);
                harness.commit_page(row, address);
            }
        }
        if !harness.draining() && harness.rng.random_bool(0.01) {
            harness.start_drain();
        }
        harness.step();
    }
    harness.settle();
}

#[test]
fn random_traffic() {
    let paces = [
        Pace { read_ready: 1.0, write_ready: 1.0, retire: 0.5 },
        Pace { read_ready: 0.3, write_ready: 0.7, retire: 0.2 },
        Pace { read_ready: 0.9, write_ready: 0.1, retire: 0.05 },
    ];
    let mut harness = Harness::new(paces[0]);
    for pace in paces {
        harness.pace = pace;
        run(&mut harness, 8000, 0.01);
    }
    println!("{:?}", harness.seen);
    let seen = &harness.seen;
    assert!(seen.granted > 3000 && seen.refused > 3000 && seen.crossed > 150 && seen.clipped > 200);
    assert!(seen.drains > 50);
}
