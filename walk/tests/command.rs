//! `viaduct-walk` as `cargo xtask soak` runs it.

use std::process::Command;

#[test]
fn the_last_line_says_how_many_passed_and_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_viaduct-walk"))
        .args(["--model", "--from", "7", "--seeds", "3", "--out"])
        .arg(folder.path())
        .output()
        .expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().last(), Some("3 passed, 0 failed"), "{text}");
    assert!(output.status.success());
    // How many of each kind.
    assert!(text.lines().any(|line| line.starts_with("operation ")), "{text}");
}
