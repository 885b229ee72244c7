//! The transaction layer.

mod kind_sort;
mod kinds;
mod tlp;
mod world;

mod credits;
mod enumeration;
mod levels;
mod malformed;
mod mixture;
mod model;
mod registers;
