//! A NIC says what it is, and how large.

use viaduct_spec::register::{nic_kind, registers, MAGIC_VALUE, VERSION_VALUE};

use crate::{
    device::{Bar, PciDevice},
    kernel_agent::{AgentError, Limits, NicKind},
};

/// Refuses everything but a Viaduct NIC of the known layout.
pub(super) fn identify(device: &dyn PciDevice) -> Result<(NicKind, Limits), AgentError> {
    let read = |offset| device.read32(Bar::Registers, offset);
    let found = read(registers::MAGIC)?;
    if found != MAGIC_VALUE {
        return Err(AgentError::NotViaduct { found, expected: MAGIC_VALUE });
    }
    let found = read(registers::VERSION)?;
    if found != VERSION_VALUE {
        return Err(AgentError::Version { found, known: VERSION_VALUE });
    }
    let kind = match read(registers::KIND)? {
        nic_kind::RTL => NicKind::Rtl,
        nic_kind::MODEL => NicKind::Model,
        other => return Err(AgentError::Kind(other)),
    };
    let within = |what, offset, least: u32, most: u32| -> Result<u32, AgentError> {
        let value = read(offset)?;
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(AgentError::Limits { what, value })
        }
    };
    let limits = Limits {
        vis: within("its number of virtual interfaces", registers::VIS, 1, 1 << 10)? as u16,
        cqs: within("its number of completion queues", registers::CQS, 1, 1 << 10)? as u16,
        regions: within("its number of regions", registers::REGIONS, 3, 1 << 16)?,
        pages: within("its number of pages", registers::PAGES, 1, 1 << 16)?,
        doorbell_shift: within("log2 of its doorbell stride", registers::DOORBELL_SHIFT, 12, 30)?,
        receive_ahead: within("its receives fetched ahead", registers::RECEIVE_AHEAD, 1, 1 << 14)?,
        read_depth: within("its RDMA reads at a time", registers::READ_DEPTH, 1, 8)?,
    };
    Ok((kind, limits))
}
