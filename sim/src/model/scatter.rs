//! Bytes between a descriptor's segments and the wire.

use viaduct_spec::descriptor::status;

use super::descriptor::{Descriptor, Segment};
use super::effect::Effects;
use super::memory::Memory;
use super::place::{Access, Place, Refused, Right, Unread};

/// Most bytes that are checked, and moved, at a time.
const PIECE_BYTES: u64 = 4096;

/// Where `length` bytes from `from` on lie, segment by segment and in pieces of at most [`PIECE_BYTES`].
fn pieces(segments: &[Segment], from: u64, length: u64) -> impl Iterator<Item = (Place, u64)> + '_ {
    let (mut start, end) = (0u64, from + length);
    segments.iter().flat_map(move |segment| {
        let (begin, first, last) = (start, start.max(from), (start + segment.length).min(end));
        start += segment.length;
        (first..last)
            .step_by(PIECE_BYTES as usize)
            .map(move |at| (segment.place.plus(at - begin), PIECE_BYTES.min(last - at)))
    })
}

/// Reads `length` bytes of a descriptor's data, from byte `from` on. The error is the status bit.
pub fn gather(
    descriptor: &Descriptor,
    tag: u16,
    from: u64,
    length: usize,
    memory: &mut Memory<'_>,
) -> Result<Vec<u8>, u32> {
    let mut data = Vec::with_capacity(length);
    for (place, count) in pieces(descriptor.data(), from, length as u64) {
        // WQ-2: a segment is checked when its bytes move. WQ-8: TRANSPORT_ERROR if the host has not given them.
        let access = Access { place, span: count, tag, right: Right::Read };
        data.extend(memory.read(access, count as usize).map_err(|unread| match unread {
            Unread::Refused => status::PROTECTION_ERROR,
            Unread::Failed => status::TRANSPORT_ERROR,
        })?);
    }
    if data.len() == length {
        Ok(data)
    } else {
        Err(status::LENGTH_ERROR)
    }
}

/// Writes bytes to a descriptor's segments, from byte `from` on. The error is the status bit; what comes before
/// the piece that is refused or missing is written.
pub fn scatter(
    descriptor: &Descriptor,
    tag: u16,
    from: u64,
    data: &[u8],
    memory: &mut Memory<'_>,
    effects: &mut Effects,
) -> Result<(), u32> {
    let mut rest = data;
    for (place, count) in pieces(descriptor.data(), from, data.len() as u64) {
        let (piece, behind) = rest.split_at(count as usize);
        // WQ-2: a segment is checked when its bytes move, as far as they go.
        let access = Access { place, span: count, tag, right: Right::Write };
        memory.write(access, piece, effects).map_err(|Refused| status::PROTECTION_ERROR)?;
        rest = behind;
    }
    match rest {
        [] => Ok(()),
        _ => Err(descriptor.end()),
    }
}
