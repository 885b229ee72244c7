//! Doorbells and the fetching of work on their exported Verilog.

#[path = "../common/bundle.rs"]
mod bundle;

mod cq_pages;
mod doorbell;
mod fetch;
mod rewind;
