//! Finds what the parities of a [`ParityMatrix`](super::ParityMatrix) have in common, so that it is worked out once.
//!
//! A parity of n bits takes (n - 1) / 3 LUT4. Bits that several parities have in common take one LUT4 for up to four of them, and then stand
//! as one bit in each. The synthesis tool does not look for that. Here the bits that save most are taken first, until none save
//! anything: for the matrices of a CRC that leaves about 60 % of the LUT4, in as many levels as before.

/// The most bits that one LUT4 takes.
const MOST: usize = 4;

/// Takes what parities have in common out of their masks. Gives the masks of the bits that are shared, at most 64, and for each parity
/// which of them it has.
pub(super) fn share(masks: &mut [u64; 32]) -> (Vec<u64>, [u64; 32]) {
    let mut shared = Vec::new();
    let mut uses = [0u64; 32];
    while shared.len() < 64 {
        let Some(bits) = best(masks) else { break };
        for (mask, used) in masks.iter_mut().zip(&mut uses) {
            if *mask & bits == bits {
                *mask &= !bits;
                *used |= 1 << shared.len();
            }
        }
        shared.push(bits);
    }
    (shared, uses)
}

/// The bits that save most LUT4, if any save one.
fn best(masks: &[u64; 32]) -> Option<u64> {
    // For each bit the parities that it is in.
    let mut users = [0u32; 64];
    for (bit, users) in users.iter_mut().enumerate() {
        *users = (0..32).fold(0, |all, to| all | ((masks[to] >> bit & 1) as u32) << to);
    }
    let mut found = Found::default();
    found.extend(&users, 0, u32::MAX, 0, 0);
    (found.thirds > 0).then_some(found.bits)
}

/// The best bits of those looked at so far.
#[derive(Default)]
struct Found {
    bits: u64,
    /// What they save, in thirds of a LUT4.
    thirds: i64,
}

impl Found {
    /// Looks at `bits`, which all of `users` have, with one more of the bits from `first` on, and with two more, and so on.
    fn extend(&mut self, users: &[u32; 64], bits: u64, all: u32, taken: usize, first: usize) {
        for next in first..64 {
            let all = all & users[next];
            let (count, bits) = (i64::from(all.count_ones()), bits | 1 << next);
            // Of one parity alone nothing is shared; and more bits have no more users.
            if count < 2 || count * (MOST as i64 - 1) - 3 <= self.thirds {
                continue;
            }
            let thirds = count * taken as i64 - 3;
            if thirds > self.thirds {
                (self.bits, self.thirds) = (bits, thirds);
            }
            if taken + 1 < MOST {
                self.extend(users, bits, all, taken + 1, next + 1);
            }
        }
    }
}
