//! The project's sources, for tests that read them.

use std::path::{Path, PathBuf};

/// The files of Rust in a folder and in those inside it, in order. A folder inside it that `enter` refuses is left out.
pub fn of(folder: &Path, enter: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    with(&["rs"], folder, enter)
}

/// [`of`] the files with one of these extensions.
pub fn with(extensions: &[&str], folder: &Path, enter: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if enter(&path) {
                found.extend(with(extensions, &path, enter));
            }
        } else if path.extension().is_some_and(|its| extensions.iter().any(|extension| its == *extension)) {
            found.push(path);
        }
    }
    found.sort();
    found
}
