//! The NICs that a program may open.

use std::ffi::{c_char, c_ulong};

use via::{nics, NicEntry, NicState, Return};

use crate::{
    entry::{call, code, read, Out},
    types::{ext_nic, ExtNic, VipReturn},
};

/// Text, with a 0 behind it; None: it does not fit.
fn text<const N: usize>(from: &str) -> Option<[c_char; N]> {
    let mut to = [0; N];
    to[..N - 1]
        .get_mut(..from.len())?
        .iter_mut()
        .zip(from.bytes())
        .for_each(|(to, byte)| *to = byte as c_char);
    Some(to)
}

/// As much of a text as fits.
fn cut<const N: usize>(from: &str) -> [c_char; N] {
    let end = (0..N).rev().find(|&end| from.is_char_boundary(end.min(from.len()))).unwrap_or(0);
    text(&from[..end.min(from.len())]).unwrap_or([0; N])
}

/// An entry, as programs get it; None: its name does not fit.
fn entry(nic: &NicEntry) -> Option<ExtNic> {
    let mut entry = ExtNic { name: text(&nic.name)?, ..ExtNic::none() };
    match &nic.state {
        NicState::Served(is) => {
            entry.state = ext_nic::SERVED;
            entry.nic_address = is.local_nic_address.0;
            entry.ip_address = is.ip.octets();
            entry.max_vi = is.max_vi.into();
            entry.max_cq = is.max_cq.into();
            entry.max_register_bytes = is.max_register_bytes;
            entry.max_transfer_size = is.max_transfer_size.into();
        }
        NicState::Free => entry.state = ext_nic::FREE,
        NicState::Unusable(reason) => {
            entry.state = ext_nic::UNUSABLE;
            entry.reason = cut(reason);
        }
        // There are no others.
        _ => return None,
    }
    Some(entry)
}

#[no_mangle]
pub unsafe extern "C" fn VipExtListNics(to: *mut ExtNic, count: *mut c_ulong) -> VipReturn {
    call(|| {
        // SAFETY: vipl_ext.h.
        let (room, count_out) = unsafe { (read(count)?, Out::new(count)?) };
        let found: Vec<ExtNic> = nics().map_err(code)?.iter().filter_map(entry).collect();
        count_out.put(found.len() as c_ulong);
        if found.len() as c_ulong > room {
            return Err(Return::ErrorResource);
        }
        if found.is_empty() {
            return Ok(());
        }
        if to.is_null() {
            return Err(Return::InvalidParameter);
        }
        for (n, entry) in found.into_iter().enumerate() {
            // SAFETY: vipl_ext.h: there is room for so many.
            unsafe { to.add(n).write_unaligned(entry) };
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_with_its_end_or_is_cut_between_letters() {
        assert_eq!(text::<4>("abc"), Some([97, 98, 99, 0]));
        assert_eq!(text::<4>("abcd"), None);
        assert_eq!(cut::<4>("abcd"), [97, 98, 99, 0]);
        // Two bytes each.
        assert_eq!(cut::<4>("\u{e4}\u{e4}")[2..], [0, 0]);
        assert_eq!(cut::<4>(""), [0; 4]);
    }
}
