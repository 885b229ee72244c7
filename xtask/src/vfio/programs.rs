//! Our programs as the guest runs them: with everything linked in, or with the libraries that they need.

use crate::command::Cmd;
use crate::guest::Files;
use crate::project::Project;
use anyhow::{ensure, Context, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The packages that the guest has, and the program of each.
const PACKAGES: [(&str, &str); 3] =
    [("viaduct-cli", "viaduct"), ("viaduct-guest", "viaduct-guest"), ("viad", "viad")];
/// VIPL's examples, each in Rust and in C.
const EXAMPLES: [&str; 5] = ["hello", "pingpong", "put_get", "server", "dsm"];
/// Programs of the conformance tests (vipl/c/tests/conformance.rs): those that move most data. The others open a NIC some hundred times, or measure how soon something
/// comes, for which an emulated processor is too slow.
const CONFORMANCE: [&str; 5] = ["cq", "data_path", "memory", "rdma", "transfer"];
/// Another one of them, which the job `suite` starts and makes the NICs of fail (tests/guest/src/program.rs).
const FAILURE: &str = "failure";
/// What may be preloaded.
const ALLOCATOR: &str = "libvipl_heap.so";
/// They are emulated, instruction by instruction: fewer of them are worth the compilation, and debug information is not worth its place in the
/// guest's memory.
const PROFILE: [&str; 4] = ["--config", "profile.dev.opt-level=1", "--config", "profile.dev.debug=false"];

/// Builds those with everything linked in: our programs, and VIPL's examples in Rust and in C.
pub fn add_static(project: &Project, files: &mut Files) -> Result<()> {
    let built = cargo(project)?;
    for (_, name) in PACKAGES {
        files.add(format!("bin/{name}"), built.join(name))?;
    }
    let folder = project.scratch("guest-programs/c")?;
    for name in EXAMPLES {
        files.add(format!("examples/rust/{name}"), built.join("examples").join(name))?;
        let source = format!("vipl/examples/c/{name}.c");
        // Of what it makes, ld warns that getaddrinfo in a static program needs files at run time. No program here calls it.
        let flags = ["-std=gnu99", "-static", "-Wl,--gc-sections"];
        let program = compile(project, &source, &flags, &built.join("libvipl.a"), &folder)?;
        files.add(format!("examples/c/{name}"), program)?;
    }
    Ok(())
}

/// Builds programs of the conformance tests, with libvipl.so as cargo has built it, and the allocator that may be preloaded: only a program that is
/// linked with the C library when it starts can have another allocator then.
pub fn add_dynamic(project: &Project, files: &mut Files) -> Result<()> {
    let built = project.built_folder()?;
    let folder = project.scratch("guest-programs/linked")?;
    // As an installed library is found: by its soname. A link of an earlier run may name another file.
    let library = folder.join("libvipl.so.1");
    if library.symlink_metadata().is_ok() {
        fs::remove_file(&library).with_context(|| library.display().to_string())?;
    }
    symlink(built.join("libvipl.so"), &library).with_context(|| library.display().to_string())?;
    let folders = [folder.clone()];
    let placed = CONFORMANCE.map(|name| (name, format!("examples/conformance/{name}")));
    // Beside the suite, which looks for it there.
    for (name, place) in placed.into_iter().chain([(FAILURE, format!("bin/{FAILURE}"))]) {
        let source = format!("vipl/c/tests/c/{name}.c");
        let program = compile(project, &source, &["-std=gnu89"], &library, &folder)?;
        files.add_libraries(&program, &folders)?;
        files.add(place, program)?;
    }
    let allocator = built.join(ALLOCATOR);
    files.add_libraries(&allocator, &folders)?;
    files.add(format!("lib/{ALLOCATOR}"), allocator)
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

/// Compiles a program of C, and links it with VIPL.
fn compile(
    project: &Project,
    source: &str,
    flags: &[&str],
    library: &Path,
    folder: &Path,
) -> Result<PathBuf> {
    let program = folder.join(source.replace('/', "-"));
    let cc = Cmd::new("cc").args(flags).args(["-O1", "-s", "-pthread", "-I"]);
    let cc = cc.arg(project.root.join("vipl/include")).arg("-o").arg(&program).arg(project.root.join(source));
    let cc = cc.arg(library).arg("-lm");
    let output = cc.command().output().with_context(|| format!("cannot start {cc}"))?;
    ensure!(output.status.success(), "{}: {cc}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(program)
}
