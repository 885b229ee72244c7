//! Doorbells and the fetching of work on their exported Verilog.

#[path = "../common/bundle.rs"]
mod bundle;

mod cq_pages;
mod doorbell;
mod fetch;
mod rewind;
mod work_list;

use viaduct_spec::doorbell::token;

/// A token as a bundle has it: its offset and its region.
fn place(word: u64) -> [(&'static str, u64); 2] {
    [("offset", token::OFFSET.get(&[word])), ("region", token::REGION.get(&[word]))]
}
