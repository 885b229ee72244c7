//! Completion queues against the model: anything in any order.

use rand::Rng;
use viaduct_spec::profile::{CQS, VECTORS, VIS};

use crate::cq_world::{End, Ring, World, REFUSED_REGION};

#[test]
fn anything_in_any_order() {
    let mut world = World::new();
    for step in 0..12_000 {
        let few = if step < 8000 { 3 } else { CQS };
        let vis = if step < 8000 { 4 } else { VIS as u64 };
        let random = &mut world.random;
        let cq = random.random_range(0..few);
        let (vi, receive) = (random.random_range(0..vis), random.random_range(0..2u64));
        match random.random_range(0..100) {
            0..2 => {
                let refused = random.random_bool(0.1);
                let ring = Ring {
                    offset: random.random_range(0..1 << 33),
                    region: if refused { REFUSED_REGION } else { random.random_range(1..1 << 16) },
                    log2: if random.random_bool(0.8) {
                        random.random_range(2..7)
                    } else {
                        random.random_range(7..18)
                    },
                    live: random.random_bool(0.9),
                    events: random.random_bool(0.5),
                    tag: random.random_range(0..1 << 16),
                    vector: random.random_range(0..VECTORS as u64),
                };
                // One error ring at most.
                let other = world.model.error_ring.is_some_and(|events| events != cq);
                world.ring(cq, Ring { events: ring.events && !other, ..ring });
            }
            2..5 => {
                let to = random.random_bool(0.8).then_some(cq);
                world.work_queue((2 * vi + receive) as usize, to);
            }
            5..30 => {
                let bits = random.random_range(1..18);
                let behind = match random.random_range(0..4) {
                    // All but a few places are in use; or indices that were never written.
                    0 => (1_u64 << world.model.rings[cq].log2).saturating_sub(random.random_range(0..3)),
                    1 => random.random_range(0..1 << bits),
                    _ => random.random_range(0..3),
                };
                let index = (world.model.written[cq] + 0x4_0000 - behind) & 0x3_FFFF;
                let arm = random.random();
                world.store(cq, index, arm);
            }
            30..35 => {
                let (code, broke) = (random.random_range(1..12), random.random());
                world.event(code, vi, receive, broke);
            }
            35..40 => world.settle(),
            _ => {
                let end = End {
                    vi,
                    receive,
                    region: random.random_range(0..1 << 15),
                    offset: random.random_range(0..1 << 34),
                    written: random.random_bool(0.9),
                };
                world.end(end);
            }
        }
    }
    world.settle();
    let model = &world.model;
    println!(
        "{} entries, {} raises, {} overruns, {} events lost, {} stores ignored",
        world.entries, world.raises, model.overruns, model.lost, model.ignored
    );
    assert!(world.entries > 1000 && world.raises > 100 && model.overruns > 100);
    assert!(model.lost > 20 && model.ignored > 10);
}
