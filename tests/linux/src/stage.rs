//! What all cases have: a simulated network with one NIC and one port, and a guest at the port.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use viaduct_sim::fabric::Link;
use viaduct_sim::live::Status;
use viaduct_sim::served::Served;
use viaduct_sim::setup::{Kind, Setup};
use vipl::{Mac, MemAttributes, Mtu, Nic, Ptag, Region};

use crate::guest::Guest;
use crate::strikes::Strikes;
use crate::talk::LIMIT;

/// The guest's network card.
pub const GUEST: Mac = Mac([0x52, 0x54, 0, 0, 0, 1]);
/// Its address.
pub const GUEST_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Our NIC.
pub const OWN: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// Its address.
pub const OWN_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Bytes a cycle of each link: with fewer the RTL would be too slow for Linux' patience.
const RATE: u64 = 8;
/// RTL may take 0.54 s to acknowledge, 4.096 us * 2^17. Linux' queue pairs wait that long: where they ask by themselves, and where our NIC says so. A card's
/// 4.2 ms would be over before the RTL can answer, and Linux' requester makes mistakes when it sends again what is being answered (docs/linux.md).
const RTL_ACK_TIME: u8 = 17;
/// What Linux holds for programs and for itself: protection domains, completion queues, queue pairs, identifiers of connections, memory regions and
/// contexts.
const RESOURCES: &str = "/usr/bin/rdma resource show";
/// The guest's file with what that said while no program of RDMA's ran.
const HELD: &str = "/held";

/// The stage.
pub struct Stage {
    /// The guest.
    pub guest: Guest,
    /// What the wire does to frames.
    pub strikes: Strikes,
    served: Served,
    kind: Kind,
    mtu: Mtu,
    figures: Vec<String>,
}

impl Stage {
    /// Starts the network, its sockets in `folder`, and the guest by this command line.
    pub fn start(kind: Kind, folder: &Path, qemu: &[String]) -> Result<Self> {
        let mut setup = Setup { nics: 1, kinds: vec![kind], ..Setup::default() };
        setup.network.ports = 1;
        setup.network.link = Link { rate: RATE, ..Link::default() };
        setup.pcap = std::env::var_os("PCAP").map(Into::into);
        let strikes = Strikes::default();
        let mut network = setup.build()?;
        network.fabric_mut().set_fault_injector(Box::new(strikes.clone()));
        let served = Served::start(network, folder)?;
        let mut guest = Guest::start(qemu, folder)?;
        let resources = guest.run(&format!("{RESOURCES} | tee {HELD}"), LIMIT)?;
        ensure!(resources.contains("cm_id 0") && resources.contains("mr 0"), "{resources}");
        Ok(Self { guest, strikes, served, kind, mtu: Mtu::DEFAULT, figures: Vec::new() })
    }

    /// What the NIC is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The folder of the network's sockets.
    pub fn folder(&self) -> &Path {
        self.served.folder()
    }

    /// What the case has measured, for the line that is printed of it.
    pub fn figure(&mut self, figure: String) {
        self.figures.push(figure);
    }

    /// What the last case has measured.
    pub fn take_figures(&mut self) -> String {
        std::mem::take(&mut self.figures).join("; ")
    }

    /// The NIC's name, for whoever opens it.
    pub fn name(&self) -> String {
        let name = format!("{},mac={OWN},ip={OWN_IP}", self.served.name(0));
        match self.kind {
            Kind::Model => name,
            Kind::Rtl => format!("{name},ack_time={RTL_ACK_TIME}"),
        }
    }

    /// Opens the NIC, with so many bytes of memory that a peer may write and read.
    pub fn open(&self, bytes: usize) -> Result<End> {
        let nic = Nic::open(&self.name())?;
        let ptag = nic.create_ptag()?;
        let rights =
            MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..MemAttributes::new(&ptag) };
        let memory = nic.allocate(bytes, &rights)?;
        Ok(End { nic, ptag, memory, mtu: self.mtu })
    }

    /// The largest packet from now on, of our VIs and of the guest's interface.
    pub fn set_mtu(&mut self, mtu: Mtu) -> Result<()> {
        self.mtu = mtu;
        // Headers and ICRC of RoCE are within the interface's.
        let bytes = if mtu == Mtu::MAX { 4200 } else { 1500 };
        self.guest.run(&format!("/usr/bin/ip link set eth0 mtu {bytes}"), LIMIT).map(drop)
    }

    /// What the network says of itself.
    pub fn status(&self) -> Result<Status> {
        Ok(self.served.handle().status()?)
    }

    /// Carries out a case, and checks what all cases have to leave behind.
    ///
    /// # Errors
    /// The case's, with the last that its programs in the guest have printed. None of these takes part in the next case.
    pub fn carry_out(&mut self, case: fn(&mut Self) -> Result<()>) -> Result<()> {
        let done = case(self).and_then(|()| self.check());
        let Err(error) = done else { return Ok(()) };
        self.strikes.end();
        let programs =
            "rping rstream ucmatose ibv_rc_pingpong ibv_uc_pingpong ib_send_lat ib_write_bw ib_read_bw";
        let tidy =
            format!("killall -9 {programs} 2>/dev/null; tail -n 5 /tmp/* | cut -c 1-300; rm -f /tmp/*");
        let tidied = self.set_mtu(Mtu::DEFAULT).and_then(|()| self.guest.run(&tidy, LIMIT));
        Err(match tidied {
            Ok(printed) => error.context(format!("the guest's programs printed {printed:?}")),
            Err(other) => error.context(format!("the next case finds what this one has left: {other:#}")),
        })
    }

    /// The NIC has broken no rule of the bus, switch and port have lost no frame that they should not, and Linux holds nothing of the case's.
    fn check(&mut self) -> Result<()> {
        let status = self.status()?;
        ensure!(status.nics[0].violations.is_empty(), "rules of the bus: {:?}", status.nics[0].violations);
        ensure!(status.fabric.overflow == 0, "the switch has dropped {} frames", status.fabric.overflow);
        ensure!(status.ports[0].lost == 0, "the port has lost {} frames", status.ports[0].lost);
        // A program that was killed may be about to end.
        let wait = format!("until {RESOURCES} | cmp -s - {HELD}; do usleep 20000; done");
        let wait = format!("timeout 20 sh -c '{wait}' || {{ cat {HELD}; {RESOURCES}; exit 1; }}");
        self.guest.run(&wait, LIMIT).map(drop).context("Linux holds other than before")
    }
}

/// An open NIC, and memory.
pub struct End {
    /// The NIC.
    pub nic: Nic,
    /// The tag of the memory.
    pub ptag: Ptag,
    /// The memory.
    pub memory: Region,
    /// The largest packet of its VIs.
    pub mtu: Mtu,
}
