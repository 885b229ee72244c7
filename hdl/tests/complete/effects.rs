//! The table of the requester, row by row: what each packet and each finding leads to.

use viaduct_hdl::complete::{Effect, Effects, Facts, Finding, LeftPacket, SendCounts};
use viaduct_hdl::export::verilog;
use viaduct_spec::register::event_code::{CONN_LOST, POST_DESC, RDMA_TRANSPORT};
use viaduct_verilate::Bench;

use crate::bundle::{Bundle, Fields};

/// The fields of an effect that say which error and which refusal; the others are what happens, a bit each.
const SETTINGS: [&str; 2] = ["code", "refusal"];

/// What happens and what is counted, in the order of their names, and the event code.
fn look(
    bench: &mut Bench,
    packet: LeftPacket,
    finding: Finding,
    facts: &[(&str, u64)],
) -> (Vec<String>, u64) {
    bench.set("packet", packet as u64);
    bench.set("finding", finding as u64);
    Bundle::of::<Facts>("facts").set(bench, facts);
    bench.eval();
    let effect: Fields = Bundle::of::<Effect>("effect").all(bench);
    let counts: Fields = Bundle::of::<SendCounts>("counts").all(bench);
    let happens = effect.iter().filter(|(name, value)| !SETTINGS.contains(&name.as_str()) && **value == 1);
    let mut all: Vec<String> = happens.map(|(name, _)| name.clone()).collect();
    all.extend(counts.iter().filter(|(_, value)| **value == 1).map(|(name, _)| format!("counts {name}")));
    (all, effect["code"])
}

fn names(list: &str) -> Vec<String> {
    let (effects, counts) = list.split_once(';').unwrap_or((list, ""));
    let mut all: Vec<String> = effects.split_whitespace().map(String::from).collect();
    all.sort();
    let mut counted: Vec<String> = counts.split_whitespace().map(|name| format!("counts {name}")).collect();
    counted.sort();
    all.extend(counted);
    all
}

/// Rules REQ-1, REQ-2, REQ-4, REQ-5, REQ-6, REQ-7, REQ-9.
#[test]
fn each_finding_leads_to_what_its_row_says() {
    let mut bench = Bench::new("effects", &verilog(Effects::default()));
    let rows = [
        (Finding::Nothing, ""),
        (Finding::Parks, "parks"),
        (Finding::Unfit, "parks"),
        (Finding::Enters, "lands records"),
        (Finding::Known, "compares"),
        (Finding::Same, "lands"),
        (Finding::Fails, "lands records"),
        (Finding::Changed, "lands breaks"),
        (Finding::Ghost, "; ghost"),
        (Finding::Deaf, ""),
        (Finding::Moves, "moves"),
        (Finding::Missing, "moves pends"),
        (Finding::Insists, "moves drops"),
        (Finding::NotReady, "moves drops rests times"),
        (Finding::Refused, "moves refuses breaks"),
        (Finding::TimeOut, "wakes pends; timeout"),
        (Finding::RestOver, "wakes pends"),
        (Finding::Silent, "wakes breaks; timeout"),
        (Finding::NeverReady, "wakes breaks refuses"),
        (Finding::Broken, "times"),
        (Finding::Begins, "begins times clears"),
        (Finding::Placing, "queues"),
        (Finding::Completes, "completes"),
        (Finding::Completed, "passes"),
        (Finding::Breaks, "ends"),
        (Finding::ReadBreaks, "ends breaks"),
        (Finding::GoesBack, "turns drops"),
        (Finding::GoesOn, "turns"),
        (Finding::Queues, "queues"),
        (Finding::Needless, "drops"),
    ];
    for (finding, expected) in rows {
        let (happens, code) = look(&mut bench, LeftPacket::Absent, finding, &[]);
        assert_eq!(happens, names(expected), "{finding:?}");
        let breaks_with = match finding {
            Finding::Unfit | Finding::Changed => POST_DESC,
            Finding::ReadBreaks => RDMA_TRANSPORT,
            _ => CONN_LOST,
        };
        assert_eq!(code, breaks_with as u64, "{finding:?}");
    }
    // What hangs on the facts.
    let cases = [
        (Finding::Unfit, "connected", "parks breaks"),
        (Finding::Same, "closes", "lands records"),
        (Finding::Changed, "closes", "lands records breaks"),
        (Finding::Completed, "tells", "passes refuses"),
    ];
    for (finding, fact, expected) in cases {
        let (happens, _) = look(&mut bench, LeftPacket::Absent, finding, &[(fact, 1)]);
        assert_eq!(happens, names(expected), "{finding:?}, {fact}");
    }
}

/// A packet that left, what is true of its VI, and what happens.
type Row = (LeftPacket, &'static [(&'static str, u64)], &'static str);

/// Rules REQ-1, REQ-5.
#[test]
fn each_packet_leads_to_what_its_row_says() {
    let mut bench = Bench::new("effects", &verilog(Effects::default()));
    let rows: [Row; 7] = [
        (LeftPacket::Absent, &[("flying", 1)], ""),
        (LeftPacket::Unsent, &[("flying", 1), ("whole", 1)], "comes; message"),
        (LeftPacket::First, &[("flying", 1)], "comes advances runs"),
        (LeftPacket::First, &[("connected", 1)], "comes advances times runs"),
        (
            LeftPacket::First,
            &[("flying", 1), ("long", 1), ("whole", 1)],
            "comes advances pends runs; message",
        ),
        (LeftPacket::Again, &[("flying", 1)], "comes; again"),
        (LeftPacket::Again, &[("flying", 1), ("whole", 1)], "comes; again message"),
    ];
    for (packet, facts, expected) in rows {
        let (happens, _) = look(&mut bench, packet, Finding::Nothing, facts);
        assert_eq!(happens, names(expected), "{packet:?}, {facts:?}");
    }
}

/// Rules REQ-5, REQ-6.
#[test]
fn progress_clears_the_timer_and_an_answer_counts_by_its_frame() {
    let mut bench = Bench::new("effects", &verilog(Effects::default()));
    let progress = [("progress", 1), ("open", 1), ("connected", 1)];
    let (happens, _) = look(&mut bench, LeftPacket::Absent, Finding::Moves, &progress);
    assert_eq!(happens, names("moves times clears runs wakes"));
    let (happens, _) = look(&mut bench, LeftPacket::Absent, Finding::Moves, &progress[..1]);
    assert_eq!(happens, names("moves times clears wakes"), "nothing is in flight any more");
    for (frame, expected) in [(0, "; ack"), (1, "; rnr"), (2, ""), (3, "; nak")] {
        let facts = [("taken", 1), ("frame", frame)];
        let (happens, _) = look(&mut bench, LeftPacket::Absent, Finding::Deaf, &facts);
        assert_eq!(happens, names(expected), "frame {frame}");
    }
}
