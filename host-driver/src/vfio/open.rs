//! A function is opened, by its address or by descriptors that somebody else has opened.

use std::{
    io,
    ops::RangeInclusive,
    os::fd::{AsFd, OwnedFd},
    sync::{atomic::AtomicBool, Mutex},
};

use vfio_bindings::bindings::vfio;
use viaduct_spec::register::BAR0_BYTES;

use super::{
    cdev, group,
    info::{self, DeviceInfo, RegionInfo},
    ioctl::{self, Query},
    refusal,
    region::Region,
    space::Opened,
    Vfio, CONFIG_COMMAND, MEMORY_ENABLE, PAGE_BYTES,
};
use crate::{
    device::{sharing::OpenSpace, DeviceError},
    fork::Birth,
    pci::{Address, Function, Machine, Obstacle},
};

impl Vfio {
    /// Opens the function at a PCI address (`0000:01:00.0`).
    ///
    /// # Errors
    /// [`DeviceError::Obstacle`] with what keeps this user from it and how to mend that;
    /// [`DeviceError::Refused`] when the function has not the BARs of a NIC.
    #[tracing::instrument(level = "debug", skip_all, fields(pci_address = pci_address), err(level = "debug"))]
    pub fn open(pci_address: &str) -> Result<Self, DeviceError> {
        let machine = Machine::default();
        let request = || format!("open vfio:{pci_address}");
        let function = find(&machine, pci_address, &request)?;
        let opened = match enter(&machine, &function) {
            Ok(opened) => opened,
            Err(Failure::Obstacle(found)) => return Err(obstacle(&request, found)),
            Err(Failure::System(source)) => return Err(DeviceError::System { request: request(), source }),
        };
        Self::of(machine, function, opened)
    }

    /// The function at a PCI address, which somebody else has opened: a process with the right to do so, which has handed the descriptors
    /// on. `device` is the function's file, `space` what translates its DMA addresses. Nothing else may map addresses there.
    ///
    /// # Errors
    /// As [`Vfio::open`]; [`DeviceError::System`] names the call that a descriptor refuses.
    #[tracing::instrument(level = "debug", skip_all, fields(pci_address = pci_address), err(level = "debug"))]
    pub fn of_descriptors(pci_address: &str, device: OwnedFd, space: OpenSpace) -> Result<Self, DeviceError> {
        Self::of_descriptors_on(Machine::default(), pci_address, device, space)
    }

    fn of_descriptors_on(
        machine: Machine,
        pci_address: &str,
        device: OwnedFd,
        space: OpenSpace,
    ) -> Result<Self, DeviceError> {
        let function = find(&machine, pci_address, &|| format!("take vfio:{pci_address}"))?;
        let space = match space {
            OpenSpace::Container(container) => group::space(container),
            OpenSpace::Iommufd { iommufd, ioas } => cdev::space(iommufd, ioas),
        };
        Self::of(machine, function, Opened { device: device.into(), space })
    }

    fn of(machine: Machine, function: Function, opened: Opened) -> Result<Self, DeviceError> {
        let Opened { device, space } = opened;
        let name = function.name();
        let system =
            |request: &str, source| DeviceError::System { request: format!("{request} of {name}"), source };
        let ask = |request: &str, query| {
            ioctl::query(device.as_fd(), query).map_err(|source| system(request, source))
        };
        let told = |request: &str, reason: String| system(request, io::Error::other(reason));

        let info = ask("device information", Query::Device)?;
        let info = DeviceInfo::parse(&info).map_err(|reason| told("device information", reason))?;
        if !info.pci {
            return Err(refusal(format!("{name} as a PCI function"), "the kernel says it is none".into()));
        }
        let region = |index: u32, least: u64, map: bool| -> Result<Region, DeviceError> {
            let what = format!("region {index}");
            let info = RegionInfo::parse(&ask(&what, Query::Region(index))?);
            let info = info.map_err(|reason| told(&what, reason))?;
            if !info.accessible || info.size < least {
                let reason = format!("{least} bytes to read and write are needed; it has {}", info.size);
                return Err(refusal(format!("{what} of {name}"), reason));
            }
            Region::new(&device, &info, map).map_err(|source| system(&what, source))
        };
        let registers = region(vfio::VFIO_PCI_BAR0_REGION_INDEX, BAR0_BYTES, true)?;
        let doorbells = region(vfio::VFIO_PCI_BAR2_REGION_INDEX, PAGE_BYTES, true)?;
        let config = region(vfio::VFIO_PCI_CONFIG_REGION_INDEX, 256, false)?;
        let vectors = ask("MSI-X information", Query::Interrupts(vfio::VFIO_PCI_MSIX_IRQ_INDEX))?;
        let vectors = info::vectors(&vectors).map_err(|reason| told("MSI-X information", reason))?;
        let iommu = space.info().map_err(|source| system("the IOMMU", source))?;
        if let Some(least) = iommu.least_page.filter(|least| *least > PAGE_BYTES) {
            let reason = format!("its IOMMU maps pages of {least} bytes at least");
            return Err(refusal(format!("{name} with maps in pages of {PAGE_BYTES} bytes"), reason));
        }
        let command = config.read::<u32>(&device, CONFIG_COMMAND);
        let command = command.map_err(|source| system("configuration space", source))?;
        Ok(Self {
            born: Birth::now(),
            machine,
            function,
            maps: Mutex::default(),
            interrupts: Mutex::new(false),
            vectors,
            resets: info.resets,
            ranges: iommu.ranges.unwrap_or_else(narrow_ranges),
            answers: AtomicBool::new(command & MEMORY_ENABLE != 0),
            registers,
            doorbells,
            config,
            device,
            space,
            name,
        })
    }
}

/// The function at an address, as the system shows it.
fn find(machine: &Machine, pci_address: &str, request: &dyn Fn() -> String) -> Result<Function, DeviceError> {
    let system = |source| DeviceError::System { request: request(), source };
    let address: Address =
        pci_address.parse().map_err(|error| system(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
    let function = machine.function(address).map_err(system)?;
    function.ok_or_else(|| obstacle(request, Obstacle::NoFunction { address }))
}

fn obstacle(request: &dyn Fn() -> String, obstacle: Obstacle) -> DeviceError {
    DeviceError::Obstacle { request: request(), obstacle: Box::new(obstacle) }
}

/// Why a function did not open.
enum Failure {
    Obstacle(Obstacle),
    System(io::Error),
}

/// Opens a function one way or the other. The kernel decides; what sysfs shows explains its answer.
fn enter(machine: &Machine, function: &Function) -> Result<Opened, Failure> {
    let obstacles = function.obstacles(machine);
    // Behind these is no device node, or not the right one.
    let sure = |obstacle: &&Obstacle| {
        matches!(
            obstacle,
            Obstacle::OtherFunction { .. } | Obstacle::NoIommu { .. } | Obstacle::Unbound { .. }
        )
    };
    if let Some(obstacle) = obstacles.iter().find(sure) {
        return Err(Failure::Obstacle(obstacle.clone()));
    }
    let explained = |error| explain(error, function.address, obstacles.first());
    if let (false, true, Some(device), Some(iommu)) =
        (function.group_opens(), function.device_opens(), &function.device_node, &function.iommu_node)
    {
        return cdev::open(&device.path, &iommu.path).map_err(explained);
    }
    group::open(&machine.folder(function.address)).map_err(|failure| match failure {
        group::Failure::Busy => match &function.group_node {
            Some(node) => {
                let holders = machine.holders(&node.path);
                Failure::Obstacle(Obstacle::Busy { path: node.path.clone(), holders })
            }
            None => explained(io::Error::from_raw_os_error(libc::EBUSY)),
        },
        group::Failure::NoInterruptRemapping => {
            Failure::Obstacle(Obstacle::NoInterruptRemapping { address: function.address })
        }
        group::Failure::System(error) => explained(error),
    })
}

/// Why the kernel has answered so, where this stands in the way.
fn explain(error: io::Error, address: Address, obstacle: Option<&Obstacle>) -> Failure {
    // EAGAIN: vfio-pci resets a function that it opens, and somebody else resets it just now (vfio_pci_core_enable in the kernel).
    if error.kind() == io::ErrorKind::WouldBlock {
        return Failure::Obstacle(Obstacle::Resetting { address });
    }
    obstacle.cloned().map_or(Failure::System(error), Failure::Obstacle)
}

/// What an IOMMU that does not say its width is taken for: 39 bits is the least that Intel's have, and
/// on x86 the megabyte of the interrupts is never translated.
fn narrow_ranges() -> Vec<RangeInclusive<u64>> {
    vec![0x1000..=0xfedf_ffff, 0xfef0_0000..=(1 << 39) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_being_reset_is_told_from_what_stands_in_the_way() {
        let address: Address = "0000:01:00.0".parse().expect("an address");
        let other = Obstacle::Maps { limit: None };
        let explain = |errno, obstacle| explain(io::Error::from_raw_os_error(errno), address, obstacle);
        for obstacle in [None, Some(&other)] {
            let Failure::Obstacle(found) = explain(libc::EAGAIN, obstacle) else { panic!("an obstacle") };
            assert_eq!(found, Obstacle::Resetting { address });
        }
        assert!(matches!(explain(libc::EACCES, Some(&other)), Failure::Obstacle(Obstacle::Maps { .. })));
        assert!(matches!(explain(libc::EACCES, None), Failure::System(_)));
    }

    /// Nothing but the address of a function is asked of this machine.
    #[test]
    fn descriptors_that_are_not_vfio_s_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = |name: &str| folder.path().join(name);
        let machine = || Machine { sys: root("sys"), dev: root("dev"), proc: root("proc") };
        let function = root("sys/bus/pci/devices/0000:01:00.0");
        std::fs::create_dir_all(&function).expect("room");
        std::fs::write(function.join("vendor"), "0x1234\n").expect("room");
        std::fs::write(function.join("device"), "0x5649\n").expect("room");
        let file = || OwnedFd::from(tempfile::tempfile().expect("a file"));
        let spaces = || [OpenSpace::Container(file()), OpenSpace::Iommufd { iommufd: file(), ioas: 1 }];
        for space in spaces() {
            let taken = Vfio::of_descriptors_on(machine(), "0000:01:00.0", file(), space);
            let error = taken.map(drop).expect_err("a file is no function").to_string();
            assert!(error.starts_with("device information of vfio:0000:01:00.0: "), "{error}");
        }
        for (address, rule) in [("0000:02:00.0", "0000:02:00.0"), ("x", "take vfio:x")] {
            let [space, _] = spaces();
            let taken = Vfio::of_descriptors_on(machine(), address, file(), space);
            let error = taken.map(drop).expect_err("no such function").to_string();
            assert!(error.contains(rule), "{error}");
        }
    }
}
