//! Memory of all kinds: huge pages, many small regions, memory that its owner may only read.

use std::{io, sync::Arc};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use viaduct_driver::device::DmaAccess;
use viaduct_spec::{
    descriptor::{data_segment, CONTROL_SEGMENT_BYTES},
    register::counter,
};
use vipl::{Region, ReliabilityLevel, Status, ViState};

use crate::{
    bench::{failed, read, Bench, DATA, LEVELS, LIMIT},
    meddling::{Map, Trick},
    memory::{Pages, HUGE_PAGE},
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "read_only_memory", body: Body::Pair(read_only) },
    Test { name: "hugepage_region", body: Body::Pair(huge) },
    Test { name: "many_small_regions", body: Body::Pair(many) },
];

/// Bytes of a message.
const BYTES: usize = 300;

/// Memory that the process may only read, the NIC itself refuses to write, and says so: it never
/// comes to a refusal of the IOMMU's.
fn read_only(bench: &mut Bench) -> Result<Completion> {
    const CONSTANT: u8 = 0xc3;
    for level in LEVELS {
        let pages = Arc::new(Pages::filled(1, CONSTANT)?);
        pages.protect()?;
        let vis = bench.connect(level)?;
        let region = bench.ends[1].register(&pages)?;

        bench.ends[0].memory.write(DATA, &[0; BYTES])?;
        let receive = bench.ends[0].in_memory(BYTES)?;
        bench.ends[0].receive(&vis[0], receive)?;
        vis[1].post_send(bench.ends[1].descriptor(&region, 50, BYTES)?)?;
        vis[0].recv_wait(Some(LIMIT)).context("memory that may be read can be sent")?;
        vis[1].send_wait(Some(LIMIT))?;
        assert_eq!(read(&bench.ends[0].memory, DATA, BYTES)?, [CONSTANT; BYTES]);

        let refused = bench.ends[1].counter(counter::ACCESS_REFUSED)?;
        let receive = bench.ends[1].descriptor(&region, 50, BYTES)?;
        bench.ends[1].receive(&vis[1], receive)?;
        vis[0].post_send(bench.ends[0].in_memory(BYTES)?)?;
        let received = failed(vis[1].recv_wait(Some(LIMIT))).context("a receive into read-only memory")?;
        assert!(received.status().contains(Status::DONE | Status::PROTECTION_ERROR), "{}", received.status());
        assert!(bench.ends[1].counter(counter::ACCESS_REFUSED)? > refused);
        let sent = vis[0].send_wait(Some(LIMIT));
        if level == ReliabilityLevel::ReliableDelivery {
            assert!(failed(sent)?.status().contains(Status::TRANSPORT_ERROR), "the sender hears of it");
            bench.settle()?;
            assert_eq!(vis[1].query()?.state, ViState::Error);
            // What the broken connection has to tell.
            assert!(!bench.ends[0].nic.take_events()?.is_empty());
            bench.ends[1].nic.take_events()?;
        } else {
            assert_eq!(sent?.status(), Status::DONE);
            bench.message(&vis, 0)?;
        }
        assert!(pages.is_all(CONSTANT), "the NIC has written memory that is read-only");
    }
    Ok(Completion::Completed)
}

/// One huge page, mapped at once, used up to both its ends.
fn huge(bench: &mut Bench) -> Result<Completion> {
    const MESSAGE: usize = 40_000;
    let mut regions = Vec::new();
    for end in [0, 1] {
        let pages = match Pages::huge() {
            Ok(pages) => Arc::new(pages),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                return Ok(Completion::ignored_with("the system has no huge page free (vm.nr_hugepages)"));
            }
            Err(error) => return Err(error).context("a huge page"),
        };
        let before = bench.ends[end].device.maps();
        regions.push((bench.ends[end].register(&pages)?, pages));
        assert_eq!(bench.ends[end].device.maps(), before + 1, "one map for all of it");
    }
    let vis = bench.connect(ReliabilityLevel::ReliableDelivery)?;
    for (from, to, offset) in [(0, 1, 0), (1, 0, HUGE_PAGE - MESSAGE), (0, 1, HUGE_PAGE / 2 - 777)] {
        let sent = bench.bytes(MESSAGE);
        regions[from].0.write(offset, &sent)?;
        regions[to].1.fill(0);
        let receive = bench.ends[to].descriptor(&regions[to].0, offset, MESSAGE)?;
        bench.ends[to].receive(&vis[to], receive)?;
        vis[from].post_send(bench.ends[from].descriptor(&regions[from].0, offset, MESSAGE)?)?;
        vis[to].recv_wait(Some(LIMIT)).context("the receive")?;
        vis[from].send_wait(Some(LIMIT)).context("the send")?;
        ensure!(read(&regions[to].0, offset, MESSAGE)? == sent, "the bytes differ at {offset:#x}");
        let all = read(&regions[to].0, 0, HUGE_PAGE)?;
        let outside = all[..offset].iter().chain(&all[offset + MESSAGE..]);
        ensure!(outside.copied().all(|byte| byte == 0), "bytes beside the message have changed");
    }
    Ok(Completion::Completed)
}

/// A dead region, and how its memory was reached.
struct Dead {
    handle: u32,
    address: usize,
    map: Map,
    pages: Arc<Pages>,
}

/// Two hundred regions at once, on each NIC; then none, and neither the NIC nor the IOMMU lets anything
/// through to any.
fn many(bench: &mut Bench) -> Result<Completion> {
    const REGIONS: usize = 200;
    let before = [0, 1].map(|end: usize| bench.ends[end].device.maps());
    let mut live: Vec<(Region, Region)> = Vec::new();
    let mut dead = Vec::new();
    for number in 0..REGIONS {
        let [from, to] = &mut bench.ends;
        let pages = [Arc::new(Pages::filled(1, number as u8)?), Arc::new(Pages::filled(1, 0xff)?)];
        let regions = (from.register(&pages[0])?, to.register(&pages[1])?);
        let map = from.device.map_of(pages[0].address()).context("it is mapped")?;
        dead.push(Dead {
            handle: regions.0.handle(),
            address: regions.0.address(),
            map,
            pages: pages[0].clone(),
        });
        live.push(regions);
    }
    let vis = bench.connect(ReliabilityLevel::ReliableDelivery)?;
    for (number, (from, to)) in live.iter().enumerate() {
        let receive = bench.ends[1].descriptor(to, 5, 8)?;
        bench.ends[1].receive(&vis[1], receive)?;
        vis[0].post_send(bench.ends[0].descriptor(from, 9, 8)?)?;
        vis[1].recv_wait(Some(LIMIT)).with_context(|| format!("region {number}"))?;
        vis[0].send_wait(Some(LIMIT)).with_context(|| format!("region {number}"))?;
        assert_eq!(read(to, 5, 8)?, [number as u8; 8]);
        assert_eq!((read(to, 0, 5)?, read(to, 13, 10)?), (vec![0xff; 5], vec![0xff; 10]));
    }
    drop(live);
    for end in [0, 1] {
        assert_eq!(bench.ends[end].device.maps(), before[end], "all is unmapped");
    }

    // By their handles: the NIC refuses.
    let vis = bench.connect(ReliabilityLevel::UnreliableDelivery)?;
    for dead in &dead {
        let refused = bench.ends[0].counter(counter::ACCESS_REFUSED)?;
        let send = bench.ends[0].in_memory(BYTES)?;
        // The segment of a descriptor that VIPL has checked, changed behind its back.
        let mut words = [0; 2];
        data_segment::ADDRESS.put(&mut words, dead.address as u64);
        data_segment::HANDLE.put(&mut words, dead.handle.into());
        data_segment::LENGTH.put(&mut words, BYTES as u64);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bench.ends[0].memory.write(send.offset() + CONTROL_SEGMENT_BYTES, &bytes)?;
        vis[0].post_send(send)?;
        let sent = failed(vis[0].send_wait(Some(LIMIT))).context("a send of a region that is gone")?;
        assert_eq!(sent.status(), Status::DONE | Status::PROTECTION_ERROR);
        assert!(bench.ends[0].counter(counter::ACCESS_REFUSED)? > refused);
    }

    // By their DMA addresses, of which the NIC is told once more: the IOMMU refuses.
    for dead in dead.iter().step_by(REGIONS / 2) {
        if bench.ends[0].device.reaches(dead.map.iova) {
            // Given to another map meanwhile.
            continue;
        }
        let pages = Arc::new(Pages::filled(1, 0)?);
        bench.ends[0].device.instead(pages.address(), Trick::At(dead.map.iova));
        let region = bench.ends[0].register(&pages)?;
        let mut witness = bench.witness(0)?;
        vis[0].post_send(bench.ends[0].descriptor(&region, 0, 64)?)?;
        let sent = failed(vis[0].send_wait(Some(LIMIT))).context("a send of memory that is unmapped")?;
        assert_eq!(sent.status(), Status::DONE | Status::TRANSPORT_ERROR);
        witness.confirms(DmaAccess::Read, dead.map.iova)?;
    }
    // Nothing of ours has changed.
    for (number, dead) in dead.iter().enumerate() {
        assert!(dead.pages.is_all(number as u8));
    }
    Ok(Completion::Completed)
}
