//! An operation that is posted: what its completion is to say.

use crate::via::{
    error::Errno,
    ffi::{FI_COMPLETION, FI_MSG, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, FI_RMA},
    object::Word,
};
use vipl::Descriptor;

/// Whom the completion of an operation is told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The program, whatever becomes of it.
    Always,
    /// The program, if it fails: it has asked for no more (FI_SELECTIVE_COMPLETION).
    OnError,
    /// Nobody: it was injected, and has no word of the program's.
    Never,
}

impl Told {
    /// Of an operation with these flags, on a queue that tells of all of them or of some.
    pub fn of(flags: u64, is_selective: bool) -> Self {
        match is_selective && flags & FI_COMPLETION == 0 {
            true => Self::OnError,
            false => Self::Always,
        }
    }
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The program's word.
    pub context: Word,
    /// What it is: flags of a completion.
    pub flags: u64,
    /// Where a receive puts what comes: its first piece.
    pub buffer: Word,
    /// Whom its completion is told to.
    pub told: Told,
    /// It is the first part of an operation, or one in the middle: the completion of the last one tells.
    pub goes_on: bool,
}

/// What a completion queue tells of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The program's word.
    pub context: Word,
    /// What it was, and what came with it.
    pub flags: u64,
    /// Bytes that have come.
    pub length: usize,
    /// Where they are.
    pub buffer: Word,
    /// Remote CQ data.
    pub data: u64,
    /// Why it failed, and the status of its descriptor.
    pub error: Option<(Errno, u32)>,
}

impl Entry {
    /// What has become of an operation, by its descriptor.
    pub fn of(operation: &Operation, descriptor: &Descriptor) -> Self {
        let status = descriptor.status();
        let is_receive = operation.flags & FI_RECV != 0;
        let mut entry = Self {
            context: operation.context,
            flags: operation.flags,
            length: if is_receive { descriptor.length() } else { 0 },
            buffer: operation.buffer,
            data: descriptor.immediate().filter(|_| is_receive).map_or(0, u64::from),
            error: status.is_error().then(|| (Errno::of_status(status), status.bits())),
        };
        if is_receive && descriptor.operation() == Some(vipl::Operation::RemoteRdmaWrite) {
            entry.flags = FI_RMA | FI_REMOTE_WRITE;
        }
        if is_receive && descriptor.immediate().is_some() {
            entry.flags |= FI_REMOTE_CQ_DATA;
        }
        entry
    }

    /// It was posted, and nobody will execute it.
    pub fn canceled(operation: &Operation) -> Self {
        Self {
            context: operation.context,
            flags: operation.flags,
            length: 0,
            buffer: operation.buffer,
            data: 0,
            error: Some((Errno::CANCELED, 0)),
        }
    }
}

impl Operation {
    /// A receive into a buffer.
    pub fn receive(context: Word, buffer: Word, told: Told) -> Self {
        Self { context, flags: FI_MSG | FI_RECV, buffer, told, goes_on: false }
    }

    /// One that sends: these are the flags of its completion.
    pub fn send(context: Word, flags: u64, told: Told) -> Self {
        Self { context, flags, buffer: Word(std::ptr::null_mut()), told, goes_on: false }
    }
}
