//! VIs and completion queues that no two threads use at one time do what others do. What they cost is counted elsewhere (bench/instructions); Miri looks here
//! whether a thread of the library's is ever in the way.

use std::thread;

use viaduct_spec::descriptor::status;
use vipl::{connections::Endpoint, Completion, Cq, Direction, Error, Status, Vi, ViAttributes};

use super::{bench, descriptor, paper::complete, Bench};

const TURNS: usize = if cfg!(miri) { 20 } else { 2000 };

/// A VI with this completion queue for its sends, and rings of 8.
fn vi(bench: &Bench, cq: Option<&Cq>, context: u64) -> Vi {
    let attributes =
        ViAttributes { send_cq: cq.cloned(), context, depth: 8, ..ViAttributes::new(&bench.ptag) };
    // SAFETY: each test uses it in one thread at a time.
    unsafe { bench.nic.create_vi_unshared(&attributes) }.expect("a VI")
}

fn cq(bench: &Bench) -> Cq {
    // SAFETY: as above.
    unsafe { bench.nic.create_cq_unshared(64) }.expect("a queue")
}

#[test]
fn posts_and_looks_say_what_they_say_of_other_vis() {
    let bench = bench();
    let vi = vi(&bench, None, 0);
    assert!(matches!(vi.send_done(), Err(Error::Empty)));
    for place in 0..8 {
        vi.post_send(descriptor(&bench, 64 * place)).expect("room");
    }
    assert!(matches!(vi.post_send(descriptor(&bench, 64 * 8)), Err(Error::Overrun(8))));
    assert!(matches!(vi.send_done(), Err(Error::NotDone)));
    for place in 0..8 {
        complete(&bench.memory, 64 * place, 100, status::DONE | status::OP_SEND);
        assert_eq!(vi.send_done().expect("it is complete").offset(), 64 * place);
    }
    vi.post_recv(descriptor(&bench, 0)).expect("room");
    complete(&bench.memory, 0, 7, status::DONE | status::OP_RECEIVE | status::LENGTH_ERROR);
    assert!(matches!(vi.recv_done(), Err(Error::Descriptor(_))));
    let is = vi.query().expect("the device lives");
    assert!(is.send_queue_empty && is.receive_queue_empty);
    vi.disconnect().expect("the device lives");
}

#[test]
fn a_completion_queue_gives_what_is_flushed_and_forgets_a_vi_that_is_dropped() {
    let bench = bench();
    let cq = cq(&bench);
    let (one, other) = (vi(&bench, Some(&cq), 1), vi(&bench, Some(&cq), 2));
    for vi in [&one, &other] {
        vi.begin().expect("idle");
        vi.post_send(descriptor(&bench, 64 * vi.context() as usize)).expect("room");
    }
    assert_eq!(cq.done().expect("an entry").vi, one.id());
    assert!(one.done(Direction::Send).expect("flushed").status().contains(Status::DESC_FLUSHED_ERROR));
    drop(other);
    let mut found = [const { None::<Completion> }; 2];
    assert_eq!(cq.poll(&mut found).expect("the device lives"), 0);
    one.post_send(descriptor(&bench, 0)).expect("room");
    assert_eq!(cq.poll(&mut found).expect("the device lives"), 1);
    assert_eq!(found[0].as_ref().map(|found| found.context), Some(1));
}

#[test]
fn two_threads_have_a_vi_and_a_queue_each_and_two_others_go_on_with_them() {
    let bench = bench();
    let mut sides = [1, 2].map(|context| {
        let cq = cq(&bench);
        let vi = vi(&bench, Some(&cq), context);
        vi.begin().expect("idle");
        (vi, cq, Vec::from([0, 1, 2].map(|place| descriptor(&bench, 1024 * context as usize + 64 * place))))
    });
    // The end of the scope hands them over.
    for _ in 0..2 {
        thread::scope(|scope| {
            for (vi, cq, free) in &mut sides {
                scope.spawn(move || turn(vi, cq, free));
            }
        });
    }
}

/// Posts what is free, and takes it when it is flushed, again and again.
fn turn(vi: &Vi, cq: &Cq, free: &mut Vec<vipl::Descriptor>) {
    for _ in 0..TURNS {
        let count = free.len();
        free.drain(..).for_each(|one| vi.post_send(one).expect("room"));
        let mut found = [const { None::<Completion> }; 4];
        assert_eq!(cq.poll(&mut found).expect("the device lives"), count);
        for completion in found.into_iter().flatten() {
            assert_eq!(completion.vi, vi.id());
            free.push(completion.descriptor);
        }
        assert!(matches!(vi.send_done(), Err(Error::Empty)));
    }
}
