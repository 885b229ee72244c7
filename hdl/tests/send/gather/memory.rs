//! Host memory that answers late, and sometimes not.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::client;

use super::expected::Expected;
use crate::port::Fields;

/// A region every access to which is refused.
pub const REFUSED: u64 = 0xbad;
/// A region whose reads fail on the bus after some bytes.
pub const FAILED: u64 = 0xfa1;

/// The byte at an address: any function will do.
pub fn byte(region: u64, address: u64) -> u8 {
    let mixed = (address ^ region << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

/// One beat as memory sends it.
pub struct Beat {
    pub at: u64,
    pub fields: Vec<(&'static str, u64)>,
}

/// Host memory, which answers in order.
pub struct Memory {
    pub beats: VecDeque<Beat>,
}

impl Memory {
    pub fn answer(&mut self, expected: &Expected, got: &Fields, at: u64, rng: &mut ChaCha8Rng) {
        let user = got["user"];
        let mut lane = if expected.fields["by_offset"] == 1 { 0 } else { got["address"] % 8 };
        let mut data = &expected.data[..];
        let fault = expected.refused || expected.failed;
        while !data.is_empty() {
            // Half words now and then: a read engine may send them.
            let most = if lane % 4 == 0 && rng.random_bool(0.1) { 4 } else { 8 - lane };
            let most = if lane == 4 { 4 } else { most };
            let count = data.len().min(most as usize);
            let mut lanes = rng.random::<[u8; 8]>();
            lanes[lane as usize..lane as usize + count].copy_from_slice(&data[..count]);
            data = &data[count..];
            self.beats.push_back(Beat {
                at,
                fields: vec![
                    ("client", client::GATHER),
                    ("user", user),
                    ("data", u64::from_le_bytes(lanes)),
                    ("start", lane),
                    ("count", count as u64),
                    ("last", (data.is_empty() && !fault).into()),
                ],
            });
            lane = (lane + count as u64) % 8;
        }
        if fault {
            self.beats.push_back(Beat {
                at,
                fields: vec![
                    ("client", client::GATHER),
                    ("user", user),
                    ("data", rng.random()),
                    ("last", 1),
                    ("refused", expected.refused.into()),
                    ("failed", expected.failed.into()),
                ],
            });
        }
    }
}
