//! The whole path against a second reading of the rules: several VIs, losses, duplicates, swaps, bad receives.

use std::collections::BTreeMap;

use rand::Rng;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::service;
use viaduct_spec::wire::syndrome;

use super::frames::{Frame, CLIENT, SERVER};
use super::world::{Descriptor, Event, Region, World};

const DONE: u64 = (status::DONE | status::OP_RECEIVE) as u64;
const HANDLE: u64 = 0x4242_0003;
const BUFFERS: u64 = 0x4000_0000;
const POSTS: usize = 40;

/// A receive: its segments, and the byte at which it is refused.
struct Post {
    segments: Vec<(u64, u64, u64)>,
    refused_at: Option<u64>,
}

impl Post {
    fn room(&self) -> u64 {
        self.segments.iter().map(|(_, _, length)| length).sum()
    }
}

/// A packet of a sender: what it is within its message, and its payload.
#[derive(Clone)]
struct Piece {
    begins: bool,
    ends: bool,
    immediate: Option<u32>,
    payload: Vec<u8>,
}

/// The receiving half of a VI, as the documents describe it.
struct Model {
    vi: u64,
    reliable: bool,
    first_psn: u64,
    /// Packets accepted, or passed over: the expected PSN less the first.
    expected: u64,
    msn: u64,
    consumed: usize,
    open: Option<Vec<u8>>,
    refused: bool,
    broken: bool,
    posts: Vec<Post>,
    events: Vec<Event>,
    /// What must be in memory: address and byte.
    memory: BTreeMap<u64, u8>,
    counts: BTreeMap<&'static str, usize>,
}

impl Model {
    fn psn(&self, n: u64) -> u64 {
        (self.first_psn + n) & 0xff_ffff
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    fn complete(&mut self, length: u64, errors: u32, immediate: Option<u32>) {
        let mut status = DONE | u64::from(errors);
        if immediate.is_some() {
            status |= u64::from(status::IMMEDIATE);
        }
        let (vi, position) = (self.vi, self.consumed as u64);
        let immediate = immediate.map(u64::from);
        self.events.push(Event::Complete { vi, position, length, status, immediate });
        self.consumed += 1;
        self.open = None;
    }

    fn acknowledge(&mut self, n: u64, syndrome: u8) {
        let (vi, psn, msn) = (self.vi, self.psn(n), self.msn);
        self.events.push(Event::Acknowledge { vi, psn, msn, syndrome: syndrome.into() });
    }

    /// The connection ends; everything posted is flushed.
    fn break_with(&mut self, nak: u8, code: u8) {
        self.acknowledge(self.expected, nak);
        self.events.push(Event::Fault { vi: self.vi, code: code.into(), breaks: true });
        self.broken = true;
        while self.consumed < self.posts.len() {
            self.complete(0, status::DESC_FLUSHED_ERROR, None);
        }
    }

    /// Packet `n` arrives.
    fn take(&mut self, n: u64, piece: &Piece, ask: bool) {
        if self.broken {
            return self.count("count_no_vi");
        }
        if n < self.expected {
            if self.reliable && (ask || piece.ends) {
                self.acknowledge(self.expected - 1, syndrome::ACK);
                return self.count("count_duplicate");
            }
            return self.count("count_psn");
        }
        if self.reliable {
            if n > self.expected {
                self.count("count_psn");
                if !self.refused {
                    self.refused = true;
                    self.acknowledge(self.expected, syndrome::NAK_SEQUENCE);
                }
                return;
            }
        } else {
            if let Some(open) = &self.open {
                if n != self.expected || piece.begins {
                    self.complete(open.len() as u64, status::PARTIAL_ERROR, None);
                }
            }
            if !piece.begins && self.open.is_none() {
                self.expected = n + 1;
                return self.count("count_partial");
            }
        }
        if piece.begins && self.consumed == self.posts.len() {
            self.count("count_no_receive");
            if self.reliable {
                return self.break_with(syndrome::RNR_NAK, event_code::RECVQ_EMPTY);
            }
            let (vi, code) = (self.vi, event_code::RECVQ_EMPTY.into());
            self.events.push(Event::Fault { vi, code, breaks: false });
            self.expected = n + 1;
            return;
        }
        let before = self.open.take().unwrap_or_default();
        let mut after = before.clone();
        after.extend(&piece.payload);
        let post = &self.posts[self.consumed];
        // Where the bytes go, as far as they may.
        let allowed = post.refused_at.unwrap_or(u64::MAX).min(post.room());
        let places = post.segments.iter().flat_map(|(address, _, length)| *address..address + length);
        for (place, byte) in places.zip(&after).take(allowed as usize).skip(before.len()) {
            self.memory.insert(place, *byte);
        }
        if after.len() as u64 > allowed {
            let refused = post.refused_at.is_some_and(|at| at < post.room());
            let (error, nak) = if refused {
                (status::PROTECTION_ERROR, syndrome::NAK_OPERATIONAL)
            } else {
                (status::LENGTH_ERROR, syndrome::NAK_INVALID)
            };
            self.complete(before.len() as u64, error, None);
            if self.reliable {
                return self.break_with(nak, event_code::CONN_LOST);
            }
            self.expected = n + 1;
            return;
        }
        self.expected = n + 1;
        self.refused = false;
        if piece.ends {
            self.msn += 1;
            self.count("count_message");
            self.complete(after.len() as u64, 0, piece.immediate);
        } else {
            self.open = Some(after);
        }
        if self.reliable && ask {
            self.acknowledge(n, syndrome::ACK);
        }
    }
}

/// A sender's packets: messages cut at the MTU.
fn pieces(world: &mut World, mtu: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for _ in 0..POSTS + 4 {
        let random = &mut world.random;
        let length = if random.random_ratio(1, 4) {
            random.random_range(0..mtu * 4)
        } else {
            random.random_range(0..80)
        };
        let message: Vec<u8> = (0..length).map(|_| random.random()).collect();
        let immediate = random.random_ratio(1, 4).then(|| random.random());
        let count = length.div_ceil(mtu).max(1);
        for n in 0..count {
            pieces.push(Piece {
                begins: n == 0,
                ends: n + 1 == count,
                immediate: immediate.filter(|_| n + 1 == count),
                payload: message[n * mtu..length.min((n + 1) * mtu)].to_vec(),
            });
        }
    }
    pieces
}

fn posts(world: &mut World, vi: u64) -> Vec<Post> {
    let mut at = BUFFERS + vi * 0x10_0000;
    (0..POSTS)
        .map(|_| {
            let random = &mut world.random;
            let mut segments = Vec::new();
            let mut refused_at = None;
            let room = if random.random_ratio(1, 12) { 60 } else { 3000 };
            let mut total = 0;
            for n in 0..random.random_range(1..10) {
                let length = random.random_range(0..if n == 0 { room } else { room / 2 });
                let mut handle = HANDLE;
                if length > 0 && random.random_ratio(1, 80) {
                    handle = 0x9999_0003;
                    refused_at = refused_at.or(Some(total));
                }
                segments.push((at, handle, length));
                total += length;
                at += length + random.random_range(0..9);
            }
            Post { segments, refused_at }
        })
        .collect()
}

fn opcode(piece: &Piece, reliable: bool) -> u8 {
    let place = match (piece.begins, piece.ends) {
        (true, true) => 4,
        (true, false) => 0,
        (false, false) => 1,
        (false, true) => 2,
    };
    place + u8::from(piece.immediate.is_some()) + if reliable { 0 } else { 0x20 }
}

#[test]
fn many_vis_under_a_bad_network() {
    let mut world = World::new();
    world
        .regions
        .insert(3, Region { base: BUFFERS, length: 0x1000_0000, key: 0x4242, tag: 7, writable: false });
    let mut models = Vec::new();
    let mut senders = Vec::new();
    for vi in [0, 3, 17, 31, 40, 63] {
        let reliable = vi % 2 == 1;
        let service = if reliable { service::RELIABLE_DELIVERY } else { service::UNRELIABLE };
        let mtu = world.random.random_range(0..3);
        let first_psn = world.random.random_range(0..1 << 24);
        world.connect(vi, service, mtu, first_psn, vi + 1000);
        let posts = posts(&mut world, vi);
        for post in &posts {
            world.post(vi, Descriptor::new(&post.segments), true);
        }
        senders.push((pieces(&mut world, 256 << mtu), 0u64));
        models.push(Model {
            vi,
            reliable,
            first_psn,
            expected: 0,
            msn: 0,
            consumed: 0,
            open: None,
            refused: false,
            broken: false,
            posts,
            events: Vec::new(),
            memory: BTreeMap::new(),
            counts: BTreeMap::new(),
        });
    }
    // Every VI's packets in an order of their own: mostly the next one, now and then one from the neighbourhood.
    let mut frames = 0;
    for _ in 0..1500 {
        let random = &mut world.random;
        let which = random.random_range(0..models.len());
        let (model, (pieces, cursor)) = (&mut models[which], &mut senders[which]);
        if model.reliable {
            *cursor = model.expected;
        }
        let mut n = *cursor;
        if random.random_ratio(1, 8) {
            n = (n + random.random_range(0..6)).saturating_sub(3);
        }
        // A broken connection's peer soon stops.
        if n >= pieces.len() as u64 || model.broken && random.random_ratio(9, 10) {
            continue;
        }
        *cursor = n + 1;
        let piece = &pieces[n as usize];
        let ask = model.reliable && (piece.ends || random.random_ratio(1, 10));
        let frame = Frame {
            to: SERVER,
            from: CLIENT,
            opcode: opcode(piece, model.reliable),
            queue_pair: ((model.vi + 1000) << 10 | model.vi) as u32,
            psn: model.psn(n) as u32,
            ack_request: ask,
            reth: None,
            extension: piece.immediate,
            payload: piece.payload.clone(),
        };
        model.take(n, piece, ask);
        world.send(&frame.bytes(), false);
        frames += 1;
        // Not so many at once that the MAC's queue overflows.
        while world.waiting() || world.bench.get("pause") == 1 {
            world.step();
        }
    }
    world.settle();
    assert_eq!(world.count("count_overflow"), 0);

    let mut messages = 0;
    for model in &models {
        let of = |event: &Event| match event {
            Event::Complete { vi, .. }
            | Event::Acknowledge { vi, .. }
            | Event::Fault { vi, .. }
            | Event::Acknowledged { vi, .. }
            | Event::Repeat { vi } => *vi == model.vi,
            Event::Count(_) => false,
        };
        let found: Vec<_> = world.events.iter().filter(|event| of(event)).cloned().collect();
        for (n, (is, should)) in found.iter().zip(&model.events).enumerate() {
            assert_eq!(is, should, "VI {}, event {n}", model.vi);
        }
        assert_eq!(found.len(), model.events.len(), "VI {}", model.vi);
        for (address, byte) in &model.memory {
            assert_eq!(world.memory.get(address), Some(byte), "VI {} at {address:#x}", model.vi);
        }
        messages += model.counts.get("count_message").copied().unwrap_or(0);
    }
    // Nothing was written that should not have been.
    let allowed: usize = models.iter().map(|model| model.memory.len()).sum();
    let written = world.memory.range(BUFFERS..BUFFERS + 0x1000_0000).count();
    assert_eq!(written, allowed);
    for name in
        ["count_message", "count_duplicate", "count_psn", "count_partial", "count_no_receive", "count_no_vi"]
    {
        let should: usize = models.iter().filter_map(|model| model.counts.get(name)).sum();
        assert_eq!(world.count(name), should, "{name}");
    }
    let broken = models.iter().filter(|model| model.broken).count();
    println!("{frames} frames, {messages} messages, {broken} connections broken");
    println!("{:?}", models.iter().map(|model| &model.counts).collect::<Vec<_>>());
    assert!(messages > 60, "only {messages} messages were delivered");
    world.check_consumed();
}
