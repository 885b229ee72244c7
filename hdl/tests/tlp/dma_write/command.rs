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
        let length = match rng.random_range(0..4) {
            0 => rng.random_range(1..=16),
            1 => rng.random_range(1..=300),
            2 => 8,
            _ => rng.random_range(1..=4096),
        };
        let base: u64 = match rng.random_range(0..4) {
            0 => 0x1_0000,
            1 => 0xFFFF_F000,
            2 => 0x7_FFFF_F000,
            _ => rng.random::<u64>() >> 8,
        };
        Command {
            address: base + rng.random_range(0..0x1000),
            length,
            client: if rng.random_bool(0.3) { client::COMPLETE } else { client::SCATTER },
            epoch: rng.random(),
        }
    }
}
