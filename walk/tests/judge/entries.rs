//! Entries of completion queues, and events in the error ring.

use viaduct_walk::rows;

use super::{address, again, ahead, bytes, entries, own_queue, refused, statuses};

#[test]
fn entries_that_are_exchanged_are_wrong() {
    refused(&["entry 0 of VI", "is 0x"], |trace| {
        let found = entries(trace, own_queue());
        let token = bytes(&mut trace.moments[found[0]])[..8].to_vec();
        let other: Vec<u8> = bytes(&mut trace.moments[found[1]])[..8].to_vec();
        bytes(&mut trace.moments[found[0]])[..8].copy_from_slice(&other);
        bytes(&mut trace.moments[found[1]])[..8].copy_from_slice(&token);
    });
}

#[test]
fn entries_stand_in_their_slots() {
    refused(&["an entry of queue", "in slot 1"], |trace| {
        let found = entries(trace, own_queue());
        ahead(trace, found[1], found[0]);
    });
}

#[test]
fn an_entry_says_whose_it_is() {
    refused(&["an entry of another's"], |trace| {
        let found = entries(trace, own_queue());
        // RECEIVE.
        bytes(&mut trace.moments[found[0]])[10] ^= 1;
    });
}

#[test]
fn an_entry_that_is_not_there_is_missed() {
    refused(&["entry 2 of VI", "missing"], |trace| {
        let found = entries(trace, own_queue());
        trace.moments.remove(found[2]);
    });
}

#[test]
fn an_entry_ahead_of_its_status_is_seen() {
    refused(&[": entry 0 of VI", "ahead of its status, cycle"], |trace| {
        ahead(trace, entries(trace, own_queue())[0], statuses(trace)[0]);
    });
}

#[test]
fn an_event_that_is_not_there_is_missed() {
    refused(&["event 0 of end 3, RECVQ_EMPTY missing"], |trace| {
        trace.moments.remove(entries(trace, rows::ERROR_RING)[0]);
    });
}

#[test]
fn an_entry_that_comes_twice_in_its_slot_is_seen() {
    refused(&["an entry of queue", "in slot 2 with phase 1, not 3"], |trace| {
        again(trace, entries(trace, own_queue())[2]);
    });
}

#[test]
fn an_entry_that_comes_twice_is_one_too_many() {
    refused(&["does not do what the NIC did: entry 3 of end 1"], |trace| {
        let last = entries(trace, own_queue())[2];
        again(trace, last);
        *address(&mut trace.moments[last + 1]) += 16;
    });
}

#[test]
fn an_event_that_comes_twice_is_one_too_many() {
    refused(&["does not do what the NIC did: event 1 of end 3"], |trace| {
        let last = entries(trace, rows::ERROR_RING)[0];
        again(trace, last);
        *address(&mut trace.moments[last + 1]) += 16;
    });
}
