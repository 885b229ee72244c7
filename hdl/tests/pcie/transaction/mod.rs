//! The transaction layer.

mod kind_sort;
mod kinds;
pub mod tlp;
mod world;

mod credits;
mod enumeration;
mod levels;
mod malformed;
mod mixture;
mod model;
mod read_extent;
mod registers;
