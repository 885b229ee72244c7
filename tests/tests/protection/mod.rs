//! What the NIC must refuse: each wrong segment and each wrong descriptor, on either side and at both
//! levels, ends as VIA says; no byte of memory changes; everybody else goes on working.

mod descriptors;
mod receives;
mod sends;
mod wrong;

use viaduct_spec::descriptor::status;

const REFUSED: u32 = status::DONE | status::PROTECTION_ERROR;
