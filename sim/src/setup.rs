//! What a simulation is made of, in one place for the binary, the tests and the demo.

use std::io;
use std::path::PathBuf;

use crate::fabric::{Capture, Faults};
use crate::model::Choices;
use crate::network::{self, Network, Port};
use crate::nic::Nic;
use crate::pcie::{self, PcieNic};
use crate::root_complex;
use crate::rtl::{trace_file, Rtl};

/// What a NIC is simulated by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// The RTL, Verilated.
    #[default]
    Rtl,
    /// The functional model.
    Model,
}

/// What is between a NIC with pins and its root complex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostLink {
    /// Nothing: the root complex is at the core's edge.
    #[default]
    Core,
    /// A PCI Express link, with the endpoint's RTL at its end.
    Pcie(pcie::Options),
}

/// A simulation to be made.
#[derive(Debug, Clone)]
pub struct Setup {
    /// NICs.
    pub nics: usize,
    /// What each is; the last of the list stands for all that follow, and an empty one for the RTL.
    pub kinds: Vec<Kind>,
    /// What each model makes of what the specification leaves open; the last of the list stands for all that follow,
    /// and an empty one for what is usual.
    pub choices: Vec<Choices>,
    /// Seed of everything random: the NICs' uninitialised state and the root complexes.
    pub seed: u64,
    /// What is between each NIC with pins and its root complex. A model has no pins.
    pub link: HostLink,
    /// Links and root complexes; the latter's seed is the one above.
    pub network: network::Options,
    /// Faults on the wire.
    pub faults: Faults,
    /// Capture of every frame.
    pub pcap: Option<PathBuf>,
    /// Waveform of NIC 0; the other NICs' are beside it.
    pub trace: Option<PathBuf>,
}

impl Default for Setup {
    /// Two NICs, nothing recorded.
    fn default() -> Self {
        Self {
            nics: 2,
            kinds: Vec::new(),
            choices: Vec::new(),
            seed: 1,
            link: HostLink::default(),
            network: network::Options::default(),
            faults: Faults::default(),
            pcap: None,
            trace: None,
        }
    }
}

/// A file that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct SetupError {
    path: PathBuf,
    source: io::Error,
}

impl Setup {
    /// What NIC `nic` is.
    pub fn kind(&self, nic: usize) -> Kind {
        self.kinds.get(nic).or(self.kinds.last()).copied().unwrap_or_default()
    }

    /// Powers the NICs up.
    pub fn build(&self) -> Result<Network, SetupError> {
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source| SetupError { path, source }
        };
        let capture = match &self.pcap {
            Some(path) => Some(Capture::create(path).map_err(failed(path))?),
            None => None,
        };
        let mut ports = Vec::new();
        for nic in 0..self.nics {
            if self.kind(nic) == Kind::Model {
                let choices = self.choices.get(nic).or(self.choices.last());
                ports.push(Port::Model(choices.copied().unwrap_or_default()));
                continue;
            }
            let seed = self.seed.wrapping_add(nic as u64);
            let rtl = match &self.trace {
                Some(path) => {
                    let path = trace_file(path, nic);
                    Rtl::traced(seed, &path).map_err(failed(&path))?
                }
                None => Rtl::new(seed).map_err(failed(&PathBuf::from("the NIC's mutant")))?,
            };
            let rtl: Box<dyn Nic> = Box::new(rtl);
            ports.push(Port::Nic(match &self.link {
                HostLink::Core => rtl,
                HostLink::Pcie(link) => {
                    let bus = root_complex::Options { seed, ..self.network.bus.clone() };
                    let named = PathBuf::from(format!("the PCI Express link of NIC {nic}"));
                    Box::new(PcieNic::new(rtl, &bus, link).map_err(failed(&named))?)
                }
            }));
        }
        let mut options = self.network.clone();
        options.bus.seed = self.seed;
        let mut network = Network::of(ports, &options, capture);
        network.fabric_mut().set_faults(self.faults.clone());
        Ok(network)
    }
}
