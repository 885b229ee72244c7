//! The arbiter against a plain search.

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::Arbiter;
use viaduct_verilate::Bench;

/// Who should be granted: the first requester after the last one taken.
fn expected(request: u64, last: Option<u64>, n: u64) -> Option<u64> {
    let first = last.map_or(0, |last| last + 1);
    (0..n).map(|k| (first + k) % n).find(|id| request >> id & 1 == 1)
}

fn check(bench: &mut Bench, n: u64) {
    let mut rng = super::random(bench);
    let mut last = None;
    let mut taken = vec![0u32; n as usize];
    for round in 0..5000 {
        let all = (1 << n) - 1;
        let request = if round < 1000 { all } else { rng.random_range(0..=all) };
        let advance = rng.random_bool(0.7);
        bench.set("request", request);
        bench.set("advance", advance.into());
        bench.eval();
        let want = expected(request, last, n);
        assert_eq!(bench.get("valid") == 1, want.is_some());
        assert_eq!(bench.get("grant"), want.map_or(0, |id| 1 << id));
        assert_eq!(bench.get("index"), want.unwrap_or(0));
        bench.tick();
        if let (true, Some(id)) = (advance, want) {
            last = Some(id);
            taken[id as usize] += 1;
        }
        if round == 999 {
            let (least, most) = (taken.iter().min().unwrap(), taken.iter().max().unwrap());
            assert!(most - least <= 1, "unfair: {taken:?}");
        }
    }
    bench.set("request", (1 << n) - 1);
    bench.reset();
    assert_eq!(bench.get("index"), 0, "reset starts again at 0");
}

#[test]
fn eight() {
    check(&mut Bench::new("arbiter8", &verilog(Arbiter::<8, 3>::default())), 8);
}

#[test]
fn five_is_not_a_power_of_two() {
    check(&mut Bench::new("arbiter5", &verilog(Arbiter::<5, 3>::default())), 5);
}

#[test]
fn forty() {
    check(&mut Bench::new("arbiter40", &verilog(Arbiter::<40, 6>::default())), 40);
}
