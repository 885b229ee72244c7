//! How long a card takes from PERST# until it answers. A host wants it in Detect within 20 ms, and asks its configuration space at 100 ms.

use crate::mac::world::{quick, seed, World, MS};

use super::{rx_start, tx_start};

/// A millisecond in nanoseconds, and the periods of the board's clock and of `pclk`.
const MILLISECOND: u64 = 1_000_000;
const BOARD: u64 = 10;
const PCLK: u64 = 8;
/// Detect.Quiet at its longest, of a link on which nothing moves yet.
const QUIET: u64 = 12 * MILLISECOND;

#[test]
fn a_card_is_in_detect_within_20_ms_after_perst_and_answers_long_before_100() {
    let detects = BOARD * tx_start::takes();
    let receives = PCLK * rx_start::takes();
    // All 1024 TS1, and credits.
    let mut world = World::new(quick(seed("pcie perst")));
    let trains = PCLK * world.train();
    assert!(world.cycle < MS, "nothing of it waits for a time limit");
    let answers = detects + QUIET + receives + trains;
    println!("Detect after {detects} ns, receiver {receives} ns, training {trains} ns, in all {answers} ns");
    // docs/pcie.md, "The LTSSM", has these.
    assert_eq!(detects / 10_000, 66, "hundredths of a millisecond");
    assert_eq!(answers / MILLISECOND, 13);
    assert!(detects < 20 * MILLISECOND && answers < 100 * MILLISECOND);
}
