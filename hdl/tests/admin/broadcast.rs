use viaduct_hdl::admin::Broadcast;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_spec::tables::table;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// The ports of the listeners.
const LISTENERS: [&str; 13] = [
    "protect", "fetch", "doorbell", "receive", "transmit", "sends", "gather", "writer", "state", "notify",
    "queues", "vectors", "requests",
];

/// Who hears of a commit only when another has taken it.
const PIPES: [(&str, &str); 4] =
    [("fetch", "receive"), ("gather", "transmit"), ("transmit", "sends"), ("receive", "writer")];

/// Whether `ack` is shown the commit: while fetch is offered it, and never for longer, whatever `ack` does.
fn looks_on(dut: &Bench) -> bool {
    let (ack, fetch) = (dut.get("ack_valid"), dut.get("fetch_valid"));
    assert_eq!(ack, fetch);
    if ack == 1 {
        assert_eq!(Bundle::of::<bus::Commit>("ack").all(dut), Bundle::of::<bus::Commit>("commit").all(dut));
    }
    ack == 1
}

/// The listeners that are offered the commit.
fn offered(dut: &Bench) -> Vec<&'static str> {
    let valid = |name: &&&str| dut.get(&format!("{name}_valid")) == 1;
    LISTENERS.iter().filter(valid).copied().collect()
}

/// Rule LIFE-2.
#[test]
fn every_listener_of_a_table_takes_a_commit_once() {
    let mut dut = Bench::new("broadcast", &verilog(Broadcast::default()));
    for (target, hears) in [
        (table::REGION, vec!["protect"]),
        (table::PAGE, vec!["protect"]),
        (table::WORK_QUEUE, vec!["fetch", "doorbell", "receive", "notify", "queues"]),
        (table::TEMPLATE, vec!["transmit"]),
        (table::GATHER, vec!["gather"]),
        (table::TRANSMIT, vec!["gather", "transmit", "sends"]),
        (table::RECEIVE, vec!["receive", "writer", "requests"]),
        (table::VI_STATE, vec!["state"]),
        (table::COMPLETION_QUEUE, vec!["queues"]),
        (table::MODERATION, vec!["vectors"]),
    ] {
        let row = u64::from(target) + 100;
        let fields = [("target", target.into()), ("row", row), ("word0", !row), ("word2", row << 32)];
        Bundle::of::<bus::Commit>("commit").set(&mut dut, &fields);
        dut.set("commit_valid", 1);
        dut.tick();
        let mut left = hears.clone();
        let shown = |left: &[&str]| -> Vec<&str> {
            let behind = |name: &&str| PIPES.iter().any(|(before, it)| it == name && left.contains(before));
            LISTENERS.iter().filter(|name| left.contains(name) && !behind(name)).copied().collect()
        };
        // One listener after the other, each a few cycles late.
        for name in hears {
            for _ in 0..3 {
                dut.eval();
                assert_eq!((offered(&dut), dut.get("commit_ready")), (shown(&left), 0), "table {target}");
                assert_eq!(looks_on(&dut), left.contains(&"fetch"), "table {target}");
                dut.tick();
            }
            let ready = format!("{name}_ready");
            dut.set(&ready, 1);
            dut.eval();
            assert_eq!(offered(&dut), shown(&left));
            let heard = Bundle::of::<bus::Commit>(name).all(&dut);
            assert_eq!(heard, Bundle::of::<bus::Commit>("commit").all(&dut), "{name}");
            left.retain(|other| *other != name);
            assert_eq!(dut.get("commit_ready"), 0);
            dut.tick();
            dut.set(&ready, 0);
        }
        dut.eval();
        assert_eq!((offered(&dut), dut.get("commit_ready")), (vec![], 1), "table {target}");
        dut.tick();
        dut.set("commit_valid", 0);
        dut.tick();
    }
}

/// A reset ends the waiting of those that have not taken the commit, and begins none.
#[test]
fn after_a_reset_nobody_is_offered_a_commit() {
    let mut dut = Bench::new("broadcast", &verilog(Broadcast::default()));
    for target in [table::REGION, table::WORK_QUEUE, table::TRANSMIT, table::RECEIVE, table::VI_STATE] {
        Bundle::of::<bus::Commit>("commit").set(&mut dut, &[("target", target.into())]);
        dut.set("commit_valid", 1);
        dut.tick();
        dut.eval();
        assert!(!offered(&dut).is_empty(), "table {target}");
        dut.set("commit_valid", 0);
        dut.set("reset", 1);
        dut.tick();
        dut.set("reset", 0);
        for _ in 0..4 {
            dut.eval();
            assert_eq!((offered(&dut), dut.get("commit_ready")), (vec![], 0), "table {target}");
            dut.tick();
        }
    }
}
