//! Who tells that an access of a NIC's was refused: not the NIC, which cannot know it of a write.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{bail, Context, Result};
use serde_json::Value;
use viaduct_driver::device::DmaAccess;

use crate::{
    kernel::{Fault, Log},
    ledger::Ledger,
    setting::{Place, Setting},
};

/// How long a witness may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Somebody who sees the accesses of one NIC.
pub enum Witness {
    /// The simulator that the NIC is in counts what it refused.
    Simulator {
        /// Its control socket.
        control: PathBuf,
        /// Number of the NIC.
        nic: usize,
        /// Count at the beginning.
        before: u64,
    },
    /// The kernel writes down what its IOMMU refused.
    Kernel {
        /// The log, from the beginning on.
        log: Log,
        /// What it has told of until now.
        faults: Vec<Fault>,
        /// Who must know of each fault that is provoked.
        ledger: Ledger,
        /// The function, as faults name it: `01:00.0`.
        device: String,
    },
    /// The server behind the guest has the IOMMU's maps and refuses in its place: the guest hears nothing.
    Nobody,
}

impl Witness {
    /// Sees what happens from now on.
    pub fn new(setting: &Setting, end: usize) -> Result<Self> {
        match (&setting.places()?[end], &setting.ledger) {
            (Place::Vfio(address), Some(ledger)) => {
                let device = address.split_once(':').context("an address with a domain")?.1.into();
                Ok(Self::Kernel { log: Log::from_now()?, faults: Vec::new(), ledger: ledger.clone(), device })
            }
            (Place::Vfio(_), None) => Ok(Self::Nobody),
            (Place::VfioUser(socket), _) => {
                let control = socket.with_file_name("control.sock");
                let name = socket.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
                match name.strip_prefix("nic").and_then(|number| number.parse().ok()) {
                    Some(nic) if control.exists() => {
                        let before = refused(&control, nic)?;
                        Ok(Self::Simulator { control, nic, before })
                    }
                    _ => Ok(Self::Nobody),
                }
            }
        }
    }

    /// An access of this kind to the page at `iova` has been refused since.
    pub fn confirms(&mut self, access: DmaAccess, iova: u64) -> Result<()> {
        let start = Instant::now();
        loop {
            let seen = match self {
                Self::Simulator { control, nic, before } => refused(control, *nic)? > *before,
                Self::Kernel { log, faults, ledger, device } => {
                    faults.extend(log.take()?.faults);
                    let write = access == DmaAccess::ReadWrite;
                    let provoked = Fault { write, device: device.clone(), page: iova & !0xfff };
                    let is_seen = faults.contains(&provoked);
                    if is_seen {
                        ledger.provoked(provoked);
                    }
                    is_seen
                }
                Self::Nobody => true,
            };
            if seen {
                return Ok(());
            }
            if start.elapsed() > LIMIT {
                match self {
                    Self::Kernel { faults, device, .. } => {
                        bail!("the kernel's log has no fault of {device} at {iova:#x}: {faults:?}")
                    }
                    _ => bail!("the simulator has refused nothing"),
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// How many accesses of a NIC a simulator has refused.
fn refused(control: &Path, nic: usize) -> Result<u64> {
    let status = status(control)?;
    let count = status["nics"][nic]["bus"]["unsupported"].as_u64();
    count.with_context(|| format!("no count of unsupported requests in {status}"))
}

/// A simulator's status.
fn status(control: &Path) -> Result<Value> {
    let mut stream = UnixStream::connect(control).with_context(|| control.display().to_string())?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(b"{\"command\":\"status\"}\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let mut answer: Value = serde_json::from_str(&line)?;
    Ok(answer["status"].take())
}
