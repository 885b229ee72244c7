//! The libraries start threads in one way alone: in programs that know nothing of them, a thread of a library's blocks signals from its first
//! instruction (`host-driver/src/thread.rs`).

use crate::{project::Project, sources};
use std::path::{Path, PathBuf};

/// What is linked into programs. viad is a program of its own, and takes signals.
const LIBRARIES: [&str; 4] = ["host-driver/src", "vipl/src", "vipl/c/src", "fabric/src"];
/// The one place that starts threads.
const PLACE: &str = "host-driver/src/thread.rs";
/// How the standard library and the C library start threads.
const STARTS: [&str; 6] = [
    "std::thread::spawn",
    "thread::Builder",
    "thread::scope",
    "use std::thread;",
    "thread::{spawn",
    "pthread_create",
];

/// The lines of a source that start a thread, past its tests.
fn starts(source: &str) -> Vec<&str> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| STARTS.iter().any(|start| line.contains(start))).collect()
}

#[test]
fn the_libraries_start_threads_in_one_place() {
    let root = Project::find().unwrap().root;
    // Folders of tests, and models that loom runs, are in no program.
    let enter = |inside: &Path| !(inside.ends_with("tests") || inside.ends_with("models"));
    let found: Vec<PathBuf> =
        LIBRARIES.iter().flat_map(|library| sources::of(&root.join(library), &enter)).collect();
    let mut places = Vec::new();
    for file in found.iter().filter(|file| !file.ends_with("models.rs") && !file.ends_with("tests.rs")) {
        let source = std::fs::read_to_string(file).unwrap();
        let lines = starts(&source).into_iter().map(|line| line.trim().to_owned());
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        places.extend(lines.map(|line| (name.clone(), line)));
    }
    assert_eq!(places.len(), 1, "{places:?}");
    assert_eq!(places[0].0, PLACE);
}

#[test]
fn what_starts_a_thread_is_seen_and_a_test_s_is_not() {
    let source = "fn a() { std::thread::spawn(b) }\n#[cfg(test)]\nmod tests { use std::thread; }";
    assert_eq!(starts(source), ["fn a() { std::thread::spawn(b) }"]);
    assert_eq!(starts("crate::thread::spawn(\"watch\", b)"), [""; 0]);
}
