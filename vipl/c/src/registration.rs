//! Registered memory, by handle.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use via::{Region, Return, StillRegistered};

use crate::{entry::code, tag::Tag};

/// A registration.
pub struct Memory {
    pub region: Region,
    /// The NIC's handle that it was made with.
    pub open: usize,
    /// Held while the NIC is given others.
    pub attributes: Mutex<Attributes>,
}

/// What it was registered for.
#[derive(Clone)]
pub struct Attributes {
    /// The tag's handle; 0: none.
    pub handle: usize,
    /// Keeps the tag's handle from being destroyed.
    pub _tag: Option<Arc<Tag>>,
    /// Peers may write it.
    pub write: bool,
    /// Peers may read it.
    pub read: bool,
}

/// Registrations, by handle.
pub type Memories = BTreeMap<u32, Arc<Memory>>;

impl Memory {
    /// Ends the registration. Whoever else has it is in a call with it.
    pub fn end(self: Arc<Self>) -> Result<(), (Arc<Self>, Return)> {
        let Self { region, open, attributes } =
            Arc::try_unwrap(self).map_err(|shared| (shared, Return::ErrorResource))?;
        region.deregister().map_err(|StillRegistered { region, error }| {
            (Arc::new(Self { region, open, attributes }), code(error))
        })
    }
}
