//! The kernel's log, and the faults of the IOMMU in it.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use rustix::{
    fs::{seek, OFlags, SeekFrom},
    time::{clock_gettime, ClockId},
};

/// Where the log is.
const LOG: &str = "/dev/kmsg";
/// The kernel says no more than ten things of faults in five seconds, and counts each fault as three. Before
/// we make one, it must have told of so few in the last while that it will tell of ours.
pub const WINDOW: Duration = Duration::from_millis(5500);
const FAULTS_IN_WINDOW: usize = 2;

/// The log, from some point on.
#[derive(Debug)]
pub struct Log(File);

/// What the log says of faults.
#[derive(Debug, Default)]
pub struct Said {
    /// Each that it tells of.
    pub faults: Vec<Fault>,
    /// Lines that say how many it does not tell of.
    pub suppressed: Vec<String>,
}

/// An access that the IOMMU refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A write.
    pub write: bool,
    /// The function: `01:00.0`.
    pub device: String,
    /// DMA address of the page.
    pub page: u64,
}

impl Log {
    /// What is written from now on; waits until the kernel would say of a fault.
    pub fn from_now() -> Result<Self> {
        loop {
            let mut log = Self::open()?;
            let now = clock_gettime(ClockId::Monotonic);
            let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
            let mut recent = 0;
            while let Some(record) = log.record()? {
                let fresh = now.saturating_sub(record.time) < WINDOW;
                recent += usize::from(fresh && fault(&record.text).is_some());
            }
            if recent <= FAULTS_IN_WINDOW {
                return Ok(log);
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// What was written since the last time.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn take(&mut self) -> Result<Said> {
        let mut said = Said::default();
        while let Some(record) = self.record()? {
            if is_suppression(&record.text) {
                said.suppressed.push(record.text);
            } else {
                said.faults.extend(fault(&record.text));
            }
        }
        Ok(said)
    }

    fn open() -> Result<Self> {
        let flags = OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(LOG).context(LOG)?;
        // The oldest record that there is.
        seek(&file, SeekFrom::Start(0)).context(LOG)?;
        Ok(Self(file))
    }

    fn record(&mut self) -> Result<Option<Record>> {
        let mut buffer = [0; 8192];
        loop {
            match self.0.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(length) => {
                    // A record of another form is none of ours.
                    if let Some(record) = parse(&String::from_utf8_lossy(&buffer[..length])) {
                        return Ok(Some(record));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // The record was overwritten before we read it: the next one.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error).context(LOG),
            }
        }
    }
}

/// A line of the log.
struct Record {
    /// Since the system started.
    time: Duration,
    text: String,
}

/// `priority,sequence,microseconds,flags;text`
fn parse(record: &str) -> Option<Record> {
    let (head, text) = record.split_once(';')?;
    let time = Duration::from_micros(head.split(',').nth(2)?.parse().ok()?);
    Some(Record { time, text: text.lines().next()?.into() })
}

/// `dmar_fault: 5 callbacks suppressed`
fn is_suppression(line: &str) -> bool {
    line.starts_with("dmar_fault: ") && line.ends_with(" callbacks suppressed")
}

/// `DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x2000 [fault reason 0x05] ...`
fn fault(line: &str) -> Option<Fault> {
    let rest = line.strip_prefix("DMAR: [DMA ")?;
    let write = rest.starts_with("Write");
    let (_, rest) = rest.split_once("device [")?;
    let (device, rest) = rest.split_once(']')?;
    let (_, rest) = rest.split_once("fault addr 0x")?;
    let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    let page = u64::from_str_radix(digits, 16).ok()? & !0xfff;
    Some(Fault { write, device: device.into(), page })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_out_of_the_log() {
        let text = "3,412,7423001,-;DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x100200000 [fault reason 0x05] PTE Write access is not set\n SUBSYSTEM=x\n";
        let record = parse(text).expect("a record");
        assert_eq!(record.time, Duration::from_micros(7_423_001));
        let found = fault(&record.text).expect("a fault");
        assert_eq!(found, Fault { write: true, device: "01:00.0".into(), page: 0x1_0020_0000 });
        let read =
            "DMAR: [DMA Read NO_PASID] Request device [02:00.0] fault addr 0xfffe1234 [fault reason 0x06]";
        assert_eq!(fault(read), Some(Fault { write: false, device: "02:00.0".into(), page: 0xfffe_1000 }));
        for other in ["DMAR: DRHD: handling fault status reg 2", "usb 1-1: new device", ""] {
            assert_eq!(fault(other), None, "{other:?}");
        }
        assert!(is_suppression("dmar_fault: 5 callbacks suppressed"));
        assert!(!is_suppression("vfio_dma: 5 callbacks suppressed") && !is_suppression("dmar_fault: more"));
        assert!(parse("no record").is_none() && parse("1,2;3").is_none());
    }
}
