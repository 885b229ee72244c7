//! What guests are made of, in the project's own cache: QEMU with its libraries, busybox, a kernel and its modules, and
//! the programs of RDMA. It is whole or it is not there.

use super::archive::{Archive, Package};
use super::kernel;
use super::libraries::listed;
use crate::command::Cmd;
use crate::project::{read, write, Project};
use anyhow::{Context, Result};
use rustix::fs::FlockOperation;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// In the project's folder.
const FOLDER: &str = ".viaduct/guest";
/// What is in the cache, written last; its first line tells the layout of the cache.
const STAMP: &str = "packages.txt";
const LAYOUT: &str = "layout 3";
/// Where Debian's libraries are.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The cache.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache as it is: with nothing fetched and nothing asked of any network.
    pub fn find(project: &Project) -> Option<Cache> {
        let cache = Cache { folder: project.root.join(FOLDER) };
        let stamp = fs::read_to_string(cache.folder.join(STAMP)).ok()?;
        (stamp.lines().next() == Some(LAYOUT)).then_some(cache)
    }

    /// The cache, filled if it is not there or if the newest is wanted.
    pub fn ready(project: &Project, refresh: bool) -> Result<Cache> {
        let _one = one_at_a_time(&project.root.join(FOLDER))?;
        if let (Some(cache), false) = (Cache::find(project), refresh) {
            println!("guest: {} (`--refresh` gets the newest)", cache.summary()?);
            return Ok(cache);
        }
        let start = Instant::now();
        let cache = Cache { folder: project.root.join(FOLDER) };
        sweep(&cache.folder)?;
        let part = cache.folder.with_extension(format!("part-{}", std::process::id()));
        let made = fill(&part);
        if made.is_ok() {
            if cache.folder.exists() {
                fs::remove_dir_all(&cache.folder)?;
            }
            fs::rename(&part, &cache.folder).context("putting the cache in its place")?;
        } else if part.exists() {
            fs::remove_dir_all(&part)?;
        }
        made?;
        println!("guest: {}, fetched in {:.0} s", cache.summary()?, start.elapsed().as_secs_f64());
        Ok(cache)
    }

    /// Its main packages, for people.
    pub fn summary(&self) -> Result<String> {
        let stamp = read(&self.folder.join(STAMP))?;
        let main = ["qemu-system-x86 ", "busybox-static ", "linux-image-"];
        let lines = stamp.lines().filter(|line| main.iter().any(|name| line.starts_with(name)));
        let names = lines.map(|line| line.rsplit_once(' ').map_or(line, |(name, _bytes)| name));
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    /// The version of QEMU.
    pub fn qemu(&self) -> String {
        let stamp = fs::read_to_string(self.folder.join(STAMP)).unwrap_or_default();
        let line = stamp.lines().find_map(|line| line.strip_prefix("qemu-system-x86 "));
        let version = line.and_then(|line| line.split(' ').next());
        version.map_or("no QEMU".into(), |version| format!("QEMU {version}"))
    }

    /// The programs.
    pub fn root(&self) -> Root {
        Root(self.folder.join("root"))
    }

    /// The kernel, not compressed.
    pub fn vmlinux(&self) -> PathBuf {
        self.folder.join("vmlinux")
    }

    /// These modules of the kernel's and all that they need, in an order in which they can be loaded.
    pub fn modules(&self, names: &[&str]) -> Result<Vec<PathBuf>> {
        kernel::modules(&self.folder, names)
    }
}

/// Keeps other processes from the cache as long as the answer lives: parts of a run may want it at once, and the first of them fills it. The lock of a
/// process that dies is free.
fn one_at_a_time(folder: &Path) -> Result<File> {
    let path = folder.with_extension("lock");
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    }
    let lock = File::create(&path).with_context(|| path.display().to_string())?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).with_context(|| path.display().to_string())?;
    Ok(lock)
}

/// Removes what runs that did not end well have left.
fn sweep(folder: &Path) -> Result<()> {
    let Some(parent) = folder.parent().filter(|parent| parent.exists()) else {
        return Ok(());
    };
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(pid) = name.strip_prefix("guest.part-") else { continue };
        if !Path::new("/proc").join(pid).exists() {
            fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Makes a whole cache in a folder.
fn fill(folder: &Path) -> Result<()> {
    let apt = folder.join("apt");
    fs::create_dir_all(&apt).with_context(|| format!("cannot make {}", apt.display()))?;
    let archive = Archive::open(&std::path::absolute(&apt)?)?;
    let packages = archive.packages()?;
    let mut stamp = format!("{LAYOUT}\n");
    for Package { name, version, bytes } in &packages {
        println!("  {name} {version} ({} KiB)", bytes.div_ceil(1024));
        stamp += &format!("{name} {version} {bytes}\n");
    }
    let bytes: u64 = packages.iter().map(|package| package.bytes).sum();
    println!("fetching {} packages, {} MiB", packages.len(), bytes >> 20);
    let (root, image) = (Root(folder.join("root")), folder.join("image"));
    for file in archive.fetch(&packages)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = if name.starts_with("linux-image-") { &image } else { &root.0 };
        Cmd::new("dpkg-deb").arg("-x").arg(&file).arg(place).run_quietly()?;
    }
    kernel::unpack(&root, &image, folder)?;
    for done in [apt, image] {
        fs::remove_dir_all(done)?;
    }
    write(&folder.join(STAMP), stamp)
}

/// A folder with programs and all their libraries, of another release than the machine's.
pub struct Root(PathBuf);

impl Root {
    /// One of its programs, under the loader that belongs to its libraries.
    pub fn program(&self, name: &'static str) -> Cmd {
        let libraries = self.0.join(LIBRARIES);
        let loader = libraries.join("ld-linux-x86-64.so.2");
        Cmd::new(loader).named(name).arg("--library-path").arg(libraries).arg(self.file("usr/bin").join(name))
    }

    /// The libraries that a program or a library of its needs, and its loader, where they are in this folder.
    pub fn libraries(&self, file: &Path) -> Result<Vec<PathBuf>> {
        let libraries = self.0.join(LIBRARIES);
        let loader = libraries.join("ld-linux-x86-64.so.2");
        let list = Cmd::new(&loader).arg("--library-path").arg(&libraries).arg("--list").arg(file).read()?;
        let listed = listed(&list).with_context(|| format!("the libraries of {}", file.display()))?;
        // The loader is listed by its path in the running machine, which is not this folder's loader.
        let names = listed.into_iter().map(|(name, _file)| name).filter(|name| !name.contains('/'));
        let mut found = vec![loader];
        found.extend(names.map(|name| libraries.join(name)));
        Ok(found)
    }

    /// One of its files.
    pub fn file(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_looks_after_the_cache() {
        let clone = tempfile::tempdir().unwrap();
        let folder = clone.path().join(FOLDER);
        let one = one_at_a_time(&folder).unwrap();
        // An open file of its own, as another process has.
        let other = File::open(folder.with_extension("lock")).unwrap();
        let lock = || rustix::fs::flock(&other, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(lock(), Err(rustix::io::Errno::WOULDBLOCK));
        drop(one);
        lock().unwrap();
    }

    #[test]
    fn only_a_whole_cache_passes_for_one() {
        let clone = tempfile::tempdir().unwrap();
        let project = Project::at(clone.path().to_path_buf());
        let folder = clone.path().join(FOLDER);
        assert!(Cache::find(&project).is_none());
        fs::create_dir_all(folder.join("root")).unwrap();
        assert!(Cache::find(&project).is_none(), "no stamp");
        fs::write(folder.join(STAMP), "layout 0\n").unwrap();
        assert!(Cache::find(&project).is_none(), "made by another xtask");
        fs::write(folder.join(STAMP), format!("{LAYOUT}\nlibc6 2 3\nqemu-system-x86 1:11.1 7\n")).unwrap();
        assert_eq!(Cache::find(&project).unwrap().summary().unwrap(), "qemu-system-x86 1:11.1");
        assert_eq!(Cache::find(&project).unwrap().qemu(), "QEMU 1:11.1");
    }

    #[test]
    fn what_a_killed_run_left_goes_and_what_a_live_one_makes_stays() {
        let parent = tempfile::tempdir().unwrap();
        let own = parent.path().join(format!("guest.part-{}", std::process::id()));
        let dead = parent.path().join("guest.part-4194999");
        for folder in [&own, &dead, &parent.path().join("venv")] {
            fs::create_dir(folder).unwrap();
        }
        sweep(&parent.path().join("guest")).unwrap();
        assert!(own.exists() && !dead.exists() && parent.path().join("venv").exists());
        sweep(&parent.path().join("nowhere/guest")).unwrap();
    }
}
