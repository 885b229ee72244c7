//! The port that completion's writes and acknowledgement's reads share.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::Access;
use viaduct_hdl::export::verilog;
use viaduct_hdl::protect::SharedPort;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// A write goes first; a read that was left on the port moves when it is issued, also while a write stands there.
#[test]
fn a_write_goes_first_and_an_issued_read_moves_beside_it() {
    let mut bench = Bench::new("shared_port", &verilog(SharedPort::default()));
    let mut rng = ChaCha8Rng::seed_from_u64(bench.seed());
    for _ in 0..2000 {
        let [write, read, taken, issued] = [0; 4].map(|_: u64| rng.random_range(0..2_u64));
        let addresses = [rng.random::<u64>(), rng.random::<u64>()];
        for (port, valid, address) in [("writes", write, addresses[0]), ("reads", read, addresses[1])] {
            bench.set(&format!("{port}_valid"), valid);
            Bundle::of::<Access>(port).set(&mut bench, &[("address", address)]);
        }
        bench.set("access_ready", taken);
        bench.set("issued", issued);
        bench.eval();
        assert_eq!(bench.get("access_valid"), write | read);
        if write | read == 1 {
            let shown = addresses[usize::from(write == 0)];
            assert_eq!(Bundle::of::<Access>("access").get(&bench, "address"), shown);
        }
        assert_eq!(bench.get("writes_ready") & write, taken & write, "the write that is on show");
        let read_moves = (write == 0 && taken == 1) || issued == 1;
        assert_eq!(bench.get("reads_ready") == 1, read_moves, "the read");
    }
}
