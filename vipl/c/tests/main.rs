//! The C interface from outside, one program: it is linked once. Each test runs in a process of its own all the same (nextest).

mod common;
mod conformance;
mod convoy;
mod examples;
mod failure;
mod header;
mod log;
mod mute;
mod no_match;
mod peers;
mod promise;
mod queues;
mod raw;
mod reasons;
mod registration;
mod silence;
mod symbols;
