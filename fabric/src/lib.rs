//! Viaduct's provider for libfabric: `via`, endpoints of the type FI_EP_MSG on VIs. libfabric's own ofi_rxm makes reliable datagrams of them, which
//! MPI runs over.
//!
//! libfabric loads the library, calls `fi_prov_ini`, and from then on the functions in the tables that its objects point to. docs/mpi.md has the
//! design: what of libfabric's stands for what of VIA's, and what is not offered.
//!
//! Without the feature `libfabric` the crate is empty: its bindings are made from libfabric's headers on the machine that builds it.

#[cfg(feature = "libfabric")]
mod via;

/// libfabric's way in: what the provider is called, and what makes its objects.
///
/// # Safety
/// libfabric calls it once, and keeps what it answers as long as the library is loaded.
#[cfg(feature = "libfabric")]
#[no_mangle]
pub unsafe extern "C" fn fi_prov_ini() -> *mut via::ffi::fi_provider {
    via::provider::provider()
}
