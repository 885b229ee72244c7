//! The libraries of a program that is to run in a guest: as the loader lists them, by `ldd` or by its own `--list`.

use anyhow::{ensure, Result};
use std::path::PathBuf;

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
    fn a_library_that_is_not_there_is_named() {
        let error = listed("\tlibx.so.1 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libx.so.1 => not found"), "{error}");
        assert!(listed("\tstatically linked\n").unwrap().is_empty());
    }
}
