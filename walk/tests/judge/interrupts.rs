//! Interrupts.

use super::{again, ahead, entries, interrupts, own_queue, refused};

#[test]
fn an_interrupt_ahead_of_its_entry_is_seen() {
    refused(
        &[": interrupt 0 of vector 1", "ahead of the status or entry that it tells of, cycle"],
        |trace| {
            ahead(trace, interrupts(trace)[0], entries(trace, own_queue())[0]);
        },
    );
}

#[test]
fn an_interrupt_that_is_not_there_is_missed() {
    refused(&["interrupt 0 of vector 1 missing"], |trace| {
        trace.moments.remove(interrupts(trace)[0]);
    });
}

#[test]
fn an_interrupt_that_comes_twice_is_one_too_many() {
    refused(&["does not do what the NIC did: interrupt 1 of end 1"], |trace| {
        again(trace, interrupts(trace)[0]);
    });
}
