//! Data, immediate data and statuses.

use viaduct_sim::watch::Seen;
use viaduct_spec::descriptor::status;
use viaduct_walk::memory::{DESCRIPTORS, ENDS, FIRST, SLICE};
use viaduct_walk::trace::{Moment, What};

use super::{again, ahead, bytes, data, refused, slice, statuses, writes, NIC};

#[test]
fn a_completion_that_is_not_there_is_missed() {
    refused(&["status or immediate data at", "missing"], |trace| {
        trace.moments.remove(statuses(trace)[1]);
    });
}

#[test]
fn a_completion_that_comes_twice_is_one_too_many() {
    refused(&["does not do what the NIC did: 8 bytes at", "Descriptor(1)"], |trace| {
        again(trace, statuses(trace)[1]);
    });
}

#[test]
fn completions_of_a_queue_keep_their_order() {
    refused(&["does not do what the NIC did: 8 bytes at", "Descriptor(1)"], |trace| {
        let found = statuses(trace);
        ahead(trace, found[2], found[1]);
    });
}

#[test]
fn bytes_of_one_message_in_another_are_wrong() {
    refused(&["data at", "is 0x"], |trace| {
        let found = data(trace);
        let last = found[found.len() - 1];
        let own = bytes(&mut trace.moments[found[0]]).clone();
        let other = bytes(&mut trace.moments[last]).clone();
        let count = own.len().min(other.len());
        bytes(&mut trace.moments[found[0]])[..count].copy_from_slice(&other[..count]);
        bytes(&mut trace.moments[last])[..count].copy_from_slice(&own[..count]);
    });
}

#[test]
fn the_status_of_another_schedule_does_not_fit_the_bytes() {
    refused(&["status or immediate data at", "is 0x"], |trace| {
        let at = statuses(trace)[2];
        let flushed = status::DONE | status::DESC_FLUSHED_ERROR | status::OP_RECEIVE;
        let word = u64::from(flushed) << 32;
        bytes(&mut trace.moments[at]).copy_from_slice(&word.to_le_bytes());
    });
}

#[test]
fn done_ahead_of_its_data_is_seen() {
    refused(&[": DONE at", "ahead of its data or immediate data, cycle"], |trace| {
        let (from, to) = (statuses(trace)[0], data(trace)[2]);
        ahead(trace, from, to);
    });
}

#[test]
fn done_ahead_of_its_immediate_data_is_seen() {
    refused(&[": DONE at", "ahead of its data or immediate data, cycle"], |trace| {
        let immediate = writes(trace, 4, slice(1) + u64::from(DESCRIPTORS)..slice(2))[0];
        ahead(trace, statuses(trace)[0], immediate);
    });
}

#[test]
fn a_write_where_nothing_is_to_be_written_is_seen() {
    refused(&["where the NIC has nothing to write"], |trace| {
        let at = statuses(trace)[0];
        let arena = FIRST[NIC] + ENDS * u64::from(SLICE);
        let stray = What::Seen(Seen::Write { address: arena, data: vec![0; 8] });
        trace.moments.insert(at, Moment { cycle: trace.moments[at].cycle, what: stray });
    });
}

#[test]
fn data_that_is_not_written_is_missed() {
    refused(&["data at", "missing"], |trace| {
        trace.moments.remove(data(trace)[1]);
    });
}
