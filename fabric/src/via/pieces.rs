//! The memory of an operation, as programs give it: pieces, each with the descriptor of its region.

use std::ffi::c_void;

use vipl::{DescriptorBuilder, Region};

use crate::via::{error::Errno, ffi, offer, region, work::Room};

/// Pieces of registered memory.
#[derive(Debug)]
pub struct Pieces(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    region: Region,
    offset: usize,
    length: usize,
}

impl Pieces {
    /// The pieces of a list, each with its descriptor. Those without bytes need none.
    ///
    /// # Errors
    /// Too many; one that is not registered, or not as a whole.
    ///
    /// # Safety
    /// So many pieces, and as many descriptors, of memory that is not closed; or NULL, if no piece has bytes.
    pub unsafe fn of(
        list: *const ffi::iovec,
        descriptors: *mut *mut c_void,
        count: usize,
    ) -> Result<Self, Errno> {
        if count > offer::SEGMENTS {
            return Err(Errno::INVALID);
        }
        // SAFETY: the caller's promise.
        let list = unsafe { ffi::slice(list, count) }?;
        let mut pieces = Vec::with_capacity(count);
        for (n, piece) in list.iter().enumerate().filter(|(_, piece)| piece.iov_len > 0) {
            // SAFETY: as above.
            let descriptor = *unsafe { ffi::slice(descriptors, count) }?.get(n).ok_or(Errno::INVALID)?;
            // SAFETY: as above.
            let region = unsafe { region::of_descriptor(descriptor) }?;
            let start = piece.iov_base.addr().checked_sub(region.address()).ok_or(Errno::INVALID)?;
            if start.checked_add(piece.iov_len).is_none_or(|end| end > region.length()) {
                return Err(Errno::INVALID);
            }
            pieces.push(Piece { region, offset: start, length: piece.iov_len });
        }
        Ok(Self(pieces))
    }

    /// Bytes of all of them.
    ///
    /// # Errors
    /// More than there can be.
    pub fn length(&self) -> Result<usize, Errno> {
        self.0.iter().try_fold(0usize, |sum, piece| sum.checked_add(piece.length)).ok_or(Errno::MESSAGE_SIZE)
    }

    /// Puts `length` bytes from `skip` on into a descriptor.
    ///
    /// # Errors
    /// The library's.
    pub fn describe(
        &self,
        mut descriptor: DescriptorBuilder,
        mut skip: usize,
        mut length: usize,
    ) -> Result<DescriptorBuilder, Errno> {
        for piece in &self.0 {
            let passed = skip.min(piece.length);
            let taken = (piece.length - passed).min(length);
            if taken > 0 {
                descriptor = descriptor.segment(&piece.region, piece.offset + passed, taken)?;
            }
            (skip, length) = (skip - passed, length - taken);
        }
        Ok(descriptor)
    }
}

/// Copies a list of pieces, which need not be registered, to where the NIC takes it, and puts that into a descriptor.
///
/// # Errors
/// [`Errno::MESSAGE_SIZE`]: more than [`offer::INJECT`]; NULL; the library's.
///
/// # Safety
/// So many pieces, which nobody changes meanwhile.
pub unsafe fn inject(
    descriptor: DescriptorBuilder,
    list: *const ffi::iovec,
    count: usize,
    room: Room<'_>,
) -> Result<DescriptorBuilder, Errno> {
    let mut length = 0;
    // SAFETY: the caller's promise.
    for piece in unsafe { ffi::slice(list, count) }? {
        if piece.iov_len > offer::INJECT - length {
            return Err(Errno::MESSAGE_SIZE);
        }
        // SAFETY: as above.
        let bytes = unsafe { ffi::slice(piece.iov_base.cast::<u8>(), piece.iov_len) }?;
        room.memory.write(room.offset + length, bytes)?;
        length += bytes.len();
    }
    match length {
        0 => Ok(descriptor),
        some => Ok(descriptor.segment(room.memory, room.offset, some)?),
    }
}
