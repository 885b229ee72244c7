//! Several descriptors are posted with one doorbell, and what cannot be posted stays the caller's.

use std::collections::VecDeque;

use viaduct_spec::{descriptor::status, doorbell::token};
use vipl::{Descriptor, Error, MemAttributes};

use super::{bench, descriptor, paper::complete, Bench};

fn several(bench: &Bench, places: std::ops::Range<usize>) -> VecDeque<Descriptor> {
    places.map(|place| descriptor(bench, 64 * place)).collect()
}

/// Page, position and place of each doorbell since the last question.
fn doorbells(bench: &Bench) -> Vec<(u64, u64, u64)> {
    let stores = std::mem::take(&mut *bench.paper.doorbells.doorbells.lock().expect("no panic"));
    let parts = |(page, word)| (page, token::POSITION.get(&[word]), token::OFFSET.get(&[word]));
    stores.into_iter().map(parts).collect()
}

/// Completes the sends at these places, and takes them: they come in this order.
fn take(bench: &Bench, places: std::ops::Range<usize>) {
    for place in places.clone() {
        complete(&bench.memory, 64 * place, 0, status::DONE);
    }
    for place in places {
        assert_eq!(bench.vi.send_done().expect("complete").offset(), 64 * place);
    }
}

#[test]
fn all_have_one_doorbell_with_the_last_position() {
    let bench = bench();
    let mut sends = several(&bench, 0..5);
    bench.vi.post_send_many(&mut sends).expect("room");
    assert!(sends.is_empty());
    assert_eq!(doorbells(&bench), [(0, 4, 4)]);
    // On the same ring as those that come one by one.
    bench.vi.post_send(descriptor(&bench, 64 * 5)).expect("room");
    assert_eq!(doorbells(&bench), [(0, 5, 5)]);
    take(&bench, 0..6);
    bench.vi.post_send_many(&mut several(&bench, 6..14)).expect("room for eight");
    assert_eq!(doorbells(&bench), [(0, 13, 13)]);
    take(&bench, 6..14);
    // None needs none.
    bench.vi.post_send_many(&mut VecDeque::new()).expect("nothing to do");
    assert_eq!(doorbells(&bench), []);
    let mut receives = several(&bench, 0..3);
    bench.vi.post_recv_many(&mut receives).expect("room");
    assert_eq!(doorbells(&bench), [(8, 2, 2)]);
    (0..3).for_each(|place| complete(&bench.memory, 64 * place, 0, status::DONE | status::OP_RECEIVE));
}

#[test]
fn what_has_no_room_stays_the_callers() {
    let bench = bench();
    let mut sends = several(&bench, 0..11);
    let error = bench.vi.post_send_many(&mut sends).expect_err("there is room for eight");
    assert!(matches!(error, Error::Overrun(8)), "{error}");
    assert!(sends.iter().map(Descriptor::offset).eq([8 * 64, 9 * 64, 10 * 64]));
    assert_eq!(doorbells(&bench), [(0, 7, 7)]);
    assert!(matches!(bench.vi.post_send_many(&mut sends), Err(Error::Overrun(8))));
    assert_eq!((sends.len(), doorbells(&bench)), (3, vec![]), "nothing was posted");
    take(&bench, 0..2);
    assert!(matches!(bench.vi.post_send_many(&mut sends), Err(Error::Overrun(8))));
    assert_eq!((sends.len(), doorbells(&bench)), (1, vec![(0, 9, 9)]));
    take(&bench, 2..4);
    bench.vi.post_send_many(&mut sends).expect("room");
    assert_eq!(doorbells(&bench), [(0, 10, 10)]);
    take(&bench, 4..11);
}

#[test]
fn what_is_before_one_that_is_wrong_is_posted() {
    let bench = bench();
    let other = bench.paper.nic();
    let ptag = other.create_ptag().expect("a tag");
    let memory = other.allocate(64, &MemAttributes::new(&ptag)).expect("memory");
    let mut sends = several(&bench, 0..3);
    sends.insert(2, Descriptor::new().build(&memory, 0).expect("sound by itself"));
    assert!(matches!(bench.vi.post_send_many(&mut sends), Err(Error::OtherNic)));
    assert_eq!(doorbells(&bench), [(0, 1, 1)]);
    assert_eq!(sends.len(), 2, "it, and the one behind it");
    assert!(matches!(bench.vi.post_send_many(&mut sends), Err(Error::OtherNic)));
    assert_eq!(doorbells(&bench), [], "it is the first now");
    sends.pop_front();
    bench.vi.post_send_many(&mut sends).expect("room");
    assert_eq!(doorbells(&bench), [(0, 2, 2)]);
    take(&bench, 0..3);
}

#[test]
#[cfg_attr(miri, ignore = "it leaks, as it should")]
fn a_doorbell_that_fails_leaves_nothing_to_post_again() {
    let bench = bench();
    let mut sends = several(&bench, 0..3);
    bench.paper.burn();
    let error = bench.vi.post_send_many(&mut sends).expect_err("it is gone");
    assert!(error.is_gone(), "{error}");
    assert!(sends.is_empty(), "they are in the ring, where the device may have found them");
}
