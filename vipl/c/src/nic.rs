//! NICs, as a program has them open, and what it asks of them. What it has open several times is one [`Device`].

use std::{
    ffi::{c_char, c_ulong},
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex,
    },
};

use via::{connections::MAX_DISCRIMINATOR, ReliabilityLevel, Return};

use crate::{
    device::Device,
    entry::{call, Out},
    handles::Table,
    hosts::Hosts,
    types::{ErrorHandler, NicAttributes, Pvoid, VipReturn, SMI_AUTODISCOVERY},
    waiting::Waiting,
};

/// What VipOpenNic gave.
pub static NICS: Table<OpenNic> = Table::new(1);

/// A NIC as one VipOpenNic gave it.
pub struct OpenNic {
    pub handle: Pvoid,
    name: String,
    pub device: Arc<Device>,
    /// What has no tag is taken.
    lenient: bool,
    /// VIs and completion queues that are created from now on may be used by several threads at one time: VipExtSetThreadSafe.
    pub is_thread_safe: AtomicBool,
    pub names: Mutex<Option<Hosts>>,
    /// The program's handler of asynchronous errors, and its word for it.
    pub handler: Mutex<Option<(ErrorHandler, Pvoid)>>,
    /// Its asynchronous errors, when the program has asked for a descriptor to wait for them on.
    pub waiting: Mutex<Option<Waiting>>,
}

// SAFETY: the pointers in it, and in the errors that wait, are handles, and the program's word for its handler, which the library only gives back.
unsafe impl Send for OpenNic {}
// SAFETY: as above.
unsafe impl Sync for OpenNic {}

/// What was made with a handle of a NIC's has just been put where others find it. If the NIC was closed meanwhile, it may be too late
/// for `close`, which ends all that was made with it: then that is done once more.
pub fn keep(nic_handle: Pvoid, close: impl FnOnce(Pvoid)) -> Result<(), Return> {
    NICS.get(nic_handle).map(drop).inspect_err(|_| close(nic_handle))
}

impl OpenNic {
    /// One with a new handle, which the program called `name`. `lenient`: what has no tag is taken.
    pub fn new(handle: Pvoid, name: &str, device: Arc<Device>, lenient: bool) -> Self {
        Self {
            handle,
            name: name.into(),
            device,
            lenient,
            is_thread_safe: AtomicBool::new(true),
            names: Mutex::default(),
            handler: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    /// Whether the program promises of what it creates now that no two threads are in its calls at one time.
    pub fn is_unshared(&self) -> bool {
        !self.is_thread_safe.load(Ordering::Acquire)
    }

    /// Whether VIs and memory without a tag, or without any attributes, are taken.
    pub fn is_lenient(&self) -> bool {
        self.lenient
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipQueryNic(nic_handle: Pvoid, attributes: *mut NicAttributes) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(attributes) }?;
        let is = open.device.nic.attributes();
        let mut name = [0; 64];
        for (to, from) in name[..63].iter_mut().zip(open.name.bytes()) {
            *to = from as c_char;
        }
        out.put(NicAttributes {
            name,
            hardware_version: is.hardware_version.into(),
            provider_version: is.provider_version.into(),
            nic_address_length: 6,
            local_nic_address: open.device.mac.0.as_ptr(),
            thread_safe: (is.thread_safe && !open.is_unshared()).into(),
            max_discriminator_length: MAX_DISCRIMINATOR as u16,
            max_register_bytes: is.max_register_bytes,
            max_register_regions: is.max_register_regions.into(),
            max_register_block_bytes: is.max_register_block_bytes,
            max_vi: is.max_vi.into(),
            max_descriptors_per_queue: is.max_descriptors_per_queue.into(),
            max_segments_per_desc: is.max_segments_per_desc.into(),
            max_cq: is.max_cq.into(),
            max_cq_entries: is.max_cq_entries.into(),
            max_transfer_size: is.max_transfer_size.into(),
            native_mtu: is.native_mtu.into(),
            max_ptags: is.max_ptags.into(),
            reliability_level_support: mask(&is.reliability_level_support),
            rdma_read_support: mask(&is.rdma_read_support),
        });
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipQuerySystemManagementInfo(
    nic_handle: Pvoid,
    info_type: c_ulong,
    info: Pvoid,
) -> VipReturn {
    call(|| {
        NICS.get(nic_handle)?;
        if info.is_null() || info_type != SMI_AUTODISCOVERY {
            return Err(Return::InvalidParameter);
        }
        Err(Return::ErrorNotSupported)
    })
}

/// VIP_RELIABILITY_LEVEL of one level.
pub fn level(level: ReliabilityLevel) -> u16 {
    match level {
        ReliabilityLevel::UnreliableDelivery => 1,
        ReliabilityLevel::ReliableDelivery => 2,
        ReliabilityLevel::ReliableReception => 4,
    }
}

fn mask(levels: &[ReliabilityLevel]) -> u16 {
    levels.iter().fold(0, |mask, &one| mask | level(one))
}
