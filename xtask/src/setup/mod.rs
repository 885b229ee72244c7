//! `setup`: brings what is missing onto the machine, and says what it does before it does it.

use crate::command::Cmd;
use crate::need::{tools, Found, Need, Probe, Source, Tool};
use crate::project::Project;
use anyhow::{bail, Result};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

/// How long apt waits for another apt on the machine, in seconds.
const APT_LOCK_SECONDS: u32 = 600;

/// What matters of the machine when packages are to be installed.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Debian or a descendant, with apt-get.
    debian: bool,
    /// We are root.
    root: bool,
    /// sudo is installed and a person is there to give it a password.
    sudo: bool,
}

impl Host {
    /// This machine.
    pub fn find() -> Host {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let has = |program: &str| Cmd::new(program).arg("--version").probe().is_some();
        Host {
            debian: is_debian(&release) && has("apt-get"),
            root: Cmd::new("id").arg("-u").probe().is_some_and(|id| id.trim() == "0"),
            sudo: std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && has("sudo"),
        }
    }

    /// apt-get, as root, asking nothing.
    fn apt_get(self) -> Cmd {
        // English, because `update_lists` reads what it says.
        let environment = ["DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"];
        let cmd = match self.root {
            true => Cmd::new("env").args(environment),
            false => Cmd::new("sudo").arg("env").args(environment),
        };
        cmd.args(["apt-get", "-o"]).arg(format!("DPkg::Lock::Timeout={APT_LOCK_SECONDS}"))
    }

    fn apt_install(self, packages: &[&str]) -> Cmd {
        self.apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages)
    }

    fn apt_update(self) -> Cmd {
        self.apt_get().arg("update")
    }
}

/// Whether /etc/os-release tells of a system that installs Debian packages.
fn is_debian(release: &str) -> bool {
    release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .any(|id| id == "debian" || id == "ubuntu")
}

/// What is to be installed, and how.
#[derive(Debug, Default, PartialEq)]
struct Plan {
    /// What is missing, in words.
    missing: Vec<String>,
    /// Debian packages.
    debian: Vec<&'static str>,
    /// Components of the Rust toolchain.
    rustup: Vec<&'static str>,
    /// Programs that cargo builds from crates.io, with its options.
    crates: Vec<(&'static str, &'static [&'static str])>,
    /// The Python to make the virtual environment with, if it has to be made.
    venv: Option<&'static str>,
    /// Files of pinned Python packages.
    pins: Vec<&'static str>,
}

impl Plan {
    /// Plans for these tools.
    fn of(missing: &[(&'static Tool, Found)]) -> Plan {
        let mut plan = Plan::default();
        for (tool, found) in missing {
            plan.missing.push(match found {
                Found::Old(version) => format!("{} (found {version})", tool.requirement()),
                _ => tool.requirement(),
            });
            match (tool.source, tool.probe) {
                (Source::Debian(package), _) => plan.debian.push(package),
                (Source::Rustup(component), _) => plan.rustup.push(component),
                (Source::Crate(name, options), _) => plan.crates.push((name, options)),
                (Source::Pip, Probe::Python(file)) => plan.pins.push(file),
                (Source::Pip, _) => unreachable!("pip installs what xtask/python pins"),
            }
        }
        plan.debian.dedup();
        plan
    }

    /// Adds a virtual environment, if there are Python packages and none that works. `python`
    /// is one that can make it; without one, Debian's is installed.
    fn with_venv(mut self, works: bool, python: Option<&'static str>) -> Plan {
        if !self.pins.is_empty() && !works {
            if python.is_none() {
                self.missing.push("python3 3.9 or newer with its modules venv and ensurepip".into());
                self.debian.push("python3-venv");
            }
            self.venv = Some(python.unwrap_or("/usr/bin/python3"));
        }
        self
    }

    /// The commands after apt's.
    fn user_commands(&self, project: &Project) -> Vec<Cmd> {
        let mut commands = Vec::new();
        if !self.rustup.is_empty() {
            commands.push(Cmd::new("rustup").args(["component", "add"]).args(&self.rustup));
        }
        for (name, options) in &self.crates {
            // --locked: with the dependencies that its authors have tested it with.
            commands.push(Cmd::new("cargo").args(["install", "--locked", name]).args(*options));
        }
        if let Some(python) = self.venv {
            commands.push(Cmd::new(python).args(["-m", "venv", "--clear"]).arg(&project.venv));
        }
        if !self.pins.is_empty() {
            let files = self.pins.iter().map(|file| project.root.join("xtask/python").join(file));
            let pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"];
            commands.push(
                Cmd::new(project.venv.join("bin/python"))
                    .args(pip)
                    .args(files.flat_map(|file| ["-r".into(), file.into_os_string()])),
            );
        }
        commands
    }
}

/// The tools of these groups that cannot be used.
fn missing(project: &Project, needs: &[Need]) -> Result<Vec<(&'static Tool, Found)>> {
    let mut missing = Vec::new();
    for tool in tools(needs) {
        let found = tool.find(project)?;
        if !found.works() {
            missing.push((tool, found));
        }
    }
    Ok(missing)
}

/// The names of the tools of these groups that cannot be used.
pub fn lacking(project: &Project, needs: &[Need]) -> Result<Vec<&'static str>> {
    Ok(missing(project, needs)?.iter().map(|(tool, _)| tool.name).collect())
}

fn plan(project: &Project, needs: &[Need]) -> Result<Plan> {
    let plan = Plan::of(&missing(project, needs)?);
    if plan.pins.is_empty() {
        return Ok(plan);
    }
    let pip = Cmd::new(project.venv.join("bin/python")).args(["-m", "pip", "--version"]);
    Ok(plan.with_venv(pip.probe().is_some(), venv_maker()))
}

/// A Python that can make virtual environments: Debian's cannot until python3-venv is there.
fn venv_maker() -> Option<&'static str> {
    let test = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
    let can = |python: &&str| Cmd::new(python).args(["-c", test]).probe().is_some();
    ["python3", "/usr/bin/python3"].into_iter().find(can)
}

/// Makes sure that a command has what it needs, in silence if it has.
pub fn ensure(project: &Project, needs: &[Need]) -> Result<()> {
    let plan = plan(project, needs)?;
    if plan != Plan::default() {
        install(project, needs, &plan, Host::find())?;
    }
    Ok(())
}

/// `cargo xtask setup`.
pub fn run(project: &Project, needs: &[Need], dry_run: bool) -> Result<()> {
    let plan = plan(project, needs)?;
    if plan == Plan::default() {
        let names: Vec<&str> = tools(needs).map(|tool| tool.name).collect();
        println!("set-up: nothing to install; found {}", names.join(", "));
        return Ok(());
    }
    let host = Host::find();
    if dry_run {
        println!("missing: {}", plan.missing.join("; "));
        let packages = Packages::read(&plan.debian);
        if host.debian && packages.stale() {
            println!("$ {}", host.apt_update());
        }
        if !plan.debian.is_empty() {
            match host.debian {
                true => println!("$ {}", host.apt_install(&plan.debian)),
                false => println!("not Debian or Ubuntu: the programs are yours to install"),
            }
        }
        plan.user_commands(project).iter().for_each(|cmd| println!("$ {cmd}"));
        return Ok(());
    }
    install(project, needs, &plan, host)?;
    println!("set-up: done");
    Ok(())
}

fn install(project: &Project, needs: &[Need], plan: &Plan, host: Host) -> Result<()> {
    println!("missing: {}", plan.missing.join("; "));
    if !plan.debian.is_empty() {
        if !host.debian {
            bail!(
                "this is not Debian or Ubuntu, and their packages are all that is known here; \
                 please install, then run this again:\n  {}",
                plan.missing.join("\n  ")
            );
        }
        if !host.root && !host.sudo {
            bail!(
                "this takes root; please run, then run this again:\n  {}\n  {}",
                host.apt_update(),
                host.apt_install(&plan.debian)
            );
        }
        install_packages(host, &plan.debian)?;
    }
    for command in plan.user_commands(project) {
        command.run()?;
    }
    let left: Vec<String> = missing(project, needs)?
        .iter()
        .map(|(tool, found)| match found {
            Found::Old(version) => format!("{}; found {version}", tool.requirement()),
            _ => tool.requirement(),
        })
        .collect();
    if !left.is_empty() {
        bail!("everything was installed, and this is still missing:\n  {}", left.join("\n  "));
    }
    Ok(())
}

/// apt-cache's word for no version.
const NONE: &str = "(none)";

/// What apt knows of some packages: name to (installed, candidate) version.
struct Packages(BTreeMap<&'static str, (String, String)>);

impl Packages {
    fn read(names: &[&'static str]) -> Packages {
        let policy = Cmd::new("apt-cache").env("LC_ALL", "C").arg("policy").args(names);
        Packages::parse(names, &policy.probe().unwrap_or_default())
    }

    fn parse(names: &[&'static str], policy: &str) -> Packages {
        let none = || (NONE.to_string(), NONE.to_string());
        let mut packages: BTreeMap<_, _> = names.iter().map(|name| (*name, none())).collect();
        let mut current = None;
        for line in policy.lines() {
            let text = line.trim();
            if !line.starts_with(' ') {
                current = names.iter().find(|name| text.strip_suffix(':') == Some(**name));
            } else if let Some(entry) = current.and_then(|name| packages.get_mut(name)) {
                if let Some(version) = text.strip_prefix("Installed: ") {
                    entry.0 = version.to_string();
                } else if let Some(version) = text.strip_prefix("Candidate: ") {
                    entry.1 = version.to_string();
                }
            }
        }
        Packages(packages)
    }

    /// Whether newer lists may have more to offer.
    fn stale(&self) -> bool {
        self.0.values().any(|(installed, candidate)| installed == candidate)
    }

    /// The packages that no list has.
    fn unknown(&self) -> Vec<&'static str> {
        let unknown = self.0.iter().filter(|(_, (_, candidate))| candidate == NONE);
        unknown.map(|(name, _)| *name).collect()
    }
}

fn install_packages(host: Host, names: &[&'static str]) -> Result<()> {
    let mut updated = false;
    if Packages::read(names).stale() {
        update_lists(host)?;
        updated = true;
        let unknown = Packages::read(names).unknown();
        if !unknown.is_empty() {
            bail!(
                "this system's package lists do not have {}; `cargo xtask doctor` shows the \
                 versions that work",
                unknown.join(", ")
            );
        }
    }
    let install = host.apt_install(names);
    let first = install.run();
    if first.is_err() && !updated {
        // Old lists name files that the archive no longer has.
        update_lists(host)?;
        return install.run();
    }
    first
}

/// `apt-get update` does not wait for its lock by itself. That some list could not be fetched is
/// no reason to stop: it may be one of a source that has nothing to do with us.
fn update_lists(host: Host) -> Result<()> {
    const PAUSE_SECONDS: u32 = 10;
    for _ in 0..APT_LOCK_SECONDS / PAUSE_SECONDS {
        let update = host.apt_update();
        println!("$ {update}");
        let (success, errors) = update.run_watching_errors()?;
        if success || !errors.contains("Could not get lock") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(PAUSE_SECONDS.into()));
    }
    bail!("another program has kept apt's lists locked for {APT_LOCK_SECONDS} s")
}

#[cfg(test)]
mod tests;
