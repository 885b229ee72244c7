//! Where the tests run.

use std::{path::PathBuf, sync::Arc};

use anyhow::{bail, ensure, Context, Result};
use viaduct_driver::{device::PciDevice, vfio::Vfio, vfio_user::VfioUser};

use crate::{ledger::Ledger, machine::Machine};

/// Two NICs that reach each other, and what stands in front of them.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Names of the NICs, as `vipl::Nic::open` takes them.
    pub nics: [String; 2],
    /// Where the kernel's log tells of each access that the IOMMU refuses (it, and nobody behind it, refuses): what it must tell of.
    pub ledger: Option<Ledger>,
    /// Who runs the machine, where there is somebody.
    pub machine: Option<Machine>,
}

/// What a NIC's name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A function of this machine, by its address (`0000:01:00.0`), in the hands of vfio-pci.
    Vfio(String),
    /// A vfio-user socket.
    VfioUser(PathBuf),
}

impl Place {
    /// Of a NIC's name.
    pub fn of(name: &str) -> Result<Self> {
        let name = name.split(',').next().unwrap_or(name);
        if let Some(address) = name.strip_prefix("vfio:") {
            let plain = address.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            ensure!(
                plain && address.len() == "0000:00:00.0".len(),
                "{address:?} is no address of a function"
            );
            Ok(Self::Vfio(address.into()))
        } else if let Some(path) = name.strip_prefix("vfio-user:") {
            Ok(Self::VfioUser(path.into()))
        } else {
            bail!("{name:?} is no name of a NIC: vfio:ADDRESS or vfio-user:PATH")
        }
    }

    /// The device there.
    pub fn open(&self) -> Result<Arc<dyn PciDevice>> {
        match self {
            Self::Vfio(address) => Ok(Arc::new(Vfio::open(address)?)),
            Self::VfioUser(path) => Ok(Arc::new(VfioUser::open(path)?)),
        }
    }

    /// The node of its IOMMU group, when there is one: who may open it owns the function.
    pub fn group(&self) -> Result<Option<PathBuf>> {
        let Self::Vfio(address) = self else { return Ok(None) };
        let link = PathBuf::from(format!("/sys/bus/pci/devices/{address}/iommu_group"));
        let target = link.read_link().with_context(|| link.display().to_string())?;
        let number = target.file_name().with_context(|| target.display().to_string())?;
        Ok(Some(PathBuf::from("/dev/vfio").join(number)))
    }
}

impl Setting {
    /// Where the NICs are.
    pub fn places(&self) -> Result<[Place; 2]> {
        let [a, b] = &self.nics;
        Ok([Place::of(a)?, Place::of(b)?])
    }

    /// Both are behind the kernel's VFIO.
    pub fn is_vfio(&self) -> bool {
        self.nics.iter().all(|name| matches!(Place::of(name), Ok(Place::Vfio(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_where_a_nic_is() {
        assert_eq!(Place::of("vfio:0000:01:00.0").unwrap(), Place::Vfio("0000:01:00.0".into()));
        assert_eq!(Place::of("vfio:0000:01:00.0,ip=10.0.0.1").unwrap(), Place::Vfio("0000:01:00.0".into()));
        assert_eq!(Place::of("vfio-user:/a/nic0.sock").unwrap(), Place::VfioUser("/a/nic0.sock".into()));
        for wrong in ["", "eth0", "vfio:", "vfio:01:00.0", "vfio:/etc/passwd"] {
            assert!(Place::of(wrong).is_err(), "{wrong:?}");
        }
    }
}
