//! A function that other processes may have beside the one that opened it: they are handed its descriptors, and map memory of their own.

use std::os::fd::OwnedFd;

use super::DeviceError;

/// What translates the DMA addresses of a function that somebody else has opened.
#[derive(Debug)]
pub enum OpenSpace {
    /// A container, with the function's group in it and an IOMMU driver of type 1, version 2.
    Container(OwnedFd),
    /// An iommufd.
    Iommufd {
        /// Its descriptor; the function is bound to it.
        iommufd: OwnedFd,
        /// The I/O address space there that the function is attached to.
        ioas: u32,
    },
}

/// The descriptors of a function, for [`crate::vfio::Vfio::of_descriptors`] in another process. They give all of the function.
#[derive(Debug)]
pub struct Handover {
    /// Its PCI address: `0000:01:00.0`.
    pub address: String,
    /// Its file.
    pub device: OwnedFd,
    /// What translates its DMA addresses.
    pub space: OpenSpace,
}

/// A function that can be handed over. It stays this process's, too, which says who maps at which DMA addresses.
pub trait Sharing {
    /// Descriptors for another process.
    ///
    /// # Errors
    /// This process may have no more of them.
    fn hand_over(&self) -> Result<Handover, DeviceError>;
    /// Unmaps what other processes have mapped at `bytes` DMA addresses from `first` on: how many bytes the system says it were. Each of
    /// their maps lies in the range, or outside. To be called when the device does not use them any more.
    ///
    /// # Errors
    /// The system's.
    fn take_back(&self, first: u64, bytes: u64) -> Result<u64, DeviceError>;
    /// Tries whether [`Sharing::take_back`] does what it says: a child of this process maps a page and ends, and the page is taken back. To be called while
    /// this process has one thread, and nobody uses DMA addresses.
    ///
    /// # Errors
    /// It does not: some kernels skip what another process has mapped. The system's.
    fn try_take_back(&self) -> Result<(), DeviceError>;
    /// Lets go of the function, whatever other threads do with it: what this process has mapped is unmapped, stores to registers and doorbells go
    /// to memory of nobody's from now on, and the descriptors are closed. With `stop` the function's DMA is stopped before (Bus Master Enable): who
    /// drove it has died. Calls fail from then on.
    ///
    /// # Errors
    /// The system's: it is not let go of before it is dropped.
    fn let_go(&self, stop: bool) -> Result<(), DeviceError>;
    /// How many DMA maps all processes together may have at a time.
    fn most_maps(&self) -> u64;
}
