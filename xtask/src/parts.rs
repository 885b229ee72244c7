//! The parts of `test`, in their order.

use crate::command::Cmd;
use crate::hardware::{self, Exporter};
use crate::need::Need;
use crate::project::Project;
use crate::suite::Suite;
use crate::{alone, demo, fit, install, netlist, setup, soak, vfio};
use anyhow::{bail, Result};
use std::path::PathBuf;

/// One part.
pub struct Part {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it checks, in one line.
    pub about: &'static str,
    needs: &'static [Need],
    action: Action,
}

#[derive(Clone, Copy, PartialEq)]
enum Action {
    Format,
    Clippy,
    Alone,
    /// Builds everything that the later parts run.
    Build,
    /// The tests of one package.
    Unit(&'static str),
    /// The co-simulation suite on models.
    Models,
    /// Random walks.
    Walks,
    /// The tests of every package.
    Units,
    Doc,
    Miri,
    Lint,
    /// The large profile: builds, lints and runs it.
    Large,
    Budget,
    /// Placement and routing of the slowest blocks.
    Speed,
    /// Bitstreams of the smallest design.
    Board,
    /// The synthesised core beside the RTL.
    Netlist,
    Prove,
    Demo,
    Install,
    Vfio,
}

use Need::{Decode, PlaceRoute, Proof, Simulator, Synthesis};

/// All parts, the quick and telling ones first.
#[rustfmt::skip]
pub const PARTS: &[Part] = &[
    Part { name: "format", about: "the sources are as rustfmt writes them", needs: &[Need::Lint], action: Action::Format },
    Part { name: "clippy", about: "no warning in any target", needs: &[Need::Lint, Simulator], action: Action::Clippy },
    Part { name: "alone", about: "what users link builds with no Verilator and no C++", needs: &[], action: Action::Alone },
    Part { name: "build", about: "every crate and test", needs: &[Simulator], action: Action::Build },
    Part { name: "spec", about: "unit tests: layouts", needs: &[], action: Action::Unit("viaduct-spec") },
    Part { name: "driver", about: "unit tests: PciDevice back ends and Kernel Agent", needs: &[], action: Action::Unit("viaduct-driver") },
    Part { name: "viad", about: "unit tests: the Kernel Agent as a service", needs: &[], action: Action::Unit("viad") },
    Part { name: "vipl", about: "unit tests: VIPL", needs: &[], action: Action::Unit("vipl") },
    Part { name: "vipl-c", about: "VIPL's C interface: the header, the library's symbols, C programs over functional models and RTL", needs: &[Simulator, Need::C], action: Action::Unit("vipl-c") },
    Part { name: "cli", about: "unit tests: the viaduct command", needs: &[], action: Action::Unit("viaduct-cli") },
    Part { name: "guest", about: "unit tests: the suite that runs where a kernel's VFIO is", needs: &[], action: Action::Unit("viaduct-guest") },
    Part { name: "xtask", about: "unit tests: this command", needs: &[], action: Action::Unit("xtask") },
    Part { name: "verilate", about: "unit tests: Verilog into a running model", needs: &[Simulator], action: Action::Unit("viaduct-verilate") },
    Part { name: "hdl", about: "unit tests: every block's exported Verilog in Verilator, and the source lint", needs: &[Simulator, Synthesis], action: Action::Unit("viaduct-hdl") },
    Part { name: "sim", about: "unit tests: root complex, fabric, functional model", needs: &[Simulator], action: Action::Unit("viaduct-sim") },
    Part { name: "bench", about: "unit tests: the bounds of the figures; every figure holds its bar", needs: &[Simulator], action: Action::Unit("viaduct-bench") },
    Part { name: "walk", about: "unit tests: random walks find what is wrong, and make it small", needs: &[Simulator], action: Action::Unit("viaduct-walk") },
    Part { name: "walks", about: "random walks: the RTL held against the functional model", needs: &[Simulator], action: Action::Walks },
    Part { name: "stack", about: "the co-simulation suite", needs: &[Simulator, Decode], action: Action::Unit("viaduct-tests") },
    Part { name: "models", about: "the co-simulation suite again, with functional models in place of RTL NICs", needs: &[Simulator, Decode], action: Action::Models },
    Part { name: "viad-stack", about: "viad and its clients, honest and hostile, in Rust and in C", needs: &[Simulator, Decode, Need::C], action: Action::Unit("viaduct-viad-tests") },
    Part { name: "doc", about: "the examples in the documentation of what users link", needs: &[], action: Action::Doc },
    Part { name: "miri", about: "memory and threads of the library and the driver, as Miri sees them", needs: &[], action: Action::Miri },
    Part { name: "lint", about: "the NIC exports to Verilog that Verilator and yosys find no fault in", needs: &[Simulator, Synthesis], action: Action::Lint },
    Part { name: "budget", about: "every block fits its budget on ECP5", needs: &[Synthesis], action: Action::Budget },
    Part { name: "speed", about: "the slowest blocks, placed and routed alone, are as fast as they promise", needs: &[Synthesis, PlaceRoute], action: Action::Speed },
    Part { name: "board", about: "mac-echo for the Versa board, from RustHDL to its bitstream: within its budget, fast enough, twice the same bits", needs: &[PlaceRoute], action: Action::Board },
    Part { name: "netlist", about: "the core as it is synthesised does what its Verilog does, cycle by cycle", needs: &[Simulator, PlaceRoute], action: Action::Netlist },
    Part { name: "prove", about: "the proofs of the primitives", needs: &[Proof], action: Action::Prove },
    Part { name: "demo", about: "the demo, and its capture read by Wireshark", needs: &[Simulator, Decode], action: Action::Demo },
    Part { name: "install", about: "VIPL's C interface and viad under a prefix, and a C program that is compiled as the quick start says", needs: &[Need::C], action: Action::Install },
    Part { name: "vfio", about: "a guest's kernel, its IOMMU and vfio-pci with two simulated NICs", needs: &[Simulator], action: Action::Vfio },
    // Last: it leaves the large profile's viaduct-export where the board's was.
    Part { name: "large", about: "the large profile: 1024 VIs and 4096 regions, without a fault and at work", needs: &[Simulator, Synthesis], action: Action::Large },
];

/// Packages whose tests run programs of other packages.
const PROGRAMS: [&str; 3] = ["viaduct-tests", "viaduct-viad-tests", "vipl-c"];

/// Files of the co-simulation suite that say themselves which NICs they run on.
const CHOSEN: [&str; 6] = ["bulk", "counters", "fairness", "kinds", "profile", "strangers"];

/// Names the file for what tests leave out, to those that know of it (tests/viad/src/skip.rs).
const LEFT_OUT: &str = "VIADUCT_SKIPPED";

/// What stands for all unit parts where cargo-nextest is not installed: cargo itself can run the
/// tests of one package only with that package's own selection of features, which would build many
/// dependencies again for each.
const UNITS: Part = Part {
    name: "units",
    about: "unit tests of every crate",
    needs: &[Simulator, Synthesis, Decode],
    action: Action::Units,
};

/// The parts for these names, or all.
fn select(only: &[String], nextest: bool) -> Vec<&'static Part> {
    let mut parts: Vec<&Part> = PARTS.iter().collect();
    if !only.is_empty() {
        parts.retain(|part| only.iter().any(|name| name == part.name));
    } else if !nextest {
        let is_unit = |part: &&Part| matches!(part.action, Action::Unit(_));
        let first = parts.iter().position(is_unit).unwrap_or(0);
        parts.retain(|part| !is_unit(part));
        parts.insert(first, &UNITS);
    }
    parts
}

/// Runs the parts of these names, or all.
pub fn run(project: &Project, only: &[String]) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| !PARTS.iter().any(|part| part.name == **name)) {
        bail!("there is no part {unknown}; `cargo xtask test --list` shows them");
    }
    let nextest = project.cargo("nextest")?.arg("--version").probe().is_some();
    let parts = select(only, nextest);
    // One selection of packages for all parts, so that no dependency is built twice with other
    // features; a part that is asked for alone builds what it needs and no more.
    let tests = Tests { project, nextest, whole: only.is_empty() };
    // What an earlier run left there is told no more.
    tests.left_out();

    println!("environment of cargo: {}", project.cargo("")?.ambience());
    let mut suite = Suite::default();
    let mut needs: Vec<Need> = parts.iter().flat_map(|part| part.needs).copied().collect();
    needs.sort();
    needs.dedup();
    let all_here = suite.part("set-up", || setup::ensure(project, &needs));
    for part in parts {
        let lacking = match all_here {
            true => Vec::new(),
            false => setup::lacking(project, part.needs)?,
        };
        if lacking.is_empty() {
            suite.part(part.name, || tests.run(part.action));
            tests.left_out().iter().for_each(|what| suite.note(what));
        } else {
            suite.cannot(part.name, &format!("without {}", lacking.join(", ")));
        }
    }
    suite.finish()
}

struct Tests<'a> {
    project: &'a Project,
    nextest: bool,
    whole: bool,
}

impl Tests<'_> {
    fn run(&self, action: Action) -> Result<()> {
        let project = self.project;
        let exporter = match self.whole {
            true => Exporter::Built,
            false => Exporter::Build,
        };
        match action {
            Action::Format => project.cargo("fmt")?.args(["--all", "--", "--check"]).run(),
            Action::Clippy => {
                project.cargo("clippy")?.args(["--workspace", "--all-targets", "--", "-D", "warnings"]).run()
            }
            Action::Alone => alone::build(project),
            Action::Build => project.cargo("build")?.args(["--workspace", "--all-targets"]).run(),
            Action::Unit(package) => {
                if PROGRAMS.contains(&package) {
                    self.programs()?;
                }
                self.unit(package)?.ambient(LEFT_OUT, self.left_out_file()?).run()
            }
            Action::Models => {
                self.programs()?;
                let tests = self.unit_without("viaduct-tests", &CHOSEN)?;
                tests.ambient("VIADUCT_NIC", "model").ambient(LEFT_OUT, self.left_out_file()?).run()
            }
            Action::Walks => soak::run(project, &soak::Options::part()),
            Action::Units => {
                let all = ["--workspace", "--tests", "--no-fail-fast"];
                project.cargo("test")?.args(all).ambient(LEFT_OUT, self.left_out_file()?).run()
            }
            Action::Doc => self.doc()?.run(),
            Action::Miri => crate::miri::run(project),
            Action::Lint => {
                let folder = project.scratch("verilog")?;
                hardware::export(project, exporter, &folder)?;
                hardware::lint(project, exporter, None)
            }
            Action::Large => {
                // A client of viad's is among the tests; viad is the same for every NIC.
                if !self.whole {
                    project.cargo("build")?.args(["-p", "viad"]).run()?;
                }
                self.large()?.run()?;
                hardware::lint(project, Exporter::Large, Some("core"))
            }
            Action::Budget => hardware::budget(project, exporter, None),
            Action::Speed => fit::blocks(project, exporter, &fit::Choice::part(), fit::SEED),
            Action::Board => fit::quick(project, exporter),
            Action::Netlist => netlist::run(project, exporter),
            Action::Prove => hardware::prove(project, exporter, None),
            Action::Demo => demo::smoke(project, self.whole),
            Action::Install => install::smoke(project),
            Action::Vfio => vfio::run(project, &vfio::Options::default(), self.whole),
        }
    }

    /// Builds the programs that tests run. In a whole run the part build has done this.
    fn programs(&self) -> Result<()> {
        if self.whole {
            return Ok(());
        }
        let programs = ["-p", "viaduct-sim", "-p", "viaduct-cli", "-p", "viad", "-p", "vipl-c"];
        self.project.cargo("build")?.args(programs).run()?;
        self.project.cargo("build")?.args(["-p", "vipl", "--examples"]).run()
    }

    /// The file that tests write to what they leave out on this machine.
    fn left_out_file(&self) -> Result<PathBuf> {
        Ok(self.project.scratch("tests")?.join("left-out"))
    }

    /// What they have left out since the last time.
    fn left_out(&self) -> Vec<String> {
        let Ok(file) = self.left_out_file() else { return Vec::new() };
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // It is there only if somebody wrote to it.
        let _ = std::fs::remove_file(file);
        text.lines().map(str::to_owned).collect()
    }

    /// The unit and integration tests of one package.
    fn unit(&self, package: &str) -> Result<Cmd> {
        self.unit_without(package, &[])
    }

    /// Those of one package, but for what is in these files. Without cargo-nextest they are among them.
    fn unit_without(&self, package: &str, files: &[&str]) -> Result<Cmd> {
        let cargo = |subcommand| self.project.cargo(subcommand);
        let without: String = files.iter().map(|file| format!(" - binary(={file})")).collect();
        let run = ["run", "--no-fail-fast"];
        Ok(match (self.nextest, self.whole) {
            (true, true) => cargo("nextest")?
                .args(run)
                .args(["--workspace", "-E"])
                .arg(format!("package(={package}){without}")),
            (true, false) => {
                let command = cargo("nextest")?.args(run).args(["-p", package]);
                match without.is_empty() {
                    true => command,
                    false => command.arg("-E").arg(format!("all(){without}")),
                }
            }
            (false, _) => cargo("test")?.args(["-p", package, "--tests"]),
        })
    }

    /// The last VI and the last region of the large profile. Dependencies are those of the other parts: only what builds on
    /// the profile is built again.
    fn large(&self) -> Result<Cmd> {
        let cargo = |subcommand| self.project.cargo(subcommand);
        let packages: &[&str] = match self.whole {
            true => &["--workspace"],
            false => &["-p", "viaduct-tests"],
        };
        let command = match self.nextest {
            true => cargo("nextest")?.arg("run"),
            false => cargo("test")?,
        };
        Ok(command.args(packages).args(["--features", "viaduct-tests/large", "--test", "profile"]))
    }

    fn doc(&self) -> Result<Cmd> {
        let packages = ["-p", "viaduct-spec", "-p", "viaduct-driver", "-p", "vipl"];
        Ok(self.project.cargo("test")?.arg("--doc").args(packages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn unit(nextest: bool, whole: bool) -> String {
        let project = Project::at("/p".into());
        Tests { project: &project, nextest, whole }.unit("vipl").unwrap().to_string()
    }

    #[test]
    fn unit_tests_use_what_is_installed_and_build_no_more_than_asked_for() {
        assert_eq!(unit(true, true), "cargo nextest run --no-fail-fast --workspace -E 'package(=vipl)'");
        assert_eq!(unit(true, false), "cargo nextest run --no-fail-fast -p vipl");
        assert_eq!(unit(false, false), "cargo test -p vipl --tests");
    }

    #[test]
    fn files_are_left_out_by_name() {
        let project = Project::at("/p".into());
        let without = |whole| {
            let tests = Tests { project: &project, nextest: true, whole };
            tests.unit_without("vipl", &["a", "b"]).unwrap().to_string()
        };
        let run = "cargo nextest run --no-fail-fast";
        assert_eq!(without(true), format!("{run} --workspace -E 'package(=vipl) - binary(=a) - binary(=b)'"));
        assert_eq!(without(false), format!("{run} -p vipl -E 'all() - binary(=a) - binary(=b)'"));
    }

    #[test]
    fn the_large_profile_takes_the_dependencies_of_the_rest() {
        let large = |nextest, whole| {
            let project = Project::at("/p".into());
            Tests { project: &project, nextest, whole }.large().unwrap().to_string()
        };
        let only = "--features viaduct-tests/large --test profile";
        assert_eq!(large(true, true), format!("cargo nextest run --workspace {only}"));
        assert_eq!(large(false, false), format!("cargo test -p viaduct-tests {only}"));
    }

    #[test]
    fn without_nextest_one_part_stands_for_the_unit_tests() {
        let names = |only: &[String], nextest| {
            let parts = select(only, nextest);
            parts.iter().map(|part| part.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[], true).len(), PARTS.len());
        let shown = ["format", "clippy", "alone", "build", "units", "walks", "models", "doc"];
        assert_eq!(names(&[], false)[..8], shown);
        assert_eq!(names(&["vipl".into()], false), ["vipl"]);
    }

    #[test]
    fn every_package_of_the_workspace_is_tested() {
        let root = Project::find().unwrap().root;
        let tested: BTreeSet<String> = PARTS
            .iter()
            .filter_map(|part| match part.action {
                Action::Unit(package) => Some(package.to_string()),
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

    #[test]
    fn a_part_that_does_not_exist_is_refused() {
        let error = run(&Project::at("/p".into()), &["specs".into()]).unwrap_err();
        assert!(error.to_string().contains("no part specs"), "{error}");
    }

    #[test]
    fn no_two_parts_share_a_name() {
        let names: BTreeSet<&str> = PARTS.iter().map(|part| part.name).collect();
        assert_eq!(names.len(), PARTS.len());
    }
}
