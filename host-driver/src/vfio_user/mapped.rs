//! Doorbells that a server lets its client map: a store is then a store, and no message.
//!
//! A server that offers this must look at the page before it takes in a frame: a receive counts as posted when its doorbell is in memory
//! ([`crate::device::PciDevice::write64_taken`]).

use std::os::fd::AsFd;

use super::{
    connection::{Connection, Failure, MAX_REPLY_BYTES},
    message::{self, Request},
};
use crate::{device::DmaAccess, memory::Mapping, vfio::info::RegionInfo};

/// The whole region `index` of `size` bytes, mapped; None where the server does not offer all of it as one memfd that can become no
/// shorter. `room`: bytes of all that the server says of it.
pub(super) fn map_whole(
    connection: &mut Connection,
    index: u32,
    size: u64,
    room: u32,
) -> Result<Option<Mapping>, Failure> {
    let room = room.clamp(message::RegionInfo::BYTES, MAX_REPLY_BYTES as u32);
    let (answer, file) = match connection.call_for_file(&Request::RegionInfo { room, index }) {
        Err(Failure::Refused(_)) => return Ok(None),
        answer => answer?,
    };
    let info = RegionInfo::parse(&answer).map_err(Failure::Gone)?;
    let is_whole = info.size == size && info.offset == 0 && info.areas == [(0, size)];
    let (Some(file), true, Ok(length)) = (file, is_whole, usize::try_from(size)) else { return Ok(None) };
    // Any other file is not mapped: who stores behind its end would die.
    Ok(Mapping::of(file.as_fd(), length, DmaAccess::ReadWrite).ok())
}
