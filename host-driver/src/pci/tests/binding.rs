//! A function goes to vfio-pci and back, in the folder.

use super::*;

/// A folder is no kernel: it takes what is written, and nobody binds anything.
#[test]
fn binding_writes_what_the_kernel_asks_for_and_believes_only_what_it_shows() {
    let bench = Bench::new();
    bench.drive(NIC, "e1000e");
    let address = NIC.parse().expect("an address");
    let mut changes = Vec::new();
    let refused = bench.machine.bind(address, None, &mut |change| changes.push(change));
    let error = refused.expect_err("the folder binds nothing").to_string();
    contains(&error, &[NIC, "given to vfio-pci", "its driver is e1000e", "log"]);
    assert_eq!(
        changes.iter().map(Change::to_string).collect::<Vec<_>>(),
        [format!("{NIC}: driver_override is vfio-pci"), format!("{NIC}: unbound from e1000e")]
    );
    let written = |path: &str| fs::read_to_string(bench.sys(path)).expect("written");
    assert_eq!(written(&format!("bus/pci/devices/{NIC}/driver_override")), "vfio-pci");
    assert_eq!(written("bus/pci/drivers/e1000e/unbind"), NIC);
    assert_eq!(written("bus/pci/drivers_probe"), NIC);
}

#[test]
fn a_function_that_is_bound_already_is_left_alone_and_its_node_given_to_the_group() {
    let bench = Bench::new();
    let address = NIC.parse().expect("an address");
    let own = rustix::process::getegid().as_raw();
    let mut changes = Vec::new();
    bench.machine.bind(address, Some(own), &mut |change| changes.push(change)).expect("it is bound");
    let path = bench.machine.dev.join("vfio/7");
    let expected = [
        Change::Bound { address, driver: "vfio-pci".into() },
        Change::Node { path: path.clone(), group: own },
    ];
    assert_eq!(changes, expected);
    assert!(!bench.sys("bus/pci/drivers_probe").exists());
    assert_eq!(Node::read(&path).expect("it is there").mode, 0o660);
}

#[test]
fn unbinding_leaves_the_function_to_any_driver() {
    let bench = Bench::new();
    let address = NIC.parse().expect("an address");
    let mut changes = Vec::new();
    bench.machine.unbind(address, &mut |change| changes.push(change)).expect("writable");
    assert_eq!(changes[0], Change::Override { address, driver: None });
    assert_eq!(changes[1], Change::Unbound { address, driver: "vfio-pci".into() });
    let written = |path: &str| fs::read_to_string(bench.sys(path)).expect("written");
    assert_eq!(written(&format!("bus/pci/devices/{NIC}/driver_override")), "\n");
    assert_eq!(written("bus/pci/drivers/vfio-pci/unbind"), NIC);
}

#[test]
fn only_a_nic_behind_an_iommu_is_bound() {
    let bench = Bench::new();
    let bind = |address: &str| {
        let address = address.parse().expect("an address");
        bench.machine.bind(address, None, &mut |change| panic!("{change}")).expect_err("refused").to_string()
    };
    contains(&bind("0000:09:00.0"), &["no PCI function at 0000:09:00.0"]);
    contains(&bind(ROOT_PORT), &[ROOT_PORT, "no Viaduct NIC"]);
    bench.remove(&format!("sys/bus/pci/devices/{NIC}/iommu_group"));
    contains(&bind(NIC), &["behind no IOMMU"]);
}
