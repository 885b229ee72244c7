//! The two NICs, open, with memory on each; and the transfer that must always work.

use std::{
    net::Ipv4Addr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure, Context, Result};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    agent::Options,
    device::{Bar, PciDevice},
};
use viaduct_spec::{
    handle::queue_pair,
    register::{counter, registers, state},
};
use vipl::{
    ConnectionInfo, Descriptor, Error, Mac, MemAttributes, Nic, Ptag, Region, ReliabilityLevel, Vi,
    ViAttributes,
};

use crate::{meddling::Meddling, memory::Pages, note::note, setting::Setting, witness::Witness};

/// How long anything may take that must happen: a guest whose every instruction is emulated, and an RTL NIC whose every cycle is, beside other programs.
/// A sender whose peer is gone gives up after a second of the NIC's time, which is a hundred million cycles.
pub const LIMIT: Duration = Duration::from_secs(120);
/// The levels that there are.
pub const LEVELS: [ReliabilityLevel; 2] =
    [ReliabilityLevel::UnreliableDelivery, ReliabilityLevel::ReliableDelivery];
/// Data of a transfer: three packets and a bit.
const BYTES: usize = 3500;
/// Where each end's data lies in its memory: behind a page of descriptors.
pub const DATA: usize = 4096;
/// Bytes of each end's memory.
const MEMORY: usize = 4 * 4096;
/// Descriptors lie so far from each other.
const STRIDE: usize = 128;

/// Two open NICs.
pub struct Bench {
    /// Both.
    pub ends: [End; 2],
    /// Where they are.
    pub setting: Setting,
    random: ChaCha8Rng,
}

/// One NIC.
pub struct End {
    /// Its device, to meddle with.
    pub device: Arc<Meddling>,
    /// The NIC.
    pub nic: Nic,
    /// The tag of all memory and VIs here.
    pub ptag: Ptag,
    /// Descriptors in the first page, data from [`DATA`] on.
    pub memory: Region,
    next: usize,
    /// Memory that regions are made of: last, so that it is dropped behind the NIC.
    kept: Vec<Arc<Pages>>,
}

impl Bench {
    /// Opens both.
    pub fn open(setting: &Setting) -> Result<Self> {
        let seed = rand::random();
        note(format!("seed {seed:#x}"));
        let [a, b] = setting.places()?;
        let devices = [a.open()?, b.open()?];
        let mut number = 0;
        let ends = devices.map(|device| {
            number += 1;
            End::open(device, number)
        });
        let [a, b] = ends;
        Ok(Self { ends: [a?, b?], setting: setting.clone(), random: ChaCha8Rng::seed_from_u64(seed) })
    }

    /// Two VIs, connected.
    pub fn connect(&self, level: ReliabilityLevel) -> Result<[Vi; 2]> {
        let [a, b] = &self.ends;
        join([a.vi(level)?, b.vi(level)?])
    }

    /// Messages between new VIs, both ways, at both levels, compared byte for byte.
    pub fn transfer(&mut self) -> Result<()> {
        for level in LEVELS {
            let vis = self.connect(level)?;
            for from in [0, 1] {
                self.message(&vis, from)
                    .with_context(|| format!("the next transfer, {level}, from end {from}"))?;
            }
        }
        Ok(())
    }

    /// One message of random bytes from an end to the other.
    pub fn message(&mut self, vis: &[Vi; 2], from: usize) -> Result<()> {
        let to = 1 - from;
        let sent = self.bytes(BYTES);
        self.ends[from].memory.write(DATA, &sent)?;
        self.ends[to].memory.write(DATA, &[0; BYTES])?;
        let receive = self.ends[to].in_memory(BYTES)?;
        self.ends[to].receive(&vis[to], receive)?;
        let send = self.ends[from].in_memory(BYTES)?;
        vis[from].post_send(send)?;
        let received = vis[to].recv_wait(Some(LIMIT)).context("the receive")?;
        vis[from].send_wait(Some(LIMIT)).context("the send")?;
        ensure!(received.length() == BYTES, "{} bytes of {BYTES} arrived", received.length());
        ensure!(read(&self.ends[to].memory, DATA, BYTES)? == sent, "the bytes differ");
        Ok(())
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.random.fill_bytes(&mut bytes);
        bytes
    }

    /// Waits until neither NIC has anything in flight.
    pub fn settle(&self) -> Result<()> {
        let start = Instant::now();
        let mut quiet = 0;
        // A frame on the wire is in neither NIC: one look is not enough.
        while quiet < 20 {
            let idle = |end: &End| -> Result<bool> {
                let word = end.device.read32(Bar::Registers, registers::STATE)?;
                Ok(state::IDLE.get(&[word.into()]) != 0)
            };
            quiet = if idle(&self.ends[0])? && idle(&self.ends[1])? { quiet + 1 } else { 0 };
            ensure!(start.elapsed() < LIMIT, "a NIC did not come to rest");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while !holds(self)? {
            ensure!(start.elapsed() < LIMIT, "it did not happen in {LIMIT:?}: {what}");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Who tells that an access of an end's NIC was refused.
    pub fn witness(&self, end: usize) -> Result<Witness> {
        Witness::new(&self.setting, end)
    }
}

impl End {
    fn open(device: Arc<dyn PciDevice>, number: u8) -> Result<Self> {
        let device = Arc::new(Meddling::new(device));
        let options = Options::new(Mac([2, 0, 0, 0, 0, number]), Ipv4Addr::new(10, 0, 0, number));
        let nic = Nic::open_device("the NIC under test", device.clone(), options)?;
        let ptag = nic.create_ptag()?;
        let memory = nic.allocate(MEMORY, &MemAttributes::new(&ptag))?;
        Ok(Self { device, nic, ptag, memory, next: 0, kept: Vec::new() })
    }

    /// A VI for small messages.
    pub fn vi(&self, level: ReliabilityLevel) -> Result<Vi> {
        let attributes =
            ViAttributes { reliability_level: level, depth: 64, ..ViAttributes::new(&self.ptag) };
        Ok(self.nic.create_vi(&attributes)?)
    }

    /// A descriptor of `length` bytes at `offset` of a region.
    pub fn descriptor(&mut self, region: &Region, offset: usize, length: usize) -> Result<Descriptor> {
        let place = self.next;
        self.next = (place + STRIDE) % DATA;
        Ok(Descriptor::new().segment(region, offset, length)?.build(&self.memory, place)?)
    }

    /// A descriptor of `length` bytes of the end's own memory, from [`DATA`] on.
    pub fn in_memory(&mut self, length: usize) -> Result<Descriptor> {
        let memory = self.memory.clone();
        self.descriptor(&memory, DATA, length)
    }

    /// Posts a receive, and returns when the NIC has seen it: a doorbell is a posted write, and our next
    /// store may take another way, to the other NIC.
    pub fn receive(&self, vi: &Vi, descriptor: Descriptor) -> Result<()> {
        vi.post_recv(descriptor)?;
        self.device.read32(Bar::Registers, registers::MAGIC)?;
        Ok(())
    }

    /// Registers memory of the test's own.
    pub fn register(&mut self, pages: &Arc<Pages>) -> Result<Region> {
        self.kept.push(pages.clone());
        let attributes = MemAttributes::new(&self.ptag);
        // SAFETY: `kept` keeps the memory until the NIC is closed; it is only ever accessed by copies
        // through its pointer.
        Ok(unsafe { self.nic.register(pages.start(), pages.length(), &attributes) }?)
    }

    /// One of the NIC's counters.
    pub fn counter(&self, number: u64) -> Result<u64> {
        Ok(self.device.read64(Bar::Registers, registers::COUNTERS + 8 * number)?)
    }

    /// Frames that have left.
    pub fn frames_sent(&self) -> Result<u64> {
        self.counter(counter::FRAMES_SENT)
    }
}

/// Connects two VIs with each other.
pub fn join(vis: [Vi; 2]) -> Result<[Vi; 2]> {
    let infos: [ConnectionInfo; 2] = [vis[0].connection_info(), vis[1].connection_info()];
    vis[0].connect(&infos[1])?;
    vis[1].connect(&infos[0])?;
    Ok(vis)
}

/// Copies bytes out of a region.
pub fn read(region: &Region, offset: usize, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    region.read(offset, &mut bytes)?;
    Ok(bytes)
}

/// Index of a VI: the number of its doorbell page.
pub fn index(vi: &Vi) -> u16 {
    queue_pair::VI.get(&[vi.connection_info().queue_pair.into()]) as u16
}

/// What must have completed in error.
pub fn failed(result: Result<Descriptor, Error>) -> Result<Descriptor> {
    match result {
        Err(Error::Descriptor(descriptor)) => Ok(*descriptor),
        Ok(descriptor) => bail!("it completed with {}", descriptor.status()),
        Err(error) => Err(error.into()),
    }
}
