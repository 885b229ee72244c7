//! The machine that the guest sees, as QEMU's command line.
//!
//! ```text
//!   q35 --+-- intel-iommu (interrupt remapping, caching mode)
//!         +-- root port 0 -- vfio-user-pci -- nic0.sock     01:00.0
//!         +-- root port 1 -- vfio-user-pci -- nic1.sock     02:00.0
//!         +-- serial 0: the kernel's log -> a file     serial 1: what the jobs say -> standard output
//!         +-- serial 2, if there is one: a socket, for a job
//!         +-- monitor, if there is one: a socket
//! ```

use crate::command::Cmd;
use crate::guest::Cache;
use serde_json::json;
use std::path::{Path, PathBuf};

/// How long QEMU waits for the simulator's answer, in milliseconds: it is RTL that answers. After a
/// time-out the device would be dead, and QEMU with it at the next reset.
const ANSWER_MS: u32 = 60_000;
/// The guest's memory.
const MEMORY: &str = "512M";
/// Where QEMU looks for firmware.
const FIRMWARE: [&str; 3] = ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"];
/// panic: a kernel that panics ends QEMU (with -no-reboot). quiet: errors are logged all the same,
/// DMA faults among them. no_timer_check: on a busy machine the kernel counts too few interrupts of its timer, and would panic.
const KERNEL: &str = "console=ttyS0 quiet panic=-1 intel_iommu=on random.trust_cpu=on no_timer_check";

/// What a guest is started with.
pub struct Machine<'a> {
    /// Archive of the guest's files.
    pub initramfs: &'a Path,
    /// File for the kernel's log.
    pub log: &'a Path,
    /// Sockets of the NICs.
    pub nics: &'a [PathBuf],
    /// Socket of a third serial line, to which somebody connects before the guest starts.
    pub line: Option<&'a Path>,
    /// Socket of QEMU's monitor.
    pub monitor: Option<&'a Path>,
    /// The environment of init, `name=value` each.
    pub environment: &'a [String],
}

/// The name of a NIC's root port.
pub fn port(nic: usize) -> String {
    format!("port{nic}")
}

impl Machine<'_> {
    /// The command line.
    pub fn command(&self, cache: &Cache) -> Cmd {
        let root = cache.root();
        let mut qemu = root.program("qemu-system-x86_64");
        for folder in FIRMWARE {
            qemu = qemu.arg("-L").arg(root.file(folder));
        }
        qemu = qemu
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            // Debian's kernel under KVM would do as well; this works on every machine.
            .args(["-accel", "tcg", "-cpu", "max", "-machine", "q35,memory-backend=ram", "-m", MEMORY])
            // Shared, or QEMU would have no file to hand to the simulator for the DMA.
            .args(["-object", &format!("memory-backend-memfd,id=ram,size={MEMORY},share=on")])
            // VFIO wants interrupts remapped. In caching mode the guest tells of each new mapping, and
            // QEMU can pass it on: it refuses to go on without.
            .args(["-device", "intel-iommu,intremap=on,caching-mode=on"])
            .args(["-serial", &format!("file:{}", self.log.display())])
            .args(["-serial", "stdio"]);
        if let Some(line) = self.line {
            qemu = qemu.args(["-serial", &format!("unix:{},server=on,wait=on", line.display())]);
        }
        if let Some(monitor) = self.monitor {
            qemu = qemu.args(["-qmp", &format!("unix:{},server=on,wait=off", monitor.display())]);
        }
        for (nic, socket) in self.nics.iter().enumerate() {
            let device = json!({
                "driver": "vfio-user-pci",
                "bus": port(nic),
                "x-msg-timeout": ANSWER_MS,
                "socket": { "type": "unix", "path": socket },
            });
            let port = format!("pcie-root-port,id={},chassis={}", port(nic), nic + 1);
            qemu = qemu.args(["-device", &port, "-device", &device.to_string()]);
        }
        // Words that the kernel does not know become init's environment.
        let line = [&[KERNEL.to_string()], self.environment].concat().join(" ");
        let kernel = qemu.arg("-kernel").arg(cache.vmlinux()).arg("-initrd").arg(self.initramfs);
        kernel.args(["-append", &line])
    }
}
