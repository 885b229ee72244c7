use viaduct_hdl::admin::Command;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_spec::profile::{CQS, PAGES, REGIONS, VECTORS, VIS};
use viaduct_spec::register::command_op;
use viaduct_spec::tables::table;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// The row on the commit bus: (table, row, first word).
fn commit(dut: &Bench) -> (u8, u16, u64) {
    let bundle = Bundle::of::<bus::Commit>("commit");
    let get = |name| bundle.get(dut, name);
    (get("target") as u8, get("row") as u16, get("word0"))
}

/// Takes commits until the block is ready, and returns them.
fn commits(dut: &mut Bench) -> Vec<(u8, u16, u64)> {
    let mut seen = vec![];
    for _ in 0..4000 {
        dut.set("commit_ready", 0);
        dut.eval();
        if dut.get("busy") == 0 {
            return seen;
        }
        if dut.get("commit_valid") == 1 {
            seen.push(commit(dut));
            dut.set("commit_ready", 1);
        }
        dut.tick();
    }
    panic!("still busy after 4000 cycles");
}

fn run(dut: &mut Bench, op: u8, target: u8, row: u16) -> Vec<(u8, u16, u64)> {
    dut.set("command", u64::from(op) | u64::from(target) << 8 | u64::from(row) << 16);
    dut.set("command_valid", 1);
    dut.tick();
    dut.set("command_valid", 0);
    let seen = commits(dut);
    dut.tick();
    seen
}

fn ready() -> Bench {
    let mut dut = Bench::new("command", &verilog(Command::default()));
    commits(&mut dut);
    dut
}

#[test]
fn reset_clears_regions_queues_and_states() {
    let mut dut = Bench::new("command", &verilog(Command::default()));
    dut.set("stage0", u64::MAX);
    let expected: Vec<_> = [
        (table::REGION, REGIONS),
        (table::WORK_QUEUE, 2 * VIS),
        (table::COMPLETION_QUEUE, CQS),
        (table::MODERATION, VECTORS),
        (table::VI_STATE, VIS),
    ]
    .into_iter()
    .flat_map(|(target, rows)| (0..rows).map(move |row| (target, row as u16, 0)))
    .collect();
    assert_eq!(commits(&mut dut), expected);
}

#[test]
fn a_commit_carries_the_staged_row_and_bad_rows_are_refused() {
    let mut dut = ready();
    dut.set("stage0", 0xABCD);
    assert_eq!(run(&mut dut, command_op::COMMIT, table::PAGE, 5), [(table::PAGE, 5, 0xABCD)]);
    assert_eq!(dut.get("error"), 0);
    for (target, row) in [
        (0, 0),
        (table::MODERATION + 1, 0),
        (table::PAGE + 0x10, 5),
        (table::PAGE + 0x80, 5),
        (table::MODERATION, VECTORS),
        (table::COMPLETION_QUEUE, CQS),
        (table::REGION, REGIONS),
        (table::PAGE, PAGES),
        (table::WORK_QUEUE, 2 * VIS),
        (table::TEMPLATE, 8 * VIS),
        (table::GATHER, VIS),
    ] {
        assert_eq!(run(&mut dut, command_op::COMMIT, target, row as u16), [], "table {target} row {row}");
        assert_eq!(dut.get("error"), 1, "table {target} row {row}");
        assert_eq!(run(&mut dut, command_op::COMMIT, table::TEMPLATE, 8 * VIS as u16 - 1).len(), 1);
        assert_eq!(dut.get("error"), 0, "the next good command clears it");
    }
}

#[test]
fn a_command_that_is_none_is_refused_whatever_it_is_about() {
    let mut dut = ready();
    for op in 0..=u8::MAX {
        // With this table each command that there is is good.
        let commits = run(&mut dut, op, table::VI_STATE, 0);
        let known = [command_op::COMMIT, command_op::DRAIN, command_op::QUERY].contains(&op);
        assert_eq!(dut.get("error"), u64::from(!known), "command {op:#x}");
        assert_eq!(commits.len(), usize::from(op == command_op::COMMIT), "command {op:#x}");
    }
}

/// Every row of every table that is written by COMMIT, and the row's every bit by itself.
#[test]
fn a_commit_carries_every_bit_of_its_row() {
    let mut dut = ready();
    let rows = [
        (table::REGION, REGIONS),
        (table::PAGE, PAGES),
        (table::WORK_QUEUE, 2 * VIS),
        (table::TEMPLATE, 8 * VIS),
        (table::GATHER, VIS),
        (table::TRANSMIT, VIS),
        (table::RECEIVE, VIS),
        (table::VI_STATE, VIS),
        (table::COMPLETION_QUEUE, CQS),
        (table::MODERATION, VECTORS),
    ];
    let bundle = Bundle::of::<bus::Commit>("commit");
    for bit in 0..192 {
        let (target, count) = rows[bit % rows.len()];
        let row = (count - 1) >> (bit / rows.len() % 12);
        // One bit alone, and all the others.
        for flip in [0, u64::MAX] {
            let words: Vec<u64> = (0..3).map(|n| u64::from(bit / 64 == n) << (bit % 64) ^ flip).collect();
            for (stage, word) in ["stage0", "stage1", "stage2"].iter().zip(&words) {
                dut.set(stage, *word);
            }
            dut.set("command", u64::from(command_op::COMMIT) | u64::from(target) << 8 | (row as u64) << 16);
            dut.set("command_valid", 1);
            dut.tick();
            dut.set("command_valid", 0);
            dut.eval();
            // The row is that of the cycle of the command, and stays until it is taken.
            for stage in ["stage0", "stage1", "stage2"] {
                dut.set(stage, 0);
            }
            let mut patience = 0;
            while dut.get("commit_valid") == 0 {
                dut.tick();
                dut.eval();
                patience += 1;
                assert!(patience < 10, "no commit of table {target}");
            }
            for _ in 0..3 {
                assert_eq!(dut.get("commit_valid"), 1);
                let seen: Vec<u64> =
                    ["word0", "word1", "word2"].iter().map(|word| bundle.get(&dut, word)).collect();
                assert_eq!((commit(&dut).0, commit(&dut).1, seen), (target, row as u16, words.clone()));
                dut.tick();
                dut.eval();
            }
            assert_eq!(commits(&mut dut).len(), 1);
        }
    }
}

/// A VI's state, whichever it is, of whichever VI.
#[test]
fn a_query_asks_for_its_vi_and_answers_its_state() {
    let mut dut = ready();
    for vi in 0..VIS {
        let state = (vi as u64 * 7 + 1) & 3;
        dut.set("query_row", state);
        run(&mut dut, command_op::QUERY, table::VI_STATE, vi as u16);
        assert_eq!((dut.get("query_index"), dut.get("result"), dut.get("error")), (vi as u64, state, 0));
    }
    for bit in 0..18 {
        dut.set("written", 1 << bit);
        run(&mut dut, command_op::COMMIT, table::COMPLETION_QUEUE, 1);
        assert_eq!(dut.get("result"), 1 << bit);
    }
}

/// Only a VI's state can be asked for: a query of another table leaves `result` as it was.
#[test]
fn a_refused_query_has_no_result() {
    let mut dut = ready();
    dut.set("query_row", 2);
    run(&mut dut, command_op::QUERY, table::VI_STATE, 0);
    dut.set("query_row", 1);
    for target in (0..=table::PAGE).filter(|target| *target != table::VI_STATE) {
        run(&mut dut, command_op::QUERY, target, 0);
        assert_eq!((dut.get("result"), dut.get("error")), (2, 1), "table {target}");
    }
}

#[test]
fn a_command_while_busy_is_ignored_and_counted() {
    let mut dut = ready();
    dut.set("command", u64::from(command_op::COMMIT) | u64::from(table::PAGE) << 8);
    dut.set("command_valid", 1);
    dut.tick();
    dut.set("command", u64::from(command_op::COMMIT) | u64::from(table::PAGE) << 8 | 7 << 16);
    dut.tick();
    dut.set("command_valid", 0);
    dut.eval();
    assert_eq!(dut.get("count_ignored"), 1);
    assert_eq!(commits(&mut dut), [(table::PAGE, 0, 0)]);
}

#[test]
fn drain_and_query_answer() {
    let mut dut = ready();
    dut.set("command", command_op::DRAIN.into());
    dut.set("command_valid", 1);
    dut.tick();
    dut.set("command_valid", 0);
    // The events of before come first.
    let mut asked = 0;
    for _ in 0..20 {
        dut.eval();
        asked += dut.get("settle");
        assert_eq!((dut.get("drain"), dut.get("busy")), (0, 1));
        dut.set("settling", 1);
        dut.tick();
    }
    assert_eq!(asked, 1);
    dut.set("settling", 0);
    let mut pulses = 0;
    for _ in 0..20 {
        dut.eval();
        pulses += dut.get("drain");
        dut.set("draining", 1);
        dut.tick();
    }
    dut.eval();
    assert_eq!((pulses, dut.get("busy")), (1, 1));
    dut.set("draining", 0);
    dut.tick();
    dut.eval();
    assert_eq!(dut.get("busy"), 0);

    dut.set("query_row", 3);
    run(&mut dut, command_op::QUERY, table::VI_STATE, 9);
    assert_eq!((dut.get("query_index"), dut.get("result")), (9, 3));

    // What a completion queue had written.
    dut.set("written", 0x2_ABCD);
    run(&mut dut, command_op::COMMIT, table::PAGE, 0);
    assert_eq!(dut.get("result"), 3, "another table's");
    run(&mut dut, command_op::COMMIT, table::COMPLETION_QUEUE, 5);
    assert_eq!(dut.get("result"), 0x2_ABCD);
}
