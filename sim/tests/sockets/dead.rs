//! A simulator of functions that do nothing.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use vfio_user::Client;
use viaduct_sim::network::{Network, Options};
use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_spec::register::{PCI_DEVICE, PCI_VENDOR};

use crate::support::Simulator;

/// A function that is on the bus and does nothing.
struct Dead;

impl Nic for Dead {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        // That much it does.
        let function_reset_done = input.cfg_function_reset;
        *output = NicOut { tlp_rx_np_ready: true, idle: true, function_reset_done, ..NicOut::default() };
    }
}

/// NICs that answer no load.
pub(super) fn dead(nics: usize) -> Simulator {
    dead_beside(nics, 0)
}

/// The same, at a switch that has ports to the outside.
pub(super) fn dead_beside(nics: usize, ports: usize) -> Simulator {
    let mut options = Options { ports, ..Options::default() };
    options.link.rate = 8;
    options.bus.load_timeout = 2000;
    let nics: Vec<Box<dyn Nic>> = (0..nics).map(|_| Box::new(Dead) as _).collect();
    Simulator::start(Network::new(nics, &options, None))
}

impl Simulator {
    /// A client of bare bytes.
    pub(super) fn raw(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket(0)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    /// The next client is served as if nothing had been.
    pub(super) fn check(&self) {
        let mut client = Client::new(&self.socket(0)).unwrap();
        assert_eq!(config32(&mut client, 0), u32::from(PCI_DEVICE) << 16 | u32::from(PCI_VENDOR));
        client.shutdown().unwrap();
    }
}

/// A word of configuration space.
pub(super) fn config32(client: &mut Client, offset: u64) -> u32 {
    let mut data = [0; 4];
    client.region_read(7, offset, &mut data).unwrap();
    u32::from_le_bytes(data)
}
