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
use viaduct_spec::profile::REGIONS;

/// A token as a bundle has it: its offset and its region, and whether its descriptor is short.
fn place(word: u64) -> [(&'static str, u64); 3] {
    let get = |field: Field| field.get(&[word]);
    let region = existing(get(token::REGION));
    [("offset", get(token::OFFSET)), ("region", region), ("short", get(token::SHORT))]
}

/// The region that is asked for: 0, which does not exist, in place of one beyond the table.
fn existing(region: u64) -> u64 {
    if region < REGIONS as u64 {
        region
    } else {
        0
    }
}
