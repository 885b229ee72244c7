//! The queue pair number and the starting PSN of a connection. Both are new for each connection, so that late frames of an earlier one match
//! nothing, and random, so that nobody guesses them.

use rand::Rng;
use viaduct_spec::handle::queue_pair;

use crate::agent::State;

impl State {
    /// Queue pair number and starting PSN of the next connection of a VI, both random, so that nobody guesses them; the generation is not the
    /// last one that the index had.
    pub(super) fn next_connection(&mut self, index: usize) -> (u32, u32) {
        let generation = next_generation(self.generations[index], &mut self.random);
        self.generations[index] = generation;
        let mut number = [0];
        queue_pair::VI.put(&mut number, index as u64);
        queue_pair::GENERATION.put(&mut number, generation.into());
        (number[0] as u32, self.random.random::<u32>() & 0xff_ffff)
    }
}

/// Any generation but `now` and 0.
fn next_generation(now: u16, random: &mut impl Rng) -> u16 {
    let all = queue_pair::GENERATION.mask() as u16;
    loop {
        let next = random.random::<u16>() & all;
        if next != 0 && next != now {
            return next;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_generation_is_never_0_nor_the_last_one_nor_to_be_guessed() {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let (mut now, mut steps) = (0, std::collections::HashSet::new());
        for _ in 0..50_000 {
            let next = next_generation(now, &mut random);
            assert!(next != 0 && next != now && next <= 0x3fff);
            steps.insert(next.wrapping_sub(now));
            now = next;
        }
        assert!(steps.len() > 10_000, "{} steps", steps.len());
    }
}
