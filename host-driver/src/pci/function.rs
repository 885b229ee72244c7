//! One PCI function: what it is, who drives it, which IOMMU group it is in and through which device
//! nodes a program gets at it.

use std::{fs, io, path::Path};

use serde::Serialize;
use viaduct_spec::register::{PCI_DEVICE, PCI_VENDOR};

use super::{text, Address, Machine, Node, PciLink};

/// Identifiers of a Viaduct NIC.
pub(super) const VIADUCT: (u16, u16) = (PCI_VENDOR, PCI_DEVICE);
/// The driver that hands a function to programs.
pub(super) const VFIO_PCI: &str = "vfio-pci";
/// Name of the groups that the kernel makes up for functions without an IOMMU.
const NO_IOMMU_GROUP: &str = "vfio-noiommu";
/// Bit of the extended capabilities of Intel's IOMMU: it remaps interrupts.
const ECAP_INTERRUPT_REMAPPING: u32 = 3;

/// A PCI function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Function {
    /// Where it sits.
    pub address: Address,
    /// Vendor identifier.
    pub vendor: u16,
    /// Device identifier.
    pub device: u16,
    /// The driver that it is bound to.
    pub driver: Option<String>,
    /// Its IOMMU group.
    pub group: Option<Group>,
    /// Node of the group: `/dev/vfio/N`.
    pub group_node: Option<Node>,
    /// Node of every container: `/dev/vfio/vfio`.
    pub container_node: Option<Node>,
    /// Node of the function itself, `/dev/vfio/devices/vfioN`, on kernels with VFIO_DEVICE_CDEV.
    pub device_node: Option<Node>,
    /// Node of the IOMMU interface that goes with the function's own node: `/dev/iommu`.
    pub iommu_node: Option<Node>,
    /// Whether its IOMMU checks interrupts.
    pub interrupt_remapping: Remapping,
    /// Its power state, where the kernel tells it: `D0`, `D3hot`.
    pub power: Option<String>,
    /// Its PCI Express link, where the kernel tells of one.
    pub link: Option<PciLink>,
}

/// An IOMMU group: the functions that the IOMMU cannot tell apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// Its number.
    pub number: u32,
    /// How the kernel's own drivers use the IOMMU for it: `DMA`, `DMA-FQ`, `identity`.
    pub kind: Option<String>,
    /// Made up by the kernel, with no IOMMU behind it.
    pub without_iommu: bool,
    /// The other functions in it, by address.
    pub others: Vec<Member>,
}

/// Another function of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Member {
    /// Its name in sysfs; a PCI address.
    pub name: String,
    /// The driver that it is bound to.
    pub driver: Option<String>,
}

/// Whether an IOMMU remaps interrupts, as far as sysfs shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Remapping {
    /// The IOMMU can.
    Yes,
    /// It cannot, or the kernel was told not to use it.
    No,
    /// It does not say; whoever opens the function is told.
    Unknown,
}

impl Member {
    /// Whether its driver leaves the group to programs: none, one of VFIO's, or one that never makes the
    /// function reach memory.
    pub fn is_harmless(&self) -> bool {
        let leaves = |driver: &str| driver.contains("vfio") || driver == "pci-stub";
        self.is_port() || self.driver.as_deref().is_none_or(leaves)
    }

    /// Whether the kernel's driver of PCI Express ports has it: it leads to other functions, and is none that a program uses.
    pub fn is_port(&self) -> bool {
        self.driver.as_deref() == Some("pcieport")
    }
}

impl Function {
    pub(super) fn read(machine: &Machine, address: Address) -> io::Result<Option<Self>> {
        let folder = machine.folder(address);
        if !folder.exists() {
            return Ok(None);
        }
        let (vendor, device) = identifiers(&folder)?;
        let group = Group::read(machine, &folder, address)?;
        let vfio = machine.dev.join("vfio");
        let device_node = fs::read_dir(folder.join("vfio-dev")).ok().and_then(|mut entries| {
            let name = entries.next()?.ok()?.file_name();
            Node::read(&vfio.join("devices").join(name))
        });
        Ok(Some(Self {
            address,
            vendor,
            device,
            driver: link_name(&folder.join("driver")),
            group_node: group.as_ref().and_then(|group| Node::read(&vfio.join(group.number.to_string()))),
            container_node: Node::read(&vfio.join("vfio")),
            device_node,
            iommu_node: Node::read(&machine.dev.join("iommu")),
            interrupt_remapping: remapping(machine, &folder),
            power: text(folder.join("power_state")).filter(|state| state != "unknown"),
            link: PciLink::read(&folder),
            group,
        }))
    }

    /// Whether it has the identifiers of a Viaduct NIC.
    pub fn is_viaduct(&self) -> bool {
        (self.vendor, self.device) == VIADUCT
    }

    /// The name under which a program opens it.
    pub fn name(&self) -> String {
        format!("vfio:{}", self.address)
    }

    /// Whether group and container can be opened by this user.
    pub fn group_opens(&self) -> bool {
        let open = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.accessible);
        open(&self.group_node) && open(&self.container_node)
    }

    /// Whether the function's own node can be opened by this user.
    pub fn device_opens(&self) -> bool {
        let open = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.accessible);
        open(&self.device_node) && open(&self.iommu_node)
    }
}

impl Group {
    fn read(machine: &Machine, folder: &Path, own: Address) -> io::Result<Option<Self>> {
        let Some(number) = link_name(&folder.join("iommu_group")).and_then(|name| name.parse().ok()) else {
            return Ok(None);
        };
        let group = machine.sys.join("kernel/iommu_groups").join(format!("{number}"));
        let mut others = Vec::new();
        for entry in fs::read_dir(group.join("devices"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != own.to_string() {
                others.push(Member { name, driver: link_name(&entry.path().join("driver")) });
            }
        }
        others.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(Self {
            number,
            kind: text(group.join("type")),
            without_iommu: text(group.join("name")).as_deref() == Some(NO_IOMMU_GROUP),
            others,
        }))
    }
}

/// Vendor and device identifier.
pub(super) fn identifiers(folder: &Path) -> io::Result<(u16, u16)> {
    let identifier = |name: &str| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path)?;
        u16::from_str_radix(text.trim().trim_start_matches("0x"), 16)
            .map_err(|error| io::Error::other(format!("{}: {text:?}: {error}", path.display())))
    };
    Ok((identifier("vendor")?, identifier("device")?))
}

/// Last part of where a symbolic link leads.
fn link_name(link: &Path) -> Option<String> {
    Some(fs::read_link(link).ok()?.file_name()?.to_str()?.into())
}

fn remapping(machine: &Machine, folder: &Path) -> Remapping {
    let line = text(machine.proc.join("cmdline")).unwrap_or_default();
    if line.split_whitespace().any(|word| ["intremap=off", "nointremap"].contains(&word)) {
        return Remapping::No;
    }
    let capabilities = text(folder.join("iommu/intel-iommu/ecap"));
    match capabilities.and_then(|text| u64::from_str_radix(&text, 16).ok()) {
        Some(bits) if bits >> ECAP_INTERRUPT_REMAPPING & 1 != 0 => Remapping::Yes,
        Some(_) => Remapping::No,
        None => Remapping::Unknown,
    }
}
