//! The kernel as QEMU boots it fastest: an ELF file, taken out of Debian's bzImage, and the modules that guests load.

use super::cache::Root;
use crate::project::write;
use anyhow::{ensure, Context, Result};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The modules that some guest loads: VFIO on PCI; virtio's network card and console, Linux' soft-RoCE, and the queueing discipline that
/// loses frames. What these need is unpacked, too.
const WANTED: [&str; 11] = [
    "vfio_iommu_type1",
    "vfio-pci",
    "virtio_pci",
    "virtio_net",
    "virtio_console",
    "rdma_rxe",
    "rdma_ucm",
    "ib_umad",
    "sch_netem",
    // rxe asks the crypto interface for it by name.
    "crc32_generic",
    "crc32-pclmul",
];
/// Faster forms of others, which not each kernel has as modules of their own.
const OPTIONAL: [&str; 1] = ["crc32-pclmul"];
/// In front of the names of the modules that one needs, in its section .modinfo.
const DEPENDS: &[u8] = b"\0depends=";

/// Where a module is unpacked to.
fn module(folder: &Path, name: &str) -> PathBuf {
    // The kernel takes the two characters for one.
    folder.join("modules").join(format!("{}.ko", name.replace('-', "_")))
}

/// These modules with all that they need, in an order in which they can be loaded; those that are built into the kernel are left out.
pub fn modules(folder: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut order = Vec::new();
    for name in names {
        order_of(folder, name, &mut order)?;
    }
    Ok(order)
}

fn order_of(folder: &Path, name: &str, order: &mut Vec<PathBuf>) -> Result<()> {
    let file = module(folder, name);
    if order.contains(&file) || !file.exists() {
        return Ok(());
    }
    for needed in needed(&fs::read(&file)?) {
        order_of(folder, &needed, order)?;
    }
    order.push(file);
    Ok(())
}

/// The modules that one needs, as it says itself.
fn needed(module: &[u8]) -> Vec<String> {
    let Some(at) = module.windows(DEPENDS.len()).position(|bytes| bytes == DEPENDS) else {
        return Vec::new();
    };
    let names = module[at + DEPENDS.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(names);
    names.split(',').filter(|name| !name.is_empty()).map(String::from).collect()
}

/// Makes `vmlinux` and `modules/` in `folder` of a kernel package's content.
pub fn unpack(root: &Root, image: &Path, folder: &Path) -> Result<()> {
    let starts = |file: &Path, start: &str| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    let mut boot = fs::read_dir(image.join("boot")).context("the kernel package has no /boot")?;
    let vmlinuz = boot.find_map(|entry| Some(entry.ok()?.path()).filter(|file| starts(file, "vmlinuz")));
    let vmlinuz = vmlinuz.context("the kernel package has no vmlinuz")?;
    let bytes = fs::read(&vmlinuz).with_context(|| format!("cannot read {}", vmlinuz.display()))?;
    let payload = payload(&bytes)?;
    let compressed = folder.join("vmlinux.compressed");
    write(&compressed, &bytes[payload.bytes])?;
    let vmlinux = folder.join("vmlinux");
    decompress(root, &compressed, &vmlinux)?;
    fs::remove_file(&compressed)?;
    let bytes = fs::read(&vmlinux)?;
    ensure!(bytes.starts_with(b"\x7fELF"), "{} holds no ELF file", vmlinuz.display());
    if let Some(length) = payload.length {
        ensure!(bytes.len() == length as usize, "vmlinux has {} bytes, not {length}", bytes.len());
    }

    fs::create_dir(folder.join("modules"))?;
    let mut files = Vec::new();
    // Packages of the time before Debian merged /lib into /usr have them in the former.
    for folder in ["usr/lib/modules", "lib/modules"] {
        walk(&image.join(folder), &mut files)?;
    }
    let builtin = files.iter().find(|file| starts(file, "modules.builtin"));
    let builtin = builtin.map(fs::read_to_string).transpose()?.unwrap_or_default();
    let mut wanted: Vec<String> = WANTED.map(String::from).into();
    while let Some(name) = wanted.pop() {
        let unpacked = module(folder, &name);
        if unpacked.exists() {
            continue;
        }
        let is_it = |file: &&PathBuf| {
            let file = file.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
            file.split_once('.')
                .is_some_and(|(stem, end)| stem == name.replace('-', "_") && end.starts_with("ko"))
        };
        match files.iter().find(is_it) {
            Some(file) if file.extension().is_some_and(|extension| extension == "ko") => {
                fs::copy(file, &unpacked)?;
            }
            Some(file) => decompress(root, file, &unpacked)?,
            None => {
                let dashed = name.replace('_', "-");
                let is_builtin = [&name, &dashed].iter().any(|name| builtin.contains(&format!("/{name}.ko")));
                ensure!(is_builtin || OPTIONAL.contains(&&*name), "the kernel has no {name}");
                continue;
            }
        }
        wanted.extend(needed(&fs::read(&unpacked)?));
    }
    Ok(())
}

/// Every file under a folder.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => walk(&entry.path(), files)?,
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(())
}

fn decompress(root: &Root, from: &Path, to: &Path) -> Result<()> {
    root.program("zstd").args(["-q", "-d", "-f"]).arg(from).arg("-o").arg(to).run_quietly()
}

/// The compressed kernel in a bzImage.
#[derive(Debug, PartialEq)]
struct Payload {
    /// Where it is.
    bytes: Range<usize>,
    /// How long it is when it is not compressed, where the bzImage says so.
    length: Option<u32>,
}

/// Finds it by the boot protocol's header (Linux: Documentation/arch/x86/boot.rst).
fn payload(image: &[u8]) -> Result<Payload> {
    let word = |at: usize| {
        let bytes = image.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    ensure!(image.get(0x202..0x206) == Some(b"HdrS"), "this is no bzImage");
    let version = word(0x206).context("the bzImage ends in its header")? as u16;
    ensure!(version >= 0x208, "boot protocol {version:#x} does not say where the kernel is");
    let sectors = match image[0x1F1] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let find = || {
        let start = (sectors + 1) * 512 + word(0x248)? as usize;
        let end = start.checked_add(word(0x24C)? as usize)?;
        Some((start, end, image.get(start..end)?))
    };
    let (start, end, bytes) = find().context("the bzImage ends before its kernel")?;
    let is = |magic: &[u8]| bytes.starts_with(magic);
    let (gzip, xz, zstd) = (is(b"\x1f\x8b"), is(b"\xfd7zXZ\0"), is(b"\x28\xb5\x2f\xfd"));
    ensure!(
        gzip || xz || zstd,
        "the kernel is compressed as nothing that is known here: it starts with {:02x?}",
        &bytes[..bytes.len().min(6)]
    );
    // Behind the formats that do not end with their length, the kernel's build adds it.
    Ok(match gzip {
        true => Payload { bytes: start..end, length: None },
        false => Payload { bytes: start..end - 4, length: word(end - 4) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bzImage of one sector of set-up and 16 bytes of code before the kernel.
    fn image(kernel: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 2 * 512 + 16];
        image[0x1F1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20Fu16.to_le_bytes());
        image[0x248..0x24C].copy_from_slice(&16u32.to_le_bytes());
        image[0x24C..0x250].copy_from_slice(&(kernel.len() as u32).to_le_bytes());
        image.extend(kernel);
        image.extend(b"what follows");
        image
    }

    #[test]
    fn modules_come_behind_what_they_need() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("modules")).unwrap();
        for (name, depends) in
            [("vfio", ""), ("vfio-pci-core", "vfio"), ("vfio-pci", "vfio-pci-core,vfio,builtin")]
        {
            let text = format!("\x7fELF\0license=GPL\0depends={depends}\0retpoline=Y\0");
            fs::write(module(folder.path(), name), text).unwrap();
        }
        let names = |wanted: &[&str]| -> Vec<String> {
            let files = modules(folder.path(), wanted).unwrap();
            files.iter().map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(&["vfio-pci", "vfio"]), ["vfio", "vfio_pci_core", "vfio_pci"]);
        assert_eq!(names(&["vfio_pci_core", "builtin"]), ["vfio", "vfio_pci_core"]);
    }

    #[test]
    fn finds_the_kernel_in_each_format() {
        let start = 2 * 512 + 16;
        let zstd = b"\x28\xb5\x2f\xfdDATA\x00\x10\x00\x00";
        let expected = Payload { bytes: start..start + 8, length: Some(4096) };
        assert_eq!(payload(&image(zstd)).unwrap(), expected);
        let xz = b"\xfd7zXZ\0DATA\x00\x20\x00\x00";
        assert_eq!(payload(&image(xz)).unwrap().length, Some(8192));
        let gzip = b"\x1f\x8bDATA";
        assert_eq!(payload(&image(gzip)).unwrap(), Payload { bytes: start..start + 6, length: None });
    }

    #[test]
    fn refuses_what_is_no_bzimage() {
        let refused = |image: &[u8]| payload(image).unwrap_err().to_string();
        assert!(refused(b"").contains("no bzImage"));
        assert!(refused(b"\x7fELF").contains("no bzImage"));
        let whole = image(b"\x28\xb5\x2f\xfdDATA\x00\x10\x00\x00");
        assert!(refused(&whole[..1045]).contains("ends before"));
        assert!(refused(&whole[..0x206]).contains("ends in its header"));
        assert!(refused(&image(b"\x02\x21\x4c\x18DATA")).contains("02, 21, 4c, 18"));
        let mut old = whole.clone();
        old[0x206] = 7;
        assert!(refused(&old).contains("0x207"));
        let mut far = whole;
        far[0x24C..0x250].fill(0xFF);
        assert!(refused(&far).contains("ends before"));
    }
}
