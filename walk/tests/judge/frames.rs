//! Frames: this NIC's are acknowledgements.

use viaduct_sim::watch::Seen;
use viaduct_walk::trace::{Moment, Trace, What};

use super::{again, ahead, bytes, data, refused};

fn frames(trace: &Trace) -> Vec<usize> {
    let is = |moment: &Moment| matches!(moment.what, What::Seen(Seen::FrameOut { .. }));
    (0..trace.moments.len()).filter(|at| is(&trace.moments[*at])).collect()
}

#[test]
fn an_acknowledgement_that_is_not_there_is_missed() {
    refused(&["answer frame", "missing"], |trace| {
        let last = frames(trace).pop().expect("it acknowledges");
        trace.moments.remove(last);
    });
}

#[test]
fn an_acknowledgement_ahead_of_what_it_acknowledges_is_seen() {
    refused(&[": an acknowledgement left ahead of what it acknowledges, cycle"], |trace| {
        let frame = frames(trace).pop().expect("it acknowledges");
        let to = data(trace).into_iter().rev().find(|at| *at < frame).expect("data before it");
        ahead(trace, frame, to);
    });
}

#[test]
fn a_byte_of_a_frame_counts() {
    refused(&["answer frame 0 is"], |trace| {
        let first = frames(trace)[0];
        *bytes(&mut trace.moments[first]).last_mut().expect("it has bytes") ^= 1;
    });
}

#[test]
fn an_acknowledgement_that_comes_twice_is_one_too_many() {
    refused(&["does not do what the NIC did: answer frame 1 of end 1"], |trace| {
        again(trace, frames(trace)[0]);
    });
}

#[test]
fn acknowledgements_that_are_exchanged_are_wrong() {
    refused(&["answer frame 0 is", "not"], |trace| {
        let found = frames(trace);
        let first = bytes(&mut trace.moments[found[0]]).clone();
        let last = std::mem::replace(bytes(&mut trace.moments[found[found.len() - 1]]), first);
        *bytes(&mut trace.moments[found[0]]) = last;
    });
}
