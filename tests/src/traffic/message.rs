//! Random messages: how long they are, and how they are cut.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::host::{Host, SOURCE};

/// Offset and length of each segment.
pub type Segments = Vec<(usize, usize)>;

/// A message, and where its bytes come from and go to.
pub struct Message {
    pub data: Vec<u8>,
    pub immediate: Option<u32>,
    pub send: Segments,
    pub receive: Segments,
}

/// Cuts `length` bytes into segments. Equal cuts are segments of no bytes.
fn cut(random: &mut ChaCha8Rng, length: usize) -> Vec<usize> {
    let count = match random.random_range(0..12) {
        0 if length == 0 => return Vec::new(),
        0..=3 => 1,
        4..=7 => random.random_range(1..5),
        8..=10 => random.random_range(1..30),
        _ => random.random_range(200..=252),
    };
    let mut cuts: Vec<usize> = (1..count).map(|_| random.random_range(0..=length)).collect();
    if count > 2 && random.random() {
        cuts[1] = cuts[0];
    }
    cuts.extend([0, length]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// A message from one host to another.
pub fn message(random: &mut ChaCha8Rng, hosts: &mut [Host], [from, to]: [usize; 2]) -> Message {
    let length = match random.random_range(0..20) {
        0..=1 => 0,
        2..=8 => random.random_range(0..70),
        9..=16 => random.random_range(0..3000),
        17..=18 => random.random_range(0..12_000),
        _ => random.random_range(0..40_000),
    };
    // Anything may be sent, twice in one message too.
    let send: Segments = cut(random, length)
        .into_iter()
        .map(|length| (random.random_range(0..=SOURCE - length), length))
        .collect();
    let data = send.iter().flat_map(|&(offset, length)| hosts[from].source.read(offset, length)).collect();
    let room = if random.random() { length } else { length + random.random_range(0..500) };
    let receive = cut(random, room)
        .into_iter()
        .map(|length| {
            let offset = hosts[to].sink_free + random.random_range(0..70);
            hosts[to].sink_free = offset + length;
            (offset, length)
        })
        .collect();
    let immediate = random.random::<bool>().then(|| random.random());
    Message { data, immediate, send, receive }
}

/// Bytes of a descriptor of these segments.
pub fn bytes(segments: &Segments) -> usize {
    32 + 16 * segments.len()
}
