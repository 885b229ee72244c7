//! A PCI function behind a vfio-user socket: the simulator, or any other server of the protocol.
//!
//! The server reaches this process's memory through a descriptor of `/proc/self/mem` that goes with
//! each mapping (file offset = virtual address), so any memory can be registered, not only shared
//! memory. Nothing that the server says is trusted: a reply that is late, short, long or not the one
//! that was due ends the connection, and from then on every call answers [`DeviceError::Gone`].

mod mapped;
mod message;

use std::{
    fs::File,
    io::{self, IoSlice, Read},
    mem::MaybeUninit,
    ops::RangeInclusive,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::{
        atomic::{AtomicU64, Ordering},
        Mutex, MutexGuard,
    },
    time::{Duration, Instant},
};

use message::Command;
use rustix::net::{
    connect, sendmsg, socket_with, sockopt, AddressFamily, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::{
    barrier,
    credentials::Credentials,
    device::{Bar, DeviceError, DmaAccess, PciDevice, Polling},
    fork::Birth,
    memory::{self, Mapping},
};

/// How long a reply may take. A server that died is seen at once, by the end of its stream; this is
/// for one that stopped answering.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(4);
/// What [`PciDevice::pause`] sleeps: long enough to leave the processor to the simulator, short
/// against anything a person waits for.
const PAUSE: Duration = Duration::from_micros(20);
/// What a server says to a client while it has another.
const BUSY: u32 = rustix::io::Errno::BUSY.raw_os_error() as u32;
/// The most vectors that MSI-X has.
const MSIX_VECTORS: u32 = 2048;
/// Pages of DMA maps.
const PAGE_BYTES: u64 = 4096;

/// A PCI function behind a vfio-user socket.
pub struct VfioUser {
    place: String,
    /// A child of a fork has the mapping, too, and may not use it.
    born: Birth,
    connection: Mutex<Connection>,
    /// `/proc/self/mem`, for memory that the device may write.
    writable: File,
    /// The same, opened for reading only: read-only maps stay so whatever the server does.
    readable: File,
    registers: Region,
    doorbells: Region,
    /// The doorbells, where the server lets its client map them.
    mapped: Option<Mapping>,
    config: Region,
    /// MSI-X vectors.
    vectors: u32,
    /// Descriptors that the server takes with one message.
    files: usize,
}

struct Connection {
    born: Birth,
    stream: UnixStream,
    next_id: u16,
    timeout: Duration,
    /// Why the server is gone, once it is.
    gone: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Region {
    index: u32,
    size: u64,
    /// Bytes of all that the server says of it, if it may be mapped.
    mappable: Option<u32>,
}

/// How a call failed.
enum Failure {
    /// The server said no, with an errno or 0. The connection goes on.
    Refused(u32),
    /// This is a child of the process that opened it.
    Forked,
    /// The connection is of no use any more.
    Gone(String),
}

impl VfioUser {
    /// Connects to the server's socket at `path` and asks what stands behind it.
    ///
    /// # Errors
    /// [`DeviceError::Gone`] when nobody answers there or not in the protocol,
    /// [`DeviceError::Refused`] when it is not a PCI function with BAR 0 and BAR 2.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DeviceError> {
        Self::open_with_timeout(path, REPLY_TIMEOUT)
    }

    /// [`VfioUser::open`] with another limit on how long a reply may take.
    pub fn open_with_timeout(path: impl AsRef<Path>, timeout: Duration) -> Result<Self, DeviceError> {
        let path: PathBuf = path.as_ref().into();
        let place = path.display().to_string();
        let [writable, readable] = memory::own()?;
        let stream = connect_within(&path, timeout).map_err(|error| DeviceError::Gone {
            place: place.clone(),
            reason: format!("connect: {error}"),
        })?;
        let server = Credentials::of_peer(&stream)
            .map_err(|source| DeviceError::System { request: "SO_PEERCRED".into(), source })?;
        server.check_server().map_err(|reason| refusal(&format!("a connection to {place}"), reason))?;
        let mut connection = Connection { born: Birth::now(), stream, next_id: 0, timeout, gone: None };
        let named = |request: &str, failure| refused_or_gone(&place, request, failure);

        let answer =
            connection.call(Command::Version, &[&message::version()], &[]).map_err(
                |failure| match failure {
                    Failure::Refused(errno) if errno == BUSY => refused_or_gone(
                        &place,
                        &format!("a connection to {place}, which is open in another program"),
                        Failure::Refused(errno),
                    ),
                    failure => named("protocol version 0.1", failure),
                },
            )?;
        let major = message::u32_at(&answer, 0).map_err(|r| named("version", Failure::Gone(r)))? as u16;
        if major != 0 {
            return Err(refusal("protocol version 0.1", format!("the server speaks version {major}")));
        }
        let files = message::files_taken(&answer);
        let info = connection
            .call(Command::DeviceInfo, &[&message::device_info()], &[])
            .map_err(|f| named("device information", f))?;
        let word = |at| message::u32_at(&info, at).map_err(|r| named("device information", Failure::Gone(r)));
        let (flags, regions, irqs) = (word(4)?, word(8)?, word(12)?);
        if flags & message::DEVICE_PCI == 0 || regions < message::PCI_REGIONS {
            return Err(refusal(
                "a PCI function",
                format!("{place} is none (flags {flags:#x}, {regions} regions)"),
            ));
        }
        let mut region = |index: u32, least: u64| -> Result<Region, DeviceError> {
            let request = format!("information on region {index}");
            let answer = connection
                .call(Command::RegionInfo, &[&message::region_info(index, message::REGION_INFO_BYTES)], &[])
                .map_err(|f| named(&request, f))?;
            let broken = |r| named(&request, Failure::Gone(r));
            let flags = message::u32_at(&answer, 4).map_err(broken)?;
            let size = message::u64_at(&answer, 16).map_err(broken)?;
            let needed = message::REGION_READ | message::REGION_WRITE;
            if flags & needed != needed || size < least {
                return Err(refusal(
                    &format!("region {index}"),
                    format!("{least} bytes to read and write are needed; it has {size}, flags {flags:#x}"),
                ));
            }
            let room = message::u32_at(&answer, 0).map_err(broken)?;
            Ok(Region { index, size, mappable: (flags & message::REGION_MMAP != 0).then_some(room) })
        };
        let registers = region(0, viaduct_spec::register::BAR0_BYTES)?;
        let doorbells = region(2, PAGE_BYTES)?;
        let config = region(message::CONFIG_REGION, 256)?;
        let mapped = match doorbells.mappable {
            Some(room) => mapped::map_whole(&mut connection, doorbells.index, doorbells.size, room)
                .map_err(|f| named("the doorbells' memory", f))?,
            None => None,
        };
        let vectors = match irqs > message::IRQ_MSIX {
            true => vectors(&mut connection).map_err(|f| named("information on interrupts", f))?,
            false => 0,
        };
        Ok(Self {
            place,
            born: connection.born,
            connection: Mutex::new(connection),
            writable,
            readable,
            registers,
            doorbells,
            mapped,
            config,
            vectors,
            files,
        })
    }

    /// The socket's path.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked with the lock held left no half-sent message behind that `gone`
        // would not show: calls end it on every early return.
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn call(
        &self,
        request: impl Fn() -> String,
        command: Command,
        body: &[&[u8]],
        files: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, DeviceError> {
        self.connection()
            .call(command, body, files)
            .map_err(|failure| refused_or_gone(&self.place, &request(), failure))
    }

    fn region(&self, bar: Bar) -> Region {
        match bar {
            Bar::Registers => self.registers,
            Bar::Doorbells => self.doorbells,
        }
    }

    fn read(&self, region: Region, offset: u64, count: u32) -> Result<Vec<u8>, DeviceError> {
        let request = || format!("a read of {count} bytes at {offset:#x} of region {}", region.index);
        check_place(region, offset, count, request)?;
        let access = message::region_access(region.index, offset, count);
        let answer = self.call(request, Command::RegionRead, &[&access], &[])?;
        if answer.get(..16) != Some(&access[..]) || answer.len() != 16 + count as usize {
            let reason = format!("it answered {} with {} bytes of something else", request(), answer.len());
            return Err(self.end(reason));
        }
        Ok(answer[16..].to_vec())
    }

    fn write(&self, region: Region, offset: u64, data: &[u8], posted: bool) -> Result<(), DeviceError> {
        let count = data.len() as u32;
        let request = || format!("a write of {count} bytes at {offset:#x} of region {}", region.index);
        check_place(region, offset, count, request)?;
        let access = message::region_access(region.index, offset, count);
        if posted {
            self.connection()
                .post(Command::RegionWrite, &[&access, data])
                .map_err(|failure| refused_or_gone(&self.place, &request(), failure))
        } else {
            self.call(request, Command::RegionWrite, &[&access, data], &[]).map(drop)
        }
    }

    /// A store to the doorbells that are mapped.
    fn store(&self, mapped: &Mapping, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.born.check()?;
        check_place(self.doorbells, offset, 8, || {
            format!("a store of 8 bytes at {offset:#x} of the doorbells")
        })?;
        barrier::to_device();
        // SAFETY: aligned and inside the region, all of which is mapped, by the check; everybody accesses it as atomics.
        let word = unsafe { mapped.start().add(offset as usize).cast::<AtomicU64>().as_ref() };
        word.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    /// Ends the connection because of what the server did.
    fn end(&self, reason: String) -> DeviceError {
        let reason = self.connection().end(reason);
        DeviceError::Gone { place: self.place.clone(), reason }
    }
}

impl PciDevice for VfioUser {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        let bytes = self.read(self.region(bar), offset, 4)?;
        message::u32_at(&bytes, 0).map_err(|reason| self.end(reason))
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        let bytes = self.read(self.region(bar), offset, 8)?;
        message::u64_at(&bytes, 0).map_err(|reason| self.end(reason))
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.write(self.region(bar), offset, &value.to_le_bytes(), true)
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        if let (Bar::Doorbells, Some(mapped)) = (bar, &self.mapped) {
            return self.store(mapped, offset, value);
        }
        self.write(self.region(bar), offset, &value.to_le_bytes(), true)
    }

    fn write64_taken(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        if let (Bar::Doorbells, Some(mapped)) = (bar, &self.mapped) {
            // A server that lets its doorbells be mapped sees a store before it sees a frame that comes later: `mapped`.
            return self.store(mapped, offset, value);
        }
        // The server answers when it has handed it on.
        self.write(self.region(bar), offset, &value.to_le_bytes(), false)
    }

    fn doorbell_page(&self, offset: u64) -> Option<NonNull<u8>> {
        let mapped = self.mapped.as_ref().filter(|_| offset % PAGE_BYTES == 0)?;
        let end = offset.checked_add(PAGE_BYTES).filter(|end| *end <= mapped.length() as u64)?;
        // SAFETY: the page ends inside the mapping.
        Some(unsafe { mapped.start().add((end - PAGE_BYTES) as usize) })
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        let bytes = self.read(self.config, offset.into(), 4)?;
        message::u32_at(&bytes, 0).map_err(|reason| self.end(reason))
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        // Configuration writes are non-posted in PCI.
        self.write(self.config, offset.into(), &value.to_le_bytes(), false)
    }

    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let file = match access {
            DmaAccess::Read => &self.readable,
            DmaAccess::ReadWrite => &self.writable,
        };
        self.map_file(iova, file.as_fd(), address as u64, length, access)
    }

    fn map_file(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let request = || format!("a map of {length:#x} bytes at {offset:#x} to DMA address {iova:#x}");
        check_pages(&[iova, offset, length as u64], request)?;
        let flags = match access {
            DmaAccess::Read => message::DMA_READ,
            DmaAccess::ReadWrite => message::DMA_READ | message::DMA_WRITE,
        };
        let body = message::dma_map(flags, offset, iova, length as u64);
        self.call(request, Command::DmaMap, &[&body], &[file]).map(drop)
    }

    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        let request = || format!("the unmap of {length:#x} bytes at DMA address {iova:#x}");
        check_pages(&[iova, length as u64], request)?;
        self.call(request, Command::DmaUnmap, &[&message::dma_unmap(iova, length as u64)], &[]).map(drop)
    }

    /// Below what x86 keeps for interrupts, and above it: the server translates whatever it is told to, the
    /// rest is habit.
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        vec![0x1000..=0xfedf_ffff, 0xfef0_0000..=(1 << 47) - 1]
    }

    fn vectors(&self) -> usize {
        self.vectors as usize
    }

    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        let request = || format!("interrupts on {} vectors", events.len());
        if events.len() > self.vectors() {
            return Err(refusal(&request(), format!("there are {}", self.vectors)));
        }
        let set = |flags, start, files: &[BorrowedFd<'_>]| {
            let body = message::set_irqs(flags | message::IRQ_TRIGGER, start, files.len() as u32);
            self.call(request, Command::SetIrqs, &[&body], files).map(drop)
        };
        if self.vectors > 0 {
            set(message::IRQ_NONE, 0, &[])?;
        }
        for (files, n) in events.chunks(self.files).zip(0..) {
            set(message::IRQ_DATA_EVENTFD, n * self.files as u32, files)?;
        }
        Ok(())
    }

    fn may_sleep(&self) -> bool {
        true
    }

    /// A server that looks at memory for doorbells has a processor for that.
    fn polling(&self) -> Polling {
        match self.mapped {
            Some(_) => Polling::Spin,
            None => Polling::Yield,
        }
    }

    fn reset(&self) -> Result<(), DeviceError> {
        self.call(|| "a function reset".into(), Command::Reset, &[], &[]).map(drop)
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }
}

impl Connection {
    /// Sends a command and returns its reply's body.
    fn call(
        &mut self,
        command: Command,
        body: &[&[u8]],
        files: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, Failure> {
        let id = self.send(command, false, body, files)?;
        self.answer(id, command, None)
    }

    /// [`Connection::call`], whose answer may have a file with it.
    fn call_for_file(
        &mut self,
        command: Command,
        body: &[&[u8]],
    ) -> Result<(Vec<u8>, Option<OwnedFd>), Failure> {
        let id = self.send(command, false, body, &[])?;
        let mut file = None;
        Ok((self.answer(id, command, Some(&mut file))?, file))
    }

    fn answer(
        &mut self,
        id: u16,
        command: Command,
        file: Option<&mut Option<OwnedFd>>,
    ) -> Result<Vec<u8>, Failure> {
        let answer = self.receive(id, command, file).map_err(|reason| Failure::Gone(self.end(reason)))?;
        answer.map_err(Failure::Refused)
    }

    /// Sends a command that has no reply.
    fn post(&mut self, command: Command, body: &[&[u8]]) -> Result<(), Failure> {
        self.send(command, true, body, &[]).map(drop)
    }

    fn send(
        &mut self,
        command: Command,
        posted: bool,
        body: &[&[u8]],
        files: &[BorrowedFd<'_>],
    ) -> Result<u16, Failure> {
        self.born.check().map_err(|_| Failure::Forked)?;
        if let Some(reason) = &self.gone {
            return Err(Failure::Gone(reason.clone()));
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let message = message::command(id, command, posted, body);
        let sent = send_all(&self.stream, &message, files);
        match sent {
            Ok(()) => Ok(id),
            Err(error) => Err(Failure::Gone(self.end(describe(&error, "takes nothing")))),
        }
    }

    /// The outer error ends the connection; the inner one is the server's errno.
    fn receive(
        &mut self,
        id: u16,
        command: Command,
        file: Option<&mut Option<OwnedFd>>,
    ) -> Result<Result<Vec<u8>, u32>, String> {
        let mut header = [0; message::HEADER_BYTES];
        let deadline = Instant::now() + self.timeout;
        let read = |error: io::Error| describe(&error, "does not answer");
        // A file comes with the first byte.
        let first = match file {
            Some(file) => match mapped::read_with_file(&self.stream, &mut header, file).map_err(read)? {
                0 => return Err(read(io::ErrorKind::UnexpectedEof.into())),
                count => count,
            },
            None => 0,
        };
        read_by(&self.stream, &mut header[first..], deadline).map_err(read)?;
        let reply = message::reply(&header, id, command)?;
        let mut body = vec![0; reply.body];
        read_by(&self.stream, &mut body, deadline).map_err(read)?;
        Ok(match reply.failed {
            Some(errno) => Err(errno),
            None => Ok(body),
        })
    }

    /// Ends the connection; the first reason stays.
    fn end(&mut self, reason: String) -> String {
        // The server may be alive and only confused: the end of the stream tells it to let go of
        // the memory that it was given.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        self.gone.get_or_insert(reason).clone()
    }
}

/// MSI-X vectors that take eventfds; none where the server will not tell.
fn vectors(connection: &mut Connection) -> Result<u32, Failure> {
    let answer = match connection.call(Command::IrqInfo, &[&message::irq_info(message::IRQ_MSIX)], &[]) {
        Ok(answer) => answer,
        Err(Failure::Refused(_)) => return Ok(0),
        Err(gone) => return Err(gone),
    };
    let word = |at| message::u32_at(&answer, at).map_err(Failure::Gone);
    let (flags, count) = (word(4)?, word(12)?);
    Ok(if flags & message::IRQ_EVENTFD == 0 { 0 } else { count.min(MSIX_VECTORS) })
}

/// Connects, in `timeout` at most; replies are waited for as long.
fn connect_within(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(timeout))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(timeout))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Sends `bytes`, file descriptors with the first of them. A server that is gone is an error, never
/// a SIGPIPE: the program may have its own idea of that signal.
fn send_all(stream: &UnixStream, mut bytes: &[u8], mut files: &[BorrowedFd<'_>]) -> io::Result<()> {
    while !bytes.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(message::MAX_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::Error::other("no room for the file descriptors"));
        }
        match sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => {
                bytes = &bytes[count..];
                files = &[];
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fills `bytes`. The socket's own time-out limits each read; the deadline limits a server that
/// sends a byte now and then.
fn read_by(mut stream: &UnixStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match stream.read(&mut bytes[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled < bytes.len() && Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

/// What an I/O error says about the server.
fn describe(error: &io::Error, slow: &str) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            "it closed the connection".into()
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!("it {slow}"),
        _ => error.to_string(),
    }
}

fn refusal(request: &str, reason: String) -> DeviceError {
    DeviceError::Refused { request: request.into(), reason }
}

fn refused_or_gone(place: &str, request: &str, failure: Failure) -> DeviceError {
    match failure {
        Failure::Refused(0) => refusal(request, format!("{place} gives no reason")),
        Failure::Refused(errno) => {
            refusal(request, io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(0)).to_string())
        }
        Failure::Forked => DeviceError::Forked,
        Failure::Gone(reason) => DeviceError::Gone { place: place.into(), reason },
    }
}

fn check_place(
    region: Region,
    offset: u64,
    count: u32,
    request: impl Fn() -> String,
) -> Result<(), DeviceError> {
    let count = u64::from(count);
    if offset % count != 0 {
        return Err(refusal(&request(), "offsets are naturally aligned".into()));
    }
    if offset.checked_add(count).is_none_or(|end| end > region.size) {
        return Err(refusal(&request(), format!("the region has {:#x} bytes", region.size)));
    }
    Ok(())
}

fn check_pages(numbers: &[u64], request: impl Fn() -> String) -> Result<(), DeviceError> {
    if numbers.iter().any(|n| n % PAGE_BYTES != 0) {
        return Err(refusal(&request(), format!("not in whole pages of {PAGE_BYTES} bytes")));
    }
    Ok(())
}
