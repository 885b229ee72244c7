//! Commands to the engine, of any kind.

use rand::Rng;
use viaduct_hdl::bus::client;

use super::host::Host;

#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub address: u64,
    pub length: u64,
    pub client: u64,
    pub epoch: bool,
}

impl Host {
    pub fn command(&mut self, command: Command) {
        let bytes: Vec<u8> = (0..command.length).map(|_| self.rng.random()).collect();
        let source = if command.client == client::COMPLETE { &mut self.complete } else { &mut self.scatter };
        source.stream.extend(&bytes);
        self.commands.push_back((command, bytes));
    }

    pub fn random_command(&mut self) -> Command {
        let rng = &mut self.rng;
        let (length, base) = crate::random_extent(rng, 8);
        Command {
            address: base + rng.random_range(0..0x1000),
            length,
            client: if rng.random_bool(0.3) { client::COMPLETE } else { client::SCATTER },
            epoch: rng.random(),
        }
    }
}
