//! One client's conversation: what each message does to the NIC, and what is replied.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use viaduct_driver::device::Bar;
use viaduct_driver::vfio_user::message::{
    irq, DeviceInfo, Header, IrqInfo, RegionInfo, Request, Version, Write, CONFIG_REGION, MAJOR,
};
use viaduct_spec::profile::VECTORS;

use super::channel::Message;
use super::dma::Port;
use super::loads::Loads;
use super::outbox::Outbox;
use super::version;
use crate::live::{Ended, Handle};
use crate::memory::{MapError, Range};
use crate::root_complex::{bar_bytes, Access, CONFIG_BYTES};

/// Regions as Linux numbers them for PCI: six BARs, ROM, configuration space, VGA.
const REGIONS: u32 = 9;

/// What to do after a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this; nothing if it is empty.
    Reply(Vec<u8>),
    /// Send this and close.
    Close(Vec<u8>),
    /// A load has begun: who steps the NIC will reply.
    Later,
}

/// The body of a reply; none where a load has begun.
type Body = Option<Vec<u8>>;

/// One client.
pub struct Session<'a> {
    nic: usize,
    handle: Handle,
    /// Version and capabilities are agreed.
    open: bool,
    /// Makes the way to the client's memory, for messages of so many bytes.
    port: &'a (dyn Fn(usize) -> Port + Sync),
    outbox: Outbox,
    loads: Loads,
}

impl From<Ended> for Errno {
    fn from(_: Ended) -> Self {
        Errno::NODEV
    }
}

fn errno(error: &MapError) -> Errno {
    match error {
        MapError::Shape { .. } | MapError::Cuts { .. } | MapError::Interrupts { .. } => Errno::INVAL,
        MapError::Overlap { .. } => Errno::EXIST,
        MapError::File { .. } => Errno::ACCESS,
        MapError::TooMany => Errno::NOSPC,
    }
}

fn bar(region: u32) -> Option<Bar> {
    match region {
        0 => Some(Bar::Registers),
        2 => Some(Bar::Doorbells),
        _ => None,
    }
}

fn region_bytes(region: u32) -> u64 {
    match region {
        CONFIG_REGION => CONFIG_BYTES as u64,
        _ => bar(region).map_or(0, bar_bytes),
    }
}

fn check(region: u32, offset: u64, length: usize) -> Result<(), Errno> {
    let end = offset.checked_add(length as u64).ok_or(Errno::INVAL)?;
    (region < REGIONS && end <= region_bytes(region)).then_some(()).ok_or(Errno::INVAL)
}

/// The load that a read of a region is; None: it is none, or several.
fn load(region: u32, offset: u64, length: usize) -> Option<Access> {
    check(region, offset, length).ok()?;
    Access::new(bar(region)?, offset, length)
}

/// Cuts a range into naturally aligned pieces of at most 8 bytes, as a processor would.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let (at, left) = (offset + done as u64, length - done);
        let largest = if left == 0 { return None } else { 1 << left.ilog2().min(3) };
        let aligned = 1 << at.trailing_zeros().min(3);
        let piece = largest.min(aligned);
        done += piece;
        Some((at, piece))
    })
}

impl<'a> Session<'a> {
    /// A client of this NIC's that has just connected.
    pub fn new(nic: usize, handle: Handle, port: &'a (dyn Fn(usize) -> Port + Sync), outbox: Outbox) -> Self {
        Self { nic, handle, open: false, port, outbox, loads: Loads::default() }
    }

    /// No more commands come: waits until each load that is under way has been replied to.
    pub fn finish(self) {
        self.loads.wait();
    }

    /// Does what a command asks for. Replies go out in the order of the commands, and nothing changes what a load that is under way finds: so all
    /// but loads and posted stores wait here until there is none.
    pub fn serve(&mut self, message: Message) -> Next {
        let header = message.header;
        let Message { body, fds, fds_lost, .. } = message;
        let request = match fds_lost {
            true => Err(Errno::TOOBIG),
            false => Request::decode(header.command, &body),
        };
        if !request.as_ref().is_ok_and(|request| self.is_beside_loads(header, request, &fds)) {
            self.loads.wait();
        }
        match request.and_then(|request| self.answer(header, request, fds)) {
            Ok(None) => Next::Later,
            Ok(Some(_)) if header.no_reply() => Next::Reply(Vec::new()),
            Ok(Some(body)) => Next::Reply(header.reply(&body)),
            Err(error) => {
                tracing::debug!(nic = self.nic, command = header.command, %error, "request refused");
                let reply = if header.no_reply() { Vec::new() } else { header.failure(error) };
                // Without an agreed version nothing that follows would mean anything.
                if self.open {
                    Next::Reply(reply)
                } else {
                    Next::Close(reply)
                }
            }
        }
    }

    /// Whether it is a load, to which the NIC replies in its time, or a store, to which nobody does.
    fn is_beside_loads(&self, header: Header, request: &Request<'_>, fds: &[OwnedFd]) -> bool {
        let is_posted = |write: &Write<'_>| header.no_reply() && bar(write.region).is_some();
        // Anything else that is refused is replied to at once.
        self.open
            && fds.is_empty()
            && match request {
                Request::Read { region, offset, count } => load(*region, *offset, *count as usize).is_some(),
                Request::Write(write) => is_posted(write),
                Request::WriteMulti(writes) => writes.iter().all(is_posted),
                _ => false,
            }
    }

    fn answer(&mut self, header: Header, request: Request<'_>, fds: Vec<OwnedFd>) -> Result<Body, Errno> {
        if self.open == matches!(request, Request::Version(_)) {
            return Err(Errno::INVAL);
        }
        let takes_fds = matches!(request, Request::DmaMap { .. } | Request::SetIrqs { .. });
        if !takes_fds && !fds.is_empty() {
            return Err(Errno::INVAL);
        }
        let body = match request {
            Request::Read { region, offset, count } => {
                return self.read(header, request.body(), (region, offset, count as usize));
            }
            Request::Write(write) => {
                self.write(&write)?;
                write.place()
            }
            Request::WriteMulti(ref writes) => {
                writes.iter().try_for_each(|write| self.write(write))?;
                (writes.len() as u64).to_le_bytes().to_vec()
            }
            Request::Version(Version { major, minor, largest }) => {
                if major != MAJOR {
                    return Err(Errno::PROTONOSUPPORT);
                }
                self.handle.attach(self.nic, Box::new((self.port)(largest)))?;
                self.open = true;
                version::reply(minor)
            }
            Request::DmaMap { readable, writable, offset, address, size } => {
                let range = Range { iova: address, length: size, offset, readable, writable };
                self.map(range, fds)?
            }
            Request::DmaUnmap { all: true, .. } => {
                self.handle.unmap_all(self.nic)?;
                request.body()
            }
            Request::DmaUnmap { address, size, all } => {
                let size = self.handle.unmap(self.nic, address, size)?.map_err(|error| errno(&error))?;
                Request::DmaUnmap { address, size, all }.body()
            }
            Request::DeviceInfo => {
                let flags = DeviceInfo::RESET | DeviceInfo::PCI;
                DeviceInfo { flags, regions: REGIONS, irqs: irq::INDICES }.body()
            }
            Request::RegionInfo { index, .. } => region_info(index)?.body(),
            Request::IrqInfo { index } => irq_info(index)?.body(),
            Request::SetIrqs { flags, index, start, count, data } => {
                self.set_irqs(flags, index, start, count, data, fds)?
            }
            Request::Reset => {
                self.handle.reset(self.nic)?;
                Vec::new()
            }
        };
        Ok(Some(body))
    }

    fn map(&self, range: Range, mut fds: Vec<OwnedFd>) -> Result<Vec<u8>, Errno> {
        if fds.len() > 1 {
            return Err(Errno::INVAL);
        }
        let file = fds.pop().map(File::from);
        match self.handle.map(self.nic, range, file)? {
            Ok(()) => Ok(Vec::new()),
            Err(error) => {
                tracing::warn!(nic = self.nic, %error, "DMA mapping refused");
                Err(errno(&error))
            }
        }
    }

    /// Reads so many bytes of a region at an offset, behind what the reply's `body` has already.
    fn read(
        &self,
        header: Header,
        mut body: Vec<u8>,
        (region, offset, length): (u32, u64, usize),
    ) -> Result<Body, Errno> {
        check(region, offset, length)?;
        let Some(bar) = bar(region) else {
            body.extend(self.handle.config_read(self.nic, offset as usize, length)?);
            return Ok(Some(body));
        };
        if let Some(access) = load(region, offset, length) {
            let load = self.loads.begin(&self.outbox, header, body, length);
            // Where the simulation has ended, the load is dropped and says so.
            let _ = self.handle.load_then(self.nic, access, |value| load.reply(value));
            return Ok(None);
        }
        for (at, size) in pieces(offset, length) {
            let access = Access::new(bar, at, size).ok_or(Errno::INVAL)?;
            let value = self.handle.load(self.nic, access)?;
            body.extend_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(Some(body))
    }

    fn write(&self, write: &Write<'_>) -> Result<(), Errno> {
        let Write { region, offset, data } = *write;
        check(region, offset, data.len())?;
        let Some(bar) = bar(region) else {
            return Ok(self.handle.config_write(self.nic, offset as usize, data.to_vec())?);
        };
        for (at, size) in pieces(offset, data.len()) {
            let access = Access::new(bar, at, size).ok_or(Errno::INVAL)?;
            let from = (at - offset) as usize;
            let mut value = [0; 8];
            value[..size].copy_from_slice(&data[from..from + size]);
            self.handle.store(self.nic, access, u64::from_le_bytes(value))?;
        }
        Ok(())
    }

    fn set_irqs(
        &self,
        flags: u32,
        index: u32,
        start: u32,
        count: u32,
        data: &[u8],
        fds: Vec<OwnedFd>,
    ) -> Result<Vec<u8>, Errno> {
        let kind = flags & (irq::DATA_NONE | irq::DATA_BOOL | irq::DATA_EVENTFD);
        let action = flags & (irq::ACTION_MASK | irq::ACTION_UNMASK | irq::ACTION_TRIGGER);
        let known = irq_count(index).ok_or(Errno::INVAL)?;
        start.checked_add(count).filter(|&end| end <= known).ok_or(Errno::INVAL)?;
        if flags != kind | action || !kind.is_power_of_two() || !action.is_power_of_two() {
            return Err(Errno::INVAL);
        }
        if kind != irq::DATA_EVENTFD && !fds.is_empty()
            || kind == irq::DATA_BOOL && data.len() < count as usize
        {
            return Err(Errno::INVAL);
        }
        if action != irq::ACTION_TRIGGER {
            // Vectors are masked in the MSI-X table, not here.
            return Err(Errno::NOTSUP);
        }
        if index != irq::MSIX {
            // There are none of these: nothing to switch off.
            return Ok(Vec::new());
        }
        let (start, count) = (start as usize, count as usize);
        let trigger = |n: usize| self.handle.raise(self.nic, start + n);
        match kind {
            irq::DATA_EVENTFD if fds.is_empty() => self.set_vectors(start, (0..count).map(|_| None))?,
            irq::DATA_EVENTFD => {
                if fds.len() != count || !fds.iter().all(is_eventfd) {
                    return Err(Errno::INVAL);
                }
                self.set_vectors(start, fds.into_iter().map(|fd| Some(File::from(fd))))?;
            }
            // No vectors at all: switch them off.
            irq::DATA_NONE if count == 0 => self.set_vectors(0, (0..VECTORS).map(|_| None))?,
            irq::DATA_NONE => (0..count).try_for_each(trigger)?,
            _ => (0..count).filter(|&n| data[n] != 0).try_for_each(trigger)?,
        }
        Ok(Vec::new())
    }

    fn set_vectors(&self, start: usize, eventfds: impl Iterator<Item = Option<File>>) -> Result<(), Errno> {
        Ok(self.handle.set_vectors(self.nic, start, eventfds.collect())?)
    }
}

fn region_info(index: u32) -> Result<RegionInfo, Errno> {
    if index >= REGIONS {
        return Err(Errno::INVAL);
    }
    let size = region_bytes(index);
    let flags = if size == 0 { 0 } else { RegionInfo::READ | RegionInfo::WRITE };
    Ok(RegionInfo { room: RegionInfo::BYTES, flags, index, size })
}

fn irq_count(index: u32) -> Option<u32> {
    match index {
        irq::MSIX => Some(VECTORS as u32),
        _ => (index < irq::INDICES).then_some(0),
    }
}

fn irq_info(index: u32) -> Result<IrqInfo, Errno> {
    let count = irq_count(index).ok_or(Errno::INVAL)?;
    let flags = if count == 0 { 0 } else { IrqInfo::EVENTFD | IrqInfo::NO_RESIZE };
    Ok(IrqInfo { flags, index, count })
}

/// Whether a client's descriptor is an eventfd: we write to it, and to nothing else.
fn is_eventfd(fd: &OwnedFd) -> bool {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    link.is_ok_and(|link| link.as_os_str() == "anon_inode:[eventfd]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_as_a_processor_would() {
        let cut = |offset, length| pieces(offset, length).collect::<Vec<_>>();
        assert_eq!(cut(0, 8), [(0, 8)]);
        assert_eq!(cut(4, 8), [(4, 4), (8, 4)]);
        assert_eq!(cut(1, 8), [(1, 1), (2, 2), (4, 4), (8, 1)]);
        assert_eq!(cut(0x10, 19), [(0x10, 8), (0x18, 8), (0x20, 2), (0x22, 1)]);
        assert_eq!(cut(7, 0), []);
    }
}
