//! Random messages from end to end, over buses and links of all habits.

use viaduct_tests::traffic::{Shape, Traffic, LEVELS, MTUS};
use viaduct_tests::world::{moody, seeds};

#[test]
fn messages_of_all_shapes_arrive_whole_and_nothing_else_changes() {
    for seed in seeds(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
        let shape = Shape { nics: 2, pairs: 4, messages: 8, mtus: MTUS, levels: LEVELS };
        let mut traffic = Traffic::new(&moody(seed), &shape);
        traffic.run();
        traffic.check();
        println!("{} cycles", traffic.world.now());
    }
}
