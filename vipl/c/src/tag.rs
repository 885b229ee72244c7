//! A protection tag, as one VipCreatePtag gave it.

use via::Ptag;

use crate::types::Pvoid;

/// A protection tag.
pub struct Tag {
    pub open: Pvoid,
    pub ptag: Ptag,
}

// SAFETY: the pointer in it is a handle, which is only compared.
unsafe impl Send for Tag {}
// SAFETY: as above.
unsafe impl Sync for Tag {}
