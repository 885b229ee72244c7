//! The rules one by one, and the checker's speed.

use crate::harness::{Harness, Pace, BRISK};
use crate::model::{Access, Region};

fn plain() -> Region {
    Region {
        base: 0x1_0040,
        length: 0x3000,
        tag: 7,
        key: 9,
        first_page: 4,
        page_shift: 12,
        live: true,
        ..Default::default()
    }
}

fn good() -> Access {
    Access { address: 0x1_0040, span: 64, length: 64, region: 1, key: 9, tag: 7, ..Default::default() }
}

/// What the checker makes of one access, as the harness has compared it with the model: granted or not.
fn granted(harness: &mut Harness, access: Access) -> bool {
    let before = harness.seen.granted;
    harness.offer(usize::from(access.user % 4), access);
    harness.settle();
    harness.seen.granted > before
}

#[test]
fn each_rule_alone_refuses() {
    let mut harness = Harness::new(BRISK);
    for row in 0..16 {
        harness.commit_page(row, 0xAB_0000_0000 + u64::from(row) * 0x1_0000);
    }
    let row = plain();
    let rows = [
        (1, row),
        (2, Region { live: false, ..row }),
        (3, Region { system: true, ..row }),
        (4, Region { read_only: true, ..row }),
        (5, Region { rdma_write: true, ..row }),
        (6, Region { rdma_read: true, read_only: true, ..row }),
        (7, Region { rdma_write: true, rdma_read: true, system: true, ..row }),
        (8, Region { rdma_write: true, read_only: true, ..row }),
        (0, row),
    ];
    for (index, row) in rows {
        harness.commit_region(index, row);
    }
    harness.settle();
    let far = 1u64 << 48;
    let cases = [
        (true, good()),
        (false, Access { region: 2, ..good() }),
        (false, Access { region: 0, ..good() }),
        (false, Access { region: 0x101, ..good() }),
        (false, Access { region: 3, ..good() }),
        (true, Access { region: 3, system: true, ..good() }),
        (false, Access { system: true, ..good() }),
        (true, Access { region: 4, ..good() }),
        (false, Access { region: 4, write: true, ..good() }),
        (true, Access { write: true, ..good() }),
        (false, Access { remote: 1, write: true, ..good() }),
        (false, Access { remote: 2, ..good() }),
        (true, Access { region: 5, remote: 1, write: true, ..good() }),
        (false, Access { region: 5, remote: 2, ..good() }),
        (true, Access { region: 6, remote: 2, ..good() }),
        (false, Access { region: 6, remote: 1, write: true, ..good() }),
        (false, Access { region: 7, remote: 1, write: true, ..good() }),
        (false, Access { region: 7, remote: 2, ..good() }),
        (false, Access { region: 8, remote: 1, write: true, ..good() }),
        (false, Access { region: 5, remote: 1, write: true, key: 8, ..good() }),
        (false, Access { region: 5, remote: 1, write: true, tag: 6, ..good() }),
        (false, Access { key: 8, ..good() }),
        (true, Access { key: 8, by_offset: true, address: 0, ..good() }),
        (false, Access { tag: 6, ..good() }),
        (false, Access { address: 0x1_003f, ..good() }),
        (true, Access { address: 0x1_3000, ..good() }),
        (false, Access { address: 0x1_3001, ..good() }),
        (true, Access { address: 0x1_3001, clip: true, ..good() }),
        (true, Access { address: 0x1_303f, clip: true, ..good() }),
        (false, Access { address: 0x1_3040, clip: true, ..good() }),
        (true, Access { span: 0x3001, ..good() }),
        (true, Access { span: 0x3001, write: true, ..good() }),
        (true, Access { region: 5, remote: 1, write: true, span: 0x3000, ..good() }),
        (false, Access { region: 5, remote: 1, write: true, span: 0x3001, ..good() }),
        (true, Access { region: 6, remote: 2, span: 0x3000, ..good() }),
        (false, Access { region: 6, remote: 2, span: 0x3001, ..good() }),
        (false, Access { address: 0x1_0040 + far, ..good() }),
        (false, Access { address: 0x1_0040 | 1 << 63, ..good() }),
        (false, Access { address: far, by_offset: true, ..good() }),
        (false, Access { address: u64::MAX, by_offset: true, ..good() }),
        (false, Access { length: 0, ..good() }),
        (false, Access { length: 4097, span: 4097, ..good() }),
        (true, Access { address: 0x1_0fff, length: 4096, span: 4096, ..good() }),
    ];
    for (n, (expected, access)) in cases.into_iter().enumerate() {
        for user in 0..4 {
            assert_eq!(granted(&mut harness, Access { user, ..access }), expected, "case {n}: {access:x?}");
        }
    }
}

/// Of a key and of a tag each bit counts, whatever the others are.
#[test]
fn a_key_or_tag_that_differs_in_one_bit_is_refused() {
    let mut harness = Harness::new(BRISK);
    harness.commit_page(4, 0x7000);
    for bit in 0..16 {
        // One bit alone, and all the others.
        for flip in [0, u16::MAX] {
            let one = 1 << bit;
            let (key, tag) = (one ^ flip, one ^ !flip);
            harness.commit_region(1, Region { key, tag, ..plain() });
            harness.settle();
            let access = Access { key, tag, ..good() };
            assert!(granted(&mut harness, access), "{access:x?}");
            for wrong in [Access { key: key ^ one, ..access }, Access { tag: tag ^ one, ..access }] {
                assert!(!granted(&mut harness, wrong), "{wrong:x?} of {key:#x}, {tag:#x}");
            }
        }
    }
}

/// A region that ends with the address space, around its last byte.
#[test]
fn the_top_of_the_address_space() {
    let mut harness = Harness::new(BRISK);
    harness.commit_page(4, 0x7000);
    harness.commit_page(5, 0x9000);
    harness.commit_region(1, Region { base: u64::MAX - 0xfff - 64, length: 0x1000 + 64, ..plain() });
    harness.settle();
    for back in 0..80u64 {
        for length in [1u16, 2, 64, 65] {
            let address = 0u64.wrapping_sub(back);
            let access = Access { address, length, span: length.into(), ..good() };
            let fits = back != 0 && u64::from(length) <= back;
            assert_eq!(granted(&mut harness, access), fits, "{back} from the end, {length} bytes");
        }
    }
}

/// Every page size, at each side of the border between two pages.
#[test]
fn every_page_size() {
    let mut harness = Harness::new(BRISK);
    for page_shift in 12..=43u8 {
        let size = 1u64 << page_shift;
        let base = 0x35_5000_0000_0000u64 + size - 0x100;
        harness.commit_region(1, Region { base, length: size * 2, page_shift, ..plain() });
        for row in 4..8 {
            harness.commit_page(row, (u64::from(row) << 50) + size);
        }
        harness.settle();
        for place in [0, 1, 0xff, 0x100, 0x101, size, size + 0xff, size + 0x100, size * 2 - 64] {
            for length in [1u16, 64, 4096] {
                let span = length.into();
                harness.offer(1, Access { address: base + place, length, span, ..good() });
            }
        }
        harness.settle();
    }
    assert!(harness.seen.crossed > 100, "{:?}", harness.seen);
}

/// The page table's last row: what would go on behind it is refused as a whole.
#[test]
fn the_end_of_the_page_table() {
    let mut harness = Harness::new(BRISK);
    harness.commit_page(2046, 0x4000);
    harness.commit_page(2047, 0x9000);
    harness.commit_region(1, Region { base: 0x7000, length: 0x4000, first_page: 2046, ..plain() });
    harness.commit_region(2, Region { base: 0x7000, length: 0x4000, first_page: 0xffff, ..plain() });
    harness.settle();
    let cases = [
        (true, 0x8fc0, 64, 1),
        (false, 0x8fc1, 64, 1),
        (false, 0x9000, 1, 1),
        (true, 0x7fff, 4096, 1),
        (true, 0x8000, 4096, 1),
        (false, 0x8001, 4096, 1),
        (false, 0x7000, 1, 2),
        (false, 0x8000, 1, 2),
    ];
    for (expected, address, length, region) in cases {
        for write in [false, true] {
            let access = Access { address, length, span: length.into(), region, write, ..good() };
            assert_eq!(granted(&mut harness, access), expected, "{access:x?}");
        }
    }
}

/// Latency and throughput, as documented.
#[test]
fn speed() {
    let mut harness = Harness::new(BRISK);
    harness.commit_page(4, 0x7000);
    harness.commit_region(1, plain());
    harness.settle();
    harness.offer(1, good());
    // It was another's turn.
    assert_eq!(harness.step(), []);
    assert_eq!(harness.step(), [1]);
    let mut latency = 1;
    while harness.bench.get("read_valid") == 0 {
        harness.step();
        latency += 1;
        harness.bench.eval();
    }
    assert_eq!(latency, 6);
    harness.settle();
    for client in 0..4 {
        for _ in 0..50 {
            harness.offer(client, good());
        }
    }
    let start = harness.cycle;
    let mut order = Vec::new();
    while order.len() < 200 {
        order.extend(harness.step());
    }
    assert!(harness.cycle - start <= 3 * 200 + 3, "{} cycles", harness.cycle - start);
    assert!(
        order.windows(4).all(|four| (0..4).all(|client| four.contains(&client))),
        "round robin: {order:?}"
    );
}

/// Reads that find no room, of one page and of two, and what goes on beside them: writes at their full pace, commits, drains.
#[test]
fn a_read_that_waits_holds_nobody() {
    // Never; and so seldom that some are on their way at any time.
    for read_ready in [0.0, 0.01, 0.1] {
        let mut harness = Harness::new(BRISK);
        for row in 4..8 {
            harness.commit_page(row, 0x7000 * u64::from(row));
        }
        harness.commit_region(1, plain());
        harness.settle();
        harness.pace.read_ready = read_ready;
        let crossing = Access { address: 0x1_0ff0, ..good() };
        for n in 0..40 {
            for client in [0, 1, 3] {
                harness.offer(client, if (n + client) % 3 == 0 { crossing } else { good() });
            }
        }
        for round in 0..20 {
            let (start, before) = (harness.cycle, harness.seen.granted);
            for _ in 0..10 {
                for client in [2, 3] {
                    harness
                        .offer(client, Access { write: true, ..if client == 2 { crossing } else { good() } });
                }
            }
            while harness.offered(2) > 0 || harness.writes_offered() > 0 {
                harness.step();
                assert!(harness.cycle - start < 300, "round {round}, {read_ready}: writes wait");
            }
            assert!(harness.seen.granted >= before + 20);
            harness.commit_region(1, plain());
            harness.commit_page(9, 0x1000);
            let start = harness.cycle;
            while harness.committing() > 0 {
                harness.step();
                assert!(harness.cycle - start < 60, "round {round}, {read_ready}: a commit waits");
            }
        }
        harness.start_drain();
        harness.pace = BRISK;
        harness.settle();
        assert_eq!(harness.seen.granted, 3 * 40 + 20 * 20);
    }
}

/// A drain behind a stalled write engine waits for it, and the accesses after it go on.
#[test]
fn a_drain_waits_for_what_came_before() {
    let mut harness = Harness::new(Pace { read_ready: 1.0, write_ready: 1.0, retire: 0.0 });
    harness.commit_page(4, 0x7000);
    harness.commit_region(1, plain());
    for write in [false, true, false] {
        harness.offer(2, Access { write, ..good() });
    }
    while harness.accepted < 3 {
        harness.step();
    }
    harness.start_drain();
    for _ in 0..200 {
        harness.step();
        harness.offer(1, good());
    }
    assert!(harness.draining());
    assert!(harness.accepted > 20, "what comes after a drain does not wait for it");
    harness.pace.retire = 0.3;
    while harness.draining() {
        harness.step();
    }
    harness.settle();
}

/// More commands than the counters can hold are not lost: the checker waits.
#[test]
fn outstanding_commands_are_bounded() {
    let mut harness = Harness::new(Pace { read_ready: 1.0, write_ready: 1.0, retire: 0.0 });
    harness.commit_page(4, 0x7000);
    harness.commit_region(1, plain());
    for _ in 0..300 {
        harness.offer(3, good());
    }
    for _ in 0..2000 {
        harness.step();
    }
    assert!((240..256).contains(&harness.accepted), "{}", harness.accepted);
    harness.pace.retire = 1.0;
    harness.start_drain();
    harness.settle();
}
