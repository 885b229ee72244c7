//! The command line of `viaduct-sim`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::fabric::{Faults, Link, Loss};
use crate::network;
use crate::pcie;
use crate::root_complex::{self, Dma, Split};
use crate::setup::{HostLink, Kind, Setup};

/// Simulated Viaduct NICs, each a PCI device on a vfio-user socket, with an Ethernet switch
/// between them.
///
/// Sockets: DIR/nic0.sock, DIR/nic1.sock, ... and DIR/control.sock; DIR/port0.sock, ... with --ports. Cycles are of 8 ns.
#[derive(Debug, Clone, Parser)]
#[command(name = "viaduct-sim", version)]
pub struct Arguments {
    /// Number of NICs
    #[arg(short, long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub nics: u8,
    /// What each NIC is: a list, whose last item stands for the rest [default: rtl]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub nic: Vec<KindArgument>,
    /// Ports of the switch for peers outside, in QEMU's stream format: DIR/port0.sock, ...
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=64))]
    pub ports: u8,
    /// Folder for the sockets [default: $XDG_RUNTIME_DIR/viaduct, or /tmp/viaduct-UID]
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// Capture every frame in this file
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Record all signals in this FST file (of NIC 1 and up in FILE.nicN.fst); slow
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Latency of cable and switch, in cycles
    #[arg(long, default_value_t = 64, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub latency: u64,
    /// Rate of each link, in bytes per cycle: 1 is 1 Gb/s
    #[arg(long, default_value_t = 1, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=8))]
    pub link_rate: u64,
    /// Seed of everything that is random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What is between each RTL NIC and its root complex
    #[arg(long, default_value = "core")]
    pub link: LinkArgument,
    /// With --link pcie, cycles of the link's clock to cycles of the NIC's: 1:1 to 2:1
    #[arg(long, default_value = "1:1", value_name = "LINK:NIC", value_parser = ratio)]
    pub link_clocks: (u32, u32),
    /// Round trip over the bus to host memory, in cycles
    #[arg(long, default_value_t = 62, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub round_trip: u64,
    /// Max_Payload_Size
    #[arg(long, default_value = "256", value_name = "BYTES", value_parser = encoded(256))]
    pub max_payload: u8,
    /// Max_Read_Request_Size
    #[arg(long, default_value = "512", value_name = "BYTES", value_parser = encoded(4096))]
    pub max_read: u8,
    /// Read completion boundary in bytes
    #[arg(long, default_value = "64", value_name = "BYTES")]
    pub rcb: Rcb,
    /// How reads are cut into completions
    #[arg(long, default_value = "largest")]
    pub split: SplitArgument,
    /// Delay completions of different reads by up to this many cycles, so that they overtake
    #[arg(long, default_value_t = 0, value_name = "CYCLES")]
    pub reorder: u64,
    /// Cycles in 1000 in which the NIC's packets are not taken
    #[arg(long, default_value_t = 0, value_name = "PERMILLE", value_parser = clap::value_parser!(u32).range(0..=900))]
    pub stall: u32,
    /// Cycles in 1000 in which packets to the NIC pause
    #[arg(long, default_value_t = 0, value_name = "PERMILLE", value_parser = clap::value_parser!(u32).range(0..=900))]
    pub gap: u32,
    /// How the NICs reach the clients' memory
    #[arg(long, default_value = "files")]
    pub dma: DmaArgument,
    /// Flip one ICRC bit of the N-th RoCE frame on the wire
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub flip_icrc: Vec<u64>,
    /// Lose the N-th RoCE frame
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub drop: Vec<u64>,
    /// Lose so many of a million RoCE frames: the seed says which
    #[arg(long, default_value_t = 0, value_name = "PPM", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub loss: u32,
    /// Deliver the N-th RoCE frame twice
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub duplicate: Vec<u64>,
    /// Make the FCS of the N-th RoCE frame wrong
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub damage: Vec<u64>,
    /// Deliver the N-th RoCE frame late, behind ones that were sent after it
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub delay: Vec<u64>,
    /// Let device time stand still when a NIC has written a status, an entry of a completion queue or an interrupt, until clients have stored nothing for so
    /// long on the wall: what hosts do about it takes none
    #[arg(long, default_value_t = 0, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub hold: u64,
    /// Simulate idle cycles too instead of skipping them
    #[arg(long)]
    pub never_skip: bool,
}

/// A read completion boundary.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Rcb {
    /// 64 bytes.
    #[value(name = "64")]
    Bytes64,
    /// 128 bytes.
    #[value(name = "128")]
    Bytes128,
}

/// See [`Split`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SplitArgument {
    /// As few completions as possible
    Largest,
    /// One for each boundary
    Boundary,
    /// At random boundaries
    Random,
}

/// See [`Kind`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KindArgument {
    /// The RTL, Verilated
    Rtl,
    /// The functional model
    Model,
}

/// See [`HostLink`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LinkArgument {
    /// Nothing: the root complex is at the core's edge
    Core,
    /// PCI Express 1.1 x1: the endpoint's RTL, and a root port
    Pcie,
}

/// See [`Dma`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DmaArgument {
    /// Through the files of their DMA maps, by message where a map has none
    Files,
    /// By DMA_READ and DMA_WRITE messages: the client translates or refuses
    Messages,
}

/// A power of two from 128 up, encoded 128 << n.
fn encoded(largest: u32) -> impl Fn(&str) -> Result<u8, String> + Clone {
    move |text| {
        let bytes: u32 = text.parse().map_err(|_| format!("{text} is no number"))?;
        if !bytes.is_power_of_two() || !(128..=largest).contains(&bytes) {
            return Err(format!("a power of two from 128 to {largest}"));
        }
        Ok((bytes / 128).ilog2() as u8)
    }
}

/// A ratio of clocks: the second one at most as fast as the first, and at least half as fast.
fn ratio(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once(':').and_then(|(link, nic)| Some((link.parse().ok()?, nic.parse().ok()?)));
    let (link, nic): (u32, u32) = parts.ok_or("two numbers, with a colon between them")?;
    if nic == 0 || link < nic || link > 2 * nic || link > 1000 {
        return Err("from 1:1 to 2:1".into());
    }
    Ok((link, nic))
}

impl Arguments {
    /// The simulation that they describe.
    pub fn setup(&self) -> Setup {
        let set = |list: &[u64]| list.iter().copied().collect();
        Setup {
            nics: usize::from(self.nics).max(self.nic.len()),
            kinds: self
                .nic
                .iter()
                .map(|kind| match kind {
                    KindArgument::Rtl => Kind::Rtl,
                    KindArgument::Model => Kind::Model,
                })
                .collect(),
            choices: Vec::new(),
            seed: self.seed,
            link: match self.link {
                LinkArgument::Core => HostLink::Core,
                LinkArgument::Pcie => {
                    HostLink::Pcie(pcie::Options { ratio: self.link_clocks, ..pcie::Options::default() })
                }
            },
            network: network::Options {
                link: Link { latency: self.latency, rate: self.link_rate, ..Link::default() },
                bus: root_complex::Options {
                    conditions: root_complex::Conditions {
                        round_trip: self.round_trip,
                        max_payload: self.max_payload,
                        max_read: self.max_read,
                        rcb: match self.rcb {
                            Rcb::Bytes64 => 64,
                            Rcb::Bytes128 => 128,
                        },
                        split: match self.split {
                            SplitArgument::Largest => Split::Largest,
                            SplitArgument::Boundary => Split::Boundary,
                            SplitArgument::Random => Split::Random,
                        },
                        reorder: self.reorder,
                        stall: self.stall,
                        gap: self.gap,
                        ..root_complex::Conditions::default()
                    },
                    dma: match self.dma {
                        DmaArgument::Files => Dma::Files,
                        DmaArgument::Messages => Dma::Messages,
                    },
                    ..root_complex::Options::default()
                },
                never_skip: self.never_skip,
                ports: self.ports.into(),
            },
            faults: Faults {
                flip_icrc: set(&self.flip_icrc),
                drop: set(&self.drop),
                loss: Loss { per_million: self.loss, seed: self.seed },
                duplicate: set(&self.duplicate),
                damage: set(&self.damage),
                delay: set(&self.delay),
            },
            pcap: self.pcap.clone(),
            trace: self.trace.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    /// `VIADUCT_SIM_MANUAL=write cargo test -p viaduct-sim manual` writes it anew. Its section is 8: in section 1 the page of `viaduct sim` has the
    /// name.
    #[test]
    fn the_manual_is_that_of_the_command_line() {
        let mut page = Vec::new();
        // An empty date would be written as nothing, and what comes behind it would be the date.
        let manual = clap_mangen::Man::new(Arguments::command()).section("8").date("\"\"").manual("Viaduct");
        manual.render(&mut page).expect("into memory");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/viaduct-sim.8");
        if std::env::var_os("VIADUCT_SIM_MANUAL").is_some_and(|what| what == "write") {
            std::fs::write(path, &page).expect("writable");
        }
        let written = std::fs::read(path).expect("it is there");
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&page));
    }

    #[test]
    fn defaults_are_the_library_s() {
        let setup = Arguments::parse_from(["viaduct-sim"]).setup();
        let network = network::Options::default();
        assert_eq!(setup.network.link, network.link);
        assert_eq!(format!("{:?}", setup.network.bus), format!("{:?}", network.bus));
        assert_eq!(setup.nics, Setup::default().nics);
    }

    #[test]
    fn sizes_are_encoded_and_lists_are_lists() {
        let parse = |words: &[&str]| Arguments::try_parse_from(words.iter().copied());
        let setup =
            parse(&["viaduct-sim", "--max-payload", "128", "--drop", "3,5", "--drop", "9"]).unwrap().setup();
        assert_eq!(setup.network.bus.conditions.max_payload, 0);
        assert_eq!(setup.faults.drop, [3, 5, 9].into());
        assert!(!setup.faults.loss.loses(3));
        let setup = parse(&["viaduct-sim", "--loss", "10000", "--seed", "7"]).unwrap().setup();
        assert_eq!(setup.faults.loss, Loss { per_million: 10_000, seed: 7 });
        assert!(parse(&["viaduct-sim", "--loss", "1000001"]).is_err());
        assert!(parse(&["viaduct-sim", "--max-payload", "512"]).is_err());
        assert!(parse(&["viaduct-sim", "--link-rate", "9"]).is_err());
        assert!(parse(&["viaduct-sim", "-n", "0"]).is_err());
        let setup = parse(&["viaduct-sim", "-n", "3", "--nic", "rtl,model"]).unwrap().setup();
        assert_eq!([0, 1, 2].map(|nic| setup.kind(nic)), [Kind::Rtl, Kind::Model, Kind::Model]);
        let setup = parse(&["viaduct-sim", "--link", "pcie", "--link-clocks", "5:4"]).unwrap().setup();
        assert_eq!(setup.link, HostLink::Pcie(pcie::Options { ratio: (5, 4), ..pcie::Options::default() }));
        for clocks in ["4:5", "3:1", "0:0", "5", "5:x"] {
            assert!(parse(&["viaduct-sim", "--link-clocks", clocks]).is_err(), "{clocks}");
        }
        assert_eq!(parse(&["viaduct-sim", "--nic", "model,rtl,model"]).unwrap().setup().nics, 3);
    }
}
