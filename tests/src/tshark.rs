//! tshark as a judge: what Wireshark's dissectors make of a capture.

use std::path::Path;
use std::process::Command;

/// One RoCEv2 frame as tshark reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Number in the capture, from 1.
    pub number: u64,
    /// BTH opcode.
    pub opcode: u8,
    /// Destination queue pair.
    pub queue_pair: u32,
    /// PSN.
    pub psn: u32,
    /// Acknowledge request.
    pub ack_request: bool,
    /// AETH syndrome.
    pub syndrome: Option<u8>,
    /// AETH message sequence number.
    pub msn: Option<u32>,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// ICRC as it stands in the frame, in the order of its bytes.
    pub icrc: u32,
    /// tshark calls the frame malformed.
    pub malformed: bool,
}

const FIELDS: [&str; 10] = [
    "frame.number",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.a",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",
    "infiniband.immdt",
    "infiniband.invariant.crc",
    "_ws.malformed",
];

/// A number as tshark prints it: decimal, 0x..., or True and False.
fn number(text: &str) -> Option<u64> {
    match text {
        "True" => Some(1),
        "False" => Some(0),
        _ => {
            text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
        }
    }
}

/// The RoCEv2 frames of a capture. Guesses about the payload are switched off: it is ours to mean.
///
/// # Panics
/// tshark is missing or fails; the message says so.
pub fn read(capture: &Path) -> Vec<Frame> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture).args([
        "--disable-protocol",
        "rpcordma",
        "--disable-heuristic",
        "eth_over_ib",
    ]);
    tshark.args(["-Y", "infiniband", "-T", "fields", "-E", "separator=;", "-E", "occurrence=f"]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let out = tshark.output().expect("tshark runs: `cargo xtask setup` installs it");
    assert!(out.status.success(), "tshark: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).lines().map(frame).collect()
}

fn frame(line: &str) -> Frame {
    let columns: Vec<&str> = line.split(';').collect();
    assert_eq!(columns.len(), FIELDS.len(), "tshark printed {line:?}");
    let field = |index: usize| number(columns[index]);
    let needed =
        |index: usize| field(index).unwrap_or_else(|| panic!("{} is missing in {line:?}", FIELDS[index]));
    Frame {
        number: needed(0),
        opcode: needed(1) as u8,
        queue_pair: needed(2) as u32,
        psn: needed(3) as u32,
        ack_request: needed(4) != 0,
        syndrome: field(5).map(|value| value as u8),
        msn: field(6).map(|value| value as u32),
        // tshark prints these four bytes in hexadecimal, without 0x.
        immediate: u32::from_str_radix(columns[7], 16).ok(),
        icrc: needed(8) as u32,
        malformed: !columns[9].is_empty(),
    }
}
