//! The examples in C, as they are for an embedded agent, between two viads: one binary, with NICs that are models, and RTL.

use std::path::Path;

use viaduct_viad_tests::{c::Example, stage::Stage};
use vipl::Nic;

#[test]
fn one_binary_of_ping_pong_and_of_a_server_of_many_runs_between_two_viads_with_models_and_with_rtl() {
    let folder = tempfile::tempdir().expect("a folder");
    let pingpong = Example::new("pingpong", folder.path());
    let many = Example::new("server", folder.path());
    for kind in ["model", "rtl"] {
        let stage = Stage::of(kind, 2, 0, "");
        let names = [stage.name(0), stage.name(1)];
        let (server, address) = pingpong.serve(&[&names[0]]);
        let said = pingpong.ask(&[&names[1], &address]);
        assert!(said.starts_with("1000 balls there and back, "), "{said}");
        println!("{kind}: {said}");
        server.end();

        let (server, address) = many.serve(&[&names[0], "4"]);
        // One after the other, and at once; from the other NIC, and from its own.
        assert_eq!(many.ask(&[&names[1], &address, "first"]), "FIRST\n");
        std::thread::scope(|scope| {
            for (nic, text, answer) in [(1, "one", "ONE\n"), (0, "two words", "TWO WORDS\n"), (1, "3", "3\n")]
            {
                let (many, names, address) = (&many, &names, &address);
                scope.spawn(move || assert_eq!(many.ask(&[&names[nic], address, text]), answer));
            }
        });
        assert_eq!(server.end(), "4 clients served\n");
    }
}

#[test]
fn names_of_hosts_are_those_of_viads_file() {
    let stage = Stage::new(1);
    let names = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/names.c");
    let names = Example::of(&names, stage.folder.path());
    // Without a file there is no name service. (Nor is there one of this machine's.)
    let none = if Path::new("/etc/vip_hosts").exists() { "success" } else { "no name service" };
    assert!(names.ask(&[&stage.name(0), "node7"]).starts_with(none));
    // Longer than a message.
    let comments =
        "# a comment as long as a line is, so that the file is longer than any message\n".repeat(900);
    let text = format!("{comments}node7.cluster 02:00:00:00:00:07 10.0.0.7\n{comments}");
    std::fs::write(stage.folder.path().join("hosts"), &text).expect("written");
    assert_eq!(names.ask(&[&stage.name(0), "node7"]), "success 7 node7.cluster\n");
    assert_eq!(names.ask(&[&stage.name(0), "node8"]), "nobody\n");
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    assert_eq!(nic.hosts().expect("it answers").as_deref(), Some(&text[..]));
}

#[test]
fn a_program_opens_a_nic_again_whose_viad_was_restarted() {
    let mut stage = Stage::new(1);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/again.c");
    let again = Example::of(&source, stage.folder.path());
    let (program, said) = again.serve(&[&stage.name(0)]);
    assert_eq!(said, "open");
    stage.kill(0);
    let viad = stage.start(0);
    assert_eq!(program.end(), "again\n");
    drop(viad);
}
