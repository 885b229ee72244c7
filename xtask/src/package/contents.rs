//! Which package has which file, and what Debian wants of files.

use crate::command::Cmd;
use crate::project::{read, write};
use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The files of one package.
pub struct Tree {
    /// Its name.
    pub package: &'static str,
    /// The folder that stands for the root of a system.
    pub folder: PathBuf,
}

/// The package that a file of `install`'s belongs to, and its place there. Both paths are those below the root of a system.
///
/// # Errors
/// A file that no package has.
fn place(file: &str, multiarch: &str) -> Result<(&'static str, String)> {
    let rest = file.strip_prefix("usr/").with_context(|| format!("{file} is not below /usr"))?;
    let libraries = format!("lib/{multiarch}/");
    let package = match rest {
        "share/doc/viaduct/viad.toml" => return Ok(("viad", "etc/viad.toml".into())),
        "bin/viaduct" => "viaduct",
        "bin/viad" => "viad",
        _ if rest.strip_prefix(&libraries).is_some_and(|name| name.starts_with("libvipl.so.")) => "libvipl1",
        _ if rest.strip_prefix(&libraries).is_some_and(|name| name.starts_with("viaduct/")) => "libvipl1",
        _ if rest.starts_with(&libraries) || rest.starts_with("include/") => "libvipl-dev",
        _ if rest.starts_with("lib/systemd/") => "viad",
        _ => match rest.strip_prefix("share/").and_then(|rest| rest.split_once('/')) {
            Some(("doc", rest)) if rest.starts_with("viaduct/examples/") => {
                return Ok(("viad", format!("usr/share/doc/viad/{}", rest.trim_start_matches("viaduct/"))));
            }
            Some(("man", rest)) => match rest.split('/').next() {
                Some("man1") => "viaduct",
                Some("man3" | "man7") => "libvipl-dev",
                Some("man8") => "viad",
                _ => bail!("no package has {file}"),
            },
            _ => bail!("no package has {file}"),
        },
    };
    Ok((package, file.into()))
}

/// Puts each file of `staging` into the folder of its package.
pub fn share_out(staging: &Path, folders: &Path, multiarch: &str) -> Result<()> {
    for file in files(staging)? {
        let name = file.strip_prefix(staging)?.to_str().context("a file's name is not UTF-8")?;
        let (package, place) = place(name, multiarch)?;
        put(&file, &folders.join(package).join(place))?;
    }
    Ok(())
}

/// Programs in C that begin with libvipl-dev.
pub fn add_examples(from: &Path, folders: &Path) -> Result<()> {
    let to = folders.join("libvipl-dev/usr/share/doc/libvipl-dev/examples");
    for file in files(from)? {
        put(&file, &to.join(file.strip_prefix(from)?))?;
    }
    Ok(())
}

/// Copies a file, or a link as it is.
fn put(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let result = match from.is_symlink() {
        true => fs::read_link(from).and_then(|link| std::os::unix::fs::symlink(link, to)),
        false => fs::copy(from, to).map(drop),
    };
    result.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// All files and links below a folder, in order; of the control files none.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).with_context(|| at.display().to_string())? {
            let path = entry?.path();
            if path == folder.join("DEBIAN") {
                continue;
            }
            match path.is_dir() && !path.is_symlink() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    Ok(found)
}

impl Tree {
    /// Of a package whose files are in this folder.
    pub fn new(package: &'static str, folder: PathBuf) -> Self {
        Self { package, folder }
    }

    /// Adds the copyright and the changelog, and compresses what Debian has compressed.
    pub fn document(&self, root: &Path) -> Result<()> {
        let doc = self.folder.join("usr/share/doc").join(self.package);
        fs::create_dir_all(&doc).with_context(|| doc.display().to_string())?;
        let texts = root.join(super::TEXTS);
        // A blank line of a licence is a dot there.
        let licence = read(&root.join("LICENSE-MIT"))?;
        let licence =
            licence.lines().map(|line| if line.is_empty() { " .".into() } else { format!(" {line}") });
        let licence: Vec<String> = licence.collect();
        write(&doc.join("copyright"), read(&texts.join("copyright"))?.replace("@MIT@", &licence.join("\n")))?;
        fs::copy(texts.join("changelog"), doc.join("changelog")).context("changelog")?;
        let pages = self.folder.join("usr/share/man");
        let pages = if pages.exists() { files(&pages)? } else { Vec::new() };
        // -n: no name and no time in it.
        Cmd::new("gzip").args(["-9n", "--force"]).arg(doc.join("changelog")).args(pages).run_quietly()
    }

    /// Programs and shared libraries.
    pub fn programs(&self) -> Result<Vec<PathBuf>> {
        let is_program = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !path.is_symlink() && (self.is_run(path) || name.contains(".so."))
        };
        Ok(files(&self.folder)?.into_iter().filter(is_program).collect())
    }

    fn is_run(&self, path: &Path) -> bool {
        path.starts_with(self.folder.join("usr/bin"))
    }

    /// Takes away what only debuggers read.
    pub fn strip(&self) -> Result<()> {
        let programs = self.programs()?;
        if !programs.is_empty() {
            Cmd::new("strip")
                .args(["--strip-unneeded", "--remove-section=.comment"])
                .args(programs)
                .run_quietly()?;
        }
        let archives =
            files(&self.folder)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "a"));
        let archives: Vec<PathBuf> = archives.collect();
        if !archives.is_empty() {
            Cmd::new("strip")
                .args(["--strip-debug", "--enable-deterministic-archives"])
                .args(archives)
                .run_quietly()?;
        }
        Ok(())
    }

    /// Everybody reads everything, and runs programs, whatever the umask is.
    pub fn set_modes(&self) -> Result<()> {
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))
                .with_context(|| path.display().to_string())
        };
        for file in files(&self.folder)? {
            if !file.is_symlink() {
                set(&file, if self.is_run(&file) { 0o755 } else { 0o644 })?;
            }
            for folder in file.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.folder)) {
                set(folder, 0o755)?;
            }
        }
        Ok(())
    }

    /// What md5sums says of the files.
    pub fn sums(&self) -> Result<String> {
        let mut names = Vec::new();
        for file in files(&self.folder)? {
            let name = file.strip_prefix(&self.folder)?;
            // Those of configuration files are the administrator's.
            if !file.is_symlink() && !name.starts_with("etc") {
                names.push(name.to_owned());
            }
        }
        ensure!(!names.is_empty(), "{} has no files", self.package);
        Cmd::new("md5sum").args(names).folder(&self.folder).read()
    }

    /// How much room the files take, in KiB, each rounded up, as dpkg-gencontrol counts it.
    pub fn kibibytes(&self) -> Result<u64> {
        let mut sum = 0;
        for file in files(&self.folder)? {
            let about = file.symlink_metadata().with_context(|| file.display().to_string())?;
            sum += if about.is_symlink() { 1 } else { about.len().div_ceil(1024) };
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_its_package() {
        let of = |file: &str| place(file, "x-linux-gnu").map(|(package, _)| package).unwrap();
        for (file, package) in [
            ("usr/lib/x-linux-gnu/libvipl.so.1", "libvipl1"),
            ("usr/lib/x-linux-gnu/libvipl.so.0.1.0", "libvipl1"),
            ("usr/lib/x-linux-gnu/viaduct/libvipl_heap.so", "libvipl1"),
            ("usr/lib/x-linux-gnu/libvipl.so", "libvipl-dev"),
            ("usr/lib/x-linux-gnu/libvipl.a", "libvipl-dev"),
            ("usr/lib/x-linux-gnu/pkgconfig/vipl.pc", "libvipl-dev"),
            ("usr/include/vipl.h", "libvipl-dev"),
            ("usr/include/vipl_ext.h", "libvipl-dev"),
            ("usr/share/man/man3/VipOpenNic.3", "libvipl-dev"),
            ("usr/share/man/man7/vipl.7", "libvipl-dev"),
            ("usr/bin/viaduct", "viaduct"),
            ("usr/share/man/man1/viaduct.1", "viaduct"),
            ("usr/bin/viad", "viad"),
            ("usr/share/man/man8/viad.8", "viad"),
            ("usr/lib/systemd/system/viad.socket", "viad"),
        ] {
            assert_eq!(of(file), package, "{file}");
        }
        let moved = |file: &str| place(file, "x").unwrap();
        assert_eq!(moved("usr/share/doc/viaduct/viad.toml"), ("viad", "etc/viad.toml".into()));
        let rules = "usr/share/doc/viad/examples/70-viaduct.rules";
        assert_eq!(moved("usr/share/doc/viaduct/examples/70-viaduct.rules"), ("viad", rules.into()));
        for stray in [
            "usr/bin/other",
            "usr/share/man/man5/x.5",
            "usr/share/doc/viaduct/other",
            "opt/x",
            "usr/lib/y/libvipl.a",
        ] {
            assert!(place(stray, "x").unwrap_err().to_string().contains(stray), "{stray}");
        }
    }

    #[test]
    fn modes_do_not_depend_on_the_umask() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new("viad", folder.path().join("viad"));
        for (name, mode) in [("usr/bin/viad", 0o700), ("etc/viad.toml", 0o600)] {
            let file = tree.folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "x").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(tree.folder.join("etc"), fs::Permissions::from_mode(0o700)).unwrap();
        tree.set_modes().unwrap();
        let mode = |name: &str| tree.folder.join(name).metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("usr/bin/viad"), mode("etc/viad.toml"), mode("etc")), (0o755, 0o644, 0o755));
        // The configuration has no sum: the administrator changes it.
        assert_eq!(tree.sums().unwrap().lines().count(), 1);
        assert_eq!(tree.kibibytes().unwrap(), 2);
    }
}
