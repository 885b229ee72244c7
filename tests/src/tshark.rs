//! tshark as a judge: what Wireshark's dissectors make of a capture.

use std::net::Ipv4Addr;
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
    lines(capture, "infiniband", &FIELDS).iter().map(|line| frame(line)).collect()
}

/// What tshark prints of the frames that pass a filter: one line each.
fn lines(capture: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture).args([
        "--disable-protocol",
        "rpcordma",
        "--disable-heuristic",
        "eth_over_ib",
    ]);
    tshark.args(["-Y", filter, "-T", "fields", "-E", "separator=;", "-E", "occurrence=f"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let out = tshark.output().expect("tshark runs: `cargo xtask setup` installs it");
    assert!(out.status.success(), "tshark: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).lines().map(Into::into).collect()
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

/// A management datagram as tshark reads it. What a message has not is None.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Management {
    /// Q_Key of the DETH.
    pub qkey: u32,
    /// Management class.
    pub class: u8,
    /// Which message.
    pub attribute: u16,
    /// Transaction.
    pub transaction: u64,
    /// REQ: what is asked for.
    pub service: Option<u64>,
    /// REQ and REP: the sender's queue pair; DREQ: the receiver's.
    pub queue_pair: Option<u32>,
    /// REQ and REP: starting PSN.
    pub psn: Option<u32>,
    /// REQ and REP: responder resources.
    pub resources: Option<u8>,
    /// REQ and REP: initiator depth.
    pub depth: Option<u8>,
    /// REQ: path MTU.
    pub mtu: Option<u8>,
    /// REQ: the sender in rdma_cm's header.
    pub ip_source: Option<Ipv4Addr>,
    /// REQ: the receiver in rdma_cm's header.
    pub ip_target: Option<Ipv4Addr>,
    /// REJ: reason.
    pub reason: Option<u16>,
}

const MANAGEMENT: [&str; 17] = [
    "infiniband.deth.q_key",
    "infiniband.mad.mgmtclass",
    "infiniband.mad.attributeid",
    "infiniband.mad.transactionid",
    "infiniband.cm.req.serviceid",
    "infiniband.cm.req.localqpn",
    "infiniband.cm.rep.localqpn",
    "infiniband.cm.req.remoteqpneecn",
    "infiniband.cm.req.startpsn",
    "infiniband.cm.rep.startpsn",
    "infiniband.cm.req.responderres",
    "infiniband.cm.rep.respres",
    "infiniband.cm.req.initdepth",
    "infiniband.cm.rep.initdepth",
    "infiniband.cm.req.pppmtu",
    "infiniband.cm.rej.reason",
    "infiniband.cm.req.ip_cm.sip4",
];
const TARGET: &str = "infiniband.cm.req.ip_cm.dip4";

/// The management datagrams of a capture.
///
/// # Panics
/// tshark is missing or fails; the message says so.
pub fn management(capture: &Path) -> Vec<Management> {
    let fields: Vec<&str> = MANAGEMENT.into_iter().chain([TARGET]).collect();
    let read = |line: &String| {
        let columns: Vec<&str> = line.split(';').collect();
        assert_eq!(columns.len(), fields.len(), "tshark printed {line:?}");
        let field = |index: usize| number(columns[index]);
        let needed = |index: usize| field(index).unwrap_or_else(|| panic!("{} in {line:?}", fields[index]));
        let either = |of: &[usize]| of.iter().find_map(|index| field(*index));
        Management {
            qkey: needed(0) as u32,
            class: needed(1) as u8,
            attribute: needed(2) as u16,
            transaction: needed(3),
            service: field(4),
            queue_pair: either(&[5, 6, 7]).map(|value| value as u32),
            psn: either(&[8, 9]).map(|value| value as u32),
            resources: either(&[10, 11]).map(|value| value as u8),
            depth: either(&[12, 13]).map(|value| value as u8),
            mtu: field(14).map(|value| value as u8),
            reason: field(15).map(|value| value as u16),
            ip_source: columns[16].parse().ok(),
            ip_target: columns[17].parse().ok(),
        }
    };
    lines(capture, "infiniband.mad", &fields).iter().map(read).collect()
}
