//! The guest's whole file system: busybox, modules, and RDMA's programs with the libraries that they need.

use crate::guest::{Cache, Cpio, Root};
use crate::project::Project;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that the guest starts with; what is mounted goes there, or files.
const FOLDERS: [&str; 15] = [
    "bin",
    "dev",
    "proc",
    "sys",
    "tmp",
    "modules",
    "etc",
    "etc/libibverbs.d",
    "lib64",
    "usr",
    "usr/bin",
    "usr/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/libibverbs",
    "var",
];
/// The script that the kernel starts, in xtask/.
const INIT: &str = "guest/linux-init";
/// What the guest loads, without what these modules need.
const MODULES: [&str; 9] = [
    "virtio_pci",
    "virtio_net",
    "virtio_console",
    "crc32_generic",
    "crc32-pclmul",
    "rdma_rxe",
    "rdma_ucm",
    "ib_umad",
    "sch_netem",
];
/// The programs.
const PROGRAMS: [&str; 11] = [
    "ip",
    "tc",
    "rdma",
    "rping",
    "rstream",
    "ucmatose",
    "ibv_rc_pingpong",
    "ibv_uc_pingpong",
    "ib_send_lat",
    "ib_write_bw",
    "ib_read_bw",
];
/// Where Debian has programs.
const PLACES: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "sbin"];
/// Where Debian has libraries.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// What programs load by themselves: threads that end load it.
const LOADED: &str = "libgcc_s.so.1";

/// Puts it together, with programs of ours: they need no library but C's and [`LOADED`].
pub fn build(project: &Project, cache: &Cache, own: &[&str]) -> Result<Vec<u8>> {
    let root = cache.root();
    let mut archive = Cpio::default();
    for folder in FOLDERS {
        archive.folder(folder);
    }
    archive.program("init", &project.root.join("xtask").join(INIT))?;
    archive.program("bin/busybox", &root.file("usr/bin/busybox"))?;
    // The number in front is the order in which init loads them.
    for (order, module) in cache.modules(&MODULES)?.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.program(&format!("modules/{order:02}-{name}"), module)?;
    }
    let mut libraries = BTreeSet::from([root.file(LIBRARIES).join(LOADED)]);
    for name in PROGRAMS {
        let file = find(&root, name)?;
        archive.program(&format!("usr/bin/{name}"), &file)?;
        libraries.extend(root.libraries(&file)?);
    }
    for name in own {
        archive.program(&format!("usr/bin/{name}"), &project.built_folder()?.join(name))?;
    }
    let driver = driver(&root)?;
    archive.program("etc/libibverbs.d/rxe.driver", &root.file("etc/libibverbs.d/rxe.driver"))?;
    archive.program(&format!("{LIBRARIES}/libibverbs/{}", name_of(&driver)), &driver)?;
    libraries.extend(root.libraries(&driver)?);
    for library in libraries {
        let name = name_of(&library);
        let place = if name.starts_with("ld-linux") { "lib64" } else { LIBRARIES };
        archive.program(&format!("{place}/{name}"), &library)?;
    }
    Ok(archive.end())
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn find(root: &Root, name: &str) -> Result<PathBuf> {
    let places = PLACES.map(|place| root.file(place).join(name));
    places.into_iter().find(|file| file.exists()).with_context(|| format!("Debian's packages have no {name}"))
}

/// The library behind soft-RoCE's verbs: its name has the number of an interface.
fn driver(root: &Root) -> Result<PathBuf> {
    let folder = root.file(LIBRARIES).join("libibverbs");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files
        .find(|file| name_of(file).starts_with("librxe-"))
        .context("Debian's packages have no driver for soft-RoCE")
}
