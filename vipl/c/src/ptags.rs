//! Protection tags.

use std::{env, sync::Arc};

use via::{Ptag, Return};

use crate::{
    entry::{call, code, lock, Out},
    handles::Table,
    nic::{keep, OpenNic, NICS},
    tag::Tag,
    types::{Pvoid, VipReturn},
};

/// What VipCreatePtag gave.
pub static PTAGS: Table<Tag> = Table::new(4);

/// Whether VIs and memory without a protection tag are taken: the variable `VIPL_COMPAT` is `null-ptag`. A VI without a tag may use all
/// memory of its process, whatever tag that has, as on the NICs that such programs were written for. The hardware compares one tag with one
/// tag: so all tags of the process are one in the NIC, which its handles only name, and nothing of the process is protected from itself.
pub fn is_null_ptag_taken() -> bool {
    env::var("VIPL_COMPAT").is_ok_and(|value| value == "null-ptag")
}

/// What was made with a handle of a NIC ends with it.
pub fn close(nic_handle: Pvoid) {
    drop(PTAGS.remove_all(|tag| tag.open == nic_handle));
}

impl OpenNic {
    /// A tag for a new handle.
    fn new_tag(&self) -> Result<Ptag, Return> {
        if !self.is_lenient() {
            return self.device.nic.create_ptag().map_err(code);
        }
        let mut common = lock(&self.device.common_tag);
        if let Some(ptag) = &*common {
            return Ok(ptag.clone());
        }
        Ok(common.insert(self.device.nic.create_ptag().map_err(code)?).clone())
    }

    /// The tag that a handle names; NULL names one, too, where the program is allowed that.
    pub fn tag(&self, handle: Pvoid) -> Result<(Ptag, Option<Arc<Tag>>), Return> {
        if handle.is_null() && self.is_lenient() {
            return Ok((self.new_tag()?, None));
        }
        let tag = PTAGS.get(handle).map_err(|_| Return::InvalidPtag)?;
        Ok((tag.ptag.clone(), Some(tag)))
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipCreatePtag(nic_handle: Pvoid, ptag: *mut Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(ptag) }?;
        let tag = Tag { open: nic_handle, ptag: open.new_tag()? };
        let handle = PTAGS.next();
        PTAGS.insert(handle, Arc::new(tag))?;
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipDestroyPtag(nic_handle: Pvoid, ptag: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        PTAGS.remove(ptag, |tag| {
            if tag.open != nic_handle {
                return Err(Return::InvalidParameter);
            }
            // A call that is about to use it, and what was made with its handle, holds the thing itself; whoever uses it a clone of
            // the tag, which may be other handles' too.
            let used = Arc::strong_count(tag) > 1 || (!open.is_lenient() && tag.ptag.is_used());
            (!used).then_some(()).ok_or(Return::ErrorResource)
        })?;
        Ok(())
    })
}
