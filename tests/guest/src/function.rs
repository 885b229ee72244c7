//! A NIC's function as the system has it, and what somebody else may do to it: through sysfs, or with a file of its device.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::PathBuf,
    process::Command,
    sync::mpsc::{self, Receiver},
    thread,
};

use anyhow::{bail, ensure, Context, Result};
use rustix::{
    ioctl::{ioctl, opcode, NoArg, Setter},
    process::{pidfd_getfd, pidfd_open, Pid, PidfdFlags, PidfdGetfdFlags},
};
use vfio_bindings::bindings::vfio;

use crate::{
    bench::LIMIT,
    setting::{Place, Setting},
};

/// VFIO_DEVICE_SET_IRQS.
const SET_IRQS: u32 = opcode::none(vfio::VFIO_TYPE, (vfio::VFIO_BASE + 10) as u8);
/// VFIO_DEVICE_RESET.
const RESET: u32 = opcode::none(vfio::VFIO_TYPE, (vfio::VFIO_BASE + 11) as u8);
/// Configuration space: the command register.
const COMMAND: u64 = 4;
/// Command register: the function may send memory requests.
const BUS_MASTER: u16 = 1 << 2;

/// What /proc calls a function's device: the links of its files, and the mappings of its BARs.
pub const DEVICE: &str = "anon_inode:[vfio-device]";

/// A function of this machine, by its folder in sysfs.
#[derive(Debug, Clone)]
pub struct Function(PathBuf);

/// The kernel waits until nobody has a function open any more.
struct LettingGo {
    function: Function,
    written: Receiver<io::Result<()>>,
}

/// Then its driver lets go of it.
pub struct Unbinding(LettingGo);

/// Then it is taken out of the system.
pub struct Removal(LettingGo);

impl Function {
    /// A NIC's.
    pub fn of(setting: &Setting, nic: usize) -> Result<Self> {
        match &setting.places()?[nic] {
            Place::Vfio(address) => Ok(Self(PathBuf::from("/sys/bus/pci/devices").join(address))),
            Place::VfioUser(_) => bail!("a function of this machine"),
        }
    }

    fn address(&self) -> Result<&OsStr> {
        self.0.file_name().context("an address")
    }

    /// Resets it, by the function-level reset of PCI Express.
    pub fn reset(&self) -> Result<()> {
        // The kernel takes the first of the methods that it has found.
        let methods = fs::read_to_string(self.0.join("reset_method")).context("its methods of reset")?;
        ensure!(methods.split_whitespace().next() == Some("flr"), "the kernel resets it by {methods:?}");
        fs::write(self.0.join("reset"), "1").context("its reset")
    }

    /// Takes its Bus Master Enable away.
    pub fn stop(&self) -> Result<()> {
        let config = OpenOptions::new().read(true).write(true).open(self.0.join("config"))?;
        let mut command = [0; 2];
        config.read_exact_at(&mut command, COMMAND)?;
        let stopped = u16::from_le_bytes(command) & !BUS_MASTER;
        config.write_all_at(&stopped.to_le_bytes(), COMMAND).context("its command register")
    }

    /// Begins to take it from vfio-pci. The kernel asks who has it open for it (REQ), as when somebody unplugs it, and waits until nobody has.
    pub fn unbind(self) -> Result<Unbinding> {
        let address = self.address()?.to_owned();
        Ok(Unbinding(self.begin("driver/unbind", address.into_encoded_bytes())))
    }

    /// Begins to take it out of the system, as a slot does whose card is to be unplugged. The kernel asks for it as for an unbind.
    pub fn remove(self) -> Removal {
        Removal(self.begin("remove", b"1".to_vec()))
    }

    /// Writes a file of its folder, by a thread of its own.
    fn begin(self, file: &str, text: Vec<u8>) -> LettingGo {
        let file = self.0.join(file);
        let (told, written) = mpsc::channel();
        thread::spawn(move || told.send(fs::write(file, text)));
        LettingGo { function: self, written }
    }
}

impl LettingGo {
    /// Waits until nobody has the function, and the kernel has done what it was told.
    fn end(self) -> Result<Function> {
        let written = self.written.recv_timeout(LIMIT).context("somebody has the function open still")?;
        written.context("the write of its file in sysfs")?;
        Ok(self.function)
    }
}

impl Unbinding {
    /// Waits until nobody has the function, and gives it to vfio-pci again.
    pub fn bind_again(self) -> Result<()> {
        let function = self.0.end()?;
        let address = function.address()?;
        // Its driver_override names vfio-pci since `viaduct bind`.
        fs::write("/sys/bus/pci/drivers_probe", address.as_encoded_bytes()).context("drivers_probe")
    }
}

impl Removal {
    /// Waits until nobody has the function, has the system find it anew, and gives it to vfio-pci.
    pub fn find_again(self) -> Result<()> {
        let function = self.0.end()?;
        ensure!(!function.0.exists(), "the system has it still");
        fs::write("/sys/bus/pci/rescan", "1").context("the bus's rescan")?;
        ensure!(function.0.exists(), "the system does not find it again");
        let viaduct = std::env::current_exe()?.with_file_name("viaduct");
        let bound = Command::new(viaduct).args(["bind", "--group", "0"]).arg(function.address()?).output()?;
        ensure!(bound.status.success(), "viaduct bind: {}", String::from_utf8_lossy(&bound.stderr));
        Ok(())
    }
}

/// Has the kernel say to who has this file of a function's device that the bus has found an error that it cannot mend. Nobody can have a sound bus do
/// so; but vfio-pci signals the eventfd that a real error of PCIe AER is told by when that is asked for by a file of the device
/// (`VFIO_IRQ_SET_DATA_BOOL` in linux/vfio.h).
pub fn signal_bus_error(device: impl AsFd) -> Result<()> {
    let header = size_of::<vfio::vfio_irq_set>() as u32;
    // One interrupt, number 0 of its kind, with one byte behind the header: true.
    let flags = vfio::VFIO_IRQ_SET_DATA_BOOL | vfio::VFIO_IRQ_SET_ACTION_TRIGGER;
    let set = [header + 1, flags, vfio::VFIO_PCI_ERR_IRQ_INDEX, 0, 1, 1u32.to_le()];
    // SAFETY: the call takes a `vfio_irq_set` as long as it says, and only reads it.
    unsafe { ioctl(device, Setter::<SET_IRQS, _>::new(set)) }.context("VFIO_DEVICE_SET_IRQS")
}

/// Resets a function by a file of its device, as any program can that has one.
pub fn reset_device(device: impl AsFd) -> Result<()> {
    // SAFETY: the call has no argument.
    unsafe { ioctl(device, NoArg::<RESET>::new()) }.context("VFIO_DEVICE_RESET")
}

/// Copies of all files of functions' devices that a process has.
pub fn device_files(process: u32) -> Result<Vec<OwnedFd>> {
    let pid = Pid::from_raw(process as i32).context("a process")?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let mut files = Vec::new();
    for file in fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()))? {
        let file = file?;
        let is = match fs::read_link(file.path()) {
            Ok(is) => is,
            // It has been closed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        if is.as_os_str() == DEVICE {
            let number = file.file_name().to_string_lossy().parse().context("a number of a file")?;
            files.push(pidfd_getfd(&process, number, PidfdGetfdFlags::empty())?);
        }
    }
    Ok(files)
}
