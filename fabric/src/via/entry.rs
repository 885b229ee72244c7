//! How a completion queue writes what it tells: the forms of libfabric's entries.

use std::{
    ffi::{c_void, CStr},
    mem::size_of,
};

use vipl::Status;

use crate::via::{error::Errno, ffi, operation::Entry};

/// The form that a program has chosen for its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The program's word.
    Context,
    /// And what it was, and how long.
    Message,
    /// And where, and remote CQ data.
    Data,
    /// And a tag, which is 0.
    Tagged,
}

impl Format {
    /// The form by libfabric's number.
    ///
    /// # Errors
    /// There is none.
    pub fn of(number: ffi::fi_cq_format) -> Result<Self, Errno> {
        match number {
            ffi::FI_CQ_FORMAT_UNSPEC | ffi::FI_CQ_FORMAT_CONTEXT => Ok(Self::Context),
            ffi::FI_CQ_FORMAT_MSG => Ok(Self::Message),
            ffi::FI_CQ_FORMAT_DATA => Ok(Self::Data),
            ffi::FI_CQ_FORMAT_TAGGED => Ok(Self::Tagged),
            _ => Err(Errno::INVALID),
        }
    }

    /// Bytes of an entry.
    pub fn bytes(self) -> usize {
        match self {
            Self::Context => size_of::<ffi::fi_cq_entry>(),
            Self::Message => size_of::<ffi::fi_cq_msg_entry>(),
            Self::Data => size_of::<ffi::fi_cq_data_entry>(),
            Self::Tagged => size_of::<ffi::fi_cq_tagged_entry>(),
        }
    }

    /// Writes an entry.
    ///
    /// # Safety
    /// There is room for one at `place`.
    pub unsafe fn write(self, place: *mut c_void, entry: &Entry) {
        let Entry { flags, length: len, data, .. } = *entry;
        let (op_context, buf) = (entry.context.0, entry.buffer.0);
        // SAFETY: the caller's promise; programs need not align it.
        unsafe {
            match self {
                Self::Context => {
                    place.cast::<ffi::fi_cq_entry>().write_unaligned(ffi::fi_cq_entry { op_context })
                }
                Self::Message => {
                    let entry = ffi::fi_cq_msg_entry { op_context, flags, len };
                    place.cast::<ffi::fi_cq_msg_entry>().write_unaligned(entry);
                }
                Self::Data => {
                    let entry = ffi::fi_cq_data_entry { op_context, flags, len, buf, data };
                    place.cast::<ffi::fi_cq_data_entry>().write_unaligned(entry);
                }
                Self::Tagged => {
                    let entry = ffi::fi_cq_tagged_entry { op_context, flags, len, buf, data, tag: 0 };
                    place.cast::<ffi::fi_cq_tagged_entry>().write_unaligned(entry);
                }
            }
        }
    }
}

/// Writes an entry of an operation that has failed. What else the program has there stays: its buffer for more about the error, which gets nothing, and
/// fields of a libfabric that is newer than the headers.
///
/// # Safety
/// There is room for one at `place`, aligned as C has it.
pub unsafe fn fail(place: *mut ffi::fi_cq_err_entry, entry: &Entry, (error, status): (Errno, u32)) {
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut (*place).op_context).write(entry.context.0);
        (&raw mut (*place).flags).write(entry.flags);
        (&raw mut (*place).len).write(entry.length);
        (&raw mut (*place).buf).write(entry.buffer.0);
        (&raw mut (*place).data).write(entry.data);
        (&raw mut (*place).tag).write(0);
        // How much too long a message was nobody knows.
        (&raw mut (*place).olen).write(0);
        (&raw mut (*place).err).write(error.positive());
        (&raw mut (*place).prov_errno).write(status as i32);
        (&raw mut (*place).err_data_size).write(0);
    }
}

/// A descriptor's status in words.
pub fn words(status: u32) -> &'static CStr {
    let status = Status::from_bits_truncate(status);
    let table = [
        (Status::DESC_FLUSHED_ERROR, c"flushed: the connection ended before it was executed"),
        (Status::RDMA_PROT_ERROR, c"the peer's memory may not be reached so"),
        (Status::PROTECTION_ERROR, c"memory of this end may not be reached so"),
        (Status::LENGTH_ERROR, c"the message is longer than the buffers, or than messages may be"),
        (Status::REMOTE_DESC_ERROR, c"the peer's receive was in error, or none was there"),
        (Status::TRANSPORT_ERROR, c"the peer does not answer; whether it arrived is not known"),
        (Status::FORMAT_ERROR, c"the descriptor is malformed"),
    ];
    let found = table.iter().find(|(bit, _)| status.contains(*bit));
    found.map_or(c"the endpoint was closed before it was executed", |(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::via::object::Word;

    const ENTRY: Entry = Entry {
        context: Word(std::ptr::without_provenance_mut(1)),
        flags: 2,
        length: 3,
        buffer: Word(4 as *mut _),
        data: 5,
        error: None,
    };

    #[test]
    fn an_entry_is_the_beginning_of_each_longer_one() {
        let formats = [Format::Context, Format::Message, Format::Data, Format::Tagged];
        for format in formats {
            let mut words = [u64::MAX; 7];
            // SAFETY: the array has room for the longest.
            unsafe { format.write(words.as_mut_ptr().cast(), &ENTRY) };
            let count = format.bytes() / 8;
            assert_eq!(words[..count], [1, 2, 3, 4, 5, 0][..count], "{format:?}");
            assert!(words[count..].iter().all(|word| *word == u64::MAX), "{format:?}");
        }
        assert_eq!(formats.map(Format::bytes), [8, 24, 40, 48]);
        assert_eq!(Format::of(99), Err(Errno::INVALID));
    }

    #[test]
    fn an_error_has_its_number_and_its_words() {
        let status = (Status::DONE | Status::TRANSPORT_ERROR).bits();
        // SAFETY: a structure of C's, of which nothing but zeros is a value.
        let mut entry: ffi::fi_cq_err_entry = unsafe { std::mem::zeroed() };
        entry.err_data = 8 as *mut c_void;
        // SAFETY: it is there.
        unsafe { fail(&mut entry, &ENTRY, (Errno::ABORTED, status)) };
        assert_eq!((entry.err, entry.prov_errno as u32), (libc::ECONNABORTED, status));
        assert_eq!(
            (entry.op_context as usize, entry.err_data as usize),
            (1, 8),
            "a buffer of the program's stays"
        );
        assert!(words(status).to_string_lossy().contains("does not answer"));
        assert!(words(0).to_string_lossy().contains("closed"));
    }
}
