//! What is true of a head's VI, against arrays of what was written.

use rand::Rng;
use viaduct_hdl::bus::{Commit, EpochWrite, SendHead, StateWrite};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{Owner, OwnerNow, ReadsKnown};
use viaduct_spec::profile::VIS;
use viaduct_spec::tables::{transmit, vi_states};
use viaduct_verilate::Bench;

use crate::port;

/// What is known of a VI.
#[derive(Clone, Copy, Default)]
struct Known {
    state: u64,
    epoch: u64,
    sent: u64,
    parked: bool,
    depth: u64,
}

fn row(bench: &mut Bench, vi: u64, depth: u64) {
    let mut words = [0; 3];
    transmit::READ_DEPTH.put(&mut words, depth);
    let fields = [("row", vi), ("word0", words[0]), ("word1", words[1]), ("word2", words[2])];
    port::set::<Commit>(bench, "row", &fields);
}

/// Rule LIFE-2: what was true of the VI a cycle before, whatever changes meanwhile.
#[test]
fn now_is_what_was_true_a_cycle_before() {
    let mut bench = Bench::new("owner", &verilog(Owner::default()));
    let mut rng = crate::random(&bench);
    let mut vis = [Known::default(); VIS];
    let idle = ["state_valid", "epoch_valid", "restart_valid", "count_valid", "closes", "opens", "outlived"];
    for port in idle {
        bench.set(port, 0);
    }
    for vi in 0..VIS as u64 {
        port::state(&mut bench, vi, 0);
        port::epoch(&mut bench, vi, false);
        row(&mut bench, vi, 0);
        bench.set("closes", 1);
        bench.set("opens", 1);
        bench.tick();
        bench.set("closes", 0);
        bench.set("opens", 0);
    }
    let mut head = (0, 0, false, false);
    // Reads that were counted in the cycle before, and what `now` must say.
    let mut late: Option<(usize, u64, bool)> = None;
    let mut expected: Option<(bool, bool, u64, u64, u64)> = None;
    for _ in 0..40_000 {
        if rng.random_bool(0.2) {
            head =
                (rng.random_range(0..8), rng.random_range(0..2), rng.random_bool(0.3), rng.random_bool(0.1));
        }
        let (vi, epoch, restart_head, outlived) = head;
        let fields = [("vi", vi as u64), ("epoch", epoch), ("restart", u64::from(restart_head))];
        port::set::<SendHead>(&mut bench, "head", &fields);
        bench.set("outlived", outlived.into());
        let complete = rng.random_range(0..8);
        bench.set("reads_row", complete);
        let state = rng.random_bool(0.1).then(|| (rng.random_range(0..8), rng.random_range(0..4)));
        let (of, to) = state.unwrap_or_default();
        port::set::<StateWrite>(&mut bench, "state", &[("vi", of as u64), ("state", to)]);
        bench.set("state_valid", state.is_some().into());
        let turn = rng.random_bool(0.1).then(|| (rng.random_range(0..8), rng.random_range(0..2)));
        let (turns, bit) = turn.unwrap_or_default();
        port::set::<EpochWrite>(&mut bench, "epoch", &[("vi", turns as u64), ("epoch", bit)]);
        bench.set("epoch_valid", turn.is_some().into());
        let (restarts, counts) = (rng.random_bool(0.1), rng.random_bool(0.1));
        let (again, sent, parked) = (rng.random_range(0..8), rng.random_range(0..8), rng.random());
        bench.set("restart_valid", restarts.into());
        bench.set("restart", again);
        bench.set("count_valid", counts.into());
        port::set::<ReadsKnown>(&mut bench, "count", &[("sent", sent), ("parked", u64::from(parked))]);
        let (closes, opens) = (rng.random_bool(0.2), rng.random_bool(0.5));
        let (row_vi, depth) = (rng.random_range(0..8), rng.random_range(0..16));
        row(&mut bench, row_vi, depth);
        bench.set("closes", closes.into());
        bench.set("opens", (closes && opens).into());
        bench.eval();

        assert_eq!(bench.get("reads_index"), vi as u64);
        assert_eq!(bench.get("counting") == 1, late.is_some());
        if let Some(expected) = expected {
            let now = port::get::<OwnerNow>(&bench, "now");
            let got = (now["connected"] == 1, now["stale"] == 1, now["sent"], now["complete"], now["depth"]);
            assert_eq!(got, expected, "connected, stale, sent, complete, depth");
        }
        let known = vis[vi];
        let stale = epoch != known.epoch || known.parked && !restart_head || outlived;
        let connected = known.state == u64::from(vi_states::CONNECTED);
        expected = Some((connected, stale, known.sent, complete, known.depth));

        if state.is_some() {
            vis[of].state = to;
        }
        if turn.is_some() {
            vis[turns].epoch = bit;
        }
        if closes {
            vis[row_vi as usize].depth = depth.min(4);
        }
        if let Some((vi, sent, parked)) = late {
            (vis[vi].sent, vis[vi].parked) = (sent, parked);
        } else if closes && opens {
            (vis[row_vi as usize].sent, vis[row_vi as usize].parked) = (0, false);
        }
        late = match (restarts, counts) {
            (true, _) => Some((vi, again, false)),
            (false, true) => Some((vi, sent, parked)),
            _ => None,
        };
        bench.tick();
    }
}
