//! VIADUCT_LOG in viad and in the command `viaduct`.

use std::{
    fs::File,
    process::{Command, Output},
};

use viaduct_viad_tests::{
    program::program,
    stage::{until, Process, Stage, LONG},
};
use vipl::Nic;

fn run(name: &str, arguments: &[&str], filter: Option<&str>) -> Output {
    let mut command = Command::new(program(name));
    command.args(arguments).env_remove("VIADUCT_LOG");
    if let Some(filter) = filter {
        command.env("VIADUCT_LOG", filter);
    }
    command.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_is_no_filter_ends_each_program() {
    for (name, arguments) in [("viad", ["--check"]), ("viaduct", ["devices"])] {
        let output = run(name, &arguments, Some("viad=loud"));
        let said = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{name}: {said}");
        assert!(
            said.contains("VIADUCT_LOG: \"viad=loud\" is neither LEVEL nor PART=LEVEL"),
            "{name}: {said}"
        );
    }
}

#[test]
fn the_command_logs_what_it_asks_and_prints_what_it_printed() {
    let stage = Stage::new(1);
    let plain = run("viaduct", &["info", &stage.name(0)], None);
    assert!(plain.status.success() && plain.stderr.is_empty(), "{}", text(&plain.stderr));
    let logged = run("viaduct", &["info", &stage.name(0)], Some("debug"));
    assert_eq!(text(&logged.stdout), text(&plain.stdout));
    assert!(
        text(&logged.stderr).contains(&format!("open{{name=\"{}\"}}", stage.name(0))),
        "{}",
        text(&logged.stderr)
    );
}

/// viad with a filter of its own, until a client has made a tag; what it has logged.
fn log_of(stage: &Stage, nic: usize, filter: Option<&str>) -> String {
    let place = |what: &str| stage.folder.path().join(format!("{what}{nic}"));
    let mut command = Command::new(program("viad"));
    command.args(["--nic", &stage.device(nic), "--socket"]).arg(place("own"));
    command.env_remove("VIADUCT_LOG").stderr(File::create(place("log")).expect("a file"));
    command.envs(filter.map(|filter| ("VIADUCT_LOG", filter)));
    let viad = Process(command.spawn().expect("it starts"));
    let name = format!("viad:{}", place("own").display());
    let mut client = None;
    assert!(until(LONG, || {
        client = Nic::open(&name).ok();
        client.is_some()
    }));
    drop(client.expect("it is open").create_ptag().expect("a tag"));
    drop(viad);
    std::fs::read_to_string(place("log")).expect("a log")
}

#[test]
fn viad_logs_sessions_and_with_a_filter_what_its_agent_does_for_each() {
    let stage = Stage::with_free(3, 3, "");
    let session = format!("session{{pid={} uid=", std::process::id());
    let said = log_of(&stage, 0, None);
    for part in ["serving", "a client ", "the NIC is open "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("DEBUG") && !said.contains(&session), "{said}");
    let said = log_of(&stage, 1, Some("warn,viaduct_driver::agent=debug"));
    let tag = "create_tag: viaduct_driver::agent: return=";
    assert!(said.lines().any(|line| line.contains(tag)), "{said}");
    assert!(!said.contains("a client "), "{said}");
    let said = log_of(&stage, 2, Some("debug"));
    assert!(said.lines().any(|line| line.contains(&session) && line.contains(tag)), "{said}");
}
