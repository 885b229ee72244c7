//! PCI functions as the system shows them in sysfs, and what keeps a program from driving one through
//! VFIO.
//!
//! [`Machine`] is where to look, [`Function`] one function with its IOMMU group, driver and device
//! nodes, [`Obstacle`] a reason why it cannot be used, with the rule and the way out. [`Machine::bind`] gives one to vfio-pci. The VFIO back end
//! explains its failures with the same obstacles that `viaduct devices` lists.

mod address;
mod binding;
mod function;
mod holders;
mod limits;
mod link;
mod node;
mod obstacle;

use std::{fs, io, path::PathBuf};

use viaduct_spec::register::{PCI_DEVICE, PCI_VENDOR};

pub use address::{Address, AddressError};
pub use binding::{BindError, Change};
pub use function::{Function, Group, Member, Remapping};
pub use holders::Holder;
pub use limits::Memlock;
pub use link::PciLink;
pub use node::Node;
pub use obstacle::Obstacle;

/// The roots of the file systems that tell of devices.
#[derive(Debug, Clone)]
pub struct Machine {
    /// sysfs.
    pub sys: PathBuf,
    /// Device nodes.
    pub dev: PathBuf,
    /// procfs.
    pub proc: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Self { sys: "/sys".into(), dev: "/dev".into(), proc: "/proc".into() }
    }
}

impl Machine {
    /// Every function with the identifiers of a Viaduct NIC, by address. Empty on a machine without
    /// PCI.
    pub fn functions(&self) -> io::Result<Vec<Function>> {
        let entries = match fs::read_dir(self.functions_folder()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(address) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if function::identifiers(&self.folder(address))? == function::VIADUCT {
                found.extend(self.function(address)?);
            }
        }
        found.sort_by_key(|function| function.address);
        Ok(found)
    }

    /// The function at an address, whatever it is; None where there is none.
    pub fn function(&self, address: Address) -> io::Result<Option<Function>> {
        Function::read(self, address)
    }

    /// What [`Machine::functions`] looks for, and where.
    pub fn looked_for(&self) -> String {
        format!(
            "PCI functions with vendor:device {PCI_VENDOR:04x}:{PCI_DEVICE:04x} in {}",
            self.functions_folder().display()
        )
    }

    /// The limit on locked memory, and how much of it is used.
    pub fn memlock(&self) -> Memlock {
        Memlock::read(self)
    }

    /// Whether the IOMMUs of this machine are in use at all.
    pub fn has_iommu(&self) -> bool {
        fs::read_dir(self.sys.join("kernel/iommu_groups")).is_ok_and(|mut groups| groups.next().is_some())
    }

    /// Whether the driver that hands functions to programs is there.
    pub fn has_vfio_pci(&self) -> bool {
        self.sys.join("bus/pci/drivers").join(function::VFIO_PCI).exists()
    }

    /// How many maps the kernel lets one program have, where it says so.
    pub fn dma_entry_limit(&self) -> Option<u64> {
        self.vfio_parameter("dma_entry_limit")?.parse().ok()
    }

    /// Whether the administrator lets VFIO work without interrupt remapping.
    pub fn allows_unsafe_interrupts(&self) -> bool {
        self.vfio_parameter("allow_unsafe_interrupts").is_some_and(|value| value == "Y")
    }

    fn vfio_parameter(&self, name: &str) -> Option<String> {
        text(self.sys.join("module/vfio_iommu_type1/parameters").join(name))
    }

    /// The folder of a function in sysfs.
    pub fn folder(&self, address: Address) -> PathBuf {
        self.functions_folder().join(address.to_string())
    }

    fn functions_folder(&self) -> PathBuf {
        self.sys.join("bus/pci/devices")
    }
}

/// An attribute's text; None where there is no such attribute, or it may not be read.
fn text(path: PathBuf) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().into())
}

#[cfg(test)]
mod tests;
