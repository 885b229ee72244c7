//! C programs, one an area of VIPL, over two NICs of a simulator: what each of their tests says about VIPL is true of this library, whether
//! the NICs are the program's own or viads', functional models or RTL. (With `VIADUCT_KIND=rtl` all of them are RTL.)
//! docs/conformance.md has the statements.

use std::{fs, path::Path, process::Command};

use crate::common::{compile, Simulator, Viads};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// How old programs were compiled.
const STANDARD: &str = "-std=gnu89";

/// Runs one of the programs over NICs of this kind; the names of the tests that passed.
pub fn run(name: &str, through_viad: bool, simulator: &Simulator) -> Vec<String> {
    let viads = through_viad.then(|| Viads::of(simulator, ""));
    let nics = viads.as_ref().map_or_else(|| simulator.names(), Viads::names);
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
        .env("VIADUCT_NICS", nics)
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

/// Runs a program in both ways; over RTL, which takes longer, those that say most of what a NIC does, and with more between program and
/// NIC.
macro_rules! programs {
    ($($test:ident: $program:literal $(and $rtl:ident)?,)*) => {
        /// All of them.
        const PROGRAMS: &[&str] = &[$($program),*];

        $(mod $test {
            #[test]
            fn with_its_own_nics() {
                super::all_pass($program, false, &super::Simulator::start());
            }

            #[test]
            fn through_viad() {
                super::all_pass($program, true, &super::Simulator::start());
            }

            $(#[test]
            fn $rtl() {
                super::all_pass($program, true, &super::Simulator::of("rtl", 2));
            })?
        })*
    };
}

fn all_pass(name: &str, through_viad: bool, simulator: &Simulator) {
    let listed = listed(name);
    assert!(!listed.is_empty());
    assert_eq!(run(name, through_viad, simulator), listed);
}

programs! {
    nics_tags_and_memory: "nic",
    virtual_interfaces: "vi" and through_viad_on_rtl,
    completion_queues_and_handlers: "cq" and through_viad_on_rtl,
    errors_names_and_forks: "system" and through_viad_on_rtl,
    connections_and_what_moves_over_them: "connect" and through_viad_on_rtl,
    descriptors_right_and_wrong_at_each_level: "transfer" and through_viad_on_rtl,
    rdma_at_each_level: "rdma" and through_viad_on_rtl,
    private_data: "private",
    messages_that_find_no_receive: "not_ready",
    memory_that_the_library_allocates: "memory",
    descriptors_to_wait_on: "waiting",
    connections_that_nobody_waits_for: "queue",
    peers_that_nobody_waits_for: "peers",
    nics_that_are_found: "list",
    calls_under_way: "under_way",
    threads_that_wait: "wakeups",
    nics_that_are_closed: "closing",
    several_descriptors_at_once: "data_path" and through_viad_on_rtl,
    vis_that_no_two_threads_use: "unshared",
}

#[test]
fn every_statement_is_in_the_documents() {
    let text = fs::read_to_string(format!("{FOLDER}/../../docs/conformance.md")).expect("it is there");
    for program in PROGRAMS {
        for name in listed(program) {
            assert!(text.contains(&name), "{program}.c: {name}");
        }
    }
}
