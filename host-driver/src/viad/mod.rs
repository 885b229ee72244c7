//! The Kernel Agent in another process: what a library and `viad` say to each other, and the library's side of it.
//! docs/viad.md has the picture.

mod ask;
mod client;
pub mod doorbell_page;
pub mod notice;
pub mod place;
pub mod protocol;
pub mod report;
pub(crate) mod sleepers;
pub mod socket;

pub use client::Client;
