//! A frame on a socket, as QEMU's `-netdev stream` has it: its length in four bytes, the most significant one first, then its bytes without FCS.

use std::io::{self, Read, Write};

use super::LONGEST;

/// Bytes of the length.
const HEAD: usize = 4;
/// Shortest frame: two addresses and a type. A wire pads what is shorter than Ethernet's 60 bytes.
const SHORTEST: usize = 14;

/// Why nothing more is read from a socket.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The length is none that a frame can have.
    #[error("a frame of {0} bytes: a frame has {SHORTEST} to {LONGEST}")]
    Length(usize),
    /// The peer went away in the middle of a frame.
    #[error("the peer has ended in the middle of a frame")]
    Cut,
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Reads the next frame; `None` when the peer has ended behind the one before.
///
/// # Errors
/// A length that is none, half a frame, or the system's.
pub fn read(from: &mut impl Read) -> Result<Option<Vec<u8>>, FrameError> {
    let mut head = Vec::with_capacity(HEAD);
    from.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let head: [u8; HEAD] = match head.try_into() {
        Ok(head) => head,
        Err(head) if head.is_empty() => return Ok(None),
        Err(_) => return Err(FrameError::Cut),
    };
    let length = u32::from_be_bytes(head) as usize;
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(FrameError::Length(length));
    }
    let mut data = vec![0; length];
    fill(from, &mut data)?;
    Ok(Some(data))
}

/// Writes a frame.
///
/// # Errors
/// The system's.
pub fn write(to: &mut impl Write, data: &[u8]) -> io::Result<()> {
    // One write: the peer gets no half of it if this process ends.
    let mut message = Vec::with_capacity(HEAD + data.len());
    message.extend_from_slice(&(data.len() as u32).to_be_bytes());
    message.extend_from_slice(data);
    to.write_all(&message)
}

fn fill(from: &mut impl Read, data: &mut [u8]) -> Result<(), FrameError> {
    from.read_exact(data).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => FrameError::Cut,
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were_written() {
        let frames: Vec<Vec<u8>> =
            [SHORTEST, 60, 1514, LONGEST].map(|length| vec![length as u8; length]).into();
        let mut stream = Vec::new();
        for frame in &frames {
            write(&mut stream, frame).unwrap();
        }
        let mut stream = &stream[..];
        for frame in &frames {
            assert_eq!(read(&mut stream).unwrap().as_ref(), Some(frame));
        }
        assert_eq!(read(&mut stream).unwrap(), None);
    }

    #[test]
    fn what_is_no_frame_is_named() {
        let told = |mut stream: &[u8]| read(&mut stream).unwrap_err().to_string();
        assert_eq!(told(&[0, 0, 0, 13]), "a frame of 13 bytes: a frame has 14 to 9216");
        assert_eq!(told(&[0, 0, 0x24, 1]), "a frame of 9217 bytes: a frame has 14 to 9216");
        assert_eq!(told(&[0xFF; 4]), "a frame of 4294967295 bytes: a frame has 14 to 9216");
        assert_eq!(told(&[0, 0]), "the peer has ended in the middle of a frame");
        assert_eq!(told(&[0, 0, 0, 14, 1, 2, 3]), "the peer has ended in the middle of a frame");
    }
}
