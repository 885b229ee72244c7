//! Frames as an Ethernet of its own makes them: nothing here comes from the MAC.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A frame's FCS, in wire order.
pub fn fcs(frame: &[u8]) -> [u8; 4] {
    crc32fast::hash(frame).to_le_bytes()
}

/// Padded to 60 bytes.
pub fn padded(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Padded, with FCS: what is between the delimiter and the gap.
pub fn whole(frame: &[u8]) -> Vec<u8> {
    let mut frame = padded(frame);
    frame.extend(fcs(&frame));
    frame
}

/// A frame of this length from anybody to anybody, and no MAC control frame.
pub fn random(random: &mut ChaCha8Rng, length: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|_| random.random()).collect();
    if length > 13 {
        frame[12] = 0x08;
        frame[13] = 0x00;
    }
    frame
}

/// A length: most often short, now and then any up to `longest`.
pub fn length(random: &mut ChaCha8Rng, longest: usize) -> usize {
    match random.random_range(0..10) {
        0 => random.random_range(60..=longest),
        1 => 60,
        _ => random.random_range(60..200),
    }
}

/// A pause frame of 802.3 annex 31B.
pub fn pause(to: [u8; 6], from: [u8; 6], quanta: u16) -> Vec<u8> {
    let mut frame = [to, from].concat();
    frame.extend([0x88, 0x08, 0x00, 0x01]);
    frame.extend(quanta.to_be_bytes());
    padded(&frame)
}

/// Where pause frames go.
pub const GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
