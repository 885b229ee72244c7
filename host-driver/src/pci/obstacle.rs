//! What keeps a program from driving a function through VFIO: the thing, the rule, the way out.

use std::{fmt, path::PathBuf};

use rustix::process::geteuid;
use viaduct_spec::register::{PCI_DEVICE, PCI_VENDOR};

use super::{
    function::VFIO_PCI, Address, Function, Group, Holder, Machine, Member, Memlock, Node, Remapping,
};

/// A reason why a function cannot be used. Its text names the thing and the rule, [`Obstacle::mend`]
/// the commands that change it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// Nothing at this address.
    NoFunction {
        /// The address.
        address: Address,
    },
    /// A function that is no Viaduct NIC.
    OtherFunction {
        /// The address.
        address: Address,
        /// Its identifiers, vendor and device.
        found: (u16, u16),
    },
    /// It is in no IOMMU group, or in one that the kernel made up.
    NoIommu {
        /// The address.
        address: Address,
        /// Other functions of this machine are behind one.
        elsewhere: bool,
    },
    /// It is not bound to vfio-pci.
    Unbound {
        /// The address.
        address: Address,
        /// The driver that has it.
        driver: Option<String>,
        /// vfio-pci has to be loaded first.
        load: bool,
    },
    /// Other functions of its group are in use by drivers.
    NotViable {
        /// The group's number.
        group: u32,
        /// These functions.
        others: Vec<Member>,
    },
    /// A device node is missing.
    NoNode {
        /// Its path.
        path: PathBuf,
    },
    /// A device node that this user may not open.
    Closed {
        /// The node.
        node: Node,
        /// This user.
        user: u32,
    },
    /// The group is open in another program.
    Busy {
        /// Node of the group.
        path: PathBuf,
        /// Who may have it, as far as this user can see.
        holders: Vec<Holder>,
    },
    /// Somebody else resets it at this moment, or the bus above it.
    Resetting {
        /// The address.
        address: Address,
    },
    /// The IOMMU does not check interrupts.
    NoInterruptRemapping {
        /// The address.
        address: Address,
    },
    /// The limit on locked memory.
    Memlock {
        /// The limit, and what is locked.
        memlock: Memlock,
        /// Bytes that were to be mapped.
        bytes: u64,
    },
    /// The limit on the number of maps.
    Maps {
        /// The limit, where the kernel tells it.
        limit: Option<u64>,
    },
}

impl Function {
    /// What keeps this user from driving it, in the order in which it is mended. Nothing: it should
    /// open; what only the kernel knows shows then.
    pub fn obstacles(&self, machine: &Machine) -> Vec<Obstacle> {
        Obstacle::all(machine, self)
    }
}

impl Obstacle {
    /// All that sysfs and the device nodes show, in the order in which it is mended.
    pub(super) fn all(machine: &Machine, function: &Function) -> Vec<Self> {
        let address = function.address;
        if !function.is_viaduct() {
            return vec![Self::OtherFunction { address, found: (function.vendor, function.device) }];
        }
        let Some(group) = function.group.as_ref().filter(|group| !group.without_iommu) else {
            return vec![Self::NoIommu { address, elsewhere: machine.has_iommu() }];
        };
        let mut found = Vec::new();
        let bound = function.driver.as_deref() == Some(VFIO_PCI);
        if !bound {
            let load = !machine.has_vfio_pci();
            found.push(Self::Unbound { address, driver: function.driver.clone(), load });
        }
        let others: Vec<Member> =
            group.others.iter().filter(|member| !member.is_harmless()).cloned().collect();
        if !others.is_empty() {
            found.push(Self::NotViable { group: group.number, others });
        }
        // The nodes are there when it is bound.
        if bound {
            found.extend(Self::of_nodes(machine, function, group));
        }
        if function.interrupt_remapping == Remapping::No && !machine.allows_unsafe_interrupts() {
            found.push(Self::NoInterruptRemapping { address });
        }
        found
    }

    /// What the device nodes show: one way in is enough.
    fn of_nodes(machine: &Machine, function: &Function, group: &Group) -> Vec<Self> {
        if function.group_opens() || function.device_opens() {
            return Vec::new();
        }
        let check = |node: &Option<Node>, path: PathBuf| match node {
            None => Some(Self::NoNode { path }),
            Some(node) if !node.accessible => {
                Some(Self::Closed { node: node.clone(), user: geteuid().as_raw() })
            }
            Some(_) => None,
        };
        let vfio = machine.dev.join("vfio");
        // A kernel without groups shows the function's own node alone.
        let nodes = if function.group_node.is_none() && function.device_node.is_some() {
            [
                check(&function.device_node, vfio.join("devices")),
                check(&function.iommu_node, machine.dev.join("iommu")),
            ]
        } else {
            [
                check(&function.group_node, vfio.join(group.number.to_string())),
                check(&function.container_node, vfio.join("vfio")),
            ]
        };
        nodes.into_iter().flatten().collect()
    }

    /// The thing and the rule.
    pub fn reason(&self) -> String {
        match self {
            Self::NoFunction { address } => {
                format!("there is no PCI function at {address}: `viaduct devices` lists those that are")
            }
            Self::OtherFunction { address, found: (vendor, device) } => format!(
                "the PCI function at {address} is {vendor:04x}:{device:04x}, no Viaduct NIC: \
                 those are {PCI_VENDOR:04x}:{PCI_DEVICE:04x}"
            ),
            Self::NoIommu { address, elsewhere } => {
                let way = if *elsewhere {
                    "other functions of this machine are behind one: try another slot"
                } else {
                    "turn it on: VT-d or AMD-Vi in the firmware's set-up, and for Intel's also \
                     intel_iommu=on on the kernel's command line"
                };
                format!(
                    "{address} is behind no IOMMU, and a program may drive a function only behind one, \
                     because without it the function reaches all memory of the machine; {way}"
                )
            }
            Self::Unbound { address, driver, .. } => {
                let driver = driver.as_deref().unwrap_or("none");
                format!("{address} must be bound to the driver {VFIO_PCI}; its driver is {driver}")
            }
            Self::NotViable { group, others } => {
                let names: Vec<String> = others
                    .iter()
                    .map(|member| format!("{} ({})", member.name, member.driver.as_deref().unwrap_or("none")))
                    .collect();
                format!(
                    "IOMMU group {group} is not viable: none of its functions may have a driver of the \
                     kernel's, and these have one: {}; bind them to {VFIO_PCI} too, or use another slot",
                    names.join(", ")
                )
            }
            Self::NoNode { path } => format!(
                "{} does not exist, although the function is bound to {VFIO_PCI}; in a container, \
                 pass it in",
                path.display()
            ),
            Self::Closed { node: Node { path, owner, group, mode, .. }, user } => format!(
                "user {user} may not read and write {}: it belongs to user {owner}, group {group}, \
                 mode {mode:04o}; give it to the user, for good with a udev rule such as \
                 SUBSYSTEM==\"vfio\", GROUP=\"vfio\", MODE=\"0660\"",
                path.display()
            ),
            Self::Busy { path, holders } => {
                let names: Vec<String> = holders.iter().map(Holder::to_string).collect();
                let names = match names.is_empty() {
                    true => String::new(),
                    false => format!("; a function is open in {}", names.join(", ")),
                };
                format!(
                    "{} is open in another program, and one program has a group at a time{names}",
                    path.display()
                )
            }
            Self::Resetting { address } => format!(
                "{address} is being reset, or the bus above it, by somebody else: it opens when that is over"
            ),
            Self::NoInterruptRemapping { address } => format!(
                "the IOMMU of {address} does not remap interrupts, so the function could send any \
                 interrupt: turn it on in the firmware's set-up and take intremap=off off the kernel's \
                 command line, or, if you trust the function, load vfio_iommu_type1 with \
                 allow_unsafe_interrupts=1"
            ),
            Self::Memlock { memlock: Memlock { limit, locked }, bytes } => format!(
                "memory that a device reaches counts as locked: {bytes} bytes more than the {locked} that \
                 are locked now need an RLIMIT_MEMLOCK of {} bytes, and it is {}; raise it with `ulimit -l` (in KiB), \
                 in /etc/security/limits.conf (memlock), or with LimitMEMLOCK= of a service",
                locked.saturating_add(*bytes),
                limit.map_or("unlimited".into(), |limit| limit.to_string()),
            ),
            Self::Maps { limit } => format!(
                "all maps that the kernel grants one program are in use{}: register fewer and larger \
                 regions, or load vfio_iommu_type1 with a larger dma_entry_limit",
                limit.map_or(String::new(), |limit| format!(" (dma_entry_limit {limit})")),
            ),
        }
    }

    /// Commands that mend it, for a shell, in order. Empty where it takes something else, which the
    /// text says.
    pub fn mend(&self) -> Vec<String> {
        match self {
            Self::Unbound { address, driver, load } => {
                let mut commands = Vec::new();
                if *load {
                    commands.push(format!("sudo modprobe {VFIO_PCI}"));
                }
                commands.extend(bind(&address.to_string(), driver.is_some()));
                commands
            }
            Self::NotViable { others, .. } => {
                others.iter().flat_map(|member| bind(&member.name, true)).collect()
            }
            Self::NoNode { path } if path.ends_with("vfio/vfio") => {
                vec!["sudo modprobe vfio_iommu_type1".into()]
            }
            Self::Closed { node, .. } => vec![format!("sudo chown \"$USER\" {}", node.path.display())],
            // A program that viad has trusted has no file of the group, but one of the container.
            Self::Busy { path, .. } => {
                vec![format!("sudo fuser -v {} {}", path.display(), path.with_file_name("vfio").display())]
            }
            Self::Memlock { memlock, bytes } => {
                let kib = memlock.locked.saturating_add(*bytes).div_ceil(1024);
                vec![format!("sudo prlimit --pid $$ --memlock={}", kib * 1024)]
            }
            Self::NoFunction { .. }
            | Self::OtherFunction { .. }
            | Self::NoIommu { .. }
            | Self::NoNode { .. }
            | Self::Resetting { .. }
            | Self::NoInterruptRemapping { .. }
            | Self::Maps { .. } => Vec::new(),
        }
    }
}

/// The commands that hand a function to programs.
fn bind(address: &str, bound: bool) -> Vec<String> {
    let folder = format!("/sys/bus/pci/devices/{address}");
    let mut commands = vec![format!("echo {VFIO_PCI} | sudo tee {folder}/driver_override")];
    if bound {
        commands.push(format!("echo {address} | sudo tee {folder}/driver/unbind"));
    }
    commands.push(format!("echo {address} | sudo tee /sys/bus/pci/drivers_probe"));
    commands
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason())?;
        let commands = self.mend();
        if !commands.is_empty() {
            write!(f, "; to mend it: {}", commands.join(" && "))?;
        }
        Ok(())
    }
}
