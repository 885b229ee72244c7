//! What an unkind root complex does.

use std::collections::{BTreeSet, VecDeque};

use viaduct_driver::device::Bar;

use super::*;
use crate::nic::NicIn;

#[test]
fn a_link_that_is_down_takes_all_but_writes_that_had_come() {
    let mut edge = Edge::new(Options::default());
    edge.queue(&write(0x40, 4, 0x1234_5678));
    edge.queue(&read(0, 512, 1));
    let load = edge.complex.load(0, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(10);
    // Half a write is out.
    edge.queue(&write(0x80, 64, 7));
    edge.run(3);
    edge.complex.link_down(edge.now, 50);
    (edge.sent, edge.queue) = (0, VecDeque::new());
    edge.run(1);
    assert!(edge.input.link_down && !edge.input.cfg_bus_master && !edge.input.cfg_function_reset);
    edge.run(500);
    assert!(!edge.input.link_down && edge.got.is_empty());
    assert_eq!(edge.memory(BASE + 0x40, 4), 0x1234_5678u32.to_le_bytes());
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
    assert_eq!((edge.input.credit_ph, edge.input.credit_pd, edge.input.credit_nph), (64, 1024, 64));
    assert!(edge.complex.is_quiet(edge.now));
    assert_eq!(edge.complex.violations(), []);
}

#[test]
fn writes_pass_reads_and_tear_them() {
    let content = |conditions: Conditions, seed| {
        let mut edge = Edge::new(Options { seed, conditions, ..Options::default() });
        let old = edge.memory(BASE, 512);
        edge.queue(&read(0, 512, 1));
        (0..512).step_by(128).for_each(|at| edge.queue(&write(at, 128, 0xABCD_ABCD)));
        edge.run(3000);
        assert_eq!(edge.complex.violations(), []);
        let data: Vec<u32> = edge.completions().into_iter().flat_map(|completion| completion.data).collect();
        let new = |word: u32| word == 0xABCD_ABCD;
        let right = |n: usize, word: u32| new(word) || word.to_le_bytes() == old[4 * n..4 * n + 4];
        assert!(data.len() == 128 && data.iter().enumerate().all(|(n, word)| right(n, *word)));
        data.into_iter().filter(|word| new(*word)).count()
    };
    let plain = Conditions { split: Split::Boundary, ..Conditions::default() };
    assert_eq!(content(plain, 1), 0, "a kind one serves in order");
    let passed = (0..20).filter(|seed| content(Conditions { passed: 200, ..plain }, *seed) == 128);
    assert!(passed.count() > 5);
    let torn = (0..20).filter(|seed| (1..128).contains(&content(Conditions { torn: 40, ..plain }, *seed)));
    assert!(torn.count() > 5, "old and new in one read");
}

/// Sizes, boundary, extended tags; Bus Master; credits of each class.
type Shown = ([u8; 4], bool, [u8; 3]);

#[test]
fn what_is_set_changes_and_credits_stay_away_whatever_is_skipped() {
    let conditions = Conditions { changes: 500, withheld: 2000, ..Conditions::default() };
    let seen = |every: u64| {
        let mut complex = RootComplex::new(Options { conditions, ..Options::default() });
        complex.config_write(0, 4, &[6, 0]);
        let mut input = NicIn::default();
        let mut seen: Vec<Shown> = Vec::new();
        for now in 0..400_000 {
            if now % every == 0 {
                complex.drive(now, &mut input);
            }
            if now % 100 == 0 {
                let (rcb, tags) = (input.cfg_rcb.into(), input.cfg_extended_tag.into());
                let set = [input.cfg_max_payload, input.cfg_max_read, rcb, tags];
                let credits = [input.credit_ph, input.credit_nph, input.credit_ch];
                seen.push((set, input.cfg_bus_master, credits));
            }
        }
        seen
    };
    let all = seen(1);
    assert!(all == seen(100), "what is skipped changes something");
    let distinct = |part: &dyn Fn(&Shown) -> u8| all.iter().map(part).collect::<BTreeSet<_>>().len();
    assert_eq!([0, 1, 2, 3].map(|n| distinct(&|shown| shown.0[n])), [2, 6, 2, 2]);
    assert_eq!(distinct(&|shown| shown.1.into()), 2);
    assert_eq!([0, 1, 2].map(|n| distinct(&|shown| shown.2[n])), [2, 2, 2], "each class");
}

#[test]
fn a_root_complex_that_holds_bus_master_back_is_not_quiet() {
    let conditions = Conditions { changes: 500, ..Conditions::default() };
    let mut complex = RootComplex::new(Options { conditions, ..Options::default() });
    complex.config_write(0, 4, &[6, 0]);
    let mut input = NicIn::default();
    let mut held_back = 0;
    for now in 0..20_000 {
        complex.drive(now, &mut input);
        assert_eq!(complex.is_quiet(now), input.cfg_bus_master, "cycle {now}");
        held_back += u32::from(!input.cfg_bus_master);
    }
    assert!(held_back > 100);
}

#[test]
fn a_request_on_its_way_when_bus_master_falls_is_answered_also_behind_skipped_time() {
    for skips in [false, true] {
        let conditions = Conditions { changes: 5000, ..Conditions::default() };
        let mut edge = Edge::new(Options { conditions, latency: 100, ..Options::default() });
        edge.run(1);
        while edge.input.cfg_bus_master {
            // Nothing is under way, so the cycles between may be left out.
            edge.now += if skips { 4999 } else { 0 };
            edge.run(1);
        }
        edge.run(50);
        edge.queue(&read(0, 64, 1));
        edge.run(2000);
        assert_eq!(edge.complex.violations(), [], "{skips}");
        assert_eq!(edge.completions().len(), 1, "{skips}");
    }
}
