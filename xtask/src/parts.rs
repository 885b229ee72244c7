//! The parts of `test`, in their order.

use crate::action::{Action, Tests};
use crate::lanes::{self, Lane};
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use crate::suite::{Outcome, Suite};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One part.
pub struct Part {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it checks, in one line.
    pub about: &'static str,
    /// Beside which other parts it may run.
    pub lane: Lane,
    /// It is in `test --quick`, too.
    pub quick: bool,
    needs: &'static [Need],
    action: Action,
}

use Lane::{Apart, Cargo, Tools};
use Need::{Count, Decode, Lint, PlaceRoute, Proof, Simulator, Synthesis, Tests as Runner};

const fn part(
    name: &'static str,
    lane: Lane,
    needs: &'static [Need],
    action: Action,
    about: &'static str,
) -> Part {
    Part { name, about, lane, quick: false, needs, action }
}

/// A part of the quick run, too.
const fn quick(
    name: &'static str,
    lane: Lane,
    needs: &'static [Need],
    action: Action,
    about: &'static str,
) -> Part {
    Part { quick: true, ..part(name, lane, needs, action, about) }
}

/// All parts. Those of cargo run in this order, the quick and telling ones first; the others beside them, long ones first.
#[rustfmt::skip]
pub const PARTS: &[Part] = &[
    quick("format", Cargo, &[Lint], Action::Format, "the sources are as rustfmt writes them"),
    part("alone", Apart, &[], Action::Alone, "what users link builds with no Verilator and no C++"),
    part("miri", Apart, &[], Action::Miri, "memory and threads of the library and the driver, as Miri sees them"),
    part("threads", Apart, &[], Action::Threads, "what queues and waits promise about threads, in every order that the threads can take"),
    part("book", Apart, &[Need::Book], Action::Book, "docs/ as a book, rustdoc beside it without a warning, and each link of both to a page of them leads there"),
    part("publish", Apart, &[], Action::Publish, "the crates that users link are packed and judged as by `cargo publish`"),
    quick("build", Cargo, &[Simulator], Action::Build, "every crate and test"),
    quick("clippy", Cargo, &[Lint, Simulator], Action::Clippy, "no warning in any target"),
    part("netlist", Tools, &[Simulator, PlaceRoute, Runner], Action::Netlist, "the core as it is synthesised does what its Verilog does, cycle by cycle"),
    part("icarus", Tools, &[Simulator, Synthesis, Runner], Action::Icarus, "the NIC in Icarus, in four states: what it shows is never unknown, and what Verilator shows"),
    part("budget", Tools, &[Synthesis], Action::Budget, "every block fits its budget on ECP5"),
    part("speed", Tools, &[Synthesis, PlaceRoute], Action::Speed, "the slowest blocks, placed and routed alone, are as fast as they promise"),
    part("vfio", Tools, &[Simulator], Action::Vfio, "a guest's kernel, its IOMMU and vfio-pci with two simulated NICs"),
    part("linux", Tools, &[Simulator], Action::Linux, "Linux' soft-RoCE in a guest, and VIA programs as its peers"),
    part("lint", Tools, &[Simulator, Synthesis], Action::Lint, "the NIC exports to Verilog that Verilator and yosys find no fault in"),
    part("board", Tools, &[PlaceRoute], Action::Board, "mac-echo for the Versa board, from RustHDL to its bitstream: within its budget, fast enough, twice the same bits; and docs/fit records placements of today's card on both its boards"),
    part("prove", Tools, &[Proof], Action::Prove, "the proofs of the primitives, of the arithmetic, of the protection checker and of the PCI Express endpoint"),
    part("mutate", Tools, &[Runner, Simulator, Synthesis], Action::Mutate, "a dozen faults in the exported Verilog, each found by the test that found it first"),
    part("demo", Tools, &[Simulator, Decode], Action::Demo, "the demo, and its capture read by Wireshark"),
    quick("spec", Cargo, &[Runner], Action::Unit("viaduct-spec"), "unit tests: layouts"),
    quick("driver", Cargo, &[Runner], Action::Unit("viaduct-driver"), "unit tests: PciDevice back ends and Kernel Agent"),
    quick("viad", Cargo, &[Runner], Action::Unit("viad"), "unit tests: the Kernel Agent as a service"),
    quick("vipl", Cargo, &[Runner], Action::Unit("vipl"), "unit tests: VIPL"),
    quick("cli", Cargo, &[Runner], Action::Unit("viaduct-cli"), "unit tests: the viaduct command"),
    quick("linux-cases", Cargo, &[Runner, Simulator], Action::Unit("viaduct-linux-tests"), "unit tests: the cases whose peer is Linux"),
    quick("guest", Cargo, &[Runner], Action::Unit("viaduct-guest"), "unit tests: the suite that runs where a kernel's VFIO is"),
    quick("xtask", Cargo, &[Runner], Action::Unit("xtask"), "unit tests: this command"),
    quick("verilate", Cargo, &[Runner, Simulator], Action::Unit("viaduct-verilate"), "unit tests: Verilog into a running model"),
    quick("verilog", Cargo, &[Runner, Synthesis], Action::Unit("viaduct-verilog"), "unit tests: RustHDL into Verilog that people can read, proved equal"),
    quick("dialect", Cargo, &[Runner], Action::Unit("viaduct-dialect"), "unit tests: what is said of many wires at once is what is said of each"),
    quick("hdl", Cargo, &[Runner, Simulator], Action::Unit("viaduct-hdl"), "unit tests: every block's exported Verilog in Verilator, and the source lint"),
    quick("flow", Cargo, &[Runner, Simulator, Synthesis, Proof], Action::Unit("viaduct-flow"), "unit tests: the gates refuse what they are there for"),
    quick("sim", Cargo, &[Runner, Simulator], Action::Unit("viaduct-sim"), "unit tests: root complex, fabric, functional model"),
    part("link", Cargo, &[Runner], Action::Unit("viaduct-link"), "unit tests: a PCI Express link partner from the specification, and the monitor of the symbol seam"),
    quick("models", Cargo, &[Runner, Simulator, Decode], Action::Models, "the co-simulation suite, with functional models in place of RTL NICs"),
    quick("walks", Cargo, &[Simulator], Action::Walks, "random walks: the RTL held against one schedule of the functional model, on the corpus of seeds and as many drawn from the commit's hash"),
    part("bench", Cargo, &[Runner, Simulator], Action::Unit("viaduct-bench"), "unit tests: the bounds of the figures; every figure holds its bar"),
    part("pictures", Cargo, &[Runner, Simulator], Action::Unit("viaduct-pictures"), "unit tests: what the pictures of docs/ are drawn from; each picture is as it is drawn now"),
    part("walk", Cargo, &[Runner, Simulator], Action::Unit("viaduct-walk"), "unit tests: random walks find what is wrong, and make it small"),
    part("stack", Cargo, &[Runner, Simulator, Decode], Action::Unit("viaduct-tests"), "the co-simulation suite"),
    part("linked", Cargo, &[Runner, Simulator, Decode], Action::Linked, "a part of the co-simulation suite, with the RTL NICs behind PCI Express links"),
    part("viad-stack", Cargo, &[Runner, Simulator, Decode, Need::C], Action::Unit("viaduct-viad-tests"), "viad and its clients, honest and hostile, in Rust and in C"),
    part("vipl-c", Cargo, &[Runner, Simulator, Need::C], Action::Unit("vipl-c"), "VIPL's C interface: the header, the library's symbols, C programs over functional models and RTL"),
    quick("vipl-heap", Cargo, &[Runner], Action::Unit("vipl-heap"), "unit tests: the allocator to preload, its runs of pages and its arenas"),
    part("instructions", Cargo, &[Runner, Count], Action::Instructions, "a post and a look take as many instructions as they did, through libvipl as it is shipped"),
    part("fabric", Cargo, &[Runner, Lint, Simulator, Need::Libfabric], Action::Fabric, "unit tests and lints: libfabric's provider"),
    part("mpi", Cargo, &[Simulator, Need::Libfabric, Need::Mpi], Action::Mpi, "Open MPI and MPICH over libfabric's provider and functional models: rings, hpcc, mpi4py's own tests, a flood, processes and viads that are killed"),
    part("mpi-guests", Cargo, &[Simulator, Need::Libfabric, Need::Mpi], Action::MpiGuests, "a ring of MPICH's in two guests, each with its own kernel's VFIO and a viad that trusts its rank"),
    part("doc", Cargo, &[], Action::Doc, "the examples in the documentation of what users link"),
    part("install", Cargo, &[Need::C, Need::Simulator], Action::Install, "VIPL's C interface and viad under a prefix, and the C lines of README.md typed there"),
    part("package", Cargo, &[Need::C, Need::Package], Action::Package, "the Debian packages: built, installed into a root of their own, run there, and purged"),
    part("large", Cargo, &[Runner, Simulator, Synthesis], Action::Large, "the large profile: 1024 VIs and 4096 regions, without a fault and at work"),
];

/// Which parts run.
pub enum Choice<'a> {
    /// All of them.
    Whole,
    /// Those for who has changed something.
    Quick,
    /// Those of these names, one after the other.
    Only(&'a [String]),
}

fn find(name: &str) -> Result<&'static Part> {
    let found = PARTS.iter().find(|part| part.name == name);
    found.with_context(|| format!("there is no part {name}; `cargo xtask test --list` shows them"))
}

/// Runs the parts; fails if one of them does.
pub fn run(project: &Project, choice: &Choice) -> Result<()> {
    let parts: Vec<&Part> = match choice {
        Choice::Whole => PARTS.iter().collect(),
        Choice::Quick => PARTS.iter().filter(|part| part.quick).collect(),
        Choice::Only(names) => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
    };
    println!("environment of cargo: {}", project.cargo("")?.ambience());
    let mut suite = Suite::new(in_ci());
    let mut needs: Vec<Need> = parts.iter().flat_map(|part| part.needs).copied().collect();
    needs.sort();
    needs.dedup();
    println!("\n== set-up");
    let start = Instant::now();
    let installed = setup::ensure(project, &needs);
    let mut runs = Vec::new();
    let all_here = installed.is_ok();
    suite.add(Outcome::of("set-up", start, installed));
    for part in parts {
        let lacking = match all_here {
            true => Vec::new(),
            false => setup::lacking(project, part.needs)?,
        };
        match lacking.is_empty() {
            true => runs.push(part),
            false => suite.cannot(part.name, &format!("without {}", lacking.join(", "))),
        }
    }
    match choice {
        Choice::Only(_) => {
            for part in runs {
                println!("\n== {}", part.name);
                suite.add(part.run(project, false, false)?);
            }
        }
        Choice::Whole | Choice::Quick => {
            lanes::run(project, &runs, matches!(choice, Choice::Quick), &mut suite)?;
        }
    }
    suite.finish()
}

/// Whether nobody reads what is printed: what a machine cannot test is a failure there.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// One part of a run that has built everything; leaves its outcome in a file.
pub fn inside(project: &Project, name: &str, quick: bool, outcome: &Path) -> Result<()> {
    find(name)?.run(project, true, quick)?.write(outcome)
}

impl Part {
    /// Runs it in this process.
    fn run(&self, project: &Project, whole: bool, quick: bool) -> Result<Outcome> {
        let left_out = project.scratch("parts")?.join(format!("{}.left-out", self.name));
        // What an earlier run left there is told no more.
        take(&left_out)?;
        let start = Instant::now();
        let tests = Tests { project, whole, quick, left_out: &left_out };
        let mut outcome = Outcome::of(self.name, start, tests.run(self.action));
        outcome.notes = take(&left_out)?;
        outcome.notes.iter().for_each(|note| println!("{note}"));
        Ok(outcome)
    }
}

/// The lines of a file, which is gone then.
fn take(file: &PathBuf) -> Result<Vec<String>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = crate::project::read(file)?;
    std::fs::remove_file(file).with_context(|| file.display().to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alone;
    use std::collections::BTreeSet;

    #[test]
    fn every_package_of_the_workspace_is_tested() {
        let root = Project::find().unwrap().root;
        let tested: BTreeSet<String> = PARTS
            .iter()
            .filter_map(|part| match part.action {
                Action::Unit(package) => Some(package.to_string()),
                Action::Instructions => Some("viaduct-instructions".to_string()),
                Action::Fabric => Some(crate::mpi::PACKAGE.to_string()),
                _ => None,
            })
            .collect();
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = alone::list(&manifest, "members").unwrap();
        let names = members.iter().map(|member| {
            let manifest = std::fs::read_to_string(root.join(member).join("Cargo.toml")).unwrap();
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
            name.trim_matches('"').to_string()
        });
        assert_eq!(tested, names.collect());
    }

    /// A folder of tests with a `main.rs` is one program: a file that it does not name would not be tested, and nobody would say so.
    #[test]
    fn every_file_of_tests_is_in_its_program() {
        let root = Project::find().unwrap().root;
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        /// The files that `list` does not name, of its folder and of those that are modules.
        fn lost(folder: &Path, list: &str, elsewhere: &str) -> Vec<PathBuf> {
            let text = std::fs::read_to_string(folder.join(list)).unwrap();
            let mut lost = Vec::new();
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                let module = name.strip_suffix(".rs").unwrap_or(name);
                let named = name == list
                    || text.lines().any(|line| line.trim_start_matches("pub ") == format!("mod {module};"))
                    || elsewhere.contains(&format!("path = \"tests/{name}\""));
                if path.join("mod.rs").exists() {
                    lost.extend(lost_in(&path, named));
                } else if name.ends_with(".rs") && !named {
                    lost.push(path);
                }
            }
            lost
        }
        fn lost_in(folder: &Path, named: bool) -> Vec<PathBuf> {
            if named {
                lost(folder, "mod.rs", "")
            } else {
                vec![folder.to_owned()]
            }
        }
        let mut programs = 0;
        for member in alone::list(&manifest, "members").unwrap() {
            let folder = root.join(&member).join("tests");
            if !folder.join("main.rs").exists() {
                continue;
            }
            programs += 1;
            let cargo = std::fs::read_to_string(root.join(&member).join("Cargo.toml")).unwrap();
            assert_eq!(lost(&folder, "main.rs", &cargo), Vec::<PathBuf>::new(), "{member}: in no program");
        }
        assert!(programs > 0, "no folder of tests has a main.rs");
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused() {
        let project = Project::at("/p".into());
        let error = run(&project, &Choice::Only(&["specs".into()])).unwrap_err();
        assert!(error.to_string().contains("no part specs"), "{error}");
    }

    #[test]
    fn no_two_parts_share_a_name() {
        let names: BTreeSet<&str> = PARTS.iter().map(|part| part.name).collect();
        assert_eq!(names.len(), PARTS.len());
    }

    #[test]
    fn the_quick_run_builds_what_its_parts_run() {
        assert!(PARTS.iter().any(|part| part.quick && part.action == Action::Build));
        assert!(PARTS.iter().filter(|part| part.quick).all(|part| part.lane == Lane::Cargo));
    }
}
