//! Descriptors that are posted, and what the NIC may change in them.

use std::collections::VecDeque;

use viaduct_spec::descriptor::IMMEDIATE_OFFSET;
use vipl::{Descriptor, Operation};

use super::host::Host;
use crate::memory::difference;
use crate::raw::Completion;

/// What is posted on one queue, for the completions to be compared with.
#[derive(Default)]
pub struct Posted(VecDeque<(usize, Vec<u8>)>);

impl Posted {
    /// One more.
    pub fn push(&mut self, host: &Host, place: usize, bytes: usize) {
        self.0.push_back((place, host.descriptors.read(place, bytes)));
    }

    /// Only descriptors at the head may be complete.
    pub fn check_order(&self, host: &Host) {
        let complete =
            |(place, _): &(usize, Vec<u8>)| Completion::read(&host.descriptors, *place).is_complete();
        let head = self.0.iter().take_while(|posted| complete(posted)).count();
        assert!(!self.0.iter().skip(head).any(complete), "a descriptor is complete before an earlier one");
    }

    /// The NIC has changed Length, Status and, where there is some, ImmediateData; no more.
    pub fn check_head(&mut self, host: &Host, completed: &Descriptor, operation: Operation) {
        let (place, before) = self.0.pop_front().expect("one is posted");
        assert_eq!(completed.offset(), place, "completed in order");
        let mut after = host.descriptors.read(place, before.len());
        let start = if operation == Operation::Receive && completed.immediate().is_some() {
            IMMEDIATE_OFFSET
        } else {
            IMMEDIATE_OFFSET + 4
        } as usize;
        after[start..32].copy_from_slice(&before[start..32]);
        assert_eq!(difference(&after, &before), None, "descriptor at {place:#x}");
        assert_eq!(completed.operation(), Some(operation));
    }
}
