//! What agents do between the rounds, and now and then in the middle of one.

use rand::Rng;

use super::Generator;
use crate::memory::{DATA_BYTES, SLOTS};
use crate::operation::{End, Operation, Registration, Stray};
use crate::program::SHARED;

impl Generator {
    /// Makes a connection anew.
    pub(super) fn connect(&mut self, connection: usize) {
        self.operations.push(Operation::Connect(connection));
    }

    /// What agents do between two rounds.
    pub(super) fn upkeep(&mut self) {
        let connection = self.random.random_range(0..self.connections.len());
        let end = 2 * connection + self.random.random_range(0..2);
        match self.random.random_range(0..13) {
            0..=1 => self.operations.push(Operation::Disconnect(end)),
            2..=4 => self.connect(connection),
            5..=8 => self.register(end),
            9 => self.deregister(end),
            10 => {
                self.stray(end);
                // What the agent does next would race with it.
                self.operations.push(Operation::Settle);
            }
            11 => self.resize(),
            _ => {
                let nic = self.random.random_range(0..2);
                if self.chance(3) {
                    self.reset(nic);
                }
            }
        }
    }

    /// Gives a shared completion queue a ring of another size.
    pub(super) fn resize(&mut self) {
        let resize = Operation::Resize(self.random.random_range(0..2), self.random.random_range(0..SHARED));
        self.operations.push(resize);
    }

    /// Resets a NIC. Its connections are made anew.
    pub(super) fn reset(&mut self, nic: usize) {
        let reset = Operation::Reset(nic, self.edge.reset());
        self.operations.push(reset);
        for connection in 0..self.connections.len() {
            if self.connections[connection].nics.contains(&nic) {
                for end in [2 * connection, 2 * connection + 1] {
                    if self.connections[connection].nics[end % 2] == nic {
                        self.slots[end] = Default::default();
                    }
                }
                self.connect(connection);
            }
        }
    }

    /// Registers a region of the end's data.
    pub(super) fn register(&mut self, end: End) {
        let slot = self.random.random_range(1..SLOTS);
        let at = self.random.random_range(0..DATA_BYTES - 64);
        let length = self.random.random_range(1..=(DATA_BYTES - at));
        let made = Registration {
            at,
            length,
            foreign: self.chance(5),
            read_only: self.chance(5),
            remote_write: !self.chance(4),
            remote_read: !self.chance(4),
        };
        self.slots[end][slot] = Some(made);
        self.operations.push(Operation::Register(end, slot, made));
    }

    /// Ends a registration, if the end has one there.
    pub(super) fn deregister(&mut self, end: End) {
        let slot = self.random.random_range(1..SLOTS);
        self.slots[end][slot] = None;
        self.operations.push(Operation::Deregister(end, slot));
    }

    /// Makes a store that is none of the end's doorbells.
    pub(super) fn stray(&mut self, end: End) {
        let stray = match self.random.random_range(0..5) {
            0 => Stray::Low,
            1 => Stray::Ahead(self.random.random_range(1..0x2000)),
            2 => Stray::Stale,
            _ => Stray::Beside([0x14, 0x20, 0x28, 0x40, 0x80, 0xFF8][self.random.random_range(0..6)]),
        };
        let receive = self.random.random();
        self.operations.push(Operation::Stray(end, receive, stray));
    }
}
