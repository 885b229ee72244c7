//! NICs, as a program opens, asks and closes them. What it has open several times is one [`Device`].

use std::{
    ffi::{c_char, c_ulong, CStr},
    sync::{Arc, Mutex},
};

use via::{connections::MAX_DISCRIMINATOR, full_name, ReliabilityLevel, Return};
use viaduct_driver::log;

use crate::{
    device::Device,
    entry::{call, code, watch_forks, Out},
    events,
    handles::Table,
    hosts::Hosts,
    ptags,
    types::{ErrorHandler, NicAttributes, Pvoid, VipReturn, SMI_AUTODISCOVERY},
};

/// What VipOpenNic gave.
pub static NICS: Table<OpenNic> = Table::new(1);

/// A NIC as one VipOpenNic gave it.
pub struct OpenNic {
    pub handle: Pvoid,
    name: String,
    pub device: Arc<Device>,
    /// What has no tag is taken: see [`ptags::is_null_ptag_taken`].
    lenient: bool,
    pub names: Mutex<Option<Hosts>>,
    /// The program's handler of asynchronous errors, and its word for it.
    pub handler: Mutex<Option<(ErrorHandler, Pvoid)>>,
    /// Its asynchronous errors, when the program has asked for a descriptor to wait for them on.
    pub waiting: Mutex<Option<events::Waiting>>,
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

/// Whether the program has a NIC open by any handle.
fn is_open(device: &Arc<Device>) -> bool {
    NICS.find_map(|open| Arc::ptr_eq(&open.device, device).then_some(())).is_some()
}

impl OpenNic {
    /// Whether VIs and memory without a tag, or without any attributes, are taken.
    pub fn is_lenient(&self) -> bool {
        self.lenient
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipOpenNic(device_name: *const c_char, nic_handle: *mut Pvoid) -> VipReturn {
    call(|| {
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(nic_handle) }?;
        if device_name.is_null() {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: vipl.h: a string.
        let name = unsafe { CStr::from_ptr(device_name) }.to_str().map_err(|_| Return::InvalidParameter)?;
        watch_forks();
        log::start(None).map_err(|error| {
            eprintln!("vipl: {error}");
            Return::InvalidParameter
        })?;
        let handle = NICS.next();
        let target = full_name(name).map_err(|error| {
            eprintln!("vipl: {error}");
            code(error)
        })?;
        Device::open(name, &target, |device| {
            let open = OpenNic {
                handle,
                name: name.into(),
                device,
                lenient: ptags::is_null_ptag_taken(),
                names: Mutex::default(),
                handler: Mutex::default(),
                waiting: Mutex::default(),
            };
            NICS.insert(handle, Arc::new(open))
        })?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipCloseNic(nic_handle: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.remove(nic_handle, |_| Ok(()))?;
        // What was made with this handle ends with it.
        crate::extensions::close(nic_handle);
        crate::connect::close(nic_handle);
        crate::vi::close(nic_handle);
        crate::cq::close(nic_handle);
        let ended = crate::memory::close(&open);
        ptags::close(nic_handle);
        let device = Arc::clone(&open.device);
        drop(open);
        device.close(is_open);
        // It is closed all the same; the program keeps its memory.
        ended
    })
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
            thread_safe: is.thread_safe.into(),
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
