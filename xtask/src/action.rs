//! What the parts of `test` do.

use crate::command::Cmd;
use crate::hardware::{self, Exporter};
use crate::project::{self, Project};
use crate::{
    alone, book, demo, fit, install, instructions, lints, linux, mpi, mutate, netlist, package, publish,
    soak, vfio,
};
use anyhow::Result;
use std::ops::Range;
use std::path::Path;

/// What a part does.
#[derive(Clone, Copy, PartialEq)]
pub enum Action {
    /// rustfmt.
    Format,
    /// clippy.
    Clippy,
    /// The crates that users link, with nothing else there.
    Alone,
    /// Builds everything that the later parts run.
    Build,
    /// The tests of one package.
    Unit(&'static str),
    /// The co-simulation suite on models.
    Models,
    /// A part of the co-simulation suite behind PCI Express links.
    Linked,
    /// Random walks.
    Walks,
    /// What a call of the library takes in instructions.
    Instructions,
    /// Examples in documentation.
    Doc,
    /// The documentation as a book.
    Book,
    /// What `cargo publish` checks.
    Publish,
    /// Miri.
    Miri,
    /// Models of threads.
    Threads,
    /// The lint gate.
    Lint,
    /// The large profile: builds, lints and runs it.
    Large,
    /// Sizes.
    Budget,
    /// Placement and routing of the slowest blocks.
    Speed,
    /// Bitstreams of the smallest design, and the record of the card's placements.
    Board,
    /// The synthesised core beside the RTL.
    Netlist,
    /// The RTL in a simulator with four states.
    Icarus,
    /// Proofs.
    Prove,
    /// A dozen faults in the Verilog.
    Mutate,
    /// The demo.
    Demo,
    /// What is installed.
    Install,
    /// Debian packages.
    Package,
    /// A guest's kernel.
    Vfio,
    /// A guest as the peer.
    Linux,
    /// libfabric's provider: its tests, and its lints.
    Fabric,
    /// MPI programs over it.
    Mpi,
    /// A ring of MPI's in two guests.
    MpiGuests,
}

/// Packages whose tests run programs of other packages.
const PROGRAMS: [&str; 3] = ["viaduct-tests", "viaduct-viad-tests", "vipl-c"];

/// Tests of the co-simulation suite that run on the NICs which `VIADUCT_NIC` names; those of the module `own_nics`, and the
/// profile's, say themselves which they run on.
const ANY_NIC: &str = "binary(=suite) - test(/^own_nics::/)";

/// Tests of the co-simulation suite that run behind PCI Express links, too: messages, RDMA, protection, completion queues, the raw channel, and
/// resets. The others run there by `cargo xtask soak --linked`.
const LINKED: &str = "binary(=suite) & (test(/^(messages|rdma|reads|writes|protection|bring_up|library_rdma|library_queues)::/) \
     | test(/^(completion_queues::(room|interrupts)|raw_channel::(descriptors|room)|doorbells)::/) \
     | test(=determinism::a_seed_gives_the_same_cycles_and_the_same_capture) \
     | test(=own_nics::resets::a_function_reset_under_load_ends_what_has_begun_and_the_nic_goes_on) \
     | test(=own_nics::resets::a_link_that_goes_down_under_load_takes_half_packets_with_it_and_the_nic_goes_on))";

/// Tests that count cycles of the bus, or compare what depends on them: behind a link they would count the link's. The demo says itself what it is behind.
const COUNTS_CYCLES: &str =
    "test(/^(replay::answers|demo)::/) | test(=determinism::idle_time_that_is_skipped_changes_nothing) \
     | test(=retransmission::a_descriptor_that_changes_while_it_is_in_flight_breaks_its_vi) \
     | test(=retransmission::a_last_packet_that_is_lost_comes_again_after_the_time_out) \
     | test(=retransmission::a_peer_without_a_receive_is_asked_again_after_the_time_that_it_says) \
     | test(=writes::reception::reliable_reception_waits_for_the_bus)";

/// A link as a board has it (tests/src/world.rs): the core runs at 100 MHz.
const BOARD: &str = "pcie:5:4";

/// Links that the tests know: a core as fast as the link, and the board's.
const CLOCKS: [&str; 2] = ["pcie", BOARD];

/// Names the file for what tests leave out, to those that know of it (tests/viad/src/skip.rs).
const LEFT_OUT: &str = "VIADUCT_SKIPPED";

/// A run of one part.
pub struct Tests<'a> {
    /// Whose tests.
    pub project: &'a Project,
    /// The part `build` has built everything: one selection of packages for all parts, so that no dependency is built twice
    /// with other features. Else the part builds what it needs and no more.
    pub whole: bool,
    /// The run is the quick one.
    pub quick: bool,
    /// Where tests write what they leave out on this machine.
    pub left_out: &'a Path,
}

impl Tests<'_> {
    /// Does it.
    pub fn run(&self, action: Action) -> Result<()> {
        let project = self.project;
        let exporter = match self.whole {
            true => Exporter::Built,
            false => Exporter::Build,
        };
        match action {
            Action::Format => project.cargo("fmt")?.args(["--all", "--", "--check"]).run(),
            Action::Clippy if self.whole => lints::check(project, &[]),
            Action::Clippy => {
                project.cargo("clippy")?.args(["--workspace", "--all-targets", "--", "-D", "warnings"]).run()
            }
            Action::Alone => alone::build(project),
            Action::Build => {
                project.cargo("build")?.args(["--workspace", "--all-targets"]).run()?;
                hardware::keep(project)
            }
            Action::Unit(package) => {
                if PROGRAMS.contains(&package) {
                    self.programs()?;
                }
                self.unit(package, None)?.ambient(LEFT_OUT, self.left_out).run()
            }
            Action::Models => {
                self.programs()?;
                let tests = self.unit("viaduct-tests", Some(ANY_NIC))?;
                tests.ambient("VIADUCT_NIC", "model").ambient(LEFT_OUT, self.left_out).run()
            }
            Action::Instructions => {
                self.unit("viaduct-instructions", None)?.run()?;
                instructions::check(project, self.whole)
            }
            Action::Linked => self.linked(&[BOARD], &format!("({LINKED}) - ({COUNTS_CYCLES})")),
            Action::Walks if self.quick => soak::run(project, &soak::Options::quick(), self.whole),
            Action::Walks => {
                let commit = project.commit();
                if commit.is_none() {
                    let why = "fresh seeds: git knows no commit here, from whose hash they are drawn\n";
                    project::write(self.left_out, why)?;
                }
                soak::run(project, &soak::Options::whole(commit), self.whole)
            }
            Action::Doc => self.doc()?.run(),
            Action::Book => book::run(project),
            Action::Publish => publish::check(project),
            Action::Miri => crate::miri::run(project),
            Action::Threads => crate::threads::run(project),
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
            Action::Budget => {
                let commit = project.commit();
                hardware::budget(project, exporter, None, Some(commit.as_deref().unwrap_or("no commit")))
            }
            Action::Speed => fit::blocks(project, exporter, &fit::Choice::part(), fit::SEED),
            Action::Board => {
                fit::quick(project, exporter)?;
                fit::record(project, exporter)
            }
            Action::Netlist => netlist::run(project, exporter),
            Action::Icarus => self.icarus()?.run(),
            Action::Prove => hardware::prove(project, exporter, None),
            Action::Mutate => mutate::dozen(project, exporter),
            Action::Demo => demo::smoke(project, self.whole),
            Action::Install => install::smoke(project),
            Action::Package => package::smoke(project),
            Action::Vfio => vfio::run(project, &vfio::Options::default(), self.whole),
            Action::Linux => linux::run(project, &linux::Options::default(), self.whole),
            Action::Fabric => {
                self.programs()?;
                match self.whole {
                    true => lints::check(project, &[mpi::FEATURE])?,
                    false => {
                        let provider = ["-p", mpi::PACKAGE, "--features", mpi::FEATURE, "--all-targets"];
                        project.cargo("clippy")?.args(provider).args(["--", "-D", "warnings"]).run()?;
                    }
                }
                self.fabric()?.run()
            }
            Action::Mpi => mpi::run(project, &mpi::Options::quick(), self.whole),
            Action::MpiGuests => mpi::run(project, &mpi::Options::guests(), self.whole),
        }
    }

    /// Tests of the co-simulation suite with RTL NICs behind links of these clocks.
    fn linked(&self, links: &[&str], some: &str) -> Result<()> {
        self.programs()?;
        for link in links {
            let tests = self.unit("viaduct-tests", Some(some))?;
            tests.ambient("VIADUCT_LINK", *link).ambient(LEFT_OUT, self.left_out).run()?;
        }
        Ok(())
    }

    /// All tests of the co-simulation suite that can run behind links, at both ratios of the clocks.
    pub fn soak_links(&self) -> Result<()> {
        self.linked(&CLOCKS, &format!("{ANY_NIC} - ({COUNTS_CYCLES})"))
    }

    /// The tests of the PCI Express endpoint, its layers among them, once with each of these seeds.
    pub fn soak_endpoint(&self, seeds: Range<u64>) -> Result<()> {
        for seed in seeds {
            println!("seed {seed}");
            let tests = self.unit("viaduct-hdl", Some("binary(=pcie)"))?;
            tests.ambient("VIADUCT_SEED", seed.to_string()).run()?;
        }
        Ok(())
    }

    /// Builds the programs that tests run. In a whole run the part build has done this.
    fn programs(&self) -> Result<()> {
        if self.whole {
            return Ok(());
        }
        let programs =
            ["-p", "viaduct-sim", "-p", "viaduct-cli", "-p", "viad", "-p", "vipl-c", "-p", "vipl-heap"];
        self.project.cargo("build")?.args(programs).run()?;
        self.project.cargo("build")?.args(["-p", "vipl", "--examples"]).run()
    }

    /// The unit and integration tests of one package, or some of them: a filter expression of nextest.
    fn unit(&self, package: &str, some: Option<&str>) -> Result<Cmd> {
        let command = self.project.cargo("nextest")?.args(["run", "--no-fail-fast"]);
        Ok(match (self.whole, some) {
            (true, None) => command.args(["--workspace", "-E"]).arg(format!("package(={package})")),
            (true, Some(some)) => {
                command.args(["--workspace", "-E"]).arg(format!("package(={package}) & ({some})"))
            }
            (false, None) => command.args(["-p", package]),
            (false, Some(some)) => command.args(["-p", package, "-E", some]),
        })
    }

    /// The last VI and the last region of the large profile. Dependencies are those of the other parts: only what builds on
    /// the profile is built again.
    fn large(&self) -> Result<Cmd> {
        let packages: &[&str] = match self.whole {
            true => &["--workspace"],
            false => &["-p", "viaduct-tests"],
        };
        let features = ["--features", "viaduct-tests/large", "--test", "profile"];
        Ok(self.project.cargo("nextest")?.arg("run").args(packages).args(features))
    }

    /// The tests of libfabric's provider. Its dependencies are those of the other parts, as above.
    fn fabric(&self) -> Result<Cmd> {
        Ok(self.unit(mpi::PACKAGE, None)?.args(["--features", mpi::FEATURE]))
    }

    /// The tests that need Icarus Verilog.
    fn icarus(&self) -> Result<Cmd> {
        let packages: &[&str] = match self.whole {
            true => &["--workspace"],
            false => &["-p", "viaduct-sim"],
        };
        let tests = ["-E", "package(=viaduct-sim) & test(/^icarus::/)", "--run-ignored", "only"];
        Ok(self.project.cargo("nextest")?.args(["run", "--no-fail-fast"]).args(packages).args(tests))
    }

    fn doc(&self) -> Result<Cmd> {
        let packages = ["-p", "viaduct-spec", "-p", "viaduct-driver", "-p", "vipl"];
        Ok(self.project.cargo("test")?.arg("--doc").args(packages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(whole: bool, of: impl Fn(&Tests) -> Result<Cmd>) -> String {
        let project = Project::at("/p".into());
        of(&Tests { project: &project, whole, quick: false, left_out: Path::new("/x") }).unwrap().to_string()
    }

    #[test]
    fn unit_tests_use_what_is_built_and_build_no_more_than_asked_for() {
        let run = "cargo nextest run --no-fail-fast";
        let all = |whole| shown(whole, |tests| tests.unit("vipl", None));
        assert_eq!(all(true), format!("{run} --workspace -E 'package(=vipl)'"));
        assert_eq!(all(false), format!("{run} -p vipl"));
        let some = |whole| shown(whole, |tests| tests.unit("vipl", Some("test(a)")));
        assert_eq!(some(true), format!("{run} --workspace -E 'package(=vipl) & (test(a))'"));
        assert_eq!(some(false), format!("{run} -p vipl -E 'test(a)'"));
    }

    #[test]
    fn the_large_profile_takes_the_dependencies_of_the_rest() {
        let only = "--features viaduct-tests/large --test profile";
        assert_eq!(shown(true, |tests| tests.large()), format!("cargo nextest run --workspace {only}"));
        assert_eq!(shown(false, |tests| tests.large()), format!("cargo nextest run -p viaduct-tests {only}"));
    }
}
