//! `viaduct perf` between two programs on two NICs, models or RTL: each has its own, or both are clients of viads.

mod by_hand;

use std::process::{Command, Output};

use serde_json::Value;
use viaduct_viad_tests::{
    pair::{failure, text, viaduct, Server},
    program::program,
    stage::{until, Stage, LONG},
};

/// The addresses of the stage's NICs.
const SERVER: &str = "02:00:00:00:00:01";
/// On a machine that is busy with other things both wait longer than by themselves.
const PATIENCE: [&str; 2] = ["--timeout", "60"];

/// Two NICs, and what programs call them.
struct Pair {
    stage: Stage,
    nics: [String; 2],
    /// What the programs say that the NICs are.
    kind: &'static str,
}

impl Pair {
    /// Each program has a NIC of its own.
    fn embedded() -> Self {
        Self::embedded_of("model", "functional model")
    }

    fn embedded_of(kind: &str, said: &'static str) -> Self {
        let stage = Stage::of(kind, 2, 2, "");
        Self { nics: [0, 1].map(|nic| stage.device(nic)), stage, kind: said }
    }

    /// The programs are clients of two viads.
    fn viads() -> Self {
        let stage = Stage::new(2);
        Self { nics: [0, 1].map(|nic| stage.name(nic)), stage, kind: "functional model" }
    }

    /// How a server and a client end that are given the same options.
    fn run(&self, what: &str) -> [Output; 2] {
        self.run_each(what, what)
    }

    fn run_each(&self, server: &str, client: &str) -> [Output; 2] {
        let server = Server::start(&[&self.line(0, server)[..], &PATIENCE].concat());
        assert_eq!(server.said, format!("waiting at port 18515 of {SERVER}"));
        let client = viaduct(&[&self.line(1, client)[..], &PATIENCE, &[SERVER]].concat());
        [server.end(), client]
    }

    /// The results that a client tells in JSON.
    fn results(&self, what: &str) -> Vec<Value> {
        let [server, client] = self.run_each(what, &format!("{what} --json"));
        assert_eq!(text(&server), "", "{what}");
        let said: Value = serde_json::from_str(&text(&client)).expect("JSON");
        let words: Vec<&str> = what.split(' ').collect();
        assert_eq!([&said["operation"], &said["metric"]], [words[0], words[1]], "{what}");
        assert_eq!((&said["kind"], &said["server"]), (&self.kind.into(), &SERVER.into()));
        said["results"].as_array().expect("a list").clone()
    }

    fn line<'a>(&'a self, nic: usize, what: &'a str) -> Vec<&'a str> {
        ["perf", "-d", &self.nics[nic]].into_iter().chain(what.split(' ')).collect()
    }
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

/// Figures that cannot be otherwise, of a latency.
fn judge_latency(what: &str, row: &Value, bytes: u64, iterations: u64) {
    assert_eq!((&row["bytes"], &row["iterations"]), (&bytes.into(), &iterations.into()), "{what}: {row}");
    let order = ["t_min_usec", "t_typical_usec", "percentile_99_usec", "percentile_99_9_usec", "t_max_usec"];
    let figures = order.map(|name| number(row, name));
    assert!(figures[0] > 0.0 && figures.is_sorted(), "{what}: {row}");
    let average = number(row, "t_avg_usec");
    assert!(figures[0] <= average && average <= figures[4] && number(row, "t_stdev_usec") >= 0.0, "{row}");
}

/// The same of a bandwidth.
fn judge_bandwidth(what: &str, row: &Value, bytes: u64, iterations: u64) {
    assert_eq!((&row["bytes"], &row["iterations"]), (&bytes.into(), &iterations.into()), "{what}: {row}");
    let [average, peak] = ["bw_average_mb_per_sec", "bw_peak_mb_per_sec"].map(|name| number(row, name));
    // The whole run is one of those that the peak is the best of.
    assert!(average > 0.0 && peak >= average * 0.999_999, "{what}: {row}");
    let rate = number(row, "msg_rate_mpps") * 1e6 * bytes as f64 / f64::from(1 << 20);
    assert!((rate / average - 1.0).abs() < 1e-6, "{what}: {row}");
}

fn every_operation(pair: &Pair) {
    for operation in ["send", "write", "read"] {
        for (more, bytes) in [("-s 1", 1), ("-s 64", 64), ("-s 5001 -m 256", 5001)] {
            let what = format!("{operation} lat -n 50 {more}");
            let rows = pair.results(&what);
            assert_eq!(rows.len(), 1, "{what}");
            judge_latency(&what, &rows[0], bytes, 50);
        }
        for (more, bytes) in [("-s 1 -t 1", 1), ("-s 4097 -t 3", 4097), ("-s 65536", 65536)] {
            let what = format!("{operation} bw -n 200 {more}");
            let rows = pair.results(&what);
            assert_eq!(rows.len(), 1, "{what}");
            judge_bandwidth(&what, &rows[0], bytes, 200);
        }
        let what = format!("{operation} bw -n 200 -s 3000 -t 7 -b");
        judge_bandwidth(&what, &pair.results(&what)[0], 3000, 200);
    }
    for level in ["unreliable", "reception"] {
        let what = format!("write bw -n 100 -s 2000 --reliability {level}");
        judge_bandwidth(&what, &pair.results(&what)[0], 2000, 100);
        let what = format!("send lat -n 20 --reliability {level}");
        judge_latency(&what, &pair.results(&what)[0], 2, 20);
    }
    for what in ["send lat -n 20 -e", "read lat -n 20 -e"] {
        judge_latency(what, &pair.results(what)[0], 2, 20);
    }
    for what in ["send bw -n 100 -s 64 -e", "send bw -n 100 -s 64 -t 5 -e -b", "read bw -n 100 -s 64 -e"] {
        judge_bandwidth(what, &pair.results(what)[0], 64, 100);
    }
}

#[test]
fn every_operation_is_measured_between_two_programs_with_a_nic_each() {
    every_operation(&Pair::embedded());
}

#[test]
fn every_operation_is_measured_between_two_clients_of_viads() {
    every_operation(&Pair::viads());
}

#[test]
fn every_operation_is_measured_over_rtl() {
    let pair = Pair::embedded_of("rtl", "RTL");
    for operation in ["send", "write", "read"] {
        for bytes in [64, 5001] {
            let what = format!("{operation} lat -n 5 -s {bytes}");
            judge_latency(&what, &pair.results(&what)[0], bytes, 5);
            let what = format!("{operation} bw -n 5 -s {bytes}");
            judge_bandwidth(&what, &pair.results(&what)[0], bytes, 5);
        }
    }
}

#[test]
fn all_sizes_are_measured_in_turn_each_for_its_time() {
    let pair = Pair::viads();
    for (what, judge) in [
        ("send lat -a -n 2", judge_latency as fn(&str, &Value, u64, u64)),
        ("write lat -a -n 2", judge_latency),
        ("read bw -a -n 2", judge_bandwidth),
    ] {
        let rows = pair.results(what);
        assert_eq!(rows.len(), 23, "{what}");
        for (log2, row) in (1..).zip(&rows) {
            judge(what, row, 1 << log2, 2);
        }
    }
    for what in ["send lat -D 1", "write bw -s 64 -D 1"] {
        let rows = pair.results(what);
        assert!(number(&rows[0], "iterations") >= 1.0, "{what}: {rows:?}");
    }
    // A peak is not measured where there may be any number of messages.
    assert!(pair.results("send bw -s 64 -D 1")[0]["bw_peak_mb_per_sec"].is_null());
}

#[test]
fn the_tables_are_perftest_s() {
    let pair = Pair::embedded();
    for (what, title, names, columns) in [
        ("send lat -n 10 -s 64", "Send Latency Test", "#bytes #iterations    t_min[usec]    t_max[usec]", 9),
        ("write bw -n 10 -s 64", "RDMA Write BW Test", "#bytes     #iterations    BW peak[MB/sec]", 5),
        ("read bw -n 10 -s 64 -b", "RDMA Read Bidirectional BW Test", "MsgRate[Mpps]", 5),
    ] {
        let [server, client] = pair.run(what);
        assert_eq!(text(&server), "", "{what}");
        let said = text(&client);
        assert!(said.contains(title) && said.contains(names), "{what}: {said}");
        let rows: Vec<Vec<f64>> = said
            .lines()
            .map(|line| line.split_whitespace().map(str::parse).collect::<Result<_, _>>().unwrap_or_default())
            .filter(|row: &Vec<f64>| !row.is_empty())
            .collect();
        assert_eq!(rows.len(), 1, "{what}: {said}");
        assert_eq!((rows[0].len(), rows[0][0], rows[0][1]), (columns, 64.0, 10.0), "{what}: {said}");
    }
}

#[test]
fn what_cannot_be_measured_is_an_error_that_names_it() {
    let pair = Pair::viads();
    let fails = |what: &str, names: &[&str]| {
        let said = failure(&viaduct(&pair.line(1, what)));
        assert!(names.iter().all(|name| said.contains(name)), "{what}: {said}");
    };
    // Sizes.
    fails("send lat -s 0", &["--size 0", "1 byte at least"]);
    fails("send lat -s 1073741825", &["messages of 1073741825 bytes", "1 to 1073741824 bytes"]);
    fails("send lat -s all", &["invalid value 'all'"]);
    // Servers: a NIC where nobody waits, and no NIC.
    fails(&format!("send lat --timeout 1 {SERVER}"), &[SERVER, "port 18515", "within 1 s: nobody waits"]);
    fails(
        "send lat --timeout 1 02:00:00:00:00:09",
        &["02:00:00:00:00:09", "no NIC with that address answers"],
    );
    fails("send lat 02:00:00:00:00", &["six bytes in hexadecimal"]);
}

#[test]
fn a_peer_with_other_options_is_refused_and_both_say_what_differs() {
    let pair = Pair::viads();
    for (server, client, differs) in [
        ("send lat", "write lat", "send lat, the client write lat"),
        ("send bw", "send lat", "send bw, the client send lat"),
        ("read bw -s 64", "read bw -s 65", "--size 64, the client --size 65"),
        ("read bw -s 64", "read bw -a", "--size 64, the client --all"),
        ("send bw -n 7", "send bw -D 7", "--iters 7, the client --duration 7"),
        ("send bw -t 7", "send bw -t 8", "--tx-depth 7, the client --tx-depth 8"),
        ("write bw -b", "write bw", "--bidirectional, the client no --bidirectional"),
        ("send lat", "send lat --reliability reception", "delivery, the client --reliability reception"),
    ] {
        for end in pair.run_each(server, client) {
            let said = failure(&end);
            assert!(said.contains(differs), "{server}, {client}: {said}");
        }
    }
    // The packets may differ: the smaller ones are sent.
    for end in pair.run_each("send lat -m 4096 -n 5 -s 5000", "send lat -m 256 -n 5 -s 5000") {
        text(&end);
    }
}

#[test]
fn a_server_is_named_by_either_of_its_nic_s_addresses() {
    for pair in [Pair::embedded(), Pair::viads()] {
        for address in [SERVER, "10.0.0.1"] {
            let what = "send lat -n 5";
            let server = Server::start(&[&pair.line(0, what)[..], &PATIENCE].concat());
            let client = [&pair.line(1, what)[..], &PATIENCE, &["--json", address]].concat();
            let said: Value = serde_json::from_str(&text(&viaduct(&client))).expect("JSON");
            assert_eq!(said["server"], address);
            text(&server.end());
        }
    }
    let pair = Pair::viads();
    let said = failure(&viaduct(&[&pair.line(1, "send lat")[..], &["node1"]].concat()));
    assert!(said.contains("\"node1\" is no address of a host"), "{said}");
}

#[test]
fn a_program_of_another_purpose_is_refused_and_the_server_waits_on() {
    let pair = Pair::viads();
    let server = Server::start(&pair.line(0, "send lat -n 5"));
    let file = pair.stage.folder.path().join("file");
    std::fs::write(&file, "bytes").expect("written");
    let file = file.to_str().expect("UTF-8");
    let said = failure(&viaduct(&["send", "-d", &pair.nics[1], "--file", file, SERVER]));
    assert!(said.contains("refuses") && said.contains("is not `viaduct receive`"), "{said}");
    text(&viaduct(&[&pair.line(1, "send lat -n 5")[..], &[SERVER]].concat()));
    let end = server.end();
    text(&end);
    let said = String::from_utf8_lossy(&end.stderr);
    assert!(said.contains("02:00:00:00:00:02 asks for something else than `viaduct perf`"), "{said}");
}

#[test]
fn a_client_that_is_killed_ends_the_server_with_the_reason() {
    let pair = Pair::viads();
    let server = Server::start(&pair.line(0, "send lat -D 600"));
    let line = [&pair.line(1, "send lat -D 600")[..], &[SERVER]].concat();
    let mut client = Command::new(program("viaduct")).args(line).spawn().expect("it starts");
    let is_connected = || text(&viaduct(&["stat", "--json", &pair.nics[0]])).contains("\"Connected\"");
    assert!(until(LONG, is_connected), "the two meet");
    client.kill().expect("it lives");
    client.wait().expect("it has ended");
    let said = failure(&server.end());
    // It ended, or broke under a message of the server's.
    assert!(said.contains("the connection with the client"), "{said}");
}
