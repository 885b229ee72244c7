//! Every frame on the fabric as a pcap, stamped in device time with nanoseconds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

use crate::clock::{duration, Cycle};

/// Where captured frames go.
pub struct Capture {
    writer: PcapWriter<Box<dyn Write + Send>>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Capture")
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl Capture {
    /// Into a new file; one that is there is written over.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::new(Box::new(BufWriter::new(File::create(path)?)))
    }

    /// Into any writer.
    pub fn new(writer: Box<dyn Write + Send>) -> io::Result<Self> {
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            // The same bytes on every machine.
            endianness: Endianness::Little,
            snaplen: u32::MAX,
            ..PcapHeader::default()
        };
        Ok(Self { writer: PcapWriter::with_header(writer, header).map_err(io_error)? })
    }

    /// Adds a frame whose last byte was on the wire at `cycle`.
    pub fn frame(&mut self, cycle: Cycle, data: &[u8]) -> io::Result<()> {
        let packet = PcapPacket::new(duration(cycle), data.len() as u32, data);
        self.writer.write_packet(&packet).map(|_| ()).map_err(io_error)
    }

    /// Ends the capture with everything in the file.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_writer().flush()
    }
}
