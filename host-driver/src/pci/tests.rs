//! A machine laid out in a temporary folder: one NIC that is ready, then each obstacle alone.

use std::{
    fs,
    os::unix::fs::{symlink, PermissionsExt},
};

use tempfile::TempDir;

use super::*;

mod binding;

const NIC: &str = "0000:01:00.0";
const ROOT_PORT: &str = "0000:00:1c.0";

/// A machine on which everything is right: two functions in group 7, the NIC and its root port.
struct Bench {
    folder: TempDir,
    machine: Machine,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Looked at by another user, below.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let root = |name| folder.path().join(name);
        let machine = Machine { sys: root("sys"), dev: root("dev"), proc: root("proc") };
        let bench = Self { folder, machine };
        for driver in ["vfio-pci", "pcieport", "e1000e"] {
            fs::create_dir_all(bench.sys("bus/pci/drivers").join(driver)).expect("room");
        }
        bench.function(NIC, 0x1234, 0x5649, Some("vfio-pci"));
        bench.function(ROOT_PORT, 0x8086, 0xa110, Some("pcieport"));
        bench.function("0000:00:00.0", 0x8086, 0x0001, None);
        bench.group(7, &[NIC, ROOT_PORT]);
        bench.write("sys/kernel/iommu_groups/7/type", "DMA-FQ\n");
        bench.write("dev/vfio/7", "");
        bench.write("dev/vfio/vfio", "");
        // As the kernel makes them: the container's node is everybody's.
        bench.open_to(0o600, "vfio/7");
        bench.open_to(0o666, "vfio/vfio");
        bench.write("proc/cmdline", "quiet intel_iommu=on\n");
        bench.write(&format!("sys/bus/pci/devices/{NIC}/iommu/intel-iommu/ecap"), "f0105e\n");
        bench
    }

    fn sys(&self, path: &str) -> PathBuf {
        self.machine.sys.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("inside")).expect("room");
        fs::write(path, text).expect("room");
    }

    fn remove(&self, path: &str) {
        let path = self.folder.path().join(path);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    fn open_to(&self, mode: u32, node: &str) {
        let node = self.machine.dev.join(node);
        fs::set_permissions(node, fs::Permissions::from_mode(mode)).expect("ours");
    }

    fn function(&self, address: &str, vendor: u16, device: u16, driver: Option<&str>) {
        let folder = format!("sys/bus/pci/devices/{address}");
        self.write(&format!("{folder}/vendor"), &format!("{vendor:#06x}\n"));
        self.write(&format!("{folder}/device"), &format!("{device:#06x}\n"));
        if let Some(driver) = driver {
            self.drive(address, driver);
        }
    }

    fn drive(&self, address: &str, driver: &str) {
        let link = self.sys("bus/pci/devices").join(address).join("driver");
        if link.is_symlink() {
            fs::remove_file(&link).expect("a link");
        }
        symlink(self.sys("bus/pci/drivers").join(driver), link).expect("room");
    }

    fn group(&self, number: u32, addresses: &[&str]) {
        let group = self.sys("kernel/iommu_groups").join(number.to_string());
        fs::create_dir_all(group.join("devices")).expect("room");
        for address in addresses {
            let function = self.sys("bus/pci/devices").join(address);
            symlink(&group, function.join("iommu_group")).expect("room");
            symlink(&function, group.join("devices").join(address)).expect("room");
        }
    }

    fn nic(&self) -> Function {
        let found = self.machine.functions().expect("readable");
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().expect("one")
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        self.nic().obstacles(&self.machine)
    }

    /// The one obstacle: its reason, and how it is mended.
    fn obstacle(&self) -> (String, Vec<String>) {
        match &self.obstacles()[..] {
            [one] => (one.reason(), one.mend()),
            other => panic!("{other:?}"),
        }
    }
}

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn a_machine_that_is_ready_has_no_obstacle() {
    let bench = Bench::new();
    let nic = bench.nic();
    assert_eq!(nic.obstacles(&bench.machine), []);
    assert_eq!(nic.name(), format!("vfio:{NIC}"));
    assert_eq!((nic.vendor, nic.device, nic.driver.as_deref()), (0x1234, 0x5649, Some("vfio-pci")));
    assert_eq!(nic.interrupt_remapping, Remapping::Yes);
    let port = Member { name: ROOT_PORT.into(), driver: Some("pcieport".into()) };
    let group = Group { number: 7, kind: Some("DMA-FQ".into()), without_iommu: false, others: vec![port] };
    assert_eq!(nic.group, Some(group));
    assert!(nic.group_opens() && !nic.device_opens());
}

#[test]
fn a_machine_without_pci_has_no_functions() {
    let bench = Bench::new();
    bench.remove("sys");
    assert_eq!(bench.machine.functions().expect("nothing there"), []);
    contains(&bench.machine.looked_for(), &["1234:5649", "bus/pci/devices"]);
    let address = NIC.parse().expect("an address");
    assert_eq!(bench.machine.function(address).expect("nothing there"), None);
}

#[test]
fn what_sysfs_garbles_is_an_error() {
    let bench = Bench::new();
    bench.write(&format!("sys/bus/pci/devices/{NIC}/vendor"), "zero\n");
    contains(&bench.machine.functions().expect_err("no number").to_string(), &[NIC, "vendor", "zero"]);
}

#[test]
fn another_function_is_refused_by_its_identifiers() {
    let bench = Bench::new();
    let port = bench.machine.function(ROOT_PORT.parse().expect("an address")).expect("readable");
    let obstacles = port.expect("it is there").obstacles(&bench.machine);
    let [obstacle] = &obstacles[..] else { panic!("{obstacles:?}") };
    contains(&obstacle.to_string(), &[ROOT_PORT, "8086:a110", "1234:5649"]);
}

#[test]
fn without_an_iommu_it_is_refused() {
    let bench = Bench::new();
    bench.remove(&format!("sys/bus/pci/devices/{NIC}/iommu_group"));
    contains(&bench.obstacle().0, &[NIC, "behind no IOMMU", "try another slot"]);
    bench.remove("sys/kernel/iommu_groups/7");
    contains(&bench.obstacle().0, &["all memory of the machine", "intel_iommu=on"]);
}

#[test]
fn the_group_of_a_kernel_in_no_iommu_mode_counts_as_none() {
    let bench = Bench::new();
    bench.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
    contains(&bench.obstacle().0, &["behind no IOMMU"]);
}

#[test]
fn an_unbound_function_is_told_how_to_be_bound() {
    let bench = Bench::new();
    bench.remove(&format!("sys/bus/pci/devices/{NIC}/driver"));
    bench.remove("dev/vfio/7");
    let (reason, mend) = bench.obstacle();
    contains(&reason, &[NIC, "vfio-pci", "its driver is none"]);
    let commands = [
        format!("echo vfio-pci | sudo tee /sys/bus/pci/devices/{NIC}/driver_override"),
        format!("echo {NIC} | sudo tee /sys/bus/pci/drivers_probe"),
    ];
    assert_eq!(mend, commands);
    bench.drive(NIC, "e1000e");
    bench.remove("sys/bus/pci/drivers/vfio-pci");
    let (reason, mend) = bench.obstacle();
    contains(&reason, &["its driver is e1000e"]);
    assert_eq!(mend[0], "sudo modprobe vfio-pci");
    assert_eq!(mend[2], format!("echo {NIC} | sudo tee /sys/bus/pci/devices/{NIC}/driver/unbind"));
    assert_eq!([mend[1].clone(), mend[3].clone()], commands);
}

#[test]
fn a_group_with_other_drivers_is_not_viable() {
    let bench = Bench::new();
    let others =
        [("0000:01:00.1", Some("e1000e")), ("0000:01:00.2", Some("mlx5_vfio_pci")), ("0000:01:00.3", None)];
    for (address, driver) in others {
        bench.function(address, 0x8086, 1, driver);
    }
    bench.group(7, &others.map(|(address, _)| address));
    let (reason, mend) = bench.obstacle();
    contains(&reason, &["group 7 is not viable", "0000:01:00.1 (e1000e);", "another slot"]);
    assert_eq!(mend[0], "echo vfio-pci | sudo tee /sys/bus/pci/devices/0000:01:00.1/driver_override");
    assert_eq!(mend.len(), 3);
}

#[test]
fn missing_nodes_are_named() {
    let bench = Bench::new();
    bench.remove("dev/vfio/7");
    contains(&bench.obstacle().0, &["vfio/7 does not exist", "container"]);
    bench.write("dev/vfio/7", "");
    bench.remove("dev/vfio/vfio");
    let (reason, mend) = bench.obstacle();
    contains(&reason, &["vfio/vfio does not exist"]);
    assert_eq!(mend, ["sudo modprobe vfio_iommu_type1"]);
}

#[test]
fn a_node_of_its_own_and_iommufd_are_a_way_in_too() {
    let bench = Bench::new();
    bench.remove("dev/vfio/7");
    bench.write(&format!("sys/bus/pci/devices/{NIC}/vfio-dev/vfio3/dev"), "511:3\n");
    bench.write("dev/vfio/devices/vfio3", "");
    contains(&bench.obstacle().0, &["dev/iommu does not exist"]);
    bench.write("dev/iommu", "");
    let nic = bench.nic();
    assert_eq!(nic.obstacles(&bench.machine), []);
    assert!(nic.device_opens() && !nic.group_opens());
    bench.write("dev/vfio/7", "");
    assert!(bench.nic().group_opens());
}

#[test]
fn a_node_that_is_closed_is_told_with_owner_and_mode() {
    let bench = Bench::new();
    let node = bench.machine.dev.join("vfio/7");
    bench.open_to(0o000, "vfio/7");
    let (reason, mend) = unprivileged(|| bench.obstacle());
    contains(&reason, &["vfio/7", "mode 0000", "belongs to user", "SUBSYSTEM==\"vfio\""]);
    assert_eq!(mend, [format!("sudo chown \"$USER\" {}", node.display())]);
    bench.open_to(0o666, "vfio/7");
    assert_eq!(unprivileged(|| bench.obstacles()), []);
}

/// Runs `look` as a user to whom permission bits apply: root becomes nobody, for one thread.
fn unprivileged<T: Send>(look: impl FnOnce() -> T + Send) -> T {
    use rustix::{
        process::{getuid, Uid},
        thread::set_thread_res_uid,
    };
    if !getuid().is_root() {
        return look();
    }
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let nobody = Uid::from_raw(65534);
            set_thread_res_uid(nobody, nobody, nobody).expect("root may");
            look()
        });
        thread.join().expect("it looked")
    })
}

#[test]
fn interrupts_that_nobody_checks_need_a_decision() {
    let bench = Bench::new();
    bench.write(&format!("sys/bus/pci/devices/{NIC}/iommu/intel-iommu/ecap"), "f01056\n");
    assert_eq!(bench.nic().interrupt_remapping, Remapping::No);
    contains(&bench.obstacle().0, &[NIC, "does not remap interrupts", "allow_unsafe_interrupts=1"]);
    bench.write("sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "N\n");
    bench.obstacle();
    bench.write("sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "Y\n");
    assert_eq!(bench.obstacles(), []);
    // Another maker's IOMMU does not say.
    bench.remove(&format!("sys/bus/pci/devices/{NIC}/iommu/intel-iommu"));
    assert_eq!(bench.nic().interrupt_remapping, Remapping::Unknown);
    bench.write("proc/cmdline", "quiet intremap=off\n");
    assert_eq!(bench.nic().interrupt_remapping, Remapping::No);
}

#[test]
fn every_obstacle_is_told_in_the_order_in_which_it_is_mended() {
    let bench = Bench::new();
    bench.drive(NIC, "e1000e");
    bench.drive(ROOT_PORT, "e1000e");
    bench.write("proc/cmdline", "intremap=off");
    let obstacles = bench.obstacles();
    let [Obstacle::Unbound { .. }, Obstacle::NotViable { .. }, Obstacle::NoInterruptRemapping { .. }] =
        &obstacles[..]
    else {
        panic!("{obstacles:?}")
    };
}

#[test]
fn what_the_kernel_alone_knows_is_told_in_the_same_way() {
    let memlock = Memlock { limit: Some(65536), locked: 4096 };
    let text = Obstacle::Memlock { memlock, bytes: 1 << 20 }.to_string();
    contains(&text, &["1048576 bytes", "4096", "1052672 bytes", "it is 65536", "ulimit -l", "LimitMEMLOCK="]);
    contains(&text, &["sudo prlimit --pid $$ --memlock=1052672"]);
    let bench = Bench::new();
    assert_eq!(bench.machine.dma_entry_limit(), None);
    bench.write("sys/module/vfio_iommu_type1/parameters/dma_entry_limit", "65535\n");
    let limit = bench.machine.dma_entry_limit();
    contains(&Obstacle::Maps { limit }.to_string(), &["dma_entry_limit 65535"]);
    contains(
        &Obstacle::Busy { path: "/dev/vfio/7".into(), holders: Vec::new() }.to_string(),
        &["/dev/vfio/7 is open", "fuser -v /dev/vfio/7 /dev/vfio/vfio"],
    );
    let holders = vec![Holder { pid: 12, name: "pingpong".into() }];
    contains(
        &Obstacle::Busy { path: "/dev/vfio/7".into(), holders }.to_string(),
        &["/dev/vfio/7 is open", "open in process 12 (pingpong)"],
    );
    let address = NIC.parse().expect("an address");
    contains(&Obstacle::NoFunction { address }.to_string(), &[NIC, "viaduct devices"]);
    contains(&Obstacle::Resetting { address }.to_string(), &[NIC, "is being reset", "when that is over"]);
}

#[test]
fn who_has_a_function_open_is_named() {
    let bench = Bench::new();
    let process = |pid: &str, name: &str, file: &str| {
        bench.write(&format!("proc/{pid}/comm"), &format!("{name}\n"));
        let folder = bench.machine.proc.join(pid).join("fd");
        fs::create_dir_all(&folder).expect("room");
        symlink("/dev/null", folder.join("0")).expect("room");
        symlink(file, folder.join("5")).expect("room");
    };
    process("13", "a\u{1b}[2J", "anon_inode:[vfio-device]");
    process("12", "pingpong", "/dev/vfio/7");
    process("14", "other", "/dev/vfio/8");
    process("15", "none", "anon_inode:[eventfd]");
    process(&std::process::id().to_string(), "this one", "/dev/vfio/7");
    process("self", "no number", "/dev/vfio/7");
    let holders = bench.machine.holders(std::path::Path::new("/dev/vfio/7"));
    let names: Vec<String> = holders.iter().map(Holder::to_string).collect();
    assert_eq!(names, ["process 12 (pingpong)", "process 13 (a\\u{1b}[2J)"]);
}

/// What `cargo xtask install` puts beside the documentation, for administrators to copy.
#[test]
fn the_examples_for_udev_and_modprobe_name_our_nic() {
    let rules = include_str!("../../system/70-viaduct.rules");
    let ids = format!("ATTR{{vendor}}==\"{PCI_VENDOR:#06x}\", ATTR{{device}}==\"{PCI_DEVICE:#06x}\"");
    assert!(rules.contains(&ids), "{ids} is not in {rules}");
    assert!(rules.contains(&format!("ATTR{{driver_override}}=\"{}\"", super::function::VFIO_PCI)), "{rules}");
    let options = include_str!("../../system/viaduct-modprobe.conf");
    let ids = format!("\noptions vfio-pci ids={PCI_VENDOR:04x}:{PCI_DEVICE:04x}\n");
    assert!(options.contains(&ids), "{ids} is not in {options}");
}

#[test]
fn link_and_power_are_as_sysfs_shows_them() {
    let bench = Bench::new();
    assert_eq!((bench.nic().power, bench.nic().link), (None, None));
    let folder = format!("sys/bus/pci/devices/{NIC}");
    for (name, value) in [
        ("power_state", "D0"),
        ("current_link_speed", "2.5 GT/s PCIe"),
        ("current_link_width", "1"),
        ("max_link_speed", "2.5 GT/s PCIe"),
        ("max_link_width", "1"),
    ] {
        bench.write(&format!("{folder}/{name}"), &format!("{value}\n"));
    }
    assert_eq!(bench.nic().power.as_deref(), Some("D0"));
    assert!(bench.nic().link.expect("all there").is_full());
    bench.write(&format!("{folder}/current_link_speed"), "Unknown\n");
    assert!(!bench.nic().link.expect("all there").is_full());
}
