//! No source is so long that a reader loses the thread: each file of Rust and of C has one noun, and so many lines at most, its tests and its comments
//! among them. What has outgrown that is split along a noun, and not in the middle.

use crate::{alone, project::Project, sources};
use std::path::{Path, PathBuf};

/// The folders of sources, and how many lines a file there has at most. Of a block of the card a reader has to keep all in mind at once.
const LIMITS: [(&str, usize); 12] = [
    ("bench", 400),
    ("cli", 400),
    ("fabric", 400),
    ("hdl", 350),
    ("host-driver", 400),
    ("pictures", 400),
    ("sim", 400),
    ("spec", 400),
    ("tests", 400),
    ("vipl", 400),
    ("walk", 400),
    ("xtask", 400),
];

/// Files that are longer, and why.
const LONGER: [(&str, &str); 1] =
    [("vipl/include/vipl.h", "VIPL has one header, and programs include it by this name")];

/// An example that is to show how little it takes, and how many lines it has at most.
const SHORT: (&str, usize) = ("vipl/examples/pingpong.rs", 40);

/// How many files of Rust and of C a folder of `root` has, and a complaint about each that has more than `most` lines.
fn check(root: &Path, folder: &str, most: usize) -> (usize, Vec<String>) {
    // What cargo has built there is nobody's to read.
    let enter = |inside: &Path| !inside.ends_with("target");
    let mut found = sources::with(&["rs", "c", "h"], &root.join(folder), &enter);
    found.retain(|file| !LONGER.iter().any(|(longer, _)| *file == root.join(longer)));
    let complaint = |file: &PathBuf| {
        let lines = std::fs::read_to_string(file).unwrap().lines().count();
        let name = file.strip_prefix(root).unwrap().display();
        (lines > most).then(|| format!("{name} has {lines} lines; a file in {folder}/ has {most} at most"))
    };
    (found.len(), found.iter().filter_map(complaint).collect())
}

#[test]
fn no_source_is_too_long() {
    let root = Project::find().unwrap().root;
    let mut complaints = Vec::new();
    for (folder, most) in LIMITS {
        let (files, found) = check(&root, folder, most);
        assert!(files > 0, "{folder}/ has no sources");
        complaints.extend(found);
    }
    assert!(complaints.is_empty(), "split along a noun:\n{}", complaints.join("\n"));
}

#[test]
fn what_may_be_longer_is() {
    let root = Project::find().unwrap().root;
    for (file, reason) in LONGER {
        let lines = std::fs::read_to_string(root.join(file)).unwrap().lines().count();
        assert!(lines > 400, "{file} needs no exception any more: {reason}");
    }
}

#[test]
fn ping_pong_is_as_short_as_it_is_said_to_be() {
    let (file, most) = SHORT;
    let lines = std::fs::read_to_string(Project::find().unwrap().root.join(file)).unwrap().lines().count();
    assert!(lines <= most, "{file} has {lines} lines, and {most} are enough to say what a program does");
}

#[test]
fn every_package_of_the_workspace_has_a_limit() {
    let root = Project::find().unwrap().root;
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for member in alone::list(&manifest, "members").unwrap() {
        let has_limit = LIMITS.iter().any(|(folder, _)| Path::new(&member).starts_with(folder));
        assert!(has_limit, "{member} is in no folder that has a limit of lines");
    }
}

#[test]
fn a_file_that_is_too_long_is_named_and_one_that_fits_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir_all(root.join("crate/src/deep")).unwrap();
    std::fs::create_dir_all(root.join("crate/target")).unwrap();
    let write = |file: &str, lines: usize| std::fs::write(root.join(file), "\n".repeat(lines)).unwrap();
    write("crate/src/fits.rs", 400);
    write("crate/src/deep/long.rs", 401);
    write("crate/src/fits.h", 400);
    write("crate/src/long.c", 401);
    write("crate/src/table.txt", 401);
    write("crate/target/made.rs", 401);
    let expected = ["deep/long.rs", "long.c"]
        .map(|file| format!("crate/src/{file} has 401 lines; a file in crate/ has 400 at most"));
    assert_eq!(check(root, "crate", 400), (4, expected.to_vec()));
}
