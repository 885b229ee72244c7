//! The layouts of `spec/` as bundles: rows of tables, descriptors, tokens, registers, headers; and what blocks say to each other in many
//! folders.
//!
//! All other files here are printed from `spec/`, a file for each of its modules: `cargo run -p viaduct-spec --example rows`.
//! A bundle has the layout's fields, names and bits, so no block of the core numbers a bit of a layout by hand.
//!
//! How a block uses them: an [`Unpack`](crate::prims::Unpack) shows bits as a bundle, a [`Cast`](crate::prims::Cast) shows a bundle as
//! bits. The bits of a committed row are the lowest of [`Commit`](crate::bus::Commit), so a listener unpacks the commit itself:
//!
//! ```text
//!   row: Unpack<Commit, ModerationRow>,
//!   ...
//!   self.row.from.next = self.commit.data.val();
//!   self.ticks.write_data.next = self.row.to.val().holdoff;
//! ```
//!
//! Reset: a row is 0 until it is committed, and its default is 0. Both blocks are wires: they cost no LUT and no cycle.

pub mod config_space;
pub mod descriptor;
pub mod doorbell;
pub mod handle;
pub mod inside;
pub mod pcie_link;
pub mod register;
pub mod tables;
pub mod tlp;
pub mod wire;
