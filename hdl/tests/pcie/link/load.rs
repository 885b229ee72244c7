//! Traffic without damage: every length, order, throughput, and more TLPs than there are numbers.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::world::{options, random_tlp, seed, write, Pair, Traffic};

#[test]
fn it_becomes_active_and_random_tlps_pass_both_ways() {
    let seed = seed("random tlps");
    for (max_payload, rate) in [(128, 100), (256, 100), (128, 30), (256, 5)] {
        let mut options = options(seed);
        options.side.link.max_payload = max_payload;
        let mut pair = Pair::new(options, true);
        pair.port.set_max_payload(max_payload);
        pair.train();
        (pair.device.rate, pair.mac.rate) = (rate, 100 - (100 - rate) / 3);
        let cycles = Traffic::new(seed, 1500, max_payload).run(&mut pair, 4_000_000, |_, _| {});
        pair.run(5000);
        println!("{cycles} cycles: {:?}", pair.port.counters());
        pair.assert_silent();
        let counters = pair.port.counters();
        assert_eq!((counters.received, counters.sent), (1500, 1500));
        assert_eq!((counters.replayed, counters.duplicates, counters.naks, counters.bad_tlps), (0, 0, 0, 0));
        assert_eq!((counters.overflows, counters.impossible, counters.malformed), (0, 0, 0));
    }
}
