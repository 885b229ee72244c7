//! A poll of a completion queue gives descriptors, each once. The library itself makes the entries here: of sends that are posted to a VI which is
//! being connected, and so are flushed.

use std::sync::{atomic::Ordering, mpsc::channel};

use viaduct_spec::descriptor::status;
use vipl::{
    connections::Endpoint, Completion, Cq, Descriptor, Direction, Error, MemAttributes, RawDescriptor,
    Status, Vi, ViAttributes,
};

use super::{bench, descriptor, paper::complete, Bench};

/// A VI that is being connected, with this completion queue for its sends.
fn flushing(bench: &Bench, cq: &Cq, context: u64) -> Vi {
    let attributes = ViAttributes { send_cq: Some(cq.clone()), context, ..ViAttributes::new(&bench.ptag) };
    let vi = bench.nic.create_vi(&attributes).expect("a VI");
    vi.begin().expect("idle");
    vi
}

/// What one poll finds, with room for so many.
fn poll(cq: &Cq, room: usize) -> Vec<Completion> {
    let mut found: Vec<Option<Completion>> = (0..room).map(|_| None).collect();
    let count = cq.poll(&mut found).expect("the device lives");
    assert!(found.iter().map(Option::is_some).eq((0..room).map(|place| place < count)));
    found.into_iter().flatten().collect()
}

#[test]
fn descriptors_come_with_their_vi_its_context_and_their_status() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let vis = [7, u64::MAX].map(|context| flushing(&bench, &cq, context));
    assert!(poll(&cq, 4).is_empty(), "nothing yet");
    // Five, one VI after the other.
    for place in 0..5 {
        vis[place % 2].post_send(descriptor(&bench, 64 * place)).expect("room");
    }
    vis[0].set_context(8);
    assert_eq!((vis[0].context(), vis[0].attributes().context), (8, 8));
    let (first, rest) = (poll(&cq, 3), poll(&cq, 3));
    assert_eq!((first.len(), rest.len()), (3, 2));
    for (place, completion) in first.into_iter().chain(rest).enumerate() {
        assert_eq!(completion.vi, vis[place % 2].id());
        assert_eq!(completion.context, [8, u64::MAX][place % 2]);
        assert_eq!(completion.direction, Direction::Send);
        assert_eq!(completion.descriptor.status(), Status::DONE | Status::DESC_FLUSHED_ERROR);
        // As send_done would give it.
        match completion.into_result() {
            Err(Error::Descriptor(flushed)) => assert_eq!(flushed.offset(), 64 * place),
            other => panic!("{other:?}"),
        }
    }
    assert!(poll(&cq, 3).is_empty());
    assert!(vis.iter().all(|vi| matches!(vi.send_done(), Err(Error::Empty))), "they are off the queues");
}

#[test]
fn what_somebody_else_has_taken_is_passed_over_and_what_is_left_comes_once() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let vi = flushing(&bench, &cq, 0);
    for place in 0..4 {
        vi.post_send(descriptor(&bench, 64 * place)).expect("room");
    }
    for place in 0..2 {
        assert_eq!(vi.done(Direction::Send).expect("it is flushed").offset(), 64 * place);
    }
    let found = poll(&cq, 4);
    assert!(found.iter().map(|found| found.descriptor.offset()).eq([2 * 64, 3 * 64]));
    assert!(matches!(cq.done(), Err(Error::NotDone)), "the entries of all four are off the queue");
    // And the other way round: an entry that somebody else has taken leaves its descriptor.
    vi.post_send(descriptor(&bench, 0)).expect("room");
    assert_eq!(cq.done().expect("an entry").vi, vi.id());
    assert!(poll(&cq, 4).is_empty());
    assert_eq!(vi.done(Direction::Send).expect("it is flushed").offset(), 0);
}

#[test]
fn of_a_vi_that_was_dropped_nothing_comes() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let (gone, stays) = (flushing(&bench, &cq, 1), flushing(&bench, &cq, 2));
    for place in 0..3 {
        gone.post_send(descriptor(&bench, 64 * place)).expect("room");
    }
    stays.post_send(descriptor(&bench, 64 * 3)).expect("room");
    drop(gone);
    assert_eq!(poll(&cq, 4).iter().map(|found| found.context).collect::<Vec<_>>(), [2]);
    // Its index is another VI's now.
    let next = flushing(&bench, &cq, 3);
    next.post_send(descriptor(&bench, 0)).expect("room");
    assert_eq!(poll(&cq, 4).iter().map(|found| found.context).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_descriptor_that_was_polled_keeps_its_memory_and_nothing_else_does() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let vi = flushing(&bench, &cq, 0);
    let region = bench.nic.allocate(4096, &MemAttributes::new(&bench.ptag)).expect("memory");
    vi.post_send(Descriptor::new().build(&region, 0).expect("aligned")).expect("room");
    let still = region.deregister().expect_err("a descriptor has it");
    let mut found = [const { None::<Completion> }; 2];
    assert_eq!(cq.poll(&mut found).expect("the device lives"), 1);
    let still = still.region.deregister().expect_err("a completion has it");
    // What was in the places is dropped by the next poll.
    assert_eq!(cq.poll(&mut found).expect("the device lives"), 0);
    assert!(found.iter().all(Option::is_none));
    still.region.deregister().expect("nobody has it");
}

#[test]
fn descriptors_of_another_form_stay_for_who_asks_for_them() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let owned = flushing(&bench, &cq, 1);
    let attributes = ViAttributes { send_cq: Some(cq.clone()), context: 2, ..ViAttributes::new(&bench.ptag) };
    let raw: Vi<RawDescriptor> = bench.nic.create_vi_of(&attributes).expect("a VI");
    raw.begin().expect("idle");
    owned.post_send(descriptor(&bench, 0)).expect("room");
    let start = bench.memory.as_ptr();
    for place in [64, 128] {
        // SAFETY: inside the region, which lives as long as the VI, and nobody touches it.
        unsafe { raw.post_at(Direction::Send, &bench.memory, start.add(place)) }.expect("room");
    }
    owned.post_send(descriptor(&bench, 64 * 3)).expect("room");
    // What comes before it is not lost, and the error is told when nothing is.
    assert_eq!(poll(&cq, 4).len(), 1);
    let mut places = [const { None::<Completion> }; 4];
    let error = cq.poll(&mut places).expect_err("a raw one is the oldest");
    assert!(matches!(error, Error::OtherForm), "{error}");
    assert_eq!(cq.done().expect("the entry is still there").vi, raw.id());
    assert!(raw.done(Direction::Send).is_ok());
    let mut places = [const { None::<Completion<RawDescriptor>> }; 4];
    assert_eq!(cq.poll(&mut places).expect("its form"), 1);
    let found = places[0].take().expect("one");
    assert_eq!((found.context, found.descriptor.address().addr()), (2, start.addr().saturating_add(128)));
    assert_eq!(poll(&cq, 4).len(), 1);
}

#[test]
fn a_poll_asks_now_and_then_whether_the_device_lives() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let mut found = [const { None::<Completion> }; 1];
    let before = bench.paper.checks.load(Ordering::SeqCst);
    for _ in 0..if cfg!(miri) { 1200 } else { 5000 } {
        assert_eq!(cq.poll(&mut found).expect("the device lives"), 0);
    }
    assert!(bench.paper.checks.load(Ordering::SeqCst) > before);
}

#[test]
#[cfg_attr(miri, ignore = "it waits for other threads")]
fn a_vi_that_is_busy_keeps_nobody_from_the_others() {
    let bench = bench();
    let cq = bench.nic.create_cq(64).expect("a queue");
    let (busy, other) = (flushing(&bench, &cq, 1), flushing(&bench, &cq, 2));
    busy.post_send(descriptor(&bench, 0)).expect("room");
    other.post_send(descriptor(&bench, 64)).expect("room");
    // From now on what is posted waits for the NIC.
    busy.end(false).expect("the device lives");
    busy.post_send(descriptor(&bench, 128)).expect("room");
    std::thread::scope(|scope| {
        let pauses = bench.paper.pauses.load(Ordering::SeqCst);
        // It has both work queues until the NIC has completed the second send.
        let changed = scope.spawn(|| busy.set_attributes(&busy.attributes()));
        while bench.paper.pauses.load(Ordering::SeqCst) == pauses {
            std::thread::yield_now();
        }
        let (tell, told) = channel();
        for tell in [tell.clone(), tell] {
            let cq = &cq;
            scope.spawn(move || {
                // One of the two takes the entry of the VI that is busy, and waits for it.
                let found = loop {
                    match poll(cq, 1).pop() {
                        Some(found) => break found,
                        None => std::thread::yield_now(),
                    }
                };
                tell.send((found.context, found.descriptor.offset())).expect("it listens");
            });
        }
        let first = told.recv().expect("one is not busy");
        complete(&bench.memory, 128, 0, status::DONE);
        assert_eq!(first, (2, 64));
        assert_eq!(told.recv().expect("it is busy no longer"), (1, 0));
        changed.join().expect("no panic").expect("idle");
    });
    // The NIC has made no entry for the second one.
    assert_eq!(busy.send_done().expect("complete").offset(), 128);
}
