//! Captures as the simulator writes them: little endian, with nanoseconds of the NICs' time.

use anyhow::{bail, Context, Result};
use std::path::Path;

/// A frame of a capture: its time in seconds and nanoseconds, and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// When its last byte was on the wire.
    pub time: (u32, u32),
    /// From its destination address on, without its check sequence.
    pub bytes: Vec<u8>,
}

/// The frames of a file.
pub fn read(file: &Path) -> Result<Vec<Frame>> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    frames(&bytes).with_context(|| file.display().to_string())
}

fn frames(pcap: &[u8]) -> Result<Vec<Frame>> {
    const MAGIC: u32 = 0xA1B2_3C4D;
    let word = |at: usize| -> Result<u32> {
        let bytes = pcap.get(at..at + 4).context("it ends inside a header")?;
        Ok(u32::from_le_bytes(bytes.try_into()?))
    };
    if word(0)? != MAGIC {
        bail!("it is no capture with nanoseconds");
    }
    let (mut frames, mut at) = (Vec::new(), 24);
    while at < pcap.len() {
        let length = word(at + 8)? as usize;
        let bytes = pcap.get(at + 16..at + 16 + length).context("it ends inside a frame")?;
        frames.push(Frame { time: (word(at)?, word(at + 4)?), bytes: bytes.to_vec() });
        at += 16 + length;
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_read_and_what_is_none_is_refused() {
        let mut pcap = 0xA1B2_3C4D_u32.to_le_bytes().to_vec();
        pcap.resize(24, 0);
        for word in [0, 9, 3, 3] {
            pcap.extend(u32::to_le_bytes(word));
        }
        pcap.extend([1, 2, 3]);
        assert_eq!(frames(&pcap).unwrap(), [Frame { time: (0, 9), bytes: vec![1, 2, 3] }]);
        assert!(frames(&pcap[..42]).is_err());
        assert!(frames(&[0; 24]).is_err());
    }
}
