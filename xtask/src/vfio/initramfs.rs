//! The guest's whole file system: busybox, modules, our programs and scripts, as the cpio archive
//! ("newc") that the kernel unpacks into memory.

use super::cache::Cache;
use super::programs::Program;
use crate::project::Project;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The folders that the guest starts with; what is mounted goes there, or files of ours.
const FOLDERS: [&str; 8] = ["bin", "dev", "proc", "sys", "tmp", "modules", "jobs", "lib"];
/// The script that the kernel starts, and the folder of its jobs, in xtask/.
const INIT: &str = "guest/init";
const JOBS: &str = "guest/jobs";

/// Puts it together.
pub fn build(project: &Project, cache: &Cache, programs: &[Program]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in FOLDERS {
        archive.folder(folder);
    }
    let xtask = project.root.join("xtask");
    archive.program("init", &xtask.join(INIT))?;
    archive.program("bin/busybox", &cache.root().file("usr/bin/busybox"))?;
    for program in programs {
        archive.program(&format!("bin/{}", program.name), &program.file)?;
    }
    for name in jobs(project)? {
        archive.program(&format!("jobs/{name}"), &xtask.join(JOBS).join(&name))?;
    }
    // The number in front is the order in which init loads them.
    for (order, module) in cache.modules().iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.program(&format!("modules/{order}-{name}"), module)?;
    }
    Ok(archive.end())
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

/// A cpio archive of the form "newc": before each file a header of 13 numbers, in hexadecimal.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    files: u32,
}

impl Archive {
    fn folder(&mut self, name: &str) {
        self.add(name, 0o040_755, &[]);
    }

    /// A file, readable and executable for all.
    fn program(&mut self, name: &str, file: &Path) -> Result<()> {
        let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        self.add(name, 0o100_755, &content);
        Ok(())
    }

    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.files += 1;
        let links = 1;
        // Number, mode, user, group, links, time, size, 2 x device, 2 x device it stands for, length of
        // the name with its 0, check sum (not used).
        let size = content.len() as u32;
        let fields = [self.files, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn another_reader_finds_what_was_put_in() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Archive::default();
        archive.folder("bin");
        let contents = ["", "a", "ab", "abc", "abcd", "abcde"];
        for (i, content) in contents.iter().enumerate() {
            let file = folder.path().join("file");
            fs::write(&file, content).unwrap();
            archive.program(&format!("bin/{}", "n".repeat(i + 1)), &file).unwrap();
        }
        let bytes = archive.end();
        let mut rest = &bytes[..];
        let mut reader = cpio::newc::Reader::new(&mut rest).unwrap();
        assert_eq!((reader.entry().name(), reader.entry().mode()), ("bin", 0o040_755));
        for (i, content) in contents.iter().enumerate() {
            rest = reader.finish().unwrap();
            reader = cpio::newc::Reader::new(&mut rest).unwrap();
            assert_eq!(reader.entry().name(), format!("bin/{}", "n".repeat(i + 1)));
            assert_eq!(reader.entry().mode(), 0o100_755);
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, *content);
        }
        rest = reader.finish().unwrap();
        assert!(cpio::newc::Reader::new(&mut rest).unwrap().entry().is_trailer());
    }

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
