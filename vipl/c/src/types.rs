//! The types of vipl.h, as they lie in memory. tests/c/header.c holds the header to the same sizes.

use std::ffi::{c_char, c_int, c_ulong, c_ushort, c_void};

/// VIP_PVOID, and every handle that is one.
pub type Pvoid = *mut c_void;
/// VIP_BOOLEAN.
pub type Boolean = c_int;
/// VIP_RETURN.
pub type VipReturn = c_int;
/// VIP_MEM_HANDLE.
pub type MemHandle = u32;
/// VIP_DESCRIPTOR *: the library looks at descriptors as words, never as this.
pub type DescriptorPtr = *mut c_void;

/// VIP_NET_ADDRESS without its bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NetAddressHead {
    pub host_length: u16,
    pub discriminator_length: u16,
}

/// VIP_NIC_ATTRIBUTES.
#[repr(C)]
pub struct NicAttributes {
    pub name: [c_char; 64],
    pub hardware_version: c_ulong,
    pub provider_version: c_ulong,
    pub nic_address_length: u16,
    pub local_nic_address: *const u8,
    pub thread_safe: Boolean,
    pub max_discriminator_length: u16,
    pub max_register_bytes: c_ulong,
    pub max_register_regions: c_ulong,
    pub max_register_block_bytes: c_ulong,
    pub max_vi: c_ulong,
    pub max_descriptors_per_queue: c_ulong,
    pub max_segments_per_desc: c_ulong,
    pub max_cq: c_ulong,
    pub max_cq_entries: c_ulong,
    pub max_transfer_size: c_ulong,
    pub native_mtu: c_ulong,
    pub max_ptags: c_ulong,
    pub reliability_level_support: c_ushort,
    pub rdma_read_support: c_ushort,
}

/// VIP_VI_ATTRIBUTES.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ViAttributes {
    pub reliability_level: c_ushort,
    pub max_transfer_size: c_ulong,
    pub qos: Pvoid,
    pub ptag: Pvoid,
    pub enable_rdma_write: Boolean,
    pub enable_rdma_read: Boolean,
}

/// VIP_MEM_ATTRIBUTES.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemAttributes {
    pub ptag: Pvoid,
    pub enable_rdma_write: Boolean,
    pub enable_rdma_read: Boolean,
}

/// VIP_EXT_COMPLETION.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ExtCompletion {
    pub vi: Pvoid,
    pub context: Pvoid,
    pub descriptor: DescriptorPtr,
    pub receive: Boolean,
}

/// VIP_ERROR_DESCRIPTOR.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorDescriptor {
    pub nic: Pvoid,
    pub vi: Pvoid,
    pub cq: Pvoid,
    pub descriptor: DescriptorPtr,
    pub op_code: c_ulong,
    pub resource_code: c_int,
    pub error_code: c_int,
}

/// VIP_EXT_NIC.
#[repr(C)]
pub struct ExtNic {
    pub name: [c_char; 256],
    pub state: c_ulong,
    pub nic_address: [u8; 6],
    pub ip_address: [u8; 4],
    pub reserved: [u8; 6],
    pub max_vi: c_ulong,
    pub max_cq: c_ulong,
    pub max_register_bytes: c_ulong,
    pub max_transfer_size: c_ulong,
    pub reason: [c_char; 256],
}

impl ExtNic {
    /// Nothing is known.
    pub fn none() -> Self {
        Self {
            name: [0; 256],
            state: 0,
            nic_address: [0; 6],
            ip_address: [0; 4],
            reserved: [0; 6],
            max_vi: 0,
            max_cq: 0,
            max_register_bytes: 0,
            max_transfer_size: 0,
            reason: [0; 256],
        }
    }
}

/// VIP_EXT_NIC_...
pub mod ext_nic {
    use std::ffi::c_ulong;
    pub const SERVED: c_ulong = 1;
    pub const FREE: c_ulong = 2;
    pub const UNUSABLE: c_ulong = 3;
}

/// VIP_EXT_CONN_EVENT.
#[repr(C)]
pub struct ConnEvent {
    pub kind: c_ulong,
    pub status: VipReturn,
    pub context: Pvoid,
    pub vi: Pvoid,
    pub connection: Pvoid,
    pub attributes: ViAttributes,
}

/// VIP_EXT_CONN_...
pub mod conn_event {
    use std::ffi::c_ulong;
    pub const REQUESTED: c_ulong = 1;
    pub const CONNECTED: c_ulong = 2;
    pub const FAILED: c_ulong = 3;
    pub const DISCONNECTED: c_ulong = 4;
    pub const LOST: c_ulong = 5;
    pub const PARTED: c_ulong = 6;
}

/// VIP_RESOURCE_CODE.
pub mod resource {
    use std::ffi::c_int;
    pub const NIC: c_int = 0;
    pub const VI: c_int = 1;
    pub const CQ: c_int = 2;
}

/// VIP_VI_STATE.
pub mod state {
    use std::ffi::c_int;
    pub const IDLE: c_int = 0;
    pub const CONNECTED: c_int = 1;
    pub const CONNECT_PENDING: c_int = 2;
    pub const ERROR: c_int = 3;
}

/// VIP_ERROR_CATASTROPHIC.
pub const CATASTROPHIC: c_int = 10;
/// VIP_SMI_AUTODISCOVERY.
pub const SMI_AUTODISCOVERY: c_ulong = 1;

/// VIP_ERROR_HANDLER.
pub type ErrorHandler = unsafe extern "C" fn(Pvoid, *mut ErrorDescriptor);
/// VIP_VI_CALLBACK.
pub type ViCallback = unsafe extern "C" fn(Pvoid, Pvoid, Pvoid, DescriptorPtr);
/// VIP_CQ_CALLBACK.
pub type CqCallback = unsafe extern "C" fn(Pvoid, Pvoid, Pvoid, Boolean);

const _: () = {
    assert!(size_of::<NetAddressHead>() == 4);
    assert!(size_of::<NicAttributes>() == 200);
    assert!(size_of::<ViAttributes>() == 40);
    assert!(size_of::<MemAttributes>() == 16);
    assert!(size_of::<ErrorDescriptor>() == 48);
    assert!(size_of::<ConnEvent>() == 80);
    assert!(size_of::<ExtNic>() == 568);
    assert!(size_of::<ExtCompletion>() == 32);
};
