//! The guest's whole file system: busybox, modules, our programs and scripts.

use crate::guest::{Cache, Cpio, Files};
use crate::project::Project;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// The folders that the guest starts with; what is mounted goes there, or files of ours.
const FOLDERS: [&str; 13] = [
    "bin",
    "dev",
    "proc",
    "sys",
    "tmp",
    "modules",
    "jobs",
    "lib",
    "lib64",
    "examples",
    "examples/rust",
    "examples/c",
    "examples/conformance",
];
/// The script that the kernel starts, and the folder of its jobs, in xtask/.
const INIT: &str = "guest/init";
const JOBS: &str = "guest/jobs";

/// The page whose command lines a job does.
const PAGE: &str = "docs/real-hardware.md";

/// What VFIO on PCI is made of, without what these modules need.
const MODULES: [&str; 2] = ["vfio_iommu_type1", "vfio-pci"];

/// Puts it together: programs and libraries, and jobs by the names of their scripts.
pub fn build(project: &Project, cache: &Cache, files: Files, jobs: &[PathBuf]) -> Result<Vec<u8>> {
    let mut archive = Cpio::default();
    for folder in FOLDERS {
        archive.folder(folder);
    }
    let xtask = project.root.join("xtask");
    archive.program("init", &xtask.join(INIT))?;
    archive.program("bin/busybox", &cache.root().file("usr/bin/busybox"))?;
    archive.program("real-hardware.md", &project.root.join(PAGE))?;
    for (place, file) in files {
        archive.program(&place, &file)?;
    }
    for job in jobs {
        let name = job.file_name().unwrap_or_default().to_string_lossy();
        archive.program(&format!("jobs/{name}"), job)?;
    }
    // The number in front is the order in which init loads them.
    for (order, module) in cache.modules(&MODULES)?.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.program(&format!("modules/{order:02}-{name}"), module)?;
    }
    Ok(archive.end())
}

/// The script of a job.
pub fn script(project: &Project, name: &str) -> PathBuf {
    project.root.join("xtask").join(JOBS).join(name)
}

/// The names of the jobs.
pub fn jobs(project: &Project) -> Result<Vec<String>> {
    let folder = project.root.join("xtask").join(JOBS);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guests_scripts_name_the_nic_as_the_specification_does() {
        let project = Project::find().unwrap();
        let init = crate::project::read(&project.root.join("xtask").join(INIT)).unwrap();
        let id = format!(
            "{:#06x}:{:#06x}",
            viaduct_spec::register::PCI_VENDOR,
            viaduct_spec::register::PCI_DEVICE
        );
        assert!(init.contains(&format!("\nNIC={id}\n")), "init looks for another NIC than {id}");
        assert!(jobs(&project).unwrap().contains(&"transfer".to_string()));
    }
}
