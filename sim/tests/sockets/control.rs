//! The control socket, and time that passes while nobody asks for anything.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{json, Value};
use viaduct_sim::directory::CONTROL;

use super::dead::dead;
use crate::support::Simulator;

#[test]
fn an_idle_simulator_sleeps_and_follows_the_wall() {
    let simulator = dead(2);
    let before = simulator.handle().status().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let after = simulator.handle().status().unwrap();
    let passed = after.simulated_ns - before.simulated_ns;
    let wall = after.wall_ns - before.wall_ns;
    // The threads that ask and that sleep wake up when the machine lets them: neither clock leads by more than that.
    assert!(passed.abs_diff(wall) <= 50_000_000, "{passed} ns of {wall}");
    let busy = after.busy_ns - before.busy_ns;
    assert!(busy < wall / 4, "busy for {busy} ns of {wall}");
}

/// What control answers to a line.
fn control(simulator: &Simulator) -> impl FnMut(&str) -> Value {
    let stream = UnixStream::connect(simulator.folder().join(CONTROL)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream: UnixStream = stream;
    move |line| {
        stream.write_all(line.as_bytes()).unwrap();
        stream.write_all(b"\n").unwrap();
        let mut answer = String::new();
        reader.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or(Value::Null)
    }
}

#[test]
fn control_answers_line_by_line() {
    let simulator = dead(2);
    let mut tell = control(&simulator);
    let status = tell(r#"{"command":"status"}"#);
    assert_eq!(status["ok"], json!(true));
    assert_eq!(status["status"]["nics"].as_array().map(Vec::len), Some(2));
    assert_eq!(status["status"]["fabric"]["frames"], json!(0));
    assert_eq!(status["status"]["verilog_sha256"], json!(viaduct_sim::rtl::VERILOG_SHA256));
    assert_eq!(tell(r#"{"command":"faults","drop":[4,5]}"#), json!({ "ok": true }));
    assert_eq!(tell(r#"{"command":"status"}"#)["status"]["faults"]["drop"], json!([4, 5]));
    for nonsense in ["", "{", "[]", r#"{"command":"faults","drop":"all"}"#, "\u{0}"] {
        assert_eq!(tell(nonsense)["ok"], json!(false), "{nonsense:?}");
    }
    let endless = "x".repeat(70_000);
    assert_eq!(tell(&endless)["ok"], json!(false));
    assert_eq!(tell(r#"{"command":"shutdown"}"#)["ok"], json!(true));
    assert_eq!(tell(r#"{"command":"status"}"#)["error"], json!("the simulation has ended"));
}
