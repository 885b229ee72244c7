//! VIADUCT_LOG: without it the library says nothing; with it what it does, once; and what is no filter keeps the NIC from opening.

use std::{path::Path, process::Command};

use crate::common::{compile, Simulator, Viads};

/// What tests/c/log.c says on stderr with this filter, over the NICs of these names; it ends with `code`.
fn stderr(simulator: &Simulator, names: &str, filter: Option<&str>, code: i32) -> String {
    let folder = simulator.folder.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/log.c");
    let mut command = Command::new(compile(&source, "-std=gnu89", folder));
    command
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", names)
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .env_remove("VIADUCT_LOG");
    if let Some(filter) = filter {
        command.env("VIADUCT_LOG", filter);
    }
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn a_filter_says_what_is_logged_and_without_one_nothing_is() {
    let simulator = Simulator::with(1);
    let names = simulator.names();
    assert_eq!(stderr(&simulator, &names, None, 0), "");
    assert_eq!(stderr(&simulator, &names, Some(""), 0), "");
    assert_eq!(stderr(&simulator, &names, Some("off"), 0), "");

    let said = stderr(&simulator, &names, Some("debug"), 0);
    // One subscriber, however often the program opens NICs: the agent is opened and closed once.
    for once in ["the NIC is open ", "the NIC is closed "] {
        assert_eq!(said.matches(once).count(), 1, "{once}: {said}");
    }
    let parts = [
        "open{name=",
        "viaduct_driver::vfio_user: return=()",
        "create_tag: viaduct_driver::agent",
        "deregister{handle=",
    ];
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("TRACE"), "{said}");

    let said = stderr(&simulator, &names, Some("off,viaduct_driver::device_protocol::commands=trace"), 0);
    assert!(said.contains("TRACE") && said.contains("command op="), "{said}");
    assert!(said.lines().all(|line| line.contains("viaduct_driver::device_protocol::commands")), "{said}");
}

#[test]
fn requests_to_viad_are_logged_in_the_program() {
    let simulator = Simulator::with(1);
    let viads = Viads::of(&simulator, "");
    let said = stderr(&simulator, &viads.names(), Some("viaduct_driver::viad=debug"), 0);
    for request in ["CreateTag", "Register(", "Deregister(", "DestroyTag("] {
        assert_eq!(said.matches(&format!("asks viad request={request}")).count(), 1, "{request}: {said}");
    }
    assert_eq!(stderr(&simulator, &viads.names(), None, 0), "");
}

#[test]
fn what_is_no_filter_keeps_the_nic_from_opening() {
    let simulator = Simulator::with(1);
    for (filter, part) in [("loud", "\"loud\""), ("debug,vfio=trace", "\"vfio=trace\"")] {
        let said = stderr(&simulator, &simulator.names(), Some(filter), 1);
        assert!(
            said.starts_with(&format!("vipl: VIADUCT_LOG: {part} is neither LEVEL nor PART=LEVEL")),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
