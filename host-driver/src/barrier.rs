//! The order of this process's accesses to memory and to a device, as the device sees them.
//!
//! Rust's atomics order what processors see of each other. A device is another observer: on some architectures it is in a wider domain, and
//! needs barriers of its own. These are all that the driver relies on; an architecture without its own here does not compile.
//!
//! | architecture | to the device | from the device |
//! |---|---|---|
//! | x86-64 | stores are seen in their order, uncached ones of doorbells too: the compiler's order is enough | loads are made in their order |
//! | AArch64, with `--cfg viaduct_untried_order` | `dmb oshst` | `dmb oshld` |

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "nobody has argued which barriers order the accesses to memory and to a device on this architecture: host-driver/src/barrier.rs has them for x86-64 and AArch64"
);

#[cfg(all(target_arch = "aarch64", not(viaduct_untried_order)))]
compile_error!(
    "AArch64 has the barriers that its architecture asks for, and nobody has run them beside a device: who wants to try builds with RUSTFLAGS='--cfg viaduct_untried_order'"
);

#[cfg(not(target_endian = "little"))]
compile_error!(
    "rings and descriptors are little-endian words, and this library stores them in the processor's order: it runs on little-endian processors alone"
);

use std::sync::atomic::{fence, Ordering};

/// What was stored before is seen by the device before what is stored after: a descriptor before its doorbell.
#[inline]
pub fn to_device() {
    fence(Ordering::Release);
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a barrier touches neither memory nor registers.
    unsafe {
        std::arch::asm!("dmb oshst", options(nostack, preserves_flags));
    }
}

/// What is loaded after is not older than what was loaded before: data are not older than the status, or the register, that spoke of
/// them.
#[inline]
pub fn from_device() {
    fence(Ordering::Acquire);
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a barrier touches neither memory nor registers.
    unsafe {
        std::arch::asm!("dmb oshld", options(nostack, preserves_flags));
    }
}
