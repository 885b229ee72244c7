//! Accesses, and the pieces that the engine must cut them into.

use rand::seq::IndexedRandom;
use rand::Rng;

use super::host::Host;

/// A command to the engine: the whole of an access, or a part.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub address: u64,
    pub length: u64,
    pub client: u64,
    pub user: u64,
    pub epoch: bool,
    pub last: bool,
    pub refused: bool,
}

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Good,
    Poisoned,
    Unsupported,
    /// Ends before its data does.
    Short,
    Missing,
    /// Known only when it is sent.
    Open,
}

/// One piece of a command, as the engine must cut it.
#[derive(Clone, Debug)]
pub struct Piece {
    pub command: Command,
    pub address: u64,
    pub length: u64,
    pub last: bool,
    pub done: bool,
    pub fate: Fate,
}

impl Host {
    /// Gives the engine a command, and expects its pieces.
    pub fn command(&mut self, command: Command) {
        let end = command.address + command.length;
        let mut at = command.address;
        self.want_retired[usize::from(command.epoch)] += 1;
        while at < end {
            let stop = if command.refused { end } else { end.min(at / self.size * self.size + self.size) };
            self.pieces.push_back(Piece {
                command,
                address: at,
                length: stop - at,
                last: command.last && stop == end,
                done: stop == end,
                fate: Fate::Open,
            });
            at = stop;
        }
        self.commands.push_back(command);
    }

    /// A command of any kind.
    pub fn random_command(&mut self, last: bool) -> Command {
        let rng = &mut self.rng;
        let (length, base) = crate::random_extent(rng, 64);
        let address = base
            + rng.random_range(0..0x1000) / *[1, 1, 4, 64].choose(rng).unwrap() * 4
            + rng.random_range(0..4);
        Command {
            address,
            length,
            client: rng.random_range(0..4),
            user: rng.random_range(0..256),
            epoch: rng.random(),
            last,
            refused: last && rng.random_bool(0.05),
        }
    }

    /// So many accesses of one command or more.
    pub fn accesses(&mut self, count: usize) {
        for _ in 0..count {
            while self.rng.random_bool(0.2) {
                let command = self.random_command(false);
                self.command(command);
            }
            let command = self.random_command(true);
            self.command(command);
        }
    }
}
