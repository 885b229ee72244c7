//! What libfabric is told when it loads the library.

use std::{
    ffi::{c_char, c_void, CStr},
    mem::transmute,
    sync::OnceLock,
};

use viaduct_driver::log;

use crate::via::{card, fabric, ffi, query};

/// What programs ask for.
const NAME: &CStr = c"via";

/// The provider, which stays as long as the process does: libfabric writes into it.
struct Provider(*mut ffi::fi_provider);

// SAFETY: libfabric alone uses what it points to.
unsafe impl Send for Provider {}
// SAFETY: as above.
unsafe impl Sync for Provider {}

/// The provider.
pub fn provider() -> *mut ffi::fi_provider {
    static PROVIDER: OnceLock<Provider> = OnceLock::new();
    let make = || {
        // A variable that is no filter: nobody hears of it but who looks for the log.
        if let Err(error) = log::start(None) {
            eprintln!("libviaduct-fi.so: {error}");
        }
        Provider(Box::into_raw(Box::new(ffi::fi_provider {
            version: version(),
            fi_version: its_version(),
            context: ffi::fi_context { internal: [std::ptr::null_mut(); 4] },
            name: NAME.as_ptr(),
            getinfo: Some(query::getinfo),
            fabric: Some(fabric::open),
            cleanup: Some(cleanup),
        })))
    };
    PROVIDER.get_or_init(make).0
}

/// libfabric ends: nobody calls any more.
unsafe extern "C" fn cleanup() {
    ffi::answer(|| {
        card::close();
        Ok(())
    });
}

/// This crate's version, as libfabric has them.
fn version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    number(env!("CARGO_PKG_VERSION_MAJOR")) << 16 | number(env!("CARGO_PKG_VERSION_MINOR"))
}

/// The version of libfabric whose interface this is: that of the libfabric that is loaded, since it passes over a provider with a smaller number than
/// the program asks for. What is used of its structures is the same in all versions from 1.17 on; a table says how long it is.
fn its_version() -> u32 {
    let headers = (ffi::FI_MAJOR_VERSION as u32) << 16 | ffi::FI_MINOR_VERSION as u32;
    loaded().map_or(headers, |version| version.max(headers))
}

/// What the libfabric says that is loaded.
fn loaded() -> Option<u32> {
    let names: [*const c_char; 2] = [c"libfabric.so.1".as_ptr(), std::ptr::null()];
    let symbol = names.into_iter().find_map(|name| {
        // A program's libfabric may be visible to itself alone, so it is asked for by its name first; then all that the program has.
        // SAFETY: names of C's. Nothing is loaded that is not there, and what is stays, as this library is its child.
        let library = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        // SAFETY: as above.
        let symbol = unsafe { libc::dlsym(library, c"fi_version".as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    })?;
    // SAFETY: libfabric's function of this name is of this type, in all versions.
    let ask = unsafe { transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(symbol) };
    // SAFETY: it answers a constant.
    Some(unsafe { ask() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_libfabric_the_headers_version_counts() {
        // This program has none.
        assert_eq!(loaded(), None);
        assert_eq!(its_version() >> 16, ffi::FI_MAJOR_VERSION as u32);
        assert!(its_version() >= 1 << 16 | 17, "the headers are those of Debian 12, or newer");
    }

    #[test]
    fn there_is_one_provider_and_it_has_libfabrics_three_functions() {
        assert_eq!(provider(), provider());
        // SAFETY: it stays.
        let provider = unsafe { &*provider() };
        assert!(provider.getinfo.is_some() && provider.fabric.is_some() && provider.cleanup.is_some());
        // SAFETY: a constant.
        assert_eq!(unsafe { CStr::from_ptr(provider.name) }, c"via");
    }
}
