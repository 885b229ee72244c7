//! What stands behind a socket is asked: the server, its version, the device and its regions.

use std::{os::unix::net::UnixStream, path::Path, sync::Mutex, time::Duration};

use rustix::net::sockopt;

use super::{
    connection::{connect_within, Connection, Failure},
    mapped,
    message::{
        files_taken, irq, DeviceInfo, IrqInfo, RegionInfo, Request, Version, CONFIG_REGION, MAJOR, MINOR,
    },
    refusal, refused_or_gone, Region, VfioUser, PAGE_BYTES, REPLY_TIMEOUT,
};
use crate::{device::DeviceError, memory};

/// What a server says to a client while it has another.
const BUSY: u32 = rustix::io::Errno::BUSY.raw_os_error() as u32;
/// Regions that a PCI function has at least: six BARs, the ROM, configuration space.
const PCI_REGIONS: u32 = 8;
/// Bytes of data that the client takes in a message. Servers that have its memory send none.
const LARGEST: usize = 4096;
/// The most vectors that MSI-X has.
const MSIX_VECTORS: u32 = 2048;

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
    #[tracing::instrument(level = "debug", skip_all, fields(path = %path.as_ref().display()), err(level = "debug"))]
    pub fn open_with_timeout(path: impl AsRef<Path>, timeout: Duration) -> Result<Self, DeviceError> {
        let path = path.as_ref();
        let place = path.display().to_string();
        let stream = connect_within(path, timeout).map_err(|error| DeviceError::Gone {
            place: place.clone(),
            reason: format!("connect: {error}"),
        })?;
        Self::talk(stream, place, timeout)
    }

    /// A device behind a connection that somebody else has made, and that nothing has been said on. `place` is what errors call it.
    ///
    /// # Errors
    /// As [`VfioUser::open`].
    #[tracing::instrument(level = "debug", skip_all, fields(place = place), err(level = "debug"))]
    pub fn of_stream(stream: UnixStream, place: &str) -> Result<Self, DeviceError> {
        let limit = |timeout| sockopt::set_socket_timeout(&stream, timeout, Some(REPLY_TIMEOUT));
        limit(sockopt::Timeout::Send).and_then(|()| limit(sockopt::Timeout::Recv)).map_err(|error| {
            DeviceError::System {
                request: format!("time-outs of the connection to {place}"),
                source: error.into(),
            }
        })?;
        Self::talk(stream, place.into(), REPLY_TIMEOUT)
    }

    /// Asks what stands behind a connection whose time-outs are set.
    fn talk(stream: UnixStream, place: String, timeout: Duration) -> Result<Self, DeviceError> {
        let [writable, readable] = memory::own()?;
        let mut connection = Connection::new(stream, timeout);
        let server = connection
            .peer()
            .map_err(|source| DeviceError::System { request: "SO_PEERCRED".into(), source })?;
        server.check_server().map_err(|reason| refusal(&format!("a connection to {place}"), reason))?;
        let named = |request: &str, failure| refused_or_gone(&place, request, failure);

        let ask = Request::Version(Version { major: MAJOR, minor: MINOR, largest: LARGEST });
        let answer = connection.call(&ask, &[]).map_err(|failure| match failure {
            Failure::Refused(errno) if errno == BUSY => refused_or_gone(
                &place,
                &format!("a connection to {place}, which is open in another program"),
                Failure::Refused(errno),
            ),
            failure => named("protocol version 0.1", failure),
        })?;
        let major = match answer.first_chunk() {
            Some(major) => u16::from_le_bytes(*major),
            None => return Err(named("version", short())),
        };
        if major != MAJOR {
            return Err(refusal("protocol version 0.1", format!("the server speaks version {major}")));
        }
        let files = files_taken(&answer);
        let info = connection
            .call(&Request::DeviceInfo, &[])
            .and_then(|body| DeviceInfo::decode(&body).map_err(|_| short()))
            .map_err(|f| named("device information", f))?;
        let DeviceInfo { flags, regions, irqs } = info;
        if flags & DeviceInfo::PCI == 0 || regions < PCI_REGIONS {
            return Err(refusal(
                "a PCI function",
                format!("{place} is none (flags {flags:#x}, {regions} regions)"),
            ));
        }
        let mut region = |index: u32, least: u64| -> Result<Region, DeviceError> {
            let info = connection
                .call(&Request::RegionInfo { room: RegionInfo::BYTES, index }, &[])
                .and_then(|body| RegionInfo::decode(&body).map_err(|_| short()))
                .map_err(|f| named(&format!("information on region {index}"), f))?;
            let RegionInfo { room, flags, size, .. } = info;
            let needed = RegionInfo::READ | RegionInfo::WRITE;
            if flags & needed != needed || size < least {
                return Err(refusal(
                    &format!("region {index}"),
                    format!("{least} bytes to read and write are needed; it has {size}, flags {flags:#x}"),
                ));
            }
            Ok(Region { index, size, mappable: (flags & RegionInfo::MMAP != 0).then_some(room) })
        };
        let registers = region(0, viaduct_spec::register::BAR0_BYTES)?;
        let doorbells = region(2, PAGE_BYTES)?;
        let config = region(CONFIG_REGION, 256)?;
        let mapped = match doorbells.mappable {
            Some(room) => mapped::map_whole(&mut connection, doorbells.index, doorbells.size, room)
                .map_err(|f| named("the doorbells' memory", f))?,
            None => None,
        };
        let vectors = match irqs > irq::MSIX {
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
}

/// MSI-X vectors that take eventfds; none where the server will not tell.
fn vectors(connection: &mut Connection) -> Result<u32, Failure> {
    let answer = match connection.call(&Request::IrqInfo { index: irq::MSIX }, &[]) {
        Ok(answer) => answer,
        Err(Failure::Refused(_)) => return Ok(0),
        Err(gone) => return Err(gone),
    };
    let IrqInfo { flags, count, .. } = IrqInfo::decode(&answer).map_err(|_| short())?;
    Ok(if flags & IrqInfo::EVENTFD == 0 { 0 } else { count.min(MSIX_VECTORS) })
}

/// An answer ends before all that it is to say.
fn short() -> Failure {
    Failure::Gone("its answer ends before its last field".into())
}
