//! Words of the DCU, both ways.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::phy::PcsWords;
use viaduct_verilate::Bench;

#[test]
fn symbols_are_where_the_cell_has_them() {
    let mut bench = Bench::new("pcs_words", &verilog(PcsWords::default()));
    let mut random = ChaCha8Rng::seed_from_u64(bench.seed());
    for _ in 0..5000 {
        // Each symbol: value, K, status.
        let mut symbol = || {
            let value: u64 = if random.random_bool(0.2) { 0xEE } else { random.random_range(0..256) };
            (value, u64::from(random.random_bool(0.5)), random.random_range(0..8_u64))
        };
        let came = [symbol(), symbol()];
        let goes = [symbol(), symbol()];
        let word = |[low, high]: [(u64, u64, u64); 2]| {
            let half = |(value, k, status)| value | k << 8 | status << 9;
            half(low) | half(high) << 12
        };
        let (ready, idle) = (u64::from(random.random_bool(0.8)), u64::from(random.random_bool(0.2)));
        bench.set("received", word(came));
        bench.set("ready", ready);
        bench.set("tx_data", goes[0].0 | goes[1].0 << 8);
        bench.set("tx_k", goes[0].1 | goes[1].1 << 1);
        bench.set("tx_idle", idle);
        bench.tick();
        bench.eval();
        let pair = |what: fn((u64, u64, u64)) -> u64, width: u32| what(came[0]) | what(came[1]) << width;
        assert_eq!(bench.get("rx_data"), pair(|symbol| symbol.0, 8));
        assert_eq!(bench.get("rx_k"), pair(|symbol| symbol.1, 1));
        let bad = pair(|(value, k, status)| u64::from(status >= 4 || (value == 0xEE && k == 1)), 1);
        assert_eq!(bench.get("bad"), u64::from(bad != 0));
        assert_eq!(bench.get("rx_error"), if ready == 1 { bad } else { 3 });
        assert_eq!(bench.get("sent"), word(goes.map(|(value, k, _)| (value, k, 0))));
        assert_eq!(bench.get("idle"), idle);
    }
}
