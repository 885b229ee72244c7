//! Random programs. All that is random in them comes from one generator: the order of the draws is part of what a seed
//! means, so a draw that moves makes other programs of the corpus.
//!
//! A *calm* program lets nothing race: receives reach their NIC before a message is sent, and everything comes to rest
//! before anything else is done to a connection. A *wild* one does not wait.
//!
//! ```text
//!   connections --> registrations --> round --> rest --> upkeep --> round ...
//!                                       |
//!                                       +--> burst --> post, receive --> flaw
//!                                                         |
//!                                                         +--> segments, room
//! ```

mod bursts;
mod connections;
mod edge;
mod flaws;
mod networks;
mod posts;
mod room;
mod rounds;
mod segments;
mod upkeep;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::conditions::Conditions;
use crate::memory::{DESCRIPTORS, SLOTS, SOURCE_BYTES};
use crate::operation::{Operation, Registration};
use crate::program::{Connection, Program};
use edge::Edge;

/// Most posts of a queue between two rests: no ring runs over, not even one that nothing is taken from.
const BURST: usize = 5;

/// Makes a program.
struct Generator {
    random: ChaCha8Rng,
    edge: Edge,
    connections: Vec<Connection>,
    /// First free byte of each end's data, and of its descriptors.
    free: Vec<(u32, u32)>,
    /// Registrations of each end that there may be now.
    slots: Vec<[Option<Registration>; SLOTS]>,
    operations: Vec<Operation>,
    /// Whether what ends behind a region of an end's is written, or read.
    behind: Vec<Option<bool>>,
    /// Nothing waits for what came before it.
    wild: bool,
    /// Most messages of an end in this round.
    most: usize,
    /// Nothing is wrong with what is made now: two ways to break a reliable connection would race.
    flawless: bool,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let wild = random.random_range(0..3) == 0;
    let rates = networks::rates(&mut random);
    let mut edge = Edge::new(seed);
    let mut conditions = Conditions::random(&mut random, rates);
    conditions.link.storms = edge.storms();
    let connections = connections::connections(&mut random);
    let ends = 2 * connections.len();
    let mut generator = Generator {
        random,
        edge,
        free: vec![(SOURCE_BYTES, DESCRIPTORS); ends],
        behind: vec![None; ends],
        slots: vec![Default::default(); ends],
        connections,
        operations: Vec::new(),
        wild,
        most: BURST,
        flawless: false,
    };
    generator.all();
    Program { seed, conditions, connections: generator.connections, operations: generator.operations }
}

impl Generator {
    /// Whether something happens that happens once in so many times.
    fn chance(&mut self, of: u32) -> bool {
        self.random.random_range(0..of) == 0
    }

    /// Makes the whole program: connections and registrations, then rounds with upkeep between them.
    fn all(&mut self) {
        for connection in 0..self.connections.len() {
            self.connect(connection);
        }
        for end in 0..2 * self.connections.len() {
            if self.chance(3) {
                self.register(end);
            }
        }
        for _ in 0..self.random.random_range(1..3) {
            self.round();
            if let Some(nic) = self.edge.reset_under_load() {
                self.reset(nic);
            }
            self.operations.push(Operation::Settle);
            for _ in 0..self.random.random_range(0..3) {
                self.upkeep();
            }
        }
    }
}
