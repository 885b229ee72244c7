//! C programs, one an area of VIPL, over two NICs of a simulator: what each of their tests says about VIPL is true of this library.
//! docs/conformance.md has the statements.

use std::{fs, path::Path, process::Command};

mod common;
use common::{compile, Simulator};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// How old programs were compiled.
const STANDARD: &str = "-std=gnu89";

/// Runs one of the programs; the names of the tests that passed.
fn run(name: &str) -> Vec<String> {
    let simulator = Simulator::start();
    let folder = simulator.folder.path();
    let source = format!("{FOLDER}/tests/c/{name}.c");
    let program = compile(Path::new(&source), STANDARD, folder);
    let hosts = folder.join("hosts");
    fs::write(
        &hosts,
        "node1.cluster 02:00:00:00:00:01 10.0.0.1\nnode2 02:00:00:00:00:02\nnode1.cluster 02:00:00:00:00:03\n",
    )
    .expect("written");
    let output = Command::new(program)
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", simulator.names())
        .env("VIADUCT_NICS_FILE", "/dev/null")
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

#[test]
fn descriptors_right_and_wrong_at_each_level() {
    all_pass("transfer");
}

#[test]
fn calls_under_way() {
    all_pass("under_way");
}

#[test]
fn every_statement_is_in_the_documents() {
    let text = fs::read_to_string(format!("{FOLDER}/../../docs/conformance.md")).expect("it is there");
    for program in ["nic", "vi", "cq", "system", "connect", "transfer", "under_way"] {
        for name in listed(program) {
            assert!(text.contains(&name), "{program}.c: {name}");
        }
    }
}
