//! Our programs as the guest runs them: with everything linked in, since it has no libraries.

use crate::command::Cmd;
use crate::project::Project;
use anyhow::{ensure, Context, Result};
use std::path::{Path, PathBuf};

/// The packages that the guest has, and the program of each.
const PACKAGES: [(&str, &str); 3] =
    [("viaduct-cli", "viaduct"), ("viaduct-guest", "viaduct-guest"), ("viad", "viad")];
/// VIPL's examples, each in Rust and in C.
const EXAMPLES: [&str; 5] = ["hello", "pingpong", "put_get", "server", "dsm"];
/// Programs of the conformance tests (vipl/c/tests/conformance.rs): those of data. The others open a NIC some hundred times, or measure how soon something
/// comes, for which an emulated processor is too slow.
const CONFORMANCE: [&str; 4] = ["cq", "data_path", "rdma", "transfer"];
/// Another one of them, which the job `suite` starts and makes the NICs of fail (tests/guest/src/program.rs).
const FAILURE: &str = "failure";
/// They are emulated, instruction by instruction: fewer of them are worth the compilation, and debug information is not worth its place in the
/// guest's memory.
const PROFILE: [&str; 4] = ["--config", "profile.dev.opt-level=1", "--config", "profile.dev.debug=false"];

/// A program for the guest, or a library.
pub struct Program {
    /// Where it is in the guest, from the root on.
    pub place: String,
    /// Where it is on this machine.
    pub file: PathBuf,
}

/// Builds them all.
pub fn build(project: &Project) -> Result<Vec<Program>> {
    let built = cargo(project)?;
    let program = |(_, name): &(&str, &str)| Program { place: format!("bin/{name}"), file: built.join(name) };
    let mut programs: Vec<Program> = PACKAGES.iter().map(program).collect();
    let folder = project.scratch("guest-programs/c")?;
    for name in EXAMPLES {
        let file = built.join("examples").join(name);
        programs.push(Program { place: format!("examples/rust/{name}"), file });
        let source = format!("vipl/examples/c/{name}.c");
        let file = compile(project, &built, &source, "-std=gnu99", &folder)?;
        programs.push(Program { place: format!("examples/c/{name}"), file });
    }
    let placed = CONFORMANCE.map(|name| (name, format!("examples/conformance/{name}")));
    // Beside the suite, which looks for it there.
    for (name, place) in placed.into_iter().chain([(FAILURE, format!("bin/{FAILURE}"))]) {
        let source = format!("vipl/c/tests/c/{name}.c");
        let file = compile(project, &built, &source, "-std=gnu89", &folder)?;
        programs.push(Program { place, file });
    }
    Ok(programs)
}

/// What cargo builds: the programs, the examples in Rust, and libvipl.a. The folder of it.
fn cargo(project: &Project) -> Result<PathBuf> {
    let printed = Cmd::new("rustc").arg("-vV").folder(&project.root).read()?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not say what it builds for")?;
    // A folder of its own: other flags than everything else is built with.
    let folder = project.scratch("guest-programs")?;
    let flags = format!("target.{host}.rustflags=[\"-C\", \"target-feature=+crt-static\"]");
    let build = project.cargo("build")?.args(["--target", host, "--config", &flags]).args(PROFILE);
    let packages = PACKAGES.iter().flat_map(|(package, _)| ["-p", package]);
    let build = build.args(packages).args(["-p", "vipl", "-p", "vipl-c", "--lib", "--bins"]);
    let build = build.args(EXAMPLES.iter().flat_map(|name| ["--example", name]));
    // Set for a whole machine, it would take the place of our flags.
    build.arg("--target-dir").arg(&folder).env_remove("RUSTFLAGS").run()?;
    Ok(folder.join(host).join("debug"))
}

/// Compiles a program of C, and links VIPL into it.
fn compile(project: &Project, built: &Path, source: &str, standard: &str, folder: &Path) -> Result<PathBuf> {
    let program = folder.join(source.replace('/', "-"));
    let cc = Cmd::new("cc").args([standard, "-O1", "-s", "-static", "-Wl,--gc-sections", "-pthread", "-I"]);
    let cc = cc.arg(project.root.join("vipl/include")).arg("-o").arg(&program).arg(project.root.join(source));
    let cc = cc.arg(built.join("libvipl.a")).arg("-lm");
    let output = cc.command().output().with_context(|| format!("cannot start {cc}"))?;
    // Of what it makes, ld warns that getaddrinfo in a static program needs files at run time. No program here calls it.
    ensure!(output.status.success(), "{}: {cc}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(program)
}
