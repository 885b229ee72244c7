//! Random programs.
//!
//! A *calm* program lets nothing race: receives reach their NIC before a message is sent, and everything comes to rest
//! before anything else is done to a connection. A *wild* one does not wait.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::descriptor::{control, status, CONTROL_SEGMENT_BYTES, SEGMENT_BYTES};
use viaduct_spec::profile::VIS;
use viaduct_spec::tables::service;

use crate::conditions::Conditions;
use crate::memory::{DATA_BYTES, DESCRIPTORS, SLICE, SLOTS, SOURCE_BYTES};
use crate::operation::{Bell, End, Flaw, Operation, Piece, Post, Registration, Request, Stray};
use crate::program::{Connection, Program, Told, CONNECTIONS, SHARED};
use crate::weather::Rates;

/// Most posts of a queue between two rests: no ring runs over, not even one that nothing is taken from.
const BURST: usize = 5;

/// Most frames of a message.
const FRAMES: u32 = 8;

/// Makes a program.
struct Generator {
    random: ChaCha8Rng,
    connections: Vec<Connection>,
    /// First free byte of each end's data, and of its descriptors.
    free: Vec<(u32, u32)>,
    /// Registrations of each end that there may be now.
    slots: Vec<[Option<Registration>; SLOTS]>,
    operations: Vec<Operation>,
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
    let rates = rates(&mut random);
    let conditions = Conditions::random(&mut random, rates);
    let connections = connections(&mut random);
    let ends = 2 * connections.len();
    let mut generator = Generator {
        random,
        free: vec![(SOURCE_BYTES, DESCRIPTORS); ends],
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

/// Half of the networks are good ones.
fn rates(random: &mut ChaCha8Rng) -> Rates {
    if random.random() {
        return Rates::default();
    }
    let mut rate = |most: u32| [0, most / 5, most][random.random_range(0..3)];
    Rates { lose: rate(200), repeat: rate(150), flip: rate(100), damage: rate(100), delay: rate(150) }
}

fn connections(random: &mut ChaCha8Rng) -> Vec<Connection> {
    let count = [1, 1, 1, 2, 2, 2, 3, CONNECTIONS][random.random_range(0..8)];
    let mut made: Vec<Connection> = Vec::new();
    while made.len() < count {
        let services = [service::UNRELIABLE, service::RELIABLE_DELIVERY, service::RELIABLE_RECEPTION];
        let nic = random.random_range(0..2);
        let nics = if random.random_range(0..6) == 0 { [nic, nic] } else { [nic, 1 - nic] };
        let vis = [0, 0].map(|_| random.random_range(0..VIS));
        let taken = |side: usize| {
            let end = (nics[side], vis[side]);
            made.iter().any(|other| (0..2).any(|side| (other.nics[side], other.vis[side]) == end))
        };
        if taken(0) || taken(1) || nics[0] == nics[1] && vis[0] == vis[1] {
            continue;
        }
        // Half of them wrap soon.
        let mut psn = || if random.random() { random.random_range(0..1 << 24) } else { 0xFF_FFFC };
        let psns = [psn(), psn()];
        let service = services[random.random_range(0..services.len())];
        let told = [0, 1].map(|_| [0, 1].map(|_| told(random)));
        made.push(Connection {
            nics,
            vis,
            service,
            mtu: [0, 0, 0, 1, 2, 4][random.random_range(0..6)],
            ring_log2: random.random_range(3..6),
            psns,
            // So many that nothing ends for want of them: what would is a matter of time.
            retries: (60, random.random_range(30..200)),
            not_ready: if random.random() { 20 } else { 0 },
            depth: random.random_range(0..5),
            max_transfer: [0x1_0000, 0x1_0000, 0x1_0000, 900][random.random_range(0..4)],
            rights: [0, 1].map(|_| random.random_range(0..8) != 0),
            scattered: random.random_range(0..4) == 0,
            high: random.random_range(0..6) == 0,
            told,
        });
    }
    made
}

/// A completion queue for a work queue, or none.
fn told(random: &mut ChaCha8Rng) -> Told {
    match random.random_range(0..16) {
        0..=7 => Told::Nowhere,
        15 => Told::Small,
        _ => Told::Shared(random.random_range(0..SHARED)),
    }
}

impl Generator {
    fn chance(&mut self, of: u32) -> bool {
        self.random.random_range(0..of) == 0
    }

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
            self.operations.push(Operation::Settle);
            for _ in 0..self.random.random_range(0..3) {
                self.upkeep();
            }
        }
    }

    fn connect(&mut self, connection: usize) {
        self.operations.push(Operation::Connect(connection));
    }

    /// What agents do between the bursts.
    fn upkeep(&mut self) {
        let connection = self.random.random_range(0..self.connections.len());
        let end = 2 * connection + self.random.random_range(0..2);
        match self.random.random_range(0..13) {
            0..=1 => self.operations.push(Operation::Disconnect(end)),
            2..=4 => self.connect(connection),
            5..=8 => self.register(end),
            9 => {
                let slot = self.random.random_range(1..SLOTS);
                self.slots[end][slot] = None;
                self.operations.push(Operation::Deregister(end, slot));
            }
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

    fn resize(&mut self) {
        let resize = Operation::Resize(self.random.random_range(0..2), self.random.random_range(0..SHARED));
        self.operations.push(resize);
    }

    fn reset(&mut self, nic: usize) {
        self.operations.push(Operation::Reset(nic));
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

    fn register(&mut self, end: End) {
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

    fn stray(&mut self, end: End) {
        let stray = match self.random.random_range(0..5) {
            0 => Stray::Low,
            1 => Stray::Ahead(self.random.random_range(1..0x2000)),
            2 => Stray::Stale,
            _ => Stray::Beside([0x14, 0x20, 0x28, 0x40, 0x80, 0xFF8][self.random.random_range(0..6)]),
        };
        let receive = self.random.random();
        self.operations.push(Operation::Stray(end, receive, stray));
    }

    /// A burst on some of the connections, in one or both directions.
    fn round(&mut self) {
        let mut sends = Vec::new();
        let mut receives = Vec::new();
        let mixed = self.wild && self.random.random();
        let only = self.random.random_range(0..self.connections.len());
        self.most = if mixed { 3 } else { BURST };
        for connection in 0..self.connections.len() {
            // What may come in any order has to be little.
            if mixed && connection != only {
                continue;
            }
            if !mixed && self.connections.len() > 1 && self.chance(4) {
                continue;
            }
            let both = self.random.random() && !mixed;
            self.flawless = both && self.connections[connection].is_reliable();
            let first = self.random.random_range(0..2);
            for turn in 0..if both { 2 } else { 1 } {
                let end = 2 * connection + (first ^ turn);
                self.burst(end, &mut sends, &mut receives);
            }
        }
        shuffle_queues(&mut self.random, &mut sends);
        shuffle_queues(&mut self.random, &mut receives);
        if mixed {
            // Receives may come behind the messages that want them.
            let mut mixed: Vec<Operation> = Vec::new();
            let (mut sends, mut receives) = (sends.into_iter().peekable(), receives.into_iter().peekable());
            while sends.peek().is_some() || receives.peek().is_some() {
                let next = if self.random.random() { receives.next() } else { sends.next() };
                mixed.extend(next.map(Operation::Post));
                if self.chance(4) {
                    mixed.push(Operation::Pause(self.random.random_range(1..10)));
                }
            }
            self.operations.extend(mixed);
            self.arm();
        } else {
            self.operations.extend(receives.into_iter().map(Operation::Post));
            self.arm();
            self.operations.push(Operation::Arrive);
            self.operations.extend(sends.into_iter().map(Operation::Post));
            self.arm();
        }
        if self.wild && self.random.random() {
            self.operations.push(Operation::Pause(self.random.random_range(1..20)));
            let connection = self.random.random_range(0..self.connections.len());
            let end = 2 * connection + self.random.random_range(0..2);
            match self.random.random_range(0..7) {
                0..=2 => self.operations.push(Operation::Disconnect(end)),
                6 => self.resize(),
                3 => {
                    let slot = self.random.random_range(1..SLOTS);
                    self.slots[end][slot] = None;
                    self.operations.push(Operation::Deregister(end, slot));
                }
                4 => {
                    let nic = self.random.random_range(0..2);
                    self.reset(nic);
                }
                _ => self.stray(end),
            }
        }
    }

    /// Now and then a consumer asks to be told.
    fn arm(&mut self) {
        if self.chance(3) {
            let end = self.random.random_range(0..2 * self.connections.len());
            self.operations.push(Operation::Arm(end, self.random.random()));
        }
    }

    /// Messages from an end, and the receives of the other for them.
    fn burst(&mut self, end: End, sends: &mut Vec<Post>, receives: &mut Vec<Post>) {
        let peer = end ^ 1;
        let mut early = 0;
        for _ in 0..self.random.random_range(1..=self.most) {
            let Some(mut post) = self.post(end, false) else { return };
            let sum: u32 = post.pieces.iter().map(|piece| piece.length).sum();
            let consumes = match post.request {
                Request::Message => true,
                Request::Write => post.immediate.is_some(),
                Request::Read => false,
            };
            // Now and then a receive is missing, or too many are there.
            if consumes && (self.flawless || !self.chance(80)) {
                if let Some(mut receive) = self.receive(peer, sum) {
                    self.flaw(&mut receive);
                    receives.push(receive);
                    early += 1;
                }
            }
            if !self.flawless && self.chance(60) && early < BURST {
                if let Some(receive) = self.receive(peer, 100) {
                    receives.push(receive);
                    early += 1;
                }
            }
            self.flaw(&mut post);
            sends.push(post);
        }
        // The last of a burst says what the silent ones did not.
        for posts in [sends, receives] {
            if let Some(last) = posts.last_mut().filter(|last| last.bell == Bell::Silent) {
                last.bell = Bell::High;
            }
        }
    }

    fn bell(&mut self) -> Bell {
        match self.random.random_range(0..8) {
            0 => Bell::High,
            1 => Bell::Silent,
            _ => Bell::Token,
        }
    }

    /// How long a message is: short ones, and those about the path MTU.
    fn length(&mut self, connection: usize) -> u32 {
        let mtu = 256 << self.connections[connection].mtu;
        let most = self.connections[connection].max_transfer as u32;
        let most = if self.flawless { most } else { u32::MAX };
        let length = match self.random.random_range(0..10) {
            0 => 0,
            1..=3 => self.random.random_range(1..64),
            4..=5 => self.random.random_range(64..300),
            6..=7 => (mtu * self.random.random_range(1..3) + self.random.random_range(0..3) - 1).min(4000),
            8 => self.random.random_range(300..1500),
            _ => self.random.random_range(1500..2600),
        };
        length.min(most).min(FRAMES * mtu)
    }

    /// Cuts a length into segments, some of them empty.
    fn cut(&mut self, length: u32) -> Vec<u32> {
        let count = match self.random.random_range(0..20) {
            0 => self.random.random_range(10..40),
            1..=10 => 1,
            _ => self.random.random_range(1..6),
        };
        if length == 0 && self.random.random() {
            return Vec::new();
        }
        let mut left = length;
        let mut cuts = Vec::new();
        for index in 0..count {
            let take = if index + 1 == count { left } else { self.random.random_range(0..=left) };
            cuts.push(take);
            left -= take;
        }
        cuts
    }

    /// Where a descriptor of so many segments goes.
    fn place(&mut self, end: End, segments: usize) -> Option<u32> {
        let bytes = (CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * segments).next_multiple_of(64) as u32;
        let place = self.free[end].1;
        (place + bytes <= SLICE).then(|| {
            self.free[end].1 += bytes;
            place
        })
    }

    /// Bytes of the end's that nothing else is written to, and in front of them some that nothing is.
    fn room(&mut self, end: End, bytes: u32) -> Option<u32> {
        let at = self.free[end].0 + self.random.random_range(0..20);
        (at + bytes <= DATA_BYTES).then(|| {
            self.free[end].0 = at + bytes;
            at
        })
    }

    /// A registration that holds these bytes; rarely one that might not.
    fn slot(&mut self, end: End, at: u32, length: u32) -> usize {
        if !self.flawless && self.chance(30) {
            return self.random.random_range(0..SLOTS);
        }
        let holds = |slot: &usize| {
            self.slots[end][*slot].is_some_and(|made| {
                made.at <= at && at + length <= made.at + made.length && !made.foreign && !made.read_only
            })
        };
        let found: Vec<usize> = (1..SLOTS).filter(holds).collect();
        match found.len() {
            0 => 0,
            _ if self.random.random() => 0,
            count => found[self.random.random_range(0..count)],
        }
    }

    /// The same for what the peer reaches: only number 0 has every right for certain.
    fn remote_slot(&mut self, end: End, at: u32, length: u32) -> usize {
        if self.flawless {
            0
        } else {
            self.slot(end, at, length)
        }
    }

    fn post(&mut self, end: End, receive: bool) -> Option<Post> {
        let connection = end / 2;
        let reliable = self.connections[connection].is_reliable();
        let rights = self.connections[connection].rights;
        let request = match self.random.random_range(0..4) {
            0 if rights[0] || !self.flawless => Request::Write,
            1 if if self.flawless { rights[1] } else { reliable || self.chance(8) } => Request::Read,
            _ => Request::Message,
        };
        let length = self.length(connection);
        let cuts = self.cut(length);
        let place = self.place(end, cuts.len() + usize::from(request != Request::Message))?;
        let mut pieces = Vec::new();
        for length in cuts {
            let at = match request {
                Request::Read => self.room(end, length)?,
                _ => self.random.random_range(0..=SOURCE_BYTES - length),
            };
            pieces.push(Piece { slot: self.slot(end, at, length), at, length });
        }
        let remote = match request {
            Request::Message => (0, 0),
            Request::Write => {
                let at = self.room(end ^ 1, length)?;
                (self.remote_slot(end ^ 1, at, length), at)
            }
            Request::Read => {
                let at = self.random.random_range(0..=SOURCE_BYTES - length);
                (self.remote_slot(end ^ 1, at, length), at)
            }
        };
        let immediate = self.chance(4) && request != Request::Read;
        let fence = self.chance(8);
        Some(Post {
            end,
            receive,
            request,
            place,
            pieces,
            remote,
            immediate: immediate.then(|| self.random.random()),
            fence,
            flaw: Flaw::None,
            bell: self.bell(),
        })
    }

    /// A receive for a message of so many bytes: room for it and more, now and then too little.
    fn receive(&mut self, end: End, length: u32) -> Option<Post> {
        let length = match self.random.random_range(0..50) {
            0 if !self.flawless => length.saturating_sub(self.random.random_range(0..100)),
            1..=10 => length,
            _ => length + self.random.random_range(0..100),
        };
        let cuts = self.cut(length);
        let place = self.place(end, cuts.len())?;
        let mut pieces = Vec::new();
        for length in cuts {
            let at = self.room(end, length)?;
            pieces.push(Piece { slot: self.slot(end, at, length), at, length });
        }
        Some(Post {
            end,
            receive: true,
            request: Request::Message,
            place,
            pieces,
            remote: (0, 0),
            immediate: None,
            fence: false,
            flaw: Flaw::None,
            bell: self.bell(),
        })
    }

    /// Makes something wrong with one descriptor in 20.
    fn flaw(&mut self, post: &mut Post) {
        if self.flawless || !self.chance(20) {
            return;
        }
        let segment = match post.pieces.len() {
            0 => None,
            count => Some(self.random.random_range(0..count)),
        };
        let rdma = post.request != Request::Message;
        let reserved = control::RESERVED & (1 << self.random.random_range(4..16));
        post.flaw = match (self.random.random_range(0..18), segment) {
            (0, _) => Flaw::Length(self.random.random_range(1..100)),
            (1, _) => Flaw::Length(0u32.wrapping_sub(self.random.random_range(1..20))),
            (2, _) => Flaw::Status(status::DONE | self.random.random::<u32>()),
            (3, _) => Flaw::Reserved(1 << self.random.random_range(0..32)),
            (4, _) if post.request == Request::Read => Flaw::Control(control::IMMEDIATE),
            (4, _) => Flaw::Control(reserved),
            (5, _) if !rdma => Flaw::Control(control::OP_MASK),
            (5, _) => Flaw::RemoteKey,
            (6, _) => Flaw::Count(self.random.random_range(253..=u16::MAX)),
            (7, Some(segment)) => Flaw::Key(segment),
            (8, Some(segment)) => Flaw::Dead(segment),
            (9, Some(segment)) => Flaw::Zero(segment),
            (10, Some(segment)) => Flaw::Arena(segment),
            (14..=16, _) if rdma => Flaw::RemoteBehind([1, 1, 21][self.random.random_range(0..3)]),
            (11 | 14..=17, Some(segment)) => {
                // Behind a region that ends inside a page there is something.
                let made: Vec<usize> =
                    (1..SLOTS).filter(|slot| self.slots[post.end][*slot].is_some()).collect();
                if !made.is_empty() {
                    post.pieces[segment].slot = made[self.random.random_range(0..made.len())];
                }
                Flaw::Behind(segment, [1, 1, 21][self.random.random_range(0..3)])
            }
            (12, _) => Flaw::Foreign,
            (13, _) => Flaw::Nowhere,
            _ => Flaw::None,
        };
    }
}

/// Brings posts into another order, those of a queue staying in theirs.
fn shuffle_queues(random: &mut ChaCha8Rng, posts: &mut Vec<Post>) {
    let mut queues: Vec<Vec<Post>> = Vec::new();
    for post in posts.drain(..) {
        match queues.iter_mut().find(|queue| queue[0].end == post.end) {
            Some(queue) => queue.push(post),
            None => queues.push(vec![post]),
        }
    }
    queues.iter_mut().for_each(|queue| queue.reverse());
    while !queues.is_empty() {
        let queue = random.random_range(0..queues.len());
        posts.extend(queues[queue].pop());
        if queues[queue].is_empty() {
            queues.swap_remove(queue);
        }
    }
}
