//! libvipl: VIPL's C interface (vipl.h, vipl_ext.h) over the library in Rust. Each file has the entry points of one section of a header;
//! `entry` is what they have in common, `handles` what C programs hold.
//!
//! The library does not see a descriptor's or a buffer's bytes move: programs write descriptors into memory that they have
//! registered, the NIC reads them there, and completes them there.
#![allow(non_snake_case)]
// The headers say what a caller owes: vipl.h, vipl_ext.h. So each block of `unsafe` in an entry point names the header.
#![allow(clippy::missing_safety_doc)]

mod address;
mod connect;
mod cq;
mod data_path;
mod device;
mod entry;
mod events;
mod extensions;
mod extras;
mod handles;
mod hosts;
mod memory;
mod names;
mod nic;
mod notify;
mod open;
mod private_data;
mod ptags;
mod registration;
mod request;
mod slots;
mod tag;
mod types;
mod vi;
mod waiting;
mod word;
mod work_queues;
