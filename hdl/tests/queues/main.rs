//! Doorbells and the fetching of work on their exported Verilog.

#[path = "../common/bundle.rs"]
mod bundle;

mod cq_pages;
mod doorbell;
mod fetch;
mod rewind;
mod work_list;

use viaduct_spec::doorbell::token;
use viaduct_spec::layout::Field;

/// A token as a bundle has it: its offset and its region, and whether its descriptor is short.
fn place(word: u64) -> [(&'static str, u64); 3] {
    let get = |field: Field| field.get(&[word]);
    [("offset", get(token::OFFSET)), ("region", get(token::REGION)), ("short", get(token::SHORT))]
}
