//! Errors as libfabric has them: the system's numbers, and its own from 256 on.

use std::{ffi::c_int, fmt};

use vipl::{Error, Return, Status};

/// An error's number, which calls answer negated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(c_int);

impl Errno {
    /// Nothing is there, or no room; one is to try again.
    pub const AGAIN: Self = Self(libc::EAGAIN);
    /// A parameter, or a flag.
    pub const INVALID: Self = Self(libc::EINVAL);
    /// No memory, or no row left in a table of the NIC's.
    pub const MEMORY: Self = Self(libc::ENOMEM);
    /// The call is not there.
    pub const NO_CALL: Self = Self(libc::ENOSYS);
    /// Nothing that is asked for is offered (of fi_getinfo).
    pub const NO_DATA: Self = Self(libc::ENODATA);
    /// No room in a queue that cannot grow.
    pub const NO_SPACE: Self = Self(libc::ENOSPC);
    /// It is in use.
    pub const BUSY: Self = Self(libc::EBUSY);
    /// The NIC is gone.
    pub const NO_DEVICE: Self = Self(libc::ENODEV);
    /// The message is longer than messages may be.
    pub const MESSAGE_SIZE: Self = Self(libc::EMSGSIZE);
    /// The endpoint has no connection.
    pub const NOT_CONNECTED: Self = Self(libc::ENOTCONN);
    /// The endpoint has, or had, a connection.
    pub const IS_CONNECTED: Self = Self(libc::EISCONN);
    /// The operation was posted, and not executed.
    pub const CANCELED: Self = Self(libc::ECANCELED);
    /// The peer does not want the connection, or nobody waits.
    pub const REFUSED: Self = Self(libc::ECONNREFUSED);
    /// A connection ended.
    pub const ABORTED: Self = Self(libc::ECONNABORTED);
    /// Not offered of this object.
    pub const UNSUPPORTED: Self = Self(libc::EOPNOTSUPP);
    /// An option that is not there.
    pub const NO_OPTION: Self = Self(libc::ENOPROTOOPT);

    /// FI_EOTHER: a fault of the provider's own.
    pub const OTHER: Self = Self(256);
    /// FI_ETOOSMALL: the program's buffer.
    pub const TOO_SMALL: Self = Self(257);
    /// FI_EOPBADSTATE: not in this state.
    pub const STATE: Self = Self(258);
    /// FI_EAVAIL: an error is to be read.
    pub const ERROR_AVAILABLE: Self = Self(259);
    /// FI_EBADFLAGS: flags that are not known.
    pub const FLAGS: Self = Self(260);
    /// FI_ENOEQ: no event queue is bound.
    pub const NO_EQ: Self = Self(261);
    /// FI_ENOCQ: no completion queue is bound.
    pub const NO_CQ: Self = Self(263);
    /// FI_ETRUNC: the message is longer than the buffers that were posted for it.
    pub const TRUNCATED: Self = Self(265);

    /// As error entries have it.
    pub fn positive(self) -> c_int {
        self.0
    }

    /// As calls answer it.
    pub fn negative(self) -> c_int {
        -self.0
    }

    /// What became of a descriptor that completed in error.
    pub fn of_status(status: Status) -> Self {
        let table = [
            (Status::DESC_FLUSHED_ERROR, Self::CANCELED),
            (Status::RDMA_PROT_ERROR, Self(libc::EACCES)),
            (Status::PROTECTION_ERROR, Self(libc::EFAULT)),
            (Status::LENGTH_ERROR, Self::TRUNCATED),
            (Status::REMOTE_DESC_ERROR, Self(libc::EREMOTEIO)),
            (Status::TRANSPORT_ERROR, Self::ABORTED),
            (Status::FORMAT_ERROR, Self::INVALID),
        ];
        table.iter().find(|(bit, _)| status.contains(*bit)).map_or(Self(libc::EIO), |(_, error)| *error)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}", self.0)
    }
}

impl From<&Error> for Errno {
    fn from(error: &Error) -> Self {
        if error.is_gone() {
            return Self::NO_DEVICE;
        }
        match error {
            Error::Overrun(_) => return Self::AGAIN,
            Error::InUse => return Self::BUSY,
            _ => {}
        }
        match error.code() {
            Return::NotDone => Self::AGAIN,
            Return::ErrorResource => Self::MEMORY,
            Return::Timeout => Self(libc::ETIMEDOUT),
            Return::Reject | Return::NoMatch => Self::REFUSED,
            Return::NotReachable => Self(libc::EHOSTUNREACH),
            Return::InvalidState => Self::STATE,
            Return::ErrorNotSupported => Self::UNSUPPORTED,
            Return::Success
            | Return::InvalidParameter
            | Return::InvalidReliabilityLevel
            | Return::InvalidMtu
            | Return::InvalidQos
            | Return::InvalidPtag
            | Return::InvalidRdmaRead
            | Return::DescriptorError
            | Return::ErrorNameservice => Self::INVALID,
        }
    }
}

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        // The number says little: the log has the words.
        let errno = Self::from(&error);
        if errno != Self::AGAIN {
            tracing::debug!(%error, number = errno.positive(), "an error of the library's");
        }
        errno
    }
}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Self {
        error.raw_os_error().map_or(Self::OTHER, Self)
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Self(error.raw_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::via::ffi;

    #[test]
    fn libfabrics_own_numbers_are_its() {
        let numbers = [
            (Errno::OTHER, ffi::FI_EOTHER),
            (Errno::TOO_SMALL, ffi::FI_ETOOSMALL),
            (Errno::STATE, ffi::FI_EOPBADSTATE),
            (Errno::ERROR_AVAILABLE, ffi::FI_EAVAIL),
            (Errno::FLAGS, ffi::FI_EBADFLAGS),
            (Errno::NO_EQ, ffi::FI_ENOEQ),
            (Errno::NO_CQ, ffi::FI_ENOCQ),
            (Errno::TRUNCATED, ffi::FI_ETRUNC),
        ];
        assert!(numbers.iter().all(|(ours, its)| i64::from(ours.positive()) == i64::from(*its)));
    }

    #[test]
    fn a_flushed_operation_was_canceled_whatever_else_its_status_says() {
        let both = Status::DONE | Status::DESC_FLUSHED_ERROR | Status::TRANSPORT_ERROR;
        assert_eq!(Errno::of_status(both), Errno::CANCELED);
        assert_eq!(Errno::of_status(Status::DONE | Status::LENGTH_ERROR), Errno::TRUNCATED);
        assert_eq!(Errno::of_status(Status::PARTIAL_ERROR), Errno(libc::EIO));
    }

    #[test]
    fn a_full_queue_is_to_be_tried_again_and_a_refusal_is_one() {
        assert_eq!(Errno::from(&Error::Overrun(8)), Errno::AGAIN);
        assert_eq!(Errno::from(&Error::Rejected(vec![1])), Errno::REFUSED);
        assert_eq!(Errno::from(&Error::NoMatch), Errno::REFUSED);
        assert_eq!(Errno::from(&Error::InUse), Errno::BUSY);
        assert_eq!(Errno::from(Error::Range { offset: 1, length: 2, region: 2 }), Errno::INVALID);
    }
}
