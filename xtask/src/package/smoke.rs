//! The part `package`: the packages are built, installed into a root of their own, run there, and purged.
//!
//! That root is a folder. dpkg changes into no other root for it and runs maintainer scripts as they are (with `DPKG_ROOT` set), so that
//! neither root's rights nor systemd are needed. Of what the packages depend on, the root's database has this machine's entries.

use super::{build, contents, fresh, Built, PACKAGES};
use crate::command::Cmd;
use crate::install;
use crate::project::{read, write, Project};
use anyhow::{ensure, Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where dpkg keeps its database, below a root.
const DATABASE: &str = "var/lib/dpkg";
/// Where viad's configuration is, below a root.
const CONFIG: &str = "etc/viad.toml";

/// A root of its own.
struct Root {
    folder: PathBuf,
    built: Built,
}

/// Installs, runs and purges the packages of what the profile dev has built.
pub fn smoke(project: &Project) -> Result<()> {
    let out = fresh(project, "package/debs")?;
    let built = build(project, "dev", "gzip", &out)?;
    let root = Root { folder: fresh(project, "package/root")?, built };
    root.prepare()?;
    let version = install::version(&project.root)?;

    root.dpkg(&["--install"], &root.built.files)?;
    let installed = |package: &str| format!("{package} {version} install ok installed");
    for package in PACKAGES {
        ensure!(root.status(package)? == installed(package), "{}", root.status(package)?);
    }
    root.verify()?;
    let programs = root.compile(project)?;
    root.run(&programs)?;
    let needs = root.needed(project, &programs[0])?;
    ensure!(
        needs.contains(&format!("libvipl1 (>= {version})")),
        "a program with the shared library needs {needs}"
    );

    // A program that is there runs on without what it was compiled with.
    root.dpkg(&["--purge"], ["libvipl-dev"])?;
    root.run(&programs)?;
    ensure!(!root.folder.join("usr/include").exists(), "the header is still there");
    // What an administrator has changed stays until viad is purged.
    let config = root.folder.join(CONFIG);
    write(&config, read(&config)?.replace("poll_us = 50", "poll_us = 60"))?;
    root.dpkg(&["--install"], &root.built.files[3..])?;
    ensure!(read(&config)?.contains("poll_us = 60"), "the configuration was written over");
    root.dpkg(&["--remove"], ["viad"])?;
    ensure!(
        config.exists() && !root.folder.join("usr/bin/viad").exists(),
        "viad is not removed as it should be"
    );
    root.dpkg(&["--purge"], ["viad", "viaduct", "libvipl1"])?;
    let left = root.left()?;
    ensure!(left.is_empty(), "what purging leaves behind: {left:?}");
    Ok(())
}

impl Root {
    /// An empty database, but for what the packages depend on.
    fn prepare(&self) -> Result<()> {
        let database = self.folder.join(DATABASE);
        for name in ["info", "updates", "triggers"] {
            let folder = database.join(name);
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let mut entries = String::new();
        for package in self.dependencies()? {
            let entry = Cmd::new("dpkg-query").args(["--status", &package]).read()?;
            entries.push_str(entry.trim_end());
            entries.push_str("\n\n");
            // Their files are not in this root.
            write(&database.join("info").join(format!("{package}.list")), "")?;
        }
        write(&database.join("status"), entries)
    }

    /// The packages of the system that ours depend on.
    fn dependencies(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for package in PACKAGES {
            let control = read(&self.built.folders.join(package).join("DEBIAN/control"))?;
            let line = control.lines().find_map(|line| line.strip_prefix("Depends: "));
            let line = line.with_context(|| format!("{package} depends on nothing"))?;
            let own = |name: &&str| !PACKAGES.contains(name);
            let first = |one: &'_ str| one.split_whitespace().next().unwrap_or_default().to_owned();
            let wanted: Vec<String> = line.split(',').map(first).collect();
            names.extend(
                wanted
                    .iter()
                    .map(String::as_str)
                    .filter(own)
                    .map(|name| format!("{name}:{}", self.built.machine.architecture)),
            );
        }
        ensure!(names.iter().any(|name| name.starts_with("libc6:")), "no package needs libc6: {names:?}");
        Ok(names)
    }

    /// dpkg with this root.
    fn dpkg<S: AsRef<std::ffi::OsStr>>(&self, what: &[&str], of: impl IntoIterator<Item = S>) -> Result<()> {
        // It looks for programs of administrators', which not every user's path has.
        let path = format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        Cmd::new("dpkg")
            .ambient("PATH", path)
            .ambient("DEBIAN_FRONTEND", "noninteractive")
            .arg(format!("--root={}", self.folder.display()))
            .arg(format!("--log={}", self.folder.join(DATABASE).join("log").display()))
            .args(["--force-not-root", "--force-script-chrootless", "--force-confold"])
            .args(what)
            .args(of)
            .run()
    }

    /// What the database says of a package.
    fn status(&self, package: &str) -> Result<String> {
        let database = format!("--admindir={}", self.folder.join(DATABASE).display());
        let format = "--showformat=${Package} ${Version} ${Status}";
        Cmd::new("dpkg-query").args([&database, "--show", format, package]).read()
    }

    /// All files are as their sums say.
    fn verify(&self) -> Result<()> {
        for package in PACKAGES {
            let sums = self.built.folders.join(package).join("DEBIAN/md5sums");
            Cmd::new("md5sum")
                .args(["--check", "--quiet", "--strict"])
                .arg(sums)
                .folder(&self.folder)
                .run_quietly()?;
        }
        Ok(())
    }

    fn libraries(&self) -> PathBuf {
        self.folder.join("usr/lib").join(&self.built.machine.multiarch)
    }

    /// One of the packaged examples, and a program with the static library; compiled as pkg-config says, with nothing of the clone.
    fn compile(&self, project: &Project) -> Result<[PathBuf; 2]> {
        let folder = fresh(project, "package/programs")?;
        let source = self.folder.join("usr/share/doc/libvipl-dev/examples/hello.c");
        let ask = |what: &[&str]| {
            let said = Cmd::new("pkg-config")
                .ambient("PKG_CONFIG_LIBDIR", self.libraries().join("pkgconfig"))
                .ambient("PKG_CONFIG_SYSROOT_DIR", &self.folder)
                // In this root the system's folders are not where the compiler looks by itself.
                .ambient("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1")
                .ambient("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1")
                .args(what)
                .arg("vipl")
                .read()?;
            Ok::<_, anyhow::Error>(said.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let compile =
            |to: &Path, flags: Vec<String>| Cmd::new("cc").arg(&source).args(flags).arg("-o").arg(to).run();
        let programs = ["shared", "static"].map(|name| folder.join(name));
        compile(&programs[0], ask(&["--cflags", "--libs"])?)?;
        let mut flags = ask(&["--cflags"])?;
        flags.push(self.libraries().join("libvipl.a").display().to_string());
        flags.extend(ask(&["--static", "--libs-only-l"])?.into_iter().filter(|flag| flag != "-lvipl"));
        compile(&programs[1], flags)?;
        Ok(programs)
    }

    /// The compiled programs, and those of the packages.
    fn run(&self, programs: &[PathBuf]) -> Result<()> {
        for program in programs {
            // Without a NIC of that name it ends with a message of the library's.
            let (success, errors) = Cmd::new(program)
                .ambient("LD_LIBRARY_PATH", self.libraries())
                .ambient("VIADUCT_NICS_FILE", "/dev/null")
                .arg("no-such-nic")
                .run_watching_errors()?;
            ensure!(!success && errors.contains("\"no-such-nic\" is no name of a NIC"), "it said {errors:?}");
        }
        let checked = Cmd::new(self.folder.join("usr/bin/viad"))
            .args(["--check", "--config"])
            .arg(self.folder.join(CONFIG))
            .read()?;
        ensure!(checked.contains("socket = \"/run/viad.sock\""), "viad --check said {checked}");
        let unit = read(&self.folder.join("usr").join(install::UNIT))?;
        ensure!(
            unit.contains("\nExecStart=/usr/bin/viad --config /etc/viad.toml\n"),
            "the unit starts another viad: {unit}"
        );
        Cmd::new(self.folder.join("usr/bin/viaduct")).arg("--version").run()
    }

    /// The packages that a program needs, by what libvipl1 says of its symbols.
    fn needed(&self, project: &Project, program: &Path) -> Result<String> {
        Cmd::new("dpkg-shlibdeps")
            .arg("-O")
            .arg(format!("-S{}", self.built.folders.join("libvipl1").display()))
            .arg(program)
            .folder(project.scratch("package/shlibdeps")?)
            .read()
    }

    /// What is there beside dpkg's database.
    fn left(&self) -> Result<Vec<PathBuf>> {
        let mut left = contents::files(&self.folder)?;
        left.retain(|file| !file.starts_with(self.folder.join(DATABASE)));
        // Folders, too: dpkg takes away those that nobody has any more.
        for entry in fs::read_dir(&self.folder).with_context(|| self.folder.display().to_string())? {
            let path = entry?.path();
            if !path.ends_with("var") {
                left.push(path);
            }
        }
        Ok(left)
    }
}
