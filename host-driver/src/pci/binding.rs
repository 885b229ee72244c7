//! A function goes to vfio-pci and back: what `viaduct bind` and `viaduct unbind` do, step by step.

use std::{
    fmt, fs, io,
    os::unix::fs::{chown, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

use super::{function::VFIO_PCI, Address, Function, Machine, Obstacle};

/// Permission bits of a node that a group of users may open.
const GROUP_MODE: u32 = 0o660;

/// One thing that was changed on the machine. Its text says what, and how it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The kernel's module of this name was loaded.
    Loaded(&'static str),
    /// The function is for this driver alone, or for any.
    Override {
        /// The function.
        address: Address,
        /// The driver; None: any.
        driver: Option<&'static str>,
    },
    /// A driver has given the function up.
    Unbound {
        /// The function.
        address: Address,
        /// The driver.
        driver: String,
    },
    /// A driver has taken the function.
    Bound {
        /// The function.
        address: Address,
        /// The driver.
        driver: String,
    },
    /// A group of users may open a device node.
    Node {
        /// The node.
        path: PathBuf,
        /// The group's number.
        group: u32,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded(module) => write!(f, "module {module} is loaded"),
            Self::Override { address, driver: Some(driver) } => {
                write!(f, "{address}: driver_override is {driver}")
            }
            Self::Override { address, driver: None } => write!(f, "{address}: driver_override is empty"),
            Self::Unbound { address, driver } => write!(f, "{address}: unbound from {driver}"),
            Self::Bound { address, driver } => write!(f, "{address}: bound to {driver}"),
            Self::Node { path, group } => {
                write!(f, "{}: group {group}, mode {GROUP_MODE:04o}", path.display())
            }
        }
    }
}

/// Why a function is not bound, or not unbound. What was changed before stays changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The function is not there, no Viaduct NIC, or behind no IOMMU.
    #[error("{0}")]
    Obstacle(Obstacle),
    /// The system refuses a change.
    #[error("{}: {source}{}", .path.display(), hint(.source))]
    System {
        /// The file that was written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel was asked, and the function has another driver.
    #[error("{address} was given to {wanted}, and its driver is {}: the kernel's log says why", .driver.as_deref().unwrap_or("none"))]
    Refused {
        /// The function.
        address: Address,
        /// Whom it was given to.
        wanted: &'static str,
        /// The driver that has it.
        driver: Option<String>,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ", for which one has to be root",
        _ => "",
    }
}

impl Machine {
    /// Gives the NIC at `address` to vfio-pci, and lets the users of `group` open its node. `note` is told of each change when it is made; what
    /// is right already is not changed.
    ///
    /// # Errors
    /// [`BindError`]. Who is not root may change nothing.
    pub fn bind(
        &self,
        address: Address,
        group: Option<u32>,
        note: &mut dyn FnMut(Change),
    ) -> Result<(), BindError> {
        let function = self.nic(address)?;
        if function.group.as_ref().is_none_or(|group| group.without_iommu) {
            let elsewhere = self.has_iommu();
            return Err(BindError::Obstacle(Obstacle::NoIommu { address, elsewhere }));
        }
        if function.driver.as_deref() != Some(VFIO_PCI) {
            if !self.has_vfio_pci() {
                load(VFIO_PCI)?;
                note(Change::Loaded(VFIO_PCI));
            }
            write(&self.folder(address).join("driver_override"), VFIO_PCI)?;
            note(Change::Override { address, driver: Some(VFIO_PCI) });
            self.release(address, function.driver, note)?;
            write(&self.sys.join("bus/pci/drivers_probe"), &address.to_string())?;
        }
        let function = self.nic(address)?;
        if function.driver.as_deref() != Some(VFIO_PCI) {
            return Err(BindError::Refused { address, wanted: VFIO_PCI, driver: function.driver });
        }
        note(Change::Bound { address, driver: VFIO_PCI.into() });
        if let Some(group) = group {
            for node in [function.group_node, function.device_node].into_iter().flatten() {
                let failed = |source| BindError::System { path: node.path.clone(), source };
                chown(&node.path, None, Some(group)).map_err(failed)?;
                fs::set_permissions(&node.path, fs::Permissions::from_mode(GROUP_MODE)).map_err(failed)?;
                note(Change::Node { path: node.path, group });
            }
        }
        Ok(())
    }

    /// Takes the NIC at `address` from vfio-pci, and lets the kernel find another driver for it.
    ///
    /// # Errors
    /// As [`Machine::bind`].
    pub fn unbind(&self, address: Address, note: &mut dyn FnMut(Change)) -> Result<(), BindError> {
        let function = self.nic(address)?;
        // A line without a word: any driver may have it.
        write(&self.folder(address).join("driver_override"), "\n")?;
        note(Change::Override { address, driver: None });
        if function.driver.as_deref() == Some(VFIO_PCI) {
            self.release(address, function.driver, note)?;
            write(&self.sys.join("bus/pci/drivers_probe"), &address.to_string())?;
        }
        if let Some(driver) = self.nic(address)?.driver {
            note(Change::Bound { address, driver });
        }
        Ok(())
    }

    fn nic(&self, address: Address) -> Result<Function, BindError> {
        let folder = self.folder(address);
        let function = self.function(address).map_err(|source| BindError::System { path: folder, source })?;
        let function = function.ok_or(BindError::Obstacle(Obstacle::NoFunction { address }))?;
        let found = (function.vendor, function.device);
        match function.is_viaduct() {
            true => Ok(function),
            false => Err(BindError::Obstacle(Obstacle::OtherFunction { address, found })),
        }
    }

    fn release(
        &self,
        address: Address,
        driver: Option<String>,
        note: &mut dyn FnMut(Change),
    ) -> Result<(), BindError> {
        let Some(driver) = driver else { return Ok(()) };
        write(&self.folder(address).join("driver/unbind"), &address.to_string())?;
        note(Change::Unbound { address, driver });
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), BindError> {
    fs::write(path, text).map_err(|source| BindError::System { path: path.into(), source })
}

fn load(module: &'static str) -> Result<(), BindError> {
    let failed = |source| BindError::System { path: "modprobe".into(), source };
    let output = Command::new("modprobe").arg(module).output().map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))),
    }
}
