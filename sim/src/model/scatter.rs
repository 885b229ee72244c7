//! Bytes between a descriptor's segments and the wire.

use viaduct_spec::descriptor::status;

use super::descriptor::{Descriptor, Segment};
use super::device::Device;
use super::protection::{Access, Right};

/// The part of each segment that lies in `length` bytes from `from` on, with the segment's rest from there.
fn pieces(segments: &[Segment], from: u64, length: u64) -> impl Iterator<Item = (Segment, usize)> + '_ {
    let (mut start, end) = (0u64, from + length);
    segments.iter().filter_map(move |segment| {
        let (first, last) = (start.max(from), (start + segment.length).min(end));
        let skipped = first.saturating_sub(start);
        let rest =
            Segment { place: segment.place.plus(skipped), length: segment.length.saturating_sub(skipped) };
        start += segment.length;
        (first < last).then(|| (rest, (last - first) as usize))
    })
}

impl Device {
    /// Reads `length` bytes of a descriptor's data, from byte `from` on. The error is the status bit.
    pub fn gather(
        &mut self,
        descriptor: &Descriptor,
        tag: u16,
        from: u64,
        length: usize,
    ) -> Result<Vec<u8>, u32> {
        let mut data = Vec::with_capacity(length);
        for (rest, count) in pieces(descriptor.data(), from, length as u64) {
            let access = Access { place: rest.place, span: rest.length, tag, right: Right::Read };
            data.extend(self.read(access, count).map_err(|_| status::PROTECTION_ERROR)?);
        }
        if data.len() == length {
            Ok(data)
        } else {
            Err(status::LENGTH_ERROR)
        }
    }

    /// Writes bytes to a descriptor's segments, from byte `from` on. The error is the status bit; what comes before
    /// the segment that is refused or missing is written.
    pub fn scatter(&mut self, descriptor: &Descriptor, tag: u16, from: u64, data: &[u8]) -> Result<(), u32> {
        let mut rest = data;
        for (segment, count) in pieces(descriptor.data(), from, data.len() as u64) {
            let (piece, behind) = rest.split_at(count);
            let access = Access { place: segment.place, span: segment.length, tag, right: Right::Write };
            self.write(access, piece).map_err(|_| status::PROTECTION_ERROR)?;
            rest = behind;
        }
        match (rest, descriptor.is_cut()) {
            ([], _) => Ok(()),
            (_, true) => Err(status::PROTECTION_ERROR),
            (_, false) => Err(status::LENGTH_ERROR),
        }
    }
}
