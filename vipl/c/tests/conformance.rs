//! C programs, one an area of VIPL, over two NICs of a simulator: what each of their tests says about VIPL is true of this library.
//! docs/conformance.md has the statements.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

mod common;
use common::{built, Simulator};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// How old programs were compiled.
const STANDARD: &str = "-std=gnu89";

/// Compiles a program of tests/c.
fn compile(name: &str, folder: &Path) -> PathBuf {
    let library = built("libvipl.so");
    // As an installed library is found: by its soname.
    let link = folder.join("libvipl.so.0");
    if !link.exists() {
        symlink(&library, link).expect("linked");
    }
    let program = folder.join(name);
    let output = Command::new("cc")
        .args([
            STANDARD,
            "-pedantic-errors",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-function",
            "-g",
            "-pthread",
        ])
        .arg("-I")
        .arg(format!("{FOLDER}/../include"))
        .arg(format!("{FOLDER}/tests/c/{name}.c"))
        .arg("-o")
        .arg(&program)
        .arg(&library)
        .output()
        .expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs one of the programs; the names of the tests that passed.
fn run(name: &str) -> Vec<String> {
    let simulator = Simulator::start();
    let folder = simulator.folder.path();
    let program = compile(name, folder);
    let hosts = folder.join("hosts");
    fs::write(
        &hosts,
        "node1.cluster 02:00:00:00:00:01 10.0.0.1\nnode2 02:00:00:00:00:02\nnode1.cluster 02:00:00:00:00:03\n",
    )
    .expect("written");
    let output = Command::new(program)
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", simulator.names())
        .env("VIADUCT_NICS_FILE", "/nonexistent")
        .env("VIPL_HOSTS", hosts)
        .env_remove("VIPL_COMPAT")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {said}", output.status);
    said.lines().filter_map(|line| line.strip_suffix(" passed")).map(str::to_owned).collect()
}

/// Every test of a program, by its source.
fn listed(name: &str) -> Vec<String> {
    let source = fs::read_to_string(format!("{FOLDER}/tests/c/{name}.c")).expect("it is there");
    let line = |line: &str| Some(line.trim().strip_prefix("TEST(")?.strip_suffix("),")?.to_owned());
    source.lines().filter_map(line).collect()
}

fn all_pass(name: &str) {
    let listed = listed(name);
    assert!(!listed.is_empty());
    assert_eq!(run(name), listed);
}

#[test]
fn nics_tags_and_memory() {
    all_pass("nic");
}

#[test]
fn virtual_interfaces() {
    all_pass("vi");
}

#[test]
fn completion_queues_and_handlers() {
    all_pass("cq");
}

#[test]
fn errors_names_and_forks() {
    all_pass("system");
}

#[test]
fn connections_and_what_moves_over_them() {
    all_pass("connect");
}
