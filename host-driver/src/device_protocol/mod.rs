//! What a driver writes to the NIC and reads from it, past the doorbells: rows of its tables, a VI's header template, and the commands that stage and commit
//! them. The layouts are `spec`'s; docs/bring-up.md has the whole of it for who writes a driver of their own.

pub(crate) mod commands;
pub mod rows;
pub mod template;
