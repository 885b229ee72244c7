//! The demo as a user runs it: three processes, two RTL NICs, one file; and what happens when it goes wrong.

use std::fs;
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::program::program;
use viaduct_tests::{scapy, tshark};

fn demo(arguments: &[&str]) -> Output {
    program("viaduct").arg("demo").args(arguments).output().expect("the demo runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_file_arrives_and_every_frame_reads_as_the_specification_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, capture) = (folder.path().join("file"), folder.path().join("demo.pcap"));
    // Not a multiple of anything: the last message is short, and so is its last packet.
    let bytes: Vec<u8> = (0..150_001u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    fs::write(&file, bytes).expect("written");
    let (file, path) = (file.to_str().expect("UTF-8"), capture.to_str().expect("UTF-8"));
    let output = demo(&["--file", file, "--pcap", path, "--mtu", "512"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("carried by  RTL (sender's NIC) and RTL (receiver's NIC)"), "{text}");

    let frames = tshark::read(&capture);
    assert!(frames.iter().all(|frame| !frame.malformed), "tshark calls a frame malformed");
    // Queue pair 1 is the connection manager's.
    let first = frames.iter().find(|frame| frame.queue_pair != 1).expect("a file has frames");
    let data_to = first.queue_pair;
    let data: Vec<_> = frames.iter().filter(|f| f.queue_pair == data_to && f.syndrome.is_none()).collect();
    // 65536, 65536 and 18929 bytes in packets of 512.
    let packets = [128usize, 128, 37];
    let expected: Vec<u8> = packets
        .iter()
        .flat_map(|&count| {
            let mut message = vec![opcode::RC_SEND_MIDDLE; count];
            message[0] = opcode::RC_SEND_FIRST;
            message[count - 1] = opcode::RC_SEND_LAST;
            message
        })
        .collect();
    let opcodes: Vec<u8> = data.iter().take(expected.len()).map(|frame| frame.opcode).collect();
    assert_eq!(opcodes, expected);
    for pair in data.windows(2) {
        assert_eq!(pair[1].psn, (pair[0].psn + 1) & 0xFF_FFFF, "PSNs count up by one");
    }
    for frame in &data {
        let asks = matches!(frame.opcode, 2..=5) || frame.psn % 16 == 15;
        assert_eq!(frame.ack_request, asks, "frame {}: the last packet asks, and every 16th", frame.number);
    }
    let acks: Vec<_> = frames.iter().filter(|frame| frame.opcode == opcode::RC_ACKNOWLEDGE).collect();
    assert!(acks.iter().all(|frame| frame.syndrome == Some(syndrome::ACK)));
    let acknowledged = |psn| acks.iter().any(|ack| ack.queue_pair != data_to && ack.psn == psn);
    assert!(data.iter().filter(|f| f.opcode == opcode::RC_SEND_LAST).all(|f| acknowledged(f.psn)));

    let icrcs = scapy::icrcs(&capture);
    assert_eq!(icrcs.len(), frames.len(), "scapy and tshark see the same frames");
    for icrc in icrcs {
        assert_eq!(icrc.carried, icrc.computed, "frame {}", icrc.number);
    }
}

/// Two endpoints' RTL, two root ports, and what the demo says of violations.
#[test]
fn a_file_passes_links() {
    let output = demo(&["--size", "100001", "--seed", "5", "--link", "pcie", "--timeout", "120"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    // Two NICs' packets are counted by their root ports.
    assert_eq!(text.matches("  PCI Express ").count(), 2, "{text}");
    let output = demo(&["--size", "1000", "--link", "isa"]);
    assert!(!output.status.success(), "there is no such link");
}

#[test]
fn one_flipped_bit_of_one_icrc_is_repaired_or_fails_the_demo_which_says_why() {
    // Patience is wall-clock time: a busy machine takes more than a quiet one, and only what fails waits for its end.
    for (reliability, arrives, patience) in [("delivery", true, "120"), ("unreliable", false, "10")] {
        let output = demo(
            &[
                ["--size", "100000"],
                ["--flip-icrc", "20"],
                ["--timeout", patience],
                ["--reliability", reliability],
            ]
            .concat(),
        );
        let text = said(&output);
        assert_eq!(output.status.success(), arrives, "{reliability}: {text}");
        assert!(arrives || text.contains("DROP_ICRC 1"), "{text}");
    }
}

/// By then an application that has not ended hangs. They take a second; a request of theirs that is under way is given up after 4 s, and the
/// machine may be busy.
const HANG: Duration = Duration::from_secs(30);

/// Processes started by `parent`, with their names.
fn children(parent: u32) -> Vec<(u32, String)> {
    let mut found = vec![];
    for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // pid (name) state ppid ...
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") ")) else {
            continue;
        };
        if rest.split(' ').nth(1).and_then(|ppid| ppid.parse().ok()) == Some(parent) {
            found.push((pid, name.to_owned()));
        }
    }
    found
}

#[test]
fn a_killed_simulator_ends_both_applications_with_the_reason() {
    let demo = program("viaduct")
        .args(["demo", "--size", "50000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the demo starts");
    let started = Instant::now();
    let family = loop {
        let family = children(demo.id());
        if family.len() == 3 {
            break family;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "three processes, not {family:?}");
        sleep(Duration::from_millis(50));
    };
    // Into the middle of the transfer: 50 MB take minutes.
    sleep(Duration::from_secs(2));
    let (simulator, _) =
        family.iter().find(|(_, name)| name.starts_with("viaduct-sim")).expect("a simulator");
    let killed = Instant::now();
    assert!(std::process::Command::new("kill")
        .args(["-9", &simulator.to_string()])
        .status()
        .expect("kill")
        .success());
    let output = demo.wait_with_output().expect("the demo ends");
    let took = killed.elapsed();
    let text = said(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("signal") && text.contains("gone"), "{text}");
    println!("all had ended {took:?} after the kill");
    assert!(took < HANG, "{took:?}; it said: {text}");
    for (pid, name) in family {
        let alive =
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| name.starts_with(comm.trim()));
        assert!(!alive, "{name} ({pid}) still runs");
    }
}
