//! A private apt: Debian's archive, signatures checked, and nothing of this machine's own packages
//! touched or asked. It works as an ordinary user.

use super::sources::{archive, deb822, one_line, Entry};
use crate::command::Cmd;
use crate::project::{read, write};
use crate::suite::Skip;
use crate::version::Version;
use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The suites that have a QEMU that is new enough, and what runs it.
const SUITES: [&str; 2] = ["trixie", "trixie-backports"];
/// The keys that sign them.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The QEMU that has `vfio-user-pci`.
const OLDEST_QEMU: &str = "10.1";
/// What is installed with all that it depends on: QEMU; as one program for every format that a kernel and its modules come in, zstd; and
/// for Linux as our peer, the programs that set up RDMA and use it, and the driver that they load.
const WHOLE: [&str; 8] = [
    "qemu-system-x86",
    "seabios",
    "zstd",
    "iproute2",
    "rdmacm-utils",
    "ibverbs-utils",
    "ibverbs-providers",
    "perftest",
];
/// What is fetched alone.
const ALONE: [&str; 1] = ["busybox-static"];
/// The package that depends on the newest kernel. The one for clouds boots a second faster, and has no soft-RoCE.
const KERNEL: &str = "linux-image-amd64";

/// A package to fetch.
#[derive(Debug, PartialEq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Debian's version of it.
    pub version: String,
    /// What it is to download, in bytes.
    pub bytes: u64,
}

/// A private apt in a folder of its own.
pub struct Archive {
    folder: PathBuf,
    configuration: PathBuf,
}

impl Archive {
    /// Makes one and gets its lists. `Skip` where there is no Debian, or none with such a QEMU.
    pub fn open(folder: &Path) -> Result<Archive> {
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let field = |name: &str| {
            let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or("").trim_matches('"').to_string()
        };
        let architecture = Cmd::new("dpkg").arg("--print-architecture").probe().unwrap_or_default();
        if field("ID") != "debian" || architecture.trim() != "amd64" {
            return Err(
                Skip("this is not Debian on amd64, whose archive has QEMU and a kernel".into()).into()
            );
        }
        let entries = entries(Path::new("/etc/apt"))?;
        let Some(uri) = archive(&entries, &field("VERSION_CODENAME")) else {
            return Err(Skip("the machine's apt sources name no archive of Debian's main".into()).into());
        };

        for part in ["lists/partial", "cache/archives/partial", "none.d", "sources.d", "debs"] {
            fs::create_dir_all(folder.join(part))?;
        }
        write(&folder.join("status"), "")?;
        let sources = format!(
            "Types: deb\nURIs: {uri}\nSuites: {}\nComponents: main\nSigned-By: {KEYRING}\n",
            SUITES.join(" ")
        );
        write(&folder.join("sources.d/debian.sources"), sources)?;
        let own = Cmd::new("apt-config").arg("dump").read()?;
        let configuration = folder.join("apt.conf");
        write(&configuration, settings(folder, &own))?;
        let archive = Archive { folder: folder.to_path_buf(), configuration };
        archive.update()?;
        Ok(archive)
    }

    /// An apt program on this apt's own folders.
    fn apt(&self, program: &str) -> Cmd {
        // English, because what it says is read.
        let cmd = Cmd::new(program).ambient("LC_ALL", "C").ambient("APT_CONFIG", &self.configuration);
        cmd.folder(self.folder.join("debs"))
    }

    fn update(&self) -> Result<()> {
        let (good, errors) = self.apt("apt-get").args(["-qq", "update"]).run_watching_errors()?;
        if good {
            return Ok(());
        }
        if errors.contains("does not have a Release file") {
            return Err(Skip(format!("the machine's archive does not have {}", SUITES.join(" and "))).into());
        }
        if errors.contains("NO_PUBKEY") {
            bail!("{KEYRING} is too old for {}: install Debian's updates", SUITES[0]);
        }
        bail!("the package lists of {} cannot be fetched", SUITES.join(" and "))
    }

    /// What is to be fetched.
    pub fn packages(&self) -> Result<Vec<Package>> {
        let suite = ["-t", SUITES[1]];
        let list = self.apt("apt-get").args(["-qq", "--yes", "--print-uris"]).args(suite).arg("install");
        let mut packages = parse_uris(&list.args(WHOLE).read()?)?;
        let qemu = packages.iter().find(|package| package.name == WHOLE[0]).context("apt names no QEMU")?;
        if !new_enough(&qemu.version) {
            return Err(Skip(format!("the archive has QEMU {}, not {OLDEST_QEMU}", qemu.version)).into());
        }
        // The kernel is the one of the release: newer ones take longer to boot.
        let depends = self.apt("apt-cache").args(["depends", KERNEL]).read()?;
        let image = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
        let image = format!("linux-image-{}", image.with_context(|| format!("{KERNEL} has no image"))?);
        let alone = self.apt("apt-get").args(["-qq", "--print-uris", "download"]).args(ALONE);
        packages.extend(parse_uris(&alone.arg(image).read()?)?);
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        packages.dedup();
        Ok(packages)
    }

    /// Fetches packages; apt compares them with the signed lists.
    pub fn fetch(&self, packages: &[Package]) -> Result<Vec<PathBuf>> {
        let names = packages.iter().map(|package| format!("{}={}", package.name, package.version));
        self.apt("apt-get").args(["-qq", "download"]).args(names).run_quietly()?;
        let mut files = Vec::new();
        for entry in fs::read_dir(self.folder.join("debs"))? {
            files.push(entry?.path());
        }
        ensure!(files.len() == packages.len(), "apt fetched {} of {}", files.len(), packages.len());
        Ok(files)
    }
}

/// apt's settings: its own folders, nothing installed, no scripts of the machine's. How the machine
/// reaches its archive (a proxy, say) is taken over from its own settings.
fn settings(folder: &Path, own: &str) -> String {
    let path = |key: &str, name: &str| format!("{key} \"{}\";\n", folder.join(name).display());
    let mut text = String::new();
    for (key, name) in [
        ("Dir::Etc::Parts", "none.d"),
        ("Dir::Etc::Main", "none"),
        ("Dir::Etc::SourceList", "none"),
        ("Dir::Etc::SourceParts", "sources.d"),
        ("Dir::Etc::Preferences", "none"),
        ("Dir::Etc::PreferencesParts", "none.d"),
        ("Dir::Etc::Trusted", "none"),
        ("Dir::Etc::TrustedParts", "none.d"),
        ("Dir::State", "."),
        ("Dir::State::status", "status"),
        ("Dir::Cache", "cache"),
    ] {
        text += &path(key, name);
    }
    text += "APT::Architecture \"amd64\";\nAPT::Architectures { \"amd64\"; };\n\
             APT::Install-Recommends \"false\";\nAPT::Sandbox::User \"root\";\n\
             APT::Update::Error-Mode \"any\";\nAcquire::Languages \"none\";\nAcquire::Retries \"3\";\n";
    let reach = ["Acquire::http::", "Acquire::https::"];
    for line in own.lines().filter(|line| reach.iter().any(|prefix| line.starts_with(prefix))) {
        text += line;
        text.push('\n');
    }
    text
}

/// Every entry of sources.list, sources.list.d/*.list and sources.list.d/*.sources.
fn entries(apt: &Path) -> Result<Vec<Entry>> {
    let mut files = vec![apt.join("sources.list")];
    if let Ok(folder) = fs::read_dir(apt.join("sources.list.d")) {
        files.extend(folder.filter_map(|entry| Some(entry.ok()?.path())));
    }
    files.sort();
    let mut entries = Vec::new();
    for file in files.iter().filter(|file| file.is_file()) {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => entries.extend(one_line(&read(file)?)),
            Some("sources") => entries.extend(deb822(&read(file)?)),
            _ => {}
        }
    }
    Ok(entries)
}

/// Reads lines `'URI' name_version_architecture.deb bytes hash`.
fn parse_uris(text: &str) -> Result<Vec<Package>> {
    let line = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let mut parts = words.next()?.split('_');
        Some(Package {
            name: parts.next()?.to_string(),
            version: parts.next()?.replace("%3a", ":"),
            bytes: words.next()?.parse().ok()?,
        })
    };
    let lines = text.lines().filter(|line| line.starts_with('\''));
    lines.map(|text| line(text).with_context(|| format!("apt prints {text:?}"))).collect()
}

/// Whether Debian's version of QEMU is of one that has the device.
fn new_enough(version: &str) -> bool {
    let upstream = version.split_once(':').map_or(version, |(_epoch, rest)| rest);
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let end = upstream.find(|c| !digits(c)).unwrap_or(upstream.len());
    match (Version::parse(upstream[..end].trim_matches('.')), Version::parse(OLDEST_QEMU)) {
        (Some(version), Some(oldest)) => version >= oldest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_a_qemu_with_the_device() {
        for good in ["1:11.1.3+ds-1~bpo13+1", "1:10.1.0+ds-5", "1:10.1~rc1+ds-1", "12", "1:10.10-1"] {
            assert!(new_enough(good), "{good}");
        }
        for old in ["1:10.0.13+ds-0+deb13u1", "1:7.2+dfsg-7+deb12u18", "1:10.0.2~bpo12", "", "11:1.0", "x"] {
            assert!(!new_enough(old), "{old}");
        }
    }

    #[test]
    fn reads_what_apt_would_fetch() {
        let text = "'http://a.invalid/q/qemu_1%3a11.1%2bds_amd64.deb' qemu_1%3a11.1+ds_amd64.deb 10377056 \n\
                    'http://a.invalid/z.deb' zstd_1.5.7+dfsg-1_amd64.deb 756244 SHA256:46b1e66d\n";
        let packages = parse_uris(text).unwrap();
        let shown: Vec<_> = packages.iter().map(|p| (&*p.name, &*p.version, p.bytes)).collect();
        assert_eq!(shown, [("qemu", "1:11.1+ds", 10_377_056), ("zstd", "1.5.7+dfsg-1", 756_244)]);
        assert!(parse_uris("'http://a.invalid/z.deb' zstd.deb many").is_err());
        assert!(parse_uris("W: something\n").unwrap().is_empty());
    }

    #[test]
    fn the_way_to_the_archive_is_the_machines_and_nothing_else_is() {
        let own = "APT::Update::Post-Invoke:: \"rm -f /x\";\nAcquire::http::Proxy \"http://p.invalid:1/\";\n\
                   Dir::Cache \"var/cache/apt\";\n";
        let text = settings(Path::new("/f"), own);
        assert!(text.contains("\nAcquire::http::Proxy \"http://p.invalid:1/\";\n"), "{text}");
        assert!(text.contains("Dir::State::status \"/f/status\";"), "{text}");
        assert!(!text.contains("Post-Invoke") && !text.contains("var/cache"), "{text}");
    }

    #[test]
    fn sources_of_both_formats_count() {
        let folder = tempfile::tempdir().unwrap();
        let parts = folder.path().join("sources.list.d");
        fs::create_dir(&parts).unwrap();
        assert!(entries(folder.path()).unwrap().is_empty());
        fs::write(parts.join("a.list"), "deb http://a.invalid/ trixie main\n").unwrap();
        fs::write(parts.join("b.sources.off"), "deb http://b.invalid/ trixie main\n").unwrap();
        let text = "Types: deb\nURIs: http://c.invalid/\nSuites: bookworm\nComponents: main\n";
        fs::write(parts.join("c.sources"), text).unwrap();
        let entries = entries(folder.path()).unwrap();
        assert_eq!(archive(&entries, "bookworm"), Some("http://c.invalid/"));
        assert_eq!(archive(&entries, "trixie"), Some("http://a.invalid/"));
    }
}
