//! Which frames are lost on the wire: random ones, by a seed.

/// Frames among which some are lost; those that come later all arrive.
const FRAMES: u64 = 1 << 20;
/// Numbers in one argument: the system takes no longer ones than 128 KiB.
const AT_ONCE: usize = 8000;

/// The simulator's arguments with which so many of a hundred frames are lost.
pub fn arguments(percent: f64, seed: u64) -> Vec<String> {
    let lost: Vec<String> = lost(percent, seed).map(|number| number.to_string()).collect();
    lost.chunks(AT_ONCE).flat_map(|some| ["--drop".to_string(), some.join(",")]).collect()
}

fn lost(percent: f64, seed: u64) -> impl Iterator<Item = u64> {
    // Of 2^64 numbers so many are less.
    let bound = (percent / 100.0 * 2f64.powi(64)) as u64;
    (1..=FRAMES).filter(move |frame| mixed(seed, *frame) < bound)
}

/// A number that looks random: SplitMix64's of this place.
fn mixed(seed: u64, place: u64) -> u64 {
    let mut word = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_lost_as_are_asked_for_and_each_seed_loses_others() {
        for percent in [0.0, 0.1, 1.0, 10.0] {
            let count = lost(percent, 7).count() as f64;
            let wanted = percent / 100.0 * FRAMES as f64;
            // Five standard deviations.
            assert!((count - wanted).abs() <= 5.0 * wanted.sqrt(), "{percent} %: {count} of {FRAMES}");
        }
        assert!(lost(1.0, 1).eq(lost(1.0, 1)) && !lost(1.0, 1).eq(lost(1.0, 2)));
    }

    #[test]
    fn no_argument_is_longer_than_the_system_takes() {
        let arguments = arguments(10.0, 3);
        assert!(arguments.iter().all(|argument| argument.len() < 128 << 10));
        assert!(arguments.chunks(2).all(|pair| pair[0] == "--drop" && !pair[1].is_empty()));
        assert!(super::arguments(0.0, 3).is_empty());
    }
}
