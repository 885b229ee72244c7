//! The files of a guest: programs, and the libraries that they need, as the loader lists them, by `ldd` or by its own `--list`.

use crate::command::Cmd;
use anyhow::{ensure, Context, Result};
use std::collections::btree_map::{BTreeMap, Entry};
use std::path::{Path, PathBuf};

/// Files of a guest, each by its place from the root on.
#[derive(Default)]
pub struct Files(BTreeMap<String, PathBuf>);

impl Files {
    /// Adds a file. Two programs may need the same library, but there is one file in each place.
    pub fn add(&mut self, place: String, file: PathBuf) -> Result<()> {
        match self.0.entry(place) {
            Entry::Vacant(entry) => {
                entry.insert(file);
            }
            Entry::Occupied(entry) => {
                let (place, other) = (entry.key(), entry.get());
                let (old, new) = (other.display(), file.display());
                ensure!(*other == file, "{old} and {new} would both be {place} of a guest");
            }
        }
        Ok(())
    }

    /// Adds the libraries that a file needs, which are looked for in `folders` first: all in one folder, but the loader, which is where programs expect it.
    pub fn add_libraries(&mut self, file: &Path, folders: &[PathBuf]) -> Result<()> {
        let folders = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":");
        let list = Cmd::new("ldd").env("LD_LIBRARY_PATH", &folders).arg(file).read()?;
        let needed = listed(&list).with_context(|| format!("the libraries of {}", file.display()))?;
        needed.into_iter().try_for_each(|(name, file)| self.add(place(&name), file))
    }
}

impl IntoIterator for Files {
    type Item = (String, PathBuf);
    type IntoIter = <BTreeMap<String, PathBuf> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Where a library is in the guest.
fn place(name: &str) -> String {
    match name.strip_prefix('/') {
        Some(loader) => loader.into(),
        None => format!("lib/{name}"),
    }
}

/// The files that a loader lists, each with what programs call it: a library's name, or the loader's own path.
pub fn listed(list: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for line in list.lines().map(str::trim) {
        ensure!(!line.ends_with("=> not found"), "{line}");
        let Some((entry, _address)) = line.rsplit_once(" (") else { continue };
        match entry.split_once(" => ") {
            Some((name, file)) => files.push((name.to_string(), PathBuf::from(file))),
            None if entry.starts_with('/') => files.push((entry.to_string(), PathBuf::from(entry))),
            // What the kernel adds has no file.
            None => {}
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &str) -> Vec<(String, String)> {
        let files = listed(list).unwrap().into_iter();
        files.map(|(name, file)| (name, file.display().to_string())).collect()
    }

    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

    #[test]
    fn the_loader_has_its_own_path_or_the_one_that_was_run() {
        let ldd = "\tlinux-vdso.so.1 (0x00007ffd1d7f3000)\n\
                   \tlibmpi.so.12 => /a folder/libmpi.so.12 (0x00007f0000000000)\n\
                   \t/lib64/ld-linux-x86-64.so.2 (0x00007f1111111111)\n";
        let wanted = [("libmpi.so.12", "/a folder/libmpi.so.12"), (LOADER, LOADER)];
        assert!(pairs(ldd).iter().map(|(name, file)| (name.as_str(), file.as_str())).eq(wanted));
        let own = "\t/lib64/ld-linux-x86-64.so.2 => /root/ld-linux-x86-64.so.2 (0x00007f1111111111)\n";
        assert_eq!(pairs(own), [(LOADER.into(), "/root/ld-linux-x86-64.so.2".into())]);
    }

    #[test]
    fn libraries_are_in_one_folder_and_the_loader_is_where_programs_have_it() {
        assert_eq!(place("libmpi.so.12"), "lib/libmpi.so.12");
        assert_eq!(place(LOADER), "lib64/ld-linux-x86-64.so.2");
    }

    #[test]
    fn two_programs_share_a_library_and_two_files_are_no_one_library() {
        let mut files = Files::default();
        for file in ["/lib/libc.so.6", "/lib/libc.so.6"] {
            files.add(place("libc.so.6"), PathBuf::from(file)).unwrap();
        }
        let error = files.add(place("libc.so.6"), PathBuf::from("/opt/libc.so.6")).unwrap_err();
        let said = "/lib/libc.so.6 and /opt/libc.so.6 would both be lib/libc.so.6 of a guest";
        assert_eq!(error.to_string(), said);
        assert_eq!(files.into_iter().count(), 1);
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let error = listed("\tlibx.so.1 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libx.so.1 => not found"), "{error}");
        assert!(listed("\tstatically linked\n").unwrap().is_empty());
    }
}
