//! Descriptors, as they are read from memory and checked.

use viaduct_spec::descriptor::{
    address_segment, control, control_segment, data_segment, status, CONTROL_SEGMENT_BYTES, MAX_SEGMENTS,
    SEGMENT_BYTES,
};

use super::memory::Memory;
use super::place::{Access, Place, Right, Unread};
use super::posted::Posted;

/// Bytes of a descriptor that one read brings; of what is behind them nothing is known at first.
pub const FIRST_BYTES: usize = 64;
/// Segments that are in them.
pub const FIRST_SEGMENTS: usize = (FIRST_BYTES - CONTROL_SEGMENT_BYTES) / SEGMENT_BYTES;

/// A data segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins.
    pub place: Place,
    /// Bytes.
    pub length: u64,
}

/// What a descriptor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A send; on a receive queue a receive.
    Send,
    /// An RDMA write.
    Write,
    /// An RDMA read.
    Read,
    /// None that exists.
    Unknown,
}

impl Operation {
    /// What a send queue's status says of it.
    pub fn status(self) -> u32 {
        match self {
            Self::Send | Self::Unknown => status::OP_SEND,
            Self::Write => status::OP_RDMA_WRITE,
            Self::Read => status::OP_RDMA_READ,
        }
    }
}

/// A descriptor. What its region's end has cut off is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The control word.
    pub control: u16,
    /// Length as it was posted.
    pub length: u32,
    /// ImmediateData.
    pub immediate: u32,
    /// The reserved word and Status are 0.
    clean: bool,
    /// Segments that it says it has.
    count: u16,
    /// The segments that are there, as data segments.
    segments: Vec<Segment>,
    /// The reserved word of the first one, if that is an address segment.
    remote_reserved: u64,
    /// The segments behind the first could not be read, though that was granted.
    pub unread: bool,
}

impl Descriptor {
    /// In place of one that is not there.
    pub fn none() -> Self {
        Self::decode(&[])
    }

    /// Reads a descriptor that is posted, by the tag of its VI. The error: its control segment does not lie in the region, or its first
    /// [`FIRST_BYTES`] cannot be read.
    pub fn read(posted: Posted, tag: u16, memory: &mut Memory<'_>) -> Result<Self, Unread> {
        let place = posted.place;
        let access = Access { place, span: CONTROL_SEGMENT_BYTES as u64, tag, right: Right::Read };
        let head = memory.read(access, CONTROL_SEGMENT_BYTES)?;
        // WQ-2: of a short descriptor the first segment is read, whatever it says.
        let most = if posted.short { 1 } else { MAX_SEGMENTS };
        let count = Self::decode(&head).count.min(most);
        let wanted = (SEGMENT_BYTES * usize::from(count)) as u64;
        let behind = Access { place: place.plus(access.span), ..access };
        let room = memory.room(Access { span: 0, ..behind }).min(wanted) / SEGMENT_BYTES as u64;
        let length = room as usize * SEGMENT_BYTES;
        // WQ-8: the first 64 bytes must be there; the rest may be missing, and the descriptor says so.
        let first = length.min(FIRST_BYTES - CONTROL_SEGMENT_BYTES);
        let mut bytes = head;
        bytes.extend(memory.read(Access { span: first as u64, ..behind }, first)?);
        let rest = Access { place: behind.place.plus(first as u64), span: (length - first) as u64, ..behind };
        let rest = memory.read(rest, length - first);
        bytes.extend(rest.as_deref().unwrap_or(&[]));
        Ok(Self { unread: rest == Err(Unread::Failed), ..Self::decode(&bytes) })
    }

    fn decode(bytes: &[u8]) -> Self {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            .collect();
        let head = &words[..words.len().min(CONTROL_SEGMENT_BYTES / 8)];
        let get = |field: viaduct_spec::layout::Field| field.get(head);
        let rows = words.get(CONTROL_SEGMENT_BYTES / 8..).unwrap_or(&[]).chunks_exact(2);
        let segment = |row: &[u64]| Segment {
            place: Place::Address {
                address: data_segment::ADDRESS.get(row),
                handle: data_segment::HANDLE.get(row) as u32,
            },
            length: data_segment::LENGTH.get(row),
        };
        Self {
            control: get(control_segment::CONTROL) as u16,
            length: get(control_segment::LENGTH) as u32,
            immediate: get(control_segment::IMMEDIATE) as u32,
            clean: get(control_segment::RESERVED) == 0 && get(control_segment::STATUS) == 0,
            count: get(control_segment::SEG_COUNT) as u16,
            remote_reserved: rows.clone().next().map_or(0, |row| address_segment::RESERVED.get(row)),
            segments: rows.map(segment).collect(),
            unread: false,
        }
    }

    /// The operation.
    pub fn operation(&self) -> Operation {
        match self.control & control::OP_MASK {
            control::OP_SENDRECV => Operation::Send,
            control::OP_RDMAWRITE => Operation::Write,
            control::OP_RDMAREAD => Operation::Read,
            _ => Operation::Unknown,
        }
    }

    /// The immediate data, if it is valid.
    pub fn immediate(&self) -> Option<u32> {
        (self.control & control::IMMEDIATE != 0).then_some(self.immediate)
    }

    /// The descriptor waits for every earlier RDMA read.
    pub fn fenced(&self) -> bool {
        self.control & control::QFENCE != 0
    }

    fn is_rdma(&self) -> bool {
        matches!(self.operation(), Operation::Write | Operation::Read)
    }

    /// The remote place of an RDMA operation that has one.
    pub fn remote(&self) -> Option<Place> {
        self.segments.first().filter(|_| self.is_rdma()).map(|segment| segment.place)
    }

    /// The data segments.
    pub fn data(&self) -> &[Segment] {
        self.segments.get(usize::from(self.is_rdma())..).unwrap_or(&[])
    }

    /// Bytes of the data segments.
    pub fn sum(&self) -> u64 {
        self.data().iter().map(|segment| segment.length).sum()
    }

    /// What is wrong on either queue.
    fn is_well_formed(&self) -> bool {
        self.clean && self.count <= MAX_SEGMENTS && self.control & control::RESERVED == 0
    }

    /// The rules of a send queue (WQ-2): 0, or the error bit of the first that is broken. `rdma`
    /// and `reads` say what the service has.
    pub fn check_send(&self, rdma: bool, reads: bool, max_transfer: u64) -> u32 {
        let operation = match self.operation() {
            Operation::Send => true,
            Operation::Write => rdma,
            // There is nothing to put immediate data into.
            Operation::Read => reads && self.immediate().is_none(),
            Operation::Unknown => false,
        };
        // WQ-2: FORMAT_ERROR goes before LENGTH_ERROR.
        let remote = !self.is_rdma() || self.remote().is_some() && self.remote_reserved == 0;
        let whole = self.segments.len() == usize::from(self.count);
        if !(self.is_well_formed() && operation && remote && (whole || self.unread)) {
            return status::FORMAT_ERROR;
        }
        if self.unread {
            return status::TRANSPORT_ERROR;
        }
        let length = u64::from(self.length);
        if length > max_transfer || self.sum() != length {
            return status::LENGTH_ERROR;
        }
        0
    }

    /// The rules of a receive queue (WQ-2): 0, or the error bit. Segments behind the first read are looked at when the
    /// message reaches them.
    pub fn check_receive(&self) -> u32 {
        // WQ-2: of a receive the first two segments must be there; Length is not looked at.
        let first = usize::from(self.count).min(FIRST_SEGMENTS);
        let good =
            self.is_well_formed() && self.operation() == Operation::Send && self.segments.len() >= first;
        if good {
            0
        } else {
            status::FORMAT_ERROR
        }
    }

    /// What a message that is longer than its segments ends with.
    pub fn end(&self) -> u32 {
        match self.segments.len() < usize::from(self.count) {
            _ if self.unread => status::TRANSPORT_ERROR,
            // They are behind its region's end.
            true => status::PROTECTION_ERROR,
            false => status::LENGTH_ERROR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(control: u16, length: u32, segments: &[(u64, u32, u32)]) -> Vec<u8> {
        let mut words = vec![0; 4 + 2 * segments.len()];
        control_segment::CONTROL.put(&mut words, control.into());
        control_segment::SEG_COUNT.put(&mut words, segments.len() as u64);
        control_segment::LENGTH.put(&mut words, length.into());
        for (row, (address, handle, length)) in words[4..].chunks_exact_mut(2).zip(segments) {
            data_segment::ADDRESS.put(row, *address);
            data_segment::HANDLE.put(row, (*handle).into());
            data_segment::LENGTH.put(row, (*length).into());
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn check(control: u16, length: u32, segments: &[(u64, u32, u32)]) -> u32 {
        Descriptor::decode(&bytes(control, length, segments)).check_send(true, true, 1000)
    }

    #[test]
    fn format_comes_before_length() {
        assert_eq!(check(control::OP_SENDRECV, 7, &[(0, 1, 3), (9, 1, 4)]), 0);
        assert_eq!(check(control::OP_SENDRECV, 8, &[(0, 1, 3), (9, 1, 4)]), status::LENGTH_ERROR);
        assert_eq!(check(control::OP_SENDRECV, 1001, &[(0, 1, 1001)]), status::LENGTH_ERROR);
        assert_eq!(check(0x10, 8, &[(0, 1, 3)]), status::FORMAT_ERROR);
        assert_eq!(check(3, 3, &[(0, 1, 3)]), status::FORMAT_ERROR);
    }

    #[test]
    fn an_address_segment_is_not_counted_in_length() {
        assert_eq!(check(control::OP_RDMAWRITE, 4, &[(0, 1, 0), (9, 1, 4)]), 0);
        assert_eq!(check(control::OP_RDMAREAD, 4, &[(0, 1, 0), (9, 1, 4)]), 0);
        assert_eq!(check(control::OP_RDMAWRITE, 0, &[]), status::FORMAT_ERROR, "none");
        assert_eq!(
            check(control::OP_RDMAWRITE, 4, &[(0, 1, 1), (9, 1, 4)]),
            status::FORMAT_ERROR,
            "reserved"
        );
        let immediate = control::OP_RDMAREAD | control::IMMEDIATE;
        assert_eq!(check(immediate, 4, &[(0, 1, 0), (9, 1, 4)]), status::FORMAT_ERROR);
    }

    #[test]
    fn a_long_sum_is_known_before_anything_leaves() {
        assert_eq!(check(control::OP_SENDRECV, 7, &[(0, 1, 3), (9, 1, 4), (0, 0, 0)]), 0);
        assert_eq!(check(control::OP_SENDRECV, 8, &[(0, 1, 3), (9, 1, 4), (0, 0, 0)]), status::LENGTH_ERROR);
    }

    #[test]
    fn what_the_region_cuts_off_is_missed() {
        let mut cut = bytes(0, 4, &[(0, 1, 2), (0, 1, 2)]);
        cut.truncate(32 + 16);
        let cut = Descriptor::decode(&cut);
        assert_eq!(cut.end(), status::PROTECTION_ERROR);
        assert_eq!(cut.check_send(true, true, 1000), status::FORMAT_ERROR);
        assert_eq!(cut.check_receive(), status::FORMAT_ERROR);
    }
}
