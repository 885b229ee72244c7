//! `package`: the Debian packages libvipl1, libvipl-dev, viaduct and viad, of what `install` puts under /usr.

mod contents;
mod smoke;

pub use smoke::smoke;

use crate::command::Cmd;
use crate::install;
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::setup;
use crate::shared;
use anyhow::{ensure, Context, Result};
use contents::Tree;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What to build the packages of, and where they go.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The folder to write the packages to [default: target/xtask/packages]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The profile of cargo to build with
    #[arg(long, default_value = "release")]
    profile: String,
}

/// The packages, in the order in which they can be installed.
pub const PACKAGES: [&str; 4] = ["libvipl1", "libvipl-dev", "viaduct", "viad"];
/// Where the texts that become control files are, in the clone.
const TEXTS: &str = "xtask/debian";

/// What Debian calls this machine.
struct Machine {
    /// The architecture: amd64.
    architecture: String,
    /// The folder of its libraries: x86_64-linux-gnu.
    multiarch: String,
}

impl Machine {
    fn find() -> Result<Self> {
        let ask = |what: &str| {
            let said = Cmd::new("dpkg-architecture").arg(format!("-q{what}")).read()?;
            Ok::<_, anyhow::Error>(said.trim().to_owned())
        };
        Ok(Self { architecture: ask("DEB_HOST_ARCH")?, multiarch: ask("DEB_HOST_MULTIARCH")? })
    }
}

/// Packages that were built.
struct Built {
    machine: Machine,
    /// The folder that each was made of; `DEBIAN` in it has its control files.
    folders: PathBuf,
    /// The packages, in the order of [`PACKAGES`].
    files: Vec<PathBuf>,
}

/// Builds the packages, and prints their paths.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::ensure(project, &[Need::Package])?;
    // What programs are shipped as is small; the other way to compress is quick.
    let compression = if options.profile == "dev" { "gzip" } else { "xz" };
    let out = options.out.clone().map_or_else(|| project.scratch("packages"), Ok)?;
    for file in build(project, &options.profile, compression, &out)?.files {
        println!("{}", file.display());
    }
    Ok(())
}

fn build(project: &Project, profile: &str, compression: &str, out: &Path) -> Result<Built> {
    let machine = Machine::find()?;
    let staging = fresh(project, "package/staging")?;
    let prefix = install::Options {
        prefix: "/usr".into(),
        libdir: format!("lib/{}", machine.multiarch),
        profile: profile.into(),
        destdir: Some(staging.clone()),
        simulator: false,
        libfabric: false,
    };
    install::run(project, &prefix)?;
    let folders = fresh(project, "package/folders")?;
    contents::share_out(&staging, &folders, &machine.multiarch)?;
    contents::add_examples(&project.root.join("vipl/examples/c"), &folders)?;

    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let version = install::version(&project.root)?;
    let mut files = Vec::new();
    for package in PACKAGES {
        let tree = Tree::new(package, folders.join(package));
        tree.document(&project.root)?;
        tree.strip()?;
        tree.set_modes()?;
        control(project, &tree, &machine, &version)?;
        let file = out.join(format!("{package}_{version}_{}.deb", machine.architecture));
        Cmd::new("dpkg-deb")
            // The same sources make the same package.
            .ambient("SOURCE_DATE_EPOCH", epoch(project))
            .args(["--root-owner-group", &format!("-Z{compression}"), "--build"])
            .args([&tree.folder, &file])
            .run_quietly()?;
        files.push(file);
    }
    Ok(Built { machine, folders, files })
}

/// An empty folder for what this command writes.
fn fresh(project: &Project, name: &str) -> Result<PathBuf> {
    let folder = project.scratch(name)?;
    fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    project.scratch(name)
}

/// The date that files of packages have at most, in seconds: the caller's, or the commit's.
fn epoch(project: &Project) -> String {
    let commits = || Cmd::new("git").args(["log", "-1", "--format=%ct"]).folder(&project.root).probe();
    let date = std::env::var("SOURCE_DATE_EPOCH").ok().or_else(commits).unwrap_or_default();
    date.trim().parse::<u64>().unwrap_or_default().to_string()
}

/// Writes the control files of a package.
fn control(project: &Project, tree: &Tree, machine: &Machine, version: &str) -> Result<()> {
    let texts = project.root.join(TEXTS);
    let folder = tree.folder.join("DEBIAN");
    // Of the files, without what is written here.
    let (sums, kibibytes) = (tree.sums()?, tree.kibibytes()?);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let programs = tree.programs()?;
    let libraries = if programs.is_empty() { String::new() } else { needed_libraries(project, &programs)? };
    let text = stanza(&read(&texts.join("control"))?, tree.package)?
        .replace("@ARCHITECTURE@", &machine.architecture)
        .replace("@VERSION@", version)
        .replace("@SHLIBS@", &libraries);
    ensure!(!text.contains('@'), "control: a gap is left in\n{text}");
    let (first, rest) = text.split_once('\n').context("control: a stanza of one line")?;
    let maintainer = maintainer(&read(&texts.join("changelog"))?)?;
    let text = format!(
        "{first}\nSource: viaduct\nVersion: {version}\nMaintainer: {maintainer}\nPriority: optional\nInstalled-Size: {kibibytes}\n{rest}\n"
    );
    write(&folder.join("control"), text)?;
    write(&folder.join("md5sums"), sums)?;
    if tree.folder.join("etc").exists() {
        write(&folder.join("conffiles"), "/etc/viad.toml\n")?;
    }
    if tree.package == "libvipl1" {
        write(&folder.join("symbols"), symbols(&shared::names(project)?, version))?;
        write(&folder.join("shlibs"), format!("libvipl 1 libvipl1 (>= {version})\n"))?;
        write(&folder.join("triggers"), "activate-noawait ldconfig\n")?;
    }
    for script in ["postinst", "prerm", "postrm"] {
        let from = texts.join(format!("{}.{script}", tree.package));
        if from.exists() {
            let to = folder.join(script);
            write(&to, read(&from)?)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755))
                .with_context(|| to.display().to_string())?;
        }
    }
    Ok(())
}

/// What stands of a package in the file of all.
fn stanza(control: &str, package: &str) -> Result<String> {
    let begin = format!("Package: {package}\n");
    let found = control.split("\n\n").find(|stanza| stanza.starts_with(&begin));
    Ok(found.with_context(|| format!("control: no package {package}"))?.trim_end().to_owned())
}

/// Who signs the newest entry of the changelog.
fn maintainer(changelog: &str) -> Result<String> {
    let line = changelog
        .lines()
        .find_map(|line| line.strip_prefix(" -- "))
        .context("changelog: no line begins with ` -- `")?;
    Ok(line.split("  ").next().unwrap_or(line).to_owned())
}

/// The file by which dpkg-shlibdeps finds out which version a program needs: each symbol, and the first version that has it. What an older
/// version had is not known here, so a program needs this one.
fn symbols(names: &BTreeSet<String>, version: &str) -> String {
    let node = shared::VERSION;
    // The version itself is a symbol, too.
    let names = names.iter().map(String::as_str).chain([node]);
    let lines: String = names.map(|name| format!(" {name}@{node} {version}\n")).collect();
    format!("{} libvipl1 #MINVER#\n{lines}", install::SONAME)
}

/// The packages whose libraries these programs need, as a control file says it.
fn needed_libraries(project: &Project, programs: &[PathBuf]) -> Result<String> {
    let folder = project.scratch("package/shlibdeps")?;
    // It looks for this file, and wants no more of it.
    fs::create_dir_all(folder.join("debian")).with_context(|| folder.display().to_string())?;
    write(&folder.join("debian/control"), "Source: viaduct\n\nPackage: viaduct\nArchitecture: any\n")?;
    let said = Cmd::new("dpkg-shlibdeps").arg("-O").args(programs).folder(&folder).read()?;
    let list = said.trim().strip_prefix("shlibs:Depends=").context("dpkg-shlibdeps names no packages")?;
    Ok(list.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> String {
        read(&Project::find().unwrap().root.join(TEXTS).join(name)).unwrap()
    }

    #[test]
    fn the_control_file_has_each_package_and_no_other() {
        let control = text("control");
        for package in PACKAGES {
            let stanza = stanza(&control, package).unwrap();
            assert!(
                stanza.contains("\nDescription: ") && stanza.contains("\nArchitecture: @ARCHITECTURE@\n"),
                "{stanza}"
            );
        }
        assert_eq!(control.matches("Package: ").count(), PACKAGES.len());
        assert!(stanza(&control, "libvipl").unwrap_err().to_string().contains("libvipl"));
    }

    #[test]
    fn the_changelog_is_of_this_version_and_names_who_maintains() {
        let version = install::version(&Project::find().unwrap().root).unwrap();
        let changelog = text("changelog");
        assert!(changelog.starts_with(&format!("viaduct ({version}) ")), "{changelog}");
        assert_eq!(maintainer(&changelog).unwrap(), "The Viaduct authors <viaduct@localhost>");
        assert!(maintainer("viaduct (1)\n").is_err());
    }

    #[test]
    fn the_name_of_the_library_s_package_is_that_of_its_soname() {
        assert_eq!(install::SONAME.replace(".so.", ""), PACKAGES[0]);
        let made = symbols(&["VipA", "VipB"].map(str::to_owned).into(), "1.2.3");
        let lines = " VipA@VIPL_1 1.2.3\n VipB@VIPL_1 1.2.3\n VIPL_1@VIPL_1 1.2.3\n";
        assert_eq!(made, format!("libvipl.so.1 libvipl1 #MINVER#\n{lines}"));
    }
}
