//! `install`: the C interface of VIPL under a prefix: header, shared and static library, pkg-config file; the command viaduct; viad, with
//! its systemd unit and its documented configuration; the manual pages of all of them; and the simulator, if it is asked for.

use crate::command::Cmd;
use crate::manual;
use crate::mpi;
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::readme;
use crate::setup;
use crate::shared;
use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// What the loader looks for: the soname that vipl/c/build.rs gives.
pub const SONAME: &str = "libvipl.so.1";
/// The allocator to preload: nobody links it.
const HEAP: &str = "libvipl_heap.so";
/// The folder of libraries under a prefix, unless somebody says otherwise.
pub const LIBRARIES: &str = "lib";

/// viad's documented configuration, under a prefix.
pub const CONFIG: &str = "share/doc/viaduct/viad.toml";
/// Its systemd units: the service, and the socket whose first client starts it.
pub const UNIT: &str = "lib/systemd/system/viad.service";
pub const SOCKET: &str = "lib/systemd/system/viad.socket";
/// What an administrator may copy into /etc for a board: rules of udev, options of the kernel's modules.
const SYSTEM: [&str; 2] = ["70-viaduct.rules", "viaduct-modprobe.conf"];
/// Where that is, under a prefix.
pub const EXAMPLES: &str = "share/doc/viaduct/examples";

/// The simulator's manual page, in sim/.
const SIMULATOR_PAGE: &str = "viaduct-sim.8";

/// Where things are put, and as what they are built.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The prefix: an absolute path
    #[arg(long, value_name = "DIR")]
    pub prefix: PathBuf,
    /// The folder of libraries under the prefix
    #[arg(long, value_name = "DIR", default_value = LIBRARIES)]
    pub libdir: String,
    /// The profile of cargo to build with
    #[arg(long, default_value = "release")]
    pub profile: String,
    /// Puts the files under this folder, as packagers do
    #[arg(long, value_name = "DIR")]
    pub destdir: Option<PathBuf>,
    /// The simulator, too: it needs Verilator and a C++ compiler
    #[arg(long)]
    pub simulator: bool,
    /// libfabric's provider, too, which MPI runs over: it needs libfabric's headers and clang
    #[arg(long)]
    pub libfabric: bool,
}

impl Options {
    /// What tests install: as it is built for them.
    pub fn test(prefix: &Path) -> Options {
        let (libdir, profile) = (LIBRARIES.into(), "dev".into());
        let prefix = prefix.to_path_buf();
        Options { prefix, libdir, profile, destdir: None, simulator: false, libfabric: false }
    }

    /// What is built.
    fn packages(&self) -> Vec<&'static str> {
        let mut packages = vec!["vipl-c", "vipl-heap", "viad", "viaduct-cli"];
        packages.extend(self.simulator.then_some("viaduct-sim"));
        packages
    }
}

/// What a prefix gets.
struct Place<'a> {
    prefix: &'a Path,
    /// The folder of libraries under it.
    libdir: &'a str,
    /// Where the files are while they are put there, if not at once under the prefix (packagers' DESTDIR).
    root: PathBuf,
}

/// Builds the library and the programs, and puts them under the prefix. Run again it puts the same there.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let Options { prefix, libdir, profile, destdir, simulator, libfabric } = options;
    ensure!(prefix.is_absolute(), "--prefix {} is not an absolute path", prefix.display());
    ensure!(Path::new(libdir).is_relative(), "--libdir {libdir} is not a path under the prefix");
    if *simulator {
        setup::ensure(project, &[Need::Simulator])?;
    }
    if *libfabric {
        setup::ensure(project, &[Need::Libfabric])?;
        let provider = ["-p", mpi::PACKAGE, "--features", mpi::FEATURE, "--profile", profile];
        project.cargo("build")?.args(provider).run()?;
    }
    let packages = options.packages().into_iter().flat_map(|package| ["-p", package]);
    project.cargo("build")?.args(packages).args(["--profile", profile]).run()?;
    let folder = match profile.as_str() {
        "dev" => "debug",
        other => other,
    };
    let built = target(project)?.join(folder);
    let version = version(&project.root)?;
    let root = destdir
        .as_ref()
        .map_or_else(|| prefix.clone(), |destdir| destdir.join(prefix.strip_prefix("/").unwrap_or(prefix)));
    let place = Place { prefix, libdir, root };

    let file = format!("libvipl.so.{version}");
    for header in ["vipl.h", "vipl_ext.h"] {
        place.copy(&project.root.join("vipl/include").join(header), &format!("include/{header}"))?;
    }
    shared::link(project, &built, &place.clear(&format!("{libdir}/{file}"))?)?;
    place.link(&file, &format!("{libdir}/{SONAME}"))?;
    place.link(SONAME, &format!("{libdir}/libvipl.so"))?;
    place.copy(&built.join("libvipl.a"), &format!("{libdir}/libvipl.a"))?;
    place.copy(&built.join(HEAP), &format!("{libdir}/viaduct/{HEAP}"))?;
    let text = read(&project.root.join("vipl/c/vipl.pc.in"))?;
    place.write(&pkg_config(&text, prefix, libdir, &version), &format!("{libdir}/pkgconfig/vipl.pc"))?;
    let sources = project.root.join("host-driver/viad");
    place.copy(&built.join("viad"), "bin/viad")?;
    place.copy(&sources.join("viad.toml"), CONFIG)?;
    place.write(&unit(&read(&sources.join("viad.service"))?, prefix)?, UNIT)?;
    place.copy(&sources.join("viad.socket"), SOCKET)?;
    for name in SYSTEM {
        place.copy(&project.root.join("host-driver/system").join(name), &format!("{EXAMPLES}/{name}"))?;
    }
    place.copy(&built.join("viaduct"), "bin/viaduct")?;
    if *simulator {
        place.copy(&built.join("viaduct-sim"), "bin/viaduct-sim")?;
        place.copy(&project.root.join("sim").join(SIMULATOR_PAGE), &page_place(SIMULATOR_PAGE)?)?;
    }
    if *libfabric {
        place.copy(&built.join(mpi::BUILT), &format!("{libdir}/libfabric/{}", mpi::NAME))?;
    }
    place.manual(project, &version)?;
    if destdir.is_none() {
        print!("{}", place.advice());
    }
    Ok(())
}

impl Place<'_> {
    /// A file's place; what is there goes first, so that programs that run keep the library that they have.
    fn clear(&self, to: &str) -> Result<PathBuf> {
        let path = self.root.join(to);
        let folder = path.parent().context("a file has a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).with_context(|| format!("cannot replace {}", path.display()))?;
        }
        println!("{}", path.display());
        Ok(path)
    }

    fn copy(&self, from: &Path, to: &str) -> Result<()> {
        let to = self.clear(to)?;
        fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        Ok(())
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        let to = self.clear(to)?;
        std::os::unix::fs::symlink(from, &to).with_context(|| to.display().to_string())
    }

    fn write(&self, text: &str, to: &str) -> Result<()> {
        write(&self.clear(to)?, text)
    }

    /// All manual pages: those of the tree, and those that the header is the source of.
    fn manual(&self, project: &Project, version: &str) -> Result<()> {
        let root = &project.root;
        let mut pages = vec![root.join("vipl/man/vipl.7"), root.join("host-driver/viad/viad.8")];
        let commands = root.join("cli/man");
        for entry in fs::read_dir(&commands).with_context(|| commands.display().to_string())? {
            pages.push(entry?.path());
        }
        pages.sort();
        for page in &pages {
            let name = page.file_name().and_then(|name| name.to_str()).context("a page has a name")?;
            self.copy(page, &page_place(name)?)?;
        }
        for (name, text) in manual::pages(project, version)? {
            self.write(&text, &page_place(&name)?)?;
        }
        Ok(())
    }

    /// What a program needs to be compiled, and to find the library when it starts.
    fn advice(&self) -> String {
        let (prefix, libdir) = (self.prefix.display(), self.libdir);
        let system = self.prefix == Path::new("/usr") || self.prefix == Path::new("/usr/local");
        let find = match system {
            true => "Run `ldconfig` once, so that programs find the library when they start.".to_string(),
            false => format!(
                "Programs find the library when they start if they are linked with -Wl,-rpath,{prefix}/{libdir}, or if \
                 LD_LIBRARY_PATH has {prefix}/{libdir}."
            ),
        };
        let path = match system {
            true => String::new(),
            false => format!("PKG_CONFIG_PATH={prefix}/{libdir}/pkgconfig "),
        };
        let unit = match system {
            true => String::new(),
            false => format!(", after `systemctl link {prefix}/{UNIT} {prefix}/{SOCKET}`"),
        };
        format!(
            "\n  cc prog.c $({path}pkg-config --cflags --libs vipl)\n\n{find}\n\
             viad runs with a NIC named in /etc/viad.toml ({prefix}/{CONFIG} documents it): `systemctl start viad`{unit} (with `systemctl \
             start viad.socket` its first client starts it), or {prefix}/bin/viad --help. {prefix}/{EXAMPLES} has rules of udev and options of the kernel's \
             modules for a board.\n"
        )
    }
}

/// Where a manual page of this name belongs.
fn page_place(name: &str) -> Result<String> {
    let section = name.rsplit('.').next().filter(|section| section.len() == 1);
    let section = section.with_context(|| format!("{name} has no section of the manual at its end"))?;
    Ok(format!("share/man/man{section}/{name}"))
}

/// The folder where cargo builds: xtask is in one of its folders.
pub fn target(project: &Project) -> Result<PathBuf> {
    let text = project.cargo("metadata")?.args(["--no-deps", "--format-version", "1"]).read()?;
    let at = text.split_once("\"target_directory\":\"").context("cargo names no target folder")?.1;
    Ok(at.split('"').next().unwrap_or_default().into())
}

/// The version of the workspace.
pub fn version(root: &Path) -> Result<String> {
    let manifest = read(&root.join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = ")).context("no version")?;
    Ok(line.trim_matches('"').into())
}

/// The systemd unit of the viad under `prefix`.
fn unit(text: &str, prefix: &Path) -> Result<String> {
    let usual = "ExecStart=/usr/local/bin/viad ";
    ensure!(text.contains(usual), "viad.service has no {usual}");
    Ok(text.replace(usual, &format!("ExecStart={}/bin/viad ", prefix.display())))
}

/// The pkg-config file.
fn pkg_config(text: &str, prefix: &Path, libdir: &str, version: &str) -> String {
    text.replace("@PREFIX@", &prefix.display().to_string())
        .replace("@LIBDIR@", libdir)
        .replace("@VERSION@", version)
        // For those who link libvipl.a.
        .replace("@PRIVATE@", &shared::SYSTEM.join(" "))
}

/// `install` into a folder, and the quick start as its advice says it.
pub fn smoke(project: &Project) -> Result<()> {
    let prefix = project.scratch("install")?;
    let options = Options { simulator: true, ..Options::test(&prefix) };
    run(project, &options)?;
    // Again: the same.
    run(project, &options)?;
    let program = prefix.join("prog.c");
    write(
        &program,
        "#include <stdio.h>\n#include <vipl.h>\n\nint main(void)\n{\n    VIP_NIC_HANDLE nic;\n    \
         return VipOpenNic(NULL, &nic) != VIP_INVALID_PARAMETER;\n}\n",
    )?;
    let (folder, lib) = (prefix.display(), prefix.join("lib"));
    for (name, more) in
        [("shared", format!("-Wl,-rpath,{}", lib.display())), ("static", "-static-libgcc".into())]
    {
        let out = prefix.join(name);
        let libs = match name {
            "shared" => "$(pkg-config --cflags --libs vipl)".to_string(),
            _ => format!("-I{folder}/include {folder}/lib/libvipl.a $(pkg-config --static --libs-only-l vipl | sed s/-lvipl//)"),
        };
        let line = format!("PKG_CONFIG_PATH={folder}/lib/pkgconfig; export PKG_CONFIG_PATH; cc {folder}/prog.c {libs} {more} -o {}", out.display());
        Cmd::new("sh").args(["-c", &line]).run()?;
        Cmd::new(&out).run()?;
    }
    shared::check(project, &lib.join(SONAME))?;
    // A program that was linked with a library without versions runs on.
    let (old, built) = (prefix.join("old"), target(project)?.join("debug/libvipl.so"));
    Cmd::new("cc").arg(&program).arg(format!("-I{folder}/include")).arg(&built).arg("-o").arg(&old).run()?;
    Cmd::new(&old).env("LD_LIBRARY_PATH", &lib).env("LD_BIND_NOW", "1").run()?;
    // viad as it was put there, with the configuration that was.
    let config = prefix.join(CONFIG);
    Cmd::new(prefix.join("bin/viad")).args(["--check", "--config"]).arg(&config).run()?;
    let unit = read(&prefix.join(UNIT))?;
    ensure!(unit.contains(&format!("ExecStart={folder}/bin/viad --config")), "{unit}");
    for name in ["viaduct.1", "viaduct-sim-up.1", "VipOpenNic.3", "VipGetPeerData.3", "vipl.7", "viad.8"] {
        let page = read(&prefix.join(page_place(name)?))?;
        let (title, section) = name.rsplit_once('.').context("a section")?;
        ensure!(page.contains(&format!(".TH {title} {section} ")), "{name} is another page: {page}");
    }
    Cmd::new(prefix.join("bin/viaduct")).arg("--version").run()?;
    readme::types_c(project, &prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pkg_config_file_has_no_gaps() {
        let root = Project::find().unwrap().root;
        let text = read(&root.join("vipl/c/vipl.pc.in")).unwrap();
        let made = pkg_config(&text, Path::new("/opt/viaduct"), "lib/x", &version(&root).unwrap());
        assert!(
            made.contains("prefix=/opt/viaduct\nlibdir=${prefix}/lib/x\n") && made.contains("Version: 0."),
            "{made}"
        );
        assert!(!made.contains('@'), "{made}");
    }

    #[test]
    fn what_a_person_installs_is_a_release_build_and_the_simulator_is_asked_for() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            options: Options,
        }
        let parse = |line: &[&str]| <Line as clap::Parser>::try_parse_from(line).unwrap().options;
        let options = parse(&["install", "--prefix", "/opt/via"]);
        assert_eq!(options.profile, "release");
        assert!(!options.packages().contains(&"viaduct-sim"));
        assert!(parse(&["install", "--prefix", "/x", "--simulator"]).packages().contains(&"viaduct-sim"));
    }

    #[test]
    fn the_unit_starts_the_viad_that_was_installed() {
        let root = Project::find().unwrap().root;
        let text = read(&root.join("host-driver/viad/viad.service")).unwrap();
        let made = unit(&text, Path::new("/opt/via")).unwrap();
        assert!(made.contains("\nExecStart=/opt/via/bin/viad --config /etc/viad.toml\n"), "{made}");
        assert_eq!(unit(&text, Path::new("/usr/local")).unwrap(), text);
        assert!(unit("", Path::new("/usr")).is_err());
    }

    #[test]
    fn the_unit_may_open_every_node_that_vfio_needs() {
        let unit = read(&Project::find().unwrap().root.join("host-driver/viad/viad.service")).unwrap();
        // /dev/vfio/vfio and /dev/iommu are of the kind "misc" in /proc/devices, the groups' nodes "vfio", and the functions' own "vfio-dev".
        let allowed = ["char-vfio* rw", "/dev/vfio/vfio rw", "/dev/iommu rw"];
        let lines: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("DeviceAllow=")).collect();
        assert_eq!(lines, allowed);
    }

    #[test]
    fn the_advice_fits_the_prefix() {
        let advice = |prefix: &str| {
            Place { prefix: Path::new(prefix), libdir: LIBRARIES, root: prefix.into() }.advice()
        };
        assert!(advice("/usr/local").contains("ldconfig") && !advice("/usr/local").contains("rpath"));
        assert!(advice("/opt/via").contains("-Wl,-rpath,/opt/via/lib"));
        assert!(advice("/opt/via").contains("PKG_CONFIG_PATH=/opt/via/lib/pkgconfig pkg-config"));
    }
}
