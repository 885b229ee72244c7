//! What the shared library exports, and what it is called.

use std::{collections::BTreeSet, path::PathBuf, process::Command};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let path = test.ancestors().nth(2).expect("target/<profile>/deps/<test>").join("libvipl.so");
    assert!(path.exists(), "{} is not built: run the suite by `cargo xtask test`", path.display());
    path
}

fn say(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).arg(library()).output().expect("binutils are there");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("ASCII")
}

#[test]
fn the_library_exports_what_is_listed_and_nothing_else() {
    let text = std::fs::read_to_string(format!("{FOLDER}/symbols.txt")).expect("the list");
    let listed: BTreeSet<&str> =
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let said = say("nm", &["-D", "--defined-only"]);
    let exported: BTreeSet<&str> = said.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(exported, listed);
    // And all of them are declared.
    let header = |name: &str| std::fs::read_to_string(format!("{FOLDER}/../include/{name}"));
    let (vipl, extensions) =
        (header("vipl.h").expect("it is there"), header("vipl_ext.h").expect("it is there"));
    for name in listed {
        let (header, file) = match name.starts_with("VipExt") {
            true => (&extensions, "vipl_ext.h"),
            false => (&vipl, "vipl.h"),
        };
        assert!(header.contains(&format!(" {name}(")), "{name} is not in {file}");
    }
}

#[test]
fn the_library_has_its_soname() {
    assert!(say("readelf", &["-d"]).contains("Library soname: [libvipl.so.1]"));
}
