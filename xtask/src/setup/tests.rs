//! What is to be installed follows from what is lacking.

use super::*;
use crate::need::TOOLS;

const ROOT: Host = Host { debian: true, root: true, sudo: false };
const USER: Host = Host { debian: true, root: false, sudo: false };
const ELSEWHERE: Host = Host { debian: false, root: true, sudo: false };

fn lacking(names: &[&str]) -> Vec<(&'static Tool, Found)> {
    let lacks = |tool: &&Tool| names.contains(&tool.name);
    TOOLS.iter().filter(lacks).map(|tool| (tool, Found::No)).collect()
}

fn project() -> Project {
    Project::at("/p".into())
}

#[test]
fn apt_asks_nothing_and_waits_for_the_lock() {
    assert_eq!(
        ROOT.apt_install(&["g++", "z3"]).to_string(),
        "env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=600 \
         install -y --no-install-recommends g++ z3"
    );
    assert_eq!(
        USER.apt_update().to_string(),
        "sudo env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=600 update"
    );
}

#[test]
fn a_package_that_holds_two_tools_is_named_once() {
    let plan = Plan::of(&lacking(&["yosys", "yosys-smtbmc", "z3"]));
    assert_eq!(plan.debian, ["yosys", "z3"]);
    assert_eq!(plan.missing, ["yosys 0.23 or newer", "yosys-smtbmc", "z3 4.8 or newer"]);
}

#[test]
fn python_packages_bring_the_environment_they_live_in() {
    let scapy = || Plan::of(&lacking(&["scapy"]));
    let shown = |plan: Plan| plan.user_commands(&project()).iter().map(Cmd::to_string).collect::<Vec<_>>();
    let pip = "/p/.viaduct/venv/bin/python -m pip install --disable-pip-version-check \
               --no-input -r /p/xtask/python/decode.txt";
    assert_eq!(shown(scapy().with_venv(true, None)), [pip]);
    let bare = scapy().with_venv(false, None);
    assert_eq!(bare.debian, ["python3-venv"]);
    assert_eq!(shown(bare), ["/usr/bin/python3 -m venv --clear /p/.viaduct/venv", pip]);
    let able = scapy().with_venv(false, Some("python3"));
    assert_eq!(able.debian, [""; 0]);
    assert_eq!(shown(able), ["python3 -m venv --clear /p/.viaduct/venv", pip]);
}

#[test]
fn what_rust_has_comes_from_rustup_and_crates_io() {
    let plan = Plan::of(&lacking(&["rustfmt", "clippy"]));
    let commands = plan.user_commands(&project());
    assert_eq!(commands[0].to_string(), "rustup component add rustfmt clippy");
    assert_eq!(commands.len(), 1);
    let plan = Plan::of(&lacking(&["cargo-nextest"]));
    let commands = plan.user_commands(&project());
    assert_eq!(commands[0].to_string(), "cargo install --locked cargo-nextest");
    let plan = Plan::of(&lacking(&["mdbook"]));
    let command = plan.user_commands(&project())[0].to_string();
    assert_eq!(command, "cargo install --locked mdbook --no-default-features --features search");
    assert_eq!(Plan::of(&[]).with_venv(false, None), Plan::default());
}

#[test]
fn without_root_or_off_debian_it_says_what_to_do_and_does_nothing() {
    let plan = Plan::of(&lacking(&["verilator", "z3"]));
    let error = install(&project(), &[], &plan, USER).unwrap_err().to_string();
    assert!(error.contains("--no-install-recommends verilator z3"), "{error}");
    assert!(error.contains("update"), "{error}");
    let error = install(&project(), &[], &plan, ELSEWHERE).unwrap_err().to_string();
    assert!(error.contains("verilator 5.006 or newer"), "{error}");
    assert!(!error.contains("apt-get"), "{error}");
}

#[test]
fn tells_debian_from_the_rest() {
    assert!(is_debian("PRETTY_NAME=x\nID=debian\n"));
    assert!(is_debian("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
    assert!(!is_debian("ID=fedora\nNAME=\"not debian\"\n"));
    assert!(!is_debian(""));
}

#[test]
fn lists_are_stale_where_they_offer_nothing_new() {
    let policy = "verilator:\n  Installed: (none)\n  Candidate: 5.006-3\n  Version table:\n\
                  z3:\n  Installed: 4.8.12-3.1\n  Candidate: 4.8.12-3.1\n\
                  N: Unable to locate package yosys\n";
    let read = |names| Packages::parse(names, policy);
    assert!(!read(&["verilator"]).stale());
    assert!(read(&["verilator", "z3"]).stale(), "z3 is as new as the lists have it");
    assert!(read(&["yosys"]).stale());
    assert_eq!(read(&["verilator", "yosys", "z3"]).unknown(), ["yosys"]);
}
