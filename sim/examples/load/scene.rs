//! Two RTL NICs in this process, a connection between them, and messages over it in both directions at the same time.
//!
//! What happens depends on the plan alone: neither on the machine nor on where memory lies. So this file looks at descriptors itself
//! where the library would look at the clock on the wall now and then.

use std::ffi::c_void;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use viaduct_driver::agent::Options;
use viaduct_sim::clock::Cycle;
use viaduct_sim::in_process::InProcess;
use viaduct_sim::network::Probe;
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::{control_segment, status};
use vipl::{Descriptor, Mac, MemAttributes, Nic, Region, ReliabilityLevel, Vi, ViAttributes};

/// Where the hosts' bytes lie. Requests of RDMA carry addresses of them, so that frames would differ from run to run if they lay elsewhere.
const MEMORY: usize = 0x3000_0000_0000;
/// From one host's to the other's.
const MEMORY_STEP: usize = 1 << 32;
/// Bytes between two descriptors.
const DESCRIPTOR: usize = 128;
/// Cycles after which nothing comes any more.
const PATIENCE: Cycle = 20_000_000;

/// How bytes get from one host to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One sends, the other receives.
    Send,
    /// One writes into the other's memory.
    Write,
    /// One reads the other's memory.
    Read,
}

/// What is done. Each host does all of it to the other.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The messages, in their order.
    pub messages: Vec<(Way, usize)>,
    /// Bytes a cycle on the wire.
    pub rate: u64,
    /// Cycles in which nothing happens are simulated, too.
    pub never_skip: bool,
    /// Records every frame here.
    pub pcap: Option<PathBuf>,
}

/// One host.
struct Host {
    vi: Vi,
    /// A descriptor for each message that it moves, and behind those one for each that it receives.
    descriptors: Region,
    /// Bytes to be sent, written, or read by the other.
    from: Region,
    /// Where bytes come.
    to: Region,
    _nic: Nic,
    /// Of `from` and `to`: behind them.
    _memory: Memory,
}

/// Both hosts, connected.
pub struct Scene {
    net: InProcess,
    hosts: [Host; 2],
    plan: Plan,
}

impl Scene {
    /// Powers the NICs up and connects them. A probe looks at the pins of each, if there is one.
    ///
    /// # Errors
    /// A NIC does not do what its driver asks for.
    pub fn new(plan: Plan, probes: Option<[Probe; 2]>) -> Result<Self> {
        let mut setup = Setup { pcap: plan.pcap.clone(), ..Setup::default() };
        setup.network.link.rate = plan.rate;
        setup.network.never_skip = plan.never_skip;
        let net = InProcess::new(setup.build()?);
        for (number, probe) in probes.into_iter().flatten().enumerate() {
            net.network().probe(number, probe);
        }
        let hosts = [Host::new(&net, 0, &plan)?, Host::new(&net, 1, &plan)?];
        hosts[0].vi.connect(&hosts[1].vi.connection_info())?;
        hosts[1].vi.connect(&hosts[0].vi.connection_info())?;
        Ok(Self { net, hosts, plan })
    }

    /// Device time.
    pub fn now(&self) -> Cycle {
        self.net.network().now()
    }

    /// Moves all messages, and looks at what has arrived; gives the cycles that it took.
    ///
    /// # Errors
    /// A message does not arrive, or not as it left; or a NIC breaks a rule of the bus.
    pub fn run(&self) -> Result<Cycle> {
        let start = self.now();
        let messages = &self.plan.messages;
        for host in &self.hosts {
            for (n, _) in messages.iter().enumerate().filter(|(_, (way, _))| *way == Way::Send) {
                host.vi.post_recv(host.receive(n, messages)?)?;
            }
        }
        for n in 0..messages.len() {
            for (host, peer) in [(0, 1), (1, 0)] {
                let [host, peer] = [host, peer].map(|number| &self.hosts[number]);
                host.vi.post_send(host.mover(peer, n, messages)?)?;
            }
        }
        for (n, (way, _)) in messages.iter().enumerate() {
            for host in &self.hosts {
                self.wait_for(host, n).with_context(|| format!("message {n}, {way:?}"))?;
                host.vi.send_done()?;
                if *way == Way::Send {
                    self.wait_for(host, messages.len() + n).with_context(|| format!("receive {n}"))?;
                    host.vi.recv_done()?;
                }
            }
        }
        let cycles = self.now() - start;
        for (host, peer) in [(0, 1), (1, 0)] {
            let [mut left, mut arrived] = [vec![0; extent(messages)], vec![0; extent(messages)]];
            self.hosts[host].from.read(0, &mut left)?;
            self.hosts[peer].to.read(0, &mut arrived)?;
            // What one reads has come to itself.
            let mut read = vec![0; extent(messages)];
            self.hosts[host].to.read(0, &mut read)?;
            let mut other = vec![0; extent(messages)];
            self.hosts[peer].from.read(0, &mut other)?;
            for (n, (way, length)) in messages.iter().enumerate() {
                let place = place(n, messages)..place(n, messages) + length;
                let same = match way {
                    Way::Read => read[place.clone()] == other[place],
                    Way::Send | Way::Write => arrived[place.clone()] == left[place],
                };
                ensure!(same, "message {n} of host {host}, {way:?} of {length} bytes, is damaged");
            }
        }
        let mut network = self.net.network();
        for number in 0..2 {
            let broken = network.violations(number);
            ensure!(broken.is_empty(), "NIC {number} breaks rules of the bus: {broken:?}");
        }
        network.fabric_mut().finish_capture().context("the capture")?;
        Ok(cycles)
    }

    fn wait_for(&self, host: &Host, descriptor: usize) -> Result<()> {
        let limit = self.now() + PATIENCE;
        while !host.is_complete(descriptor)? {
            ensure!(self.now() < limit, "it does not come to its end");
            self.net.pause();
        }
        Ok(())
    }
}

/// Where the bytes of a message are, in each region.
fn place(n: usize, messages: &[(Way, usize)]) -> usize {
    messages[..n].iter().map(|(_, length)| length.next_multiple_of(64)).sum()
}

/// Bytes of all messages with what is between them.
fn extent(messages: &[(Way, usize)]) -> usize {
    place(messages.len(), messages)
}

/// Memory at an address of our own.
struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

impl Memory {
    fn at(address: usize, bytes: usize) -> Result<Self> {
        let (access, place) = (ProtFlags::READ | ProtFlags::WRITE, address as *mut c_void);
        // SAFETY: the kernel refuses if anything is there.
        let start =
            unsafe { mmap_anonymous(place, bytes, access, MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE) };
        let start = start.with_context(|| format!("{bytes} bytes of memory at {address:#x}"))?;
        Ok(Self { start: NonNull::new(start.cast()).context("memory at no address")?, bytes })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody has a reference into it. Its host drops it behind the regions, and simulated NICs that would
        // still reach for it find that it is gone.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

impl Host {
    fn new(net: &InProcess, number: u8, plan: &Plan) -> Result<Self> {
        let device = net.device(number.into()).context("there is such a NIC")?;
        let (mac, ip) = (Mac([2, 0, 0, 0, 0, number + 1]), Ipv4Addr::new(10, 0, 0, number + 1));
        let options = Options { seed: Some(u64::from(number)), ..Options::new(mac, ip) };
        let nic = Nic::open_device(&format!("nic {number}"), Arc::new(device), options)?;
        let ptag = nic.create_ptag()?;
        let closed = MemAttributes::new(&ptag);
        let open = MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..closed.clone() };
        let (count, bytes) = (plan.messages.len(), extent(&plan.messages));
        let descriptors = nic.allocate(2 * count * DESCRIPTOR, &closed)?;
        let memory = Memory::at(MEMORY + usize::from(number) * MEMORY_STEP, 2 * bytes)?;
        // SAFETY: the memory stays for as long as the regions; nobody has a reference into it, and only the regions' own functions reach it.
        let (from, to) = unsafe {
            (nic.register(memory.start, bytes, &open)?, nic.register(memory.start.add(bytes), bytes, &open)?)
        };
        let pattern: Vec<u8> =
            (0..bytes).map(|at| (at * 7 + at / 251 + usize::from(number) * 101) as u8).collect();
        from.write(0, &pattern)?;
        let vi = nic.create_vi(&ViAttributes {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            depth: count.next_power_of_two().max(16),
            enable_rdma_write: true,
            enable_rdma_read: true,
            ..ViAttributes::new(&ptag)
        })?;
        Ok(Self { vi, descriptors, from, to, _nic: nic, _memory: memory })
    }

    /// The descriptor of message `n`, which this host moves.
    fn mover(&self, peer: &Self, n: usize, messages: &[(Way, usize)]) -> Result<Descriptor> {
        let ((way, length), place) = (messages[n], place(n, messages));
        let builder = match way {
            Way::Send => Descriptor::new().segment(&self.from, place, length)?,
            Way::Write => {
                Descriptor::rdma_write(peer.to.remote(place)?).segment(&self.from, place, length)?
            }
            Way::Read => Descriptor::rdma_read(peer.from.remote(place)?).segment(&self.to, place, length)?,
        };
        Ok(builder.build(&self.descriptors, n * DESCRIPTOR)?)
    }

    /// The descriptor of the receive for message `n` of the other host.
    fn receive(&self, n: usize, messages: &[(Way, usize)]) -> Result<Descriptor> {
        let builder = Descriptor::new().segment(&self.to, place(n, messages), messages[n].1)?;
        Ok(builder.build(&self.descriptors, (messages.len() + n) * DESCRIPTOR)?)
    }

    fn is_complete(&self, descriptor: usize) -> Result<bool> {
        let mut bytes = [0; 32];
        self.descriptors.read(descriptor * DESCRIPTOR, &mut bytes)?;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let row: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
        Ok(control_segment::STATUS.get(&row) & u64::from(status::DONE) != 0)
    }
}
