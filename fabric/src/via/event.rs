//! What an event queue tells, and how it writes it.

use std::{
    ffi::c_void,
    mem::{offset_of, size_of},
    ptr::null_mut,
};

use crate::via::{error::Errno, ffi, info::Info, object::Word};

/// Something that an event queue tells.
#[derive(Debug)]
pub enum Event {
    /// Somebody asks a listener for a connection.
    Request {
        /// The listener's number and its fid.
        of: (u64, Word),
        /// Who asks, with the request.
        info: Info,
        /// Its data.
        data: Vec<u8>,
    },
    /// An endpoint is connected (FI_CONNECTED), or is so no longer (FI_SHUTDOWN).
    Connection {
        /// The endpoint's number and its fid.
        of: (u64, Word),
        /// Which of the two.
        what: u32,
        /// What the peer has answered.
        data: Vec<u8>,
    },
    /// A connection has come to nothing.
    Failed {
        /// The endpoint's number and its fid.
        of: (u64, Word),
        /// The program's word for the endpoint.
        context: Word,
        /// Why.
        error: Errno,
        /// What the peer has said.
        data: Vec<u8>,
    },
    /// What the program has written itself.
    Written {
        /// Its kind.
        what: u32,
        /// All of it.
        bytes: Vec<u8>,
    },
}

/// Bytes in front of the data of a connection's event.
const HEAD: usize = offset_of!(ffi::fi_eq_cm_entry, data);
const _: () = assert!(HEAD == size_of::<[*mut c_void; 2]>());

impl Event {
    /// Whether it is of the endpoint or the listener with this number.
    pub fn is_of(&self, number: u64) -> bool {
        match self {
            Self::Request { of, .. } | Self::Connection { of, .. } | Self::Failed { of, .. } => {
                of.0 == number
            }
            Self::Written { .. } => false,
        }
    }

    /// Whether it is an error.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Its kind, by libfabric's number.
    pub fn what(&self) -> u32 {
        match self {
            Self::Request { .. } => ffi::FI_CONNREQ,
            Self::Connection { what, .. } | Self::Written { what, .. } => *what,
            // It is read as an error.
            Self::Failed { .. } => ffi::FI_NOTIFY,
        }
    }

    /// Writes it into a buffer of so many bytes: how many it is. Data of a connection's are cut.
    ///
    /// # Errors
    /// [`Errno::TOO_SMALL`].
    ///
    /// # Safety
    /// `room` bytes at `place`.
    pub unsafe fn write(&self, place: *mut c_void, room: usize) -> Result<usize, Errno> {
        let (fid, info, data) = match self {
            Self::Written { bytes, .. } => {
                if bytes.len() > room {
                    return Err(Errno::TOO_SMALL);
                }
                // SAFETY: the caller's promise.
                unsafe { place.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
                return Ok(bytes.len());
            }
            Self::Request { of, info, data } => (of.1, info.pointer(), data),
            Self::Connection { of, data, .. } | Self::Failed { of, data, .. } => (of.1, null_mut(), data),
        };
        if room < HEAD {
            return Err(Errno::TOO_SMALL);
        }
        let count = data.len().min(room - HEAD);
        let head: [*mut c_void; 2] = [fid.0, info.cast()];
        // SAFETY: the caller's promise.
        unsafe {
            place.cast::<[*mut c_void; 2]>().write_unaligned(head);
            place.byte_add(HEAD).cast::<u8>().copy_from(data.as_ptr(), count);
        }
        Ok(HEAD + count)
    }

    /// It has been read: what it points to is the program's.
    pub fn give(self) {
        if let Self::Request { info, .. } = self {
            info.give();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connections_event_has_its_fid_and_as_much_of_the_data_as_there_is_room_for() {
        let fid = Word(0x1000 as *mut c_void);
        let event = Event::Connection { of: (7, fid), what: ffi::FI_CONNECTED, data: b"accepted".to_vec() };
        assert!(event.is_of(7) && !event.is_of(8) && !event.is_failure());
        let mut words = [u64::MAX; 4];
        // SAFETY: the array's own bytes, here and below.
        assert_eq!(unsafe { event.write(words.as_mut_ptr().cast(), 32) }, Ok(24));
        assert_eq!(words, [0x1000, 0, u64::from_ne_bytes(*b"accepted"), u64::MAX]);
        // SAFETY: as above.
        assert_eq!(unsafe { event.write(words.as_mut_ptr().cast(), 19) }, Ok(19));
        // SAFETY: as above.
        assert_eq!(unsafe { event.write(words.as_mut_ptr().cast(), 15) }, Err(Errno::TOO_SMALL));
    }

    #[test]
    fn what_a_program_wrote_is_read_as_a_whole_or_not_at_all() {
        let event = Event::Written { what: ffi::FI_NOTIFY, bytes: vec![1, 2, 3] };
        let mut bytes = [0u8; 4];
        // SAFETY: the array's own bytes, here and below.
        assert_eq!(unsafe { event.write(bytes.as_mut_ptr().cast(), 2) }, Err(Errno::TOO_SMALL));
        // SAFETY: as above.
        assert_eq!(unsafe { event.write(bytes.as_mut_ptr().cast(), 4) }, Ok(3));
        assert_eq!((bytes, event.is_of(0)), ([1, 2, 3, 0], false));
    }
}
