//! Serial numbers: how far one is from another, and whether it is in flight.

use rand::Rng;
use viaduct_hdl::arithmetic::{Distance, InFlight};
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

const PSNS: u64 = 1 << 24;

/// Which of the three a distance is: same, ahead, behind.
fn side(distance: u64) -> (bool, bool, bool) {
    (distance == 0, distance != 0 && distance < PSNS / 2, distance >= PSNS / 2)
}

/// Numbers near each other, half the circle apart, and any two; also where one has wrapped around.
#[test]
fn a_distance_and_its_side() {
    let mut bench = Bench::new("distance", &verilog(Distance::<24>::default()));
    let mut rng = crate::random(&bench);
    for round in 0..4000u64 {
        let from = if round % 2 == 0 { rng.random_range(0..PSNS) } else { rng.random_range(0..4) };
        let way = match round % 4 {
            0 => rng.random_range(0..PSNS),
            1 => PSNS / 2 - 2 + rng.random_range(0..4),
            _ => (PSNS - 3 + rng.random_range(0..6)) % PSNS,
        };
        bench.set("number", (from + way) % PSNS);
        bench.set("from", from);
        bench.eval();
        assert_eq!(bench.get("distance"), way);
        let said = (bench.get("same") == 1, bench.get("ahead") == 1, bench.get("behind") == 1);
        assert_eq!(said, side(way), "{way:#x} from {from:#x}");
    }
}

/// The window that the block was loaded with counts until the next load, whatever the inputs do.
#[test]
fn a_number_is_in_flight_or_not() {
    let mut bench = Bench::new("in_flight", &verilog(InFlight::<24>::default()));
    let mut rng = crate::random(&bench);
    for round in 0..2000u64 {
        let oldest = if round % 2 == 0 { rng.random_range(0..PSNS) } else { PSNS - rng.random_range(1..6) };
        let flight = if round % 4 < 2 { rng.random_range(0..5) } else { rng.random_range(0..PSNS / 2) };
        let way = match round % 3 {
            0 => rng.random_range(0..PSNS),
            _ => (flight + PSNS - 2 + rng.random_range(0..4)) % PSNS,
        };
        bench.set("oldest", oldest);
        bench.set("fresh", (oldest + flight) % PSNS);
        bench.set("number", (oldest + way) % PSNS);
        bench.set("load", 1);
        bench.tick();
        bench.set("load", 0);
        for port in ["oldest", "fresh", "number"] {
            bench.set(port, rng.random_range(0..PSNS));
        }
        bench.tick();
        assert_eq!(bench.get("in_flight") == 1, way < flight, "{way} of {flight}");
        assert_eq!(bench.get("size"), flight);
    }
}
