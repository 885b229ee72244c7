//! The machine that the guest sees, as QEMU's command line.
//!
//! ```text
//!   q35 --+-- virtio-net -- SOCKETS/port0.sock, a port of the simulator's switch     eth0
//!         +-- virtio-net -- user: TCP to 10.0.2.100 ends in SOCKETS/numbers.sock              eth1
//!         +-- virtio-serial -- SOCKETS/console.sock: commands to the guest's shell
//!         +-- monitor: SOCKETS/monitor.sock, which pulls the cable of eth0 and stops the guest
//!         +-- serial 0: the kernel's log -> a file
//! ```

use crate::command::Cmd;
use crate::guest::Cache;
use anyhow::{Context, Result};
use serde_json::json;
use std::path::Path;

/// The guest's memory: its file system is in it, too.
const MEMORY: &str = "512M";
/// Where QEMU looks for firmware.
const FIRMWARE: [&str; 3] = ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"];
/// panic: a kernel that panics ends QEMU (with -no-reboot). no_timer_check: on a loaded machine the kernel's own check of its timer fails.
const KERNEL: &str =
    "console=ttyS0 quiet panic=-1 random.trust_cpu=on mitigations=off net.ifnames=0 no_timer_check";
/// What programs in the guest connect to by TCP, to tell their numbers: the port of ibv_rc_pingpong.
const ANSWERER: &str = "10.0.2.100:18515";
/// The Ethernet address of the guest's network card.
const MAC: &str = "52:54:00:00:00:01";

/// What a guest is started with.
pub struct Machine<'a> {
    /// Archive of the guest's files.
    pub initramfs: &'a Path,
    /// File for the kernel's log.
    pub log: &'a Path,
    /// Folder of the sockets.
    pub sockets: &'a Path,
}

impl Machine<'_> {
    /// The command line, a JSON array of words.
    pub fn command(&self, cache: &Cache) -> Result<String> {
        let root = cache.root();
        let mut qemu = root.program("qemu-system-x86_64");
        for folder in FIRMWARE {
            qemu = qemu.arg("-L").arg(root.file(folder));
        }
        let [wire, console, numbers, monitor] =
            ["port0.sock", "console.sock", "numbers.sock", "monitor.sock"]
                .map(|name| self.sockets.join(name));
        let server =
            |id: &str, socket: &Path| format!("socket,id={id},path={},server=on,wait=off", socket.display());
        let qemu = qemu
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            .args(["-accel", "tcg", "-cpu", "max", "-machine", "q35", "-m", MEMORY])
            .args(["-serial", &format!("file:{}", self.log.display())])
            .args(["-device", "virtio-rng-pci"])
            .args([
                "-netdev",
                &format!("stream,id=wire,server=off,addr.type=unix,addr.path={}", wire.display()),
            ])
            .args(["-device", &format!("virtio-net-pci,netdev=wire,mac={MAC},romfile=")])
            .args(["-chardev", &server("numbers", &numbers)])
            .args(["-netdev", &format!("user,id=talk,restrict=on,guestfwd=tcp:{ANSWERER}-chardev:numbers")])
            .args(["-device", "virtio-net-pci,netdev=talk,romfile="])
            .args(["-chardev", &server("console", &console)])
            .args(["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=console,name=console"])
            .args(["-monitor", &format!("unix:{},server=on,wait=off", monitor.display())])
            .arg("-kernel")
            .arg(cache.vmlinux())
            .arg("-initrd")
            .arg(self.initramfs)
            .args(["-append", KERNEL]);
        words(&qemu.tethered())
    }
}

fn words(cmd: &Cmd) -> Result<String> {
    let command = cmd.clone().command();
    let words: Option<Vec<&str>> =
        [command.get_program()].into_iter().chain(command.get_args()).map(|word| word.to_str()).collect();
    Ok(json!(words.context("a path is not in UTF-8")?).to_string())
}
