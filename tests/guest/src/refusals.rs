//! Accesses of the NIC that the IOMMU must refuse: whatever the NIC was told, it reaches only what is
//! mapped, and in the way in which it is mapped.
//!
//! A read that is refused is answered, as an unsupported request. The NIC knows that it has no data:
//! the send ends with TRANSPORT_ERROR, no frame of it leaves, and a reliable connection breaks; of a
//! descriptor that cannot be read, an event tells. A write that is refused is *not* answered: memory
//! writes are posted on PCIe, and nothing comes back. So the receive ends as if all were well, DONE
//! and with its length; the memory is unchanged, and only the IOMMU can tell. That is no fault of the
//! NIC's: nobody but the agent could have told it such an address.

use std::{sync::Arc, thread};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use viaduct_driver::device::DmaAccess;
use viaduct_spec::register::{counter, event_code};
use vipl::{Descriptor, Event, Region, ReliabilityLevel, Status, Vi, ViState};

use crate::{
    bench::{failed, index, read, Bench, DATA, LEVELS, LIMIT},
    kernel::WINDOW,
    meddling::Trick,
    memory::Pages,
    note::note,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "iova_never_mapped", body: Body::Pair(never_mapped) },
    Test { name: "iova_already_unmapped", body: Body::Pair(already_unmapped) },
    Test { name: "write_to_read_only_map", body: Body::Pair(read_only_map) },
    Test { name: "guest_physical_address", body: Body::Pair(guest_physical) },
];

/// The last test of all.
pub const LAST: &[Test] =
    &[Test { name: "the_kernel_has_kept_no_fault_to_itself", body: Body::Pair(none_kept) }];

/// Bytes of a message: few, so that it is one request of the NIC's, and one fault.
const BYTES: usize = 64;
/// What the memory holds that must not be read.
const SECRET: u8 = 0x5e;
/// What the memory holds that must not be written.
const UNTOUCHED: u8 = 0xa5;

fn never_mapped(bench: &mut Bench) -> Result<Completion> {
    unreachable(bench, |_, _| Ok(Trick::Leave))
}

fn already_unmapped(bench: &mut Bench) -> Result<Completion> {
    unreachable(bench, |_, _| Ok(Trick::Unmap))
}

fn guest_physical(bench: &mut Bench) -> Result<Completion> {
    if !bench.setting.is_vfio() {
        return Ok(Completion::ignored_with("no kernel's IOMMU is in front of this device"));
    }
    if Pages::filled(1, 0)?.physical()?.is_none() {
        return Ok(Completion::ignored_with("the kernel does not tell this user where its memory lies"));
    }
    unreachable(bench, |bench, pages| {
        let physical = pages.physical()?.context("it was told before")?;
        // Addresses are small numbers on either side: what it meets must not be another map.
        ensure!(bench.ends.iter().all(|end| !end.device.reaches(physical)), "{physical:#x} is mapped");
        Ok(Trick::At(physical))
    })
}

/// All that a NIC does with memory, with a page that it cannot reach.
fn unreachable(bench: &mut Bench, trick: impl Fn(&Bench, &Pages) -> Result<Trick>) -> Result<Completion> {
    // Few faults, because the kernel does not tell of many in a short time.
    for (end, level) in LEVELS.into_iter().enumerate() {
        note(format!("{level}, NIC {end}"));
        for attempt in [send_from, receive_into] {
            let (pages, trick) = spare(bench, &trick)?;
            attempt(bench, end, level, &pages, trick)?;
        }
    }
    let (pages, trick) = spare(bench, &trick)?;
    fetch_from(bench, 0, &pages, trick)?;
    Ok(Completion::Completed)
}

/// How many faults the kernel has kept to itself, because there were too many at a time, it says with the next one that comes later: here is one, so
/// that the ledger hears it of the last test, too.
fn none_kept(bench: &mut Bench) -> Result<Completion> {
    if bench.setting.ledger.is_some() {
        thread::sleep(WINDOW);
    }
    let (pages, trick) = spare(bench, |_, _| Ok(Trick::Leave))?;
    send_from(bench, 0, ReliabilityLevel::ReliableDelivery, &pages, trick)?;
    Ok(Completion::Completed)
}

/// A page for which the trick can be done.
fn spare(bench: &Bench, trick: impl Fn(&Bench, &Pages) -> Result<Trick>) -> Result<(Arc<Pages>, Trick)> {
    let mut kept = Vec::new();
    loop {
        let pages = Arc::new(Pages::filled(1, 0)?);
        match trick(bench, &pages) {
            Ok(trick) => return Ok((pages, trick)),
            Err(error) if kept.len() == 64 => return Err(error),
            // Kept, so that the next one is another.
            Err(_) => kept.push(pages),
        }
    }
}

/// Where the NIC will find the page.
fn told(bench: &Bench, end: usize, pages: &Pages, trick: Trick) -> Result<u64> {
    let map = bench.ends[end].device.map_of(pages.address()).context("the agent has mapped the page")?;
    ensure!(map.length == pages.length(), "a map of its own: {map:?}");
    Ok(match trick {
        Trick::At(iova) => iova,
        _ => map.iova,
    })
}

/// The NIC has to read data that it cannot reach.
fn send_from(
    bench: &mut Bench,
    end: usize,
    level: ReliabilityLevel,
    pages: &Arc<Pages>,
    trick: Trick,
) -> Result<()> {
    pages.fill(SECRET);
    let vis = bench.connect(level)?;
    let (from, to) = (&vis[end], &vis[1 - end]);
    bench.ends[end].device.instead(pages.address(), trick);
    let region = bench.ends[end].register(pages)?;
    let iova = told(bench, end, pages, trick)?;
    bench.ends[1 - end].memory.write(DATA, &[UNTOUCHED; BYTES])?;
    let mut witness = bench.witness(end)?;
    let frames = bench.ends[end].frames_sent()?;

    let receive = bench.ends[1 - end].in_memory(BYTES)?;
    bench.ends[1 - end].receive(to, receive)?;
    from.post_send(bench.ends[end].descriptor(&region, 0, BYTES)?)?;
    let sent = failed(from.send_wait(Some(LIMIT))).context("a send of memory that the NIC cannot reach")?;
    assert_eq!(sent.status(), Status::DONE | Status::TRANSPORT_ERROR);
    assert_eq!(sent.length(), 0);
    bench.settle()?;
    witness.confirms(DmaAccess::Read, iova)?;
    assert_eq!(bench.ends[end].frames_sent()?, frames, "nothing was sent");
    assert!(matches!(to.recv_done(), Err(vipl::Error::NotDone)), "nothing arrived");
    assert_eq!(read(&bench.ends[1 - end].memory, DATA, BYTES)?, [UNTOUCHED; BYTES]);
    assert_eq!(to.query()?.state, ViState::Connected);
    let after = if level == ReliabilityLevel::ReliableDelivery { ViState::Error } else { ViState::Connected };
    assert_eq!(from.query()?.state, after);
    assert_eq!(events(bench, end)?, []);
    if after == ViState::Connected {
        // The receive is still posted, and the connection as good as ever.
        let bytes = bench.bytes(BYTES);
        bench.ends[end].memory.write(DATA, &bytes)?;
        from.post_send(bench.ends[end].in_memory(BYTES)?)?;
        to.recv_wait(Some(LIMIT))?;
        assert_eq!(read(&bench.ends[1 - end].memory, DATA, BYTES)?, bytes);
    }
    Ok(())
}

/// The NIC has to write data where it cannot.
fn receive_into(
    bench: &mut Bench,
    end: usize,
    level: ReliabilityLevel,
    pages: &Arc<Pages>,
    trick: Trick,
) -> Result<()> {
    pages.fill(UNTOUCHED);
    let vis = bench.connect(level)?;
    bench.ends[end].device.instead(pages.address(), trick);
    let region = bench.ends[end].register(pages)?;
    let iova = told(bench, end, pages, trick)?;
    let mut witness = bench.witness(end)?;
    write_is_lost(bench, &vis, end, &region)?;
    witness.confirms(DmaAccess::ReadWrite, iova)?;
    assert!(pages.is_all(UNTOUCHED), "the NIC has written memory that is not mapped for it");
    // The connection goes on.
    bench.message(&vis, 1 - end)
}

/// A message into memory that refuses it: by all that the NICs can know, it was delivered.
fn write_is_lost(bench: &mut Bench, vis: &[Vi; 2], end: usize, region: &Region) -> Result<()> {
    let (to, from) = (&vis[end], &vis[1 - end]);
    let bytes = bench.bytes(BYTES);
    bench.ends[1 - end].memory.write(DATA, &bytes)?;
    let receive = bench.ends[end].descriptor(region, 0, BYTES)?;
    bench.ends[end].receive(to, receive)?;
    from.post_send(bench.ends[1 - end].in_memory(BYTES)?)?;
    let received = to.recv_wait(Some(LIMIT)).context("a posted write has no answer: the receive is DONE")?;
    assert_eq!((received.status(), received.length()), (Status::DONE, BYTES));
    let sent = from.send_wait(Some(LIMIT))?;
    assert_eq!(sent.status(), Status::DONE);
    bench.settle()
}

/// The NIC has to read a descriptor that it cannot reach.
fn fetch_from(bench: &mut Bench, end: usize, pages: &Arc<Pages>, trick: Trick) -> Result<()> {
    let vis = bench.connect(ReliabilityLevel::ReliableDelivery)?;
    bench.ends[end].device.instead(pages.address(), trick);
    let region = bench.ends[end].register(pages)?;
    let iova = told(bench, end, pages, trick)?;
    let mut witness = bench.witness(end)?;
    let refused = bench.ends[end].counter(counter::ACCESS_REFUSED)?;
    let memory = bench.ends[end].memory.clone();
    let lost = Descriptor::new().segment(&memory, DATA, BYTES)?.build(&region, 0)?;
    vis[end].post_send(lost)?;
    let (code, vi) = (event_code::POST_DESC, index(&vis[end]));
    let mut found = Vec::new();
    bench.until("the event of a descriptor that cannot be read", |bench| {
        found.extend(bench.ends[end].nic.take_events()?);
        Ok(!found.is_empty())
    })?;
    let life = found[0].life;
    assert_eq!(found, [Event { code, vi, life, receive: false, broke: true }]);
    assert_eq!(vis[end].query()?.state, ViState::Error);
    bench.settle()?;
    witness.confirms(DmaAccess::Read, iova)?;
    // By the NIC's own rules it was right to try.
    assert_eq!(bench.ends[end].counter(counter::ACCESS_REFUSED)?, refused);
    Ok(())
}

fn read_only_map(bench: &mut Bench) -> Result<Completion> {
    for (end, level) in LEVELS.into_iter().enumerate() {
        note(format!("{level}, NIC {end}"));
        let pages = Arc::new(Pages::filled(1, UNTOUCHED)?);
        let vis = bench.connect(level)?;
        bench.ends[end].device.instead(pages.address(), Trick::ReadOnly);
        let region = bench.ends[end].register(&pages)?;
        let iova = told(bench, end, &pages, Trick::ReadOnly)?;
        // It may not be written. First of all: an IOMMU may remember what it has translated for a read, and
        // QEMU's then refuses the write without a word.
        let mut witness = bench.witness(end)?;
        write_is_lost(bench, &vis, end, &region)?;
        witness.confirms(DmaAccess::ReadWrite, iova)?;
        assert!(pages.is_all(UNTOUCHED), "the NIC has written memory that is mapped read-only");
        // And it may be read.
        bench.ends[1 - end].memory.write(DATA, &[0; BYTES])?;
        let receive = bench.ends[1 - end].in_memory(BYTES)?;
        bench.ends[1 - end].receive(&vis[1 - end], receive)?;
        vis[end].post_send(bench.ends[end].descriptor(&region, 0, BYTES)?)?;
        vis[1 - end].recv_wait(Some(LIMIT)).context("memory that is mapped read-only can be sent")?;
        vis[end].send_wait(Some(LIMIT))?;
        assert_eq!(read(&bench.ends[1 - end].memory, DATA, BYTES)?, [UNTOUCHED; BYTES]);
        bench.message(&vis, 1 - end)?;
    }
    Ok(Completion::Completed)
}

fn events(bench: &Bench, end: usize) -> Result<Vec<Event>> {
    Ok(bench.ends[end].nic.take_events()?)
}
