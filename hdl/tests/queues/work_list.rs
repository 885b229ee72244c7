//! The list of VIs that have work: who comes first of those that come together, and that nobody is in it twice.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::doorbell::WorkList;
use viaduct_hdl::export::verilog;
use viaduct_spec::profile::VIS;
use viaduct_verilate::Bench;

#[test]
fn a_store_comes_first_and_nobody_is_there_twice() {
    let mut bench = Bench::new("work_list", &verilog(WorkList::default()));
    let mut rng = ChaCha8Rng::seed_from_u64(bench.seed());
    for port in ["posting", "counts", "fetch_valid", "room_valid", "first_ready"] {
        bench.set(port, 0);
    }
    bench.eval();
    while bench.get("busy") == 1 {
        bench.tick();
        bench.eval();
    }
    let mut list = VecDeque::new();
    // What is pushed reaches the list a cycle later; what is on show has left it.
    let (mut late, mut shown) = (None, None);
    for _ in 0..20_000 {
        let vi = |rng: &mut ChaCha8Rng| rng.random_range(0..8.min(VIS as u64));
        let (posting, counts) = (rng.random_bool(0.3), rng.random_bool(0.7));
        let (store, fetch, room) = (vi(&mut rng), vi(&mut rng), vi(&mut rng));
        let (fetches, rooms, takes) = (rng.random_bool(0.3), rng.random_bool(0.3), rng.random_bool(0.4));
        bench.set("posting", posting.into());
        bench.set("counts", counts.into());
        bench.set("store", store);
        bench.set("fetch_valid", fetches.into());
        bench.set("fetch", fetch);
        bench.set("room_valid", rooms.into());
        bench.set("room", room);
        bench.set("first_ready", takes.into());
        bench.eval();
        assert_eq!(
            fetches && bench.get("fetch_ready") == 1,
            fetches && !posting,
            "fetch waits for stores alone"
        );
        assert_eq!(
            rooms && bench.get("room_ready") == 1,
            rooms && !posting && !fetches,
            "room waits for both"
        );
        assert_eq!(bench.get("first_valid") == 1, shown.is_some());
        if let Some(vi) = shown {
            assert_eq!(bench.get("first"), vi, "who has waited longest comes first");
        }
        assert_eq!(bench.get("busy") == 1, shown.is_some() || late.is_some() || !list.is_empty());
        let pushed = match (posting, fetches, rooms) {
            (true, ..) => counts.then_some(store),
            (false, true, _) => Some(fetch),
            (false, false, true) => Some(room),
            _ => None,
        };
        // A push meets the list as it was when it came, less what leaves in that cycle.
        let inside = late.is_some_and(|vi| list.contains(&vi));
        let popped = shown.is_none().then(|| list.pop_front()).flatten();
        shown = if shown.is_some() { shown.filter(|_| !takes) } else { popped };
        if let (Some(vi), false) = (late, inside) {
            list.push_back(vi);
        }
        late = pushed;
        bench.tick();
    }
}
