//! Completions for the NIC's reads: cut at the read completion boundary, and some of them wrong.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::tlp::completion_status;

use super::conditions::Split;
use crate::tlp::{Completion, Request};

/// How completions are cut.
#[derive(Debug, Clone, Copy)]
pub struct Cutter {
    /// Read completion boundary in bytes.
    pub rcb: usize,
    /// Max_Payload_Size in bytes.
    pub max_payload: usize,
    /// Where.
    pub split: Split,
}

impl Cutter {
    /// The completions that answer `request` with `data`, its double words' bytes, in order.
    pub fn cut(
        &self,
        request: &Request,
        data: &[u8],
        completer: u16,
        random: &mut ChaCha8Rng,
    ) -> Vec<Completion> {
        let (lead, mut left) = request.bytes();
        let (mut at, end) = (request.address, request.address + data.len() as u64);
        let mut first = at + lead as u64;
        let mut completions = Vec::new();
        while at < end {
            let next = self.next(at, end, random);
            let piece = &data[(at - request.address) as usize..(next - request.address) as usize];
            completions.push(Completion {
                status: completion_status::SUCCESS,
                byte_count: left,
                lower_address: (first & 0x7F) as u8,
                tag: request.tag,
                requester: request.requester,
                completer,
                poisoned: false,
                data: piece
                    .chunks_exact(4)
                    .map(|dw| u32::from_le_bytes([dw[0], dw[1], dw[2], dw[3]]))
                    .collect(),
            });
            left = left.saturating_sub((next - first) as usize);
            (at, first) = (next, next);
        }
        completions
    }

    /// Where the completion that starts at `at` ends.
    fn next(&self, at: u64, end: u64, random: &mut ChaCha8Rng) -> u64 {
        let rcb = self.rcb as u64;
        let boundary = (at / rcb + 1) * rcb;
        let furthest = (at + self.max_payload as u64) / rcb * rcb;
        let stop = match self.split {
            Split::Boundary => boundary,
            Split::Largest => furthest,
            Split::Random => {
                boundary + random.random_range(0..=furthest.saturating_sub(boundary) / rcb) * rcb
            }
        };
        stop.max(boundary).min(end)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn completions_keep_the_rules_for_any_read() {
        let seed = 3;
        println!("seed {seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for round in 0..3000 {
            let rcb = [64, 128][random.random_range(0..2)];
            let max_payload = [128, 256][random.random_range(0..2)];
            let split = [Split::Largest, Split::Boundary, Split::Random][round % 3];
            let bytes = random.random_range(1..=512);
            let address = 0x1000 + random.random_range(0..=4096 - bytes as u64);
            let request = Request::new(address, bytes, 9, 0x100);
            let memory: Vec<u8> = (0..request.length * 4).map(|_| random.random()).collect();
            let cut = Cutter { rcb, max_payload, split }.cut(&request, &memory, 0, &mut random);
            let (mut at, mut left) = (address, bytes);
            let mut found = Vec::new();
            for (n, completion) in cut.iter().enumerate() {
                assert!(completion.data.len() * 4 <= max_payload);
                assert_eq!(u64::from(completion.lower_address), at & 0x7F);
                assert_eq!(completion.byte_count, left);
                let skip = (at & 3) as usize;
                let count = (completion.data.len() * 4 - skip).min(left);
                at += count as u64;
                left -= count;
                assert!(n + 1 == cut.len() || at % rcb as u64 == 0, "ends on a boundary");
                found.extend(completion.data.iter().flat_map(|dw| dw.to_le_bytes()));
            }
            assert_eq!((left, found), (0, memory));
        }
    }

    #[test]
    fn largest_is_as_few_as_possible() {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let cutter = Cutter { rcb: 64, max_payload: 256, split: Split::Largest };
        let request = Request::new(0x1010, 512, 0, 0);
        let sizes: Vec<usize> = cutter
            .cut(&request, &[0; 512], 0, &mut random)
            .iter()
            .map(|completion| completion.data.len() * 4)
            .collect();
        assert_eq!(sizes, [240, 256, 16]);
    }
}
