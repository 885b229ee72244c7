//! The whole path against a second reading of the rules: several VIs, sends and RDMA writes, losses, duplicates, swaps,
//! bad receives, writes that may not be.

use std::collections::BTreeMap;

use rand::Rng;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::syndrome;

use super::frames::{Frame, CLIENT, SERVER};
use super::world::{Descriptor, Event, Region, World};

const DONE: u64 = (status::DONE | status::OP_RECEIVE) as u64;
const WRITTEN: u64 = (status::DONE | status::OP_REMOTE_RDMA_WRITE) as u64;
const HANDLE: u64 = 0x4242_0003;
const BUFFERS: u64 = 0x4000_0000;
/// What peers may write to, and its handle.
const WRITES: u64 = 0x6000_0000;
const WRITE_HANDLE: u32 = 0x5151_0004;
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
    /// Of an RDMA write: where to, with which handle, how much in all.
    target: Option<(u64, u32, u32)>,
}

/// A message in progress: its bytes until now, and where they go if it is an RDMA write.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    target: Option<(u64, u32, u32)>,
}

/// The receiving half of a VI, as the documents describe it.
struct Model {
    vi: u64,
    reliable: bool,
    /// The peer may write.
    writable: bool,
    /// Receiver-not-ready answers with this timer code do not break it.
    stays: Option<u64>,
    first_psn: u64,
    /// Packets accepted, or passed over: the expected PSN less the first.
    expected: u64,
    msn: u64,
    consumed: usize,
    open: Option<Open>,
    refused: bool,
    broken: bool,
    /// Requests that came after that.
    repeats: usize,
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
        self.finish(length, DONE | u64::from(errors), immediate);
    }

    fn finish(&mut self, length: u64, mut status: u64, immediate: Option<u32>) {
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

    fn event(&mut self, code: u8, breaks: bool) {
        self.events.push(Event::Fault { vi: self.vi, code: code.into(), breaks });
    }

    /// An RDMA write may not be.
    fn deny(&mut self, n: u64, piece: &Piece, before: usize, nak: u8) {
        let told = piece.immediate.is_some() && self.consumed < self.posts.len();
        if told {
            self.finish(before as u64, WRITTEN | u64::from(status::RDMA_PROT_ERROR), None);
        }
        if self.reliable {
            return self.break_with(nak, if told { event_code::CONN_LOST } else { event_code::RDMAW_PROT });
        }
        if !told {
            self.event(event_code::RDMAW_PROT, false);
        }
        self.expected = n + 1;
    }

    /// The connection ends; everything posted is flushed.
    fn break_with(&mut self, nak: u8, code: u8) {
        self.acknowledge(self.expected, nak);
        self.event(code, true);
        self.broken = true;
        self.open = None;
        while self.consumed < self.posts.len() {
            self.complete(0, status::DESC_FLUSHED_ERROR, None);
        }
    }

    /// Packet `n` arrives.
    fn take(&mut self, n: u64, piece: &Piece, ask: bool) {
        if self.broken {
            self.repeats += 1;
            return self.count("count_no_vi");
        }
        if n < self.expected {
            if self.reliable {
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
            if n != self.expected || piece.begins {
                match self.open.take() {
                    Some(Open { target: Some(_), .. }) => self.event(event_code::RDMAW_ABORT, false),
                    Some(open) => self.complete(open.bytes.len() as u64, status::PARTIAL_ERROR, None),
                    None => (),
                }
            }
            if !piece.begins && self.open.is_none() {
                // One that comes early takes no PSN: what it has overtaken may begin its message.
                if n == self.expected {
                    self.expected = n + 1;
                }
                return self.count("count_partial");
            }
        }
        if piece.begins && piece.target.is_some() && !self.writable {
            return self.deny(n, piece, 0, syndrome::NAK_INVALID);
        }
        let needs = if piece.target.is_some() { piece.immediate.is_some() } else { piece.begins };
        if needs && self.consumed == self.posts.len() {
            if let Some(timer) = self.stays {
                self.refused = true;
                return self.acknowledge(self.expected, syndrome::RNR_NAK | timer as u8);
            }
            self.count("count_no_receive");
            self.open = None;
            if self.reliable {
                return self.break_with(syndrome::RNR_NAK, event_code::RECVQ_EMPTY);
            }
            self.event(event_code::RECVQ_EMPTY, false);
            self.expected = n + 1;
            return;
        }
        let before = self.open.take().unwrap_or_default().bytes;
        let mut after = before.clone();
        after.extend(&piece.payload);
        if let Some((address, handle, _)) = piece.target {
            if !piece.payload.is_empty() && handle != WRITE_HANDLE {
                return self.deny(n, piece, before.len(), syndrome::NAK_ACCESS);
            }
            for (place, byte) in (address..).zip(&after).skip(before.len()) {
                self.memory.insert(place, *byte);
            }
        } else if let Some((error, nak)) = self.scatter(&before, &after) {
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
            if piece.target.is_none() {
                self.complete(after.len() as u64, 0, piece.immediate);
            } else if piece.immediate.is_some() {
                self.finish(after.len() as u64, WRITTEN, piece.immediate);
            }
        } else {
            self.open = Some(Open { bytes: after, target: piece.target });
        }
        if self.reliable && ask {
            self.acknowledge(n, syndrome::ACK);
        }
    }

    /// Puts a send's new bytes where the receive wants them, as far as they may go there. What is wrong, and the NAK.
    fn scatter(&mut self, before: &[u8], after: &[u8]) -> Option<(u32, u8)> {
        let post = &self.posts[self.consumed];
        let allowed = post.refused_at.unwrap_or(u64::MAX).min(post.room());
        let places = post.segments.iter().flat_map(|(address, _, length)| *address..address + length);
        for (place, byte) in places.zip(after).take(allowed as usize).skip(before.len()) {
            self.memory.insert(place, *byte);
        }
        let refused = post.refused_at.is_some_and(|at| at < post.room());
        (after.len() as u64 > allowed).then_some(if refused {
            (status::PROTECTION_ERROR, syndrome::NAK_OPERATIONAL)
        } else {
            (status::LENGTH_ERROR, syndrome::NAK_INVALID)
        })
    }
}

/// A sender's packets: messages cut at the MTU.
fn pieces(world: &mut World, vi: u64, mtu: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = WRITES + vi * 0x10_0000;
    for _ in 0..POSTS * 2 {
        let random = &mut world.random;
        let length = if random.random_ratio(1, 4) {
            random.random_range(0..mtu * 4)
        } else {
            random.random_range(0..80)
        };
        let message: Vec<u8> = (0..length).map(|_| random.random()).collect();
        let immediate = random.random_ratio(1, 4).then(|| random.random());
        let target = random.random_ratio(1, 2).then(|| {
            let handle = if random.random_ratio(1, 60) { WRITE_HANDLE ^ 0x1_0000 } else { WRITE_HANDLE };
            at += length as u64 + random.random_range(0..9);
            (at - length as u64, handle, length as u32)
        });
        let count = length.div_ceil(mtu).max(1);
        for n in 0..count {
            pieces.push(Piece {
                begins: n == 0,
                ends: n + 1 == count,
                immediate: immediate.filter(|_| n + 1 == count),
                payload: message[n * mtu..length.min((n + 1) * mtu)].to_vec(),
                target,
            });
        }
    }
    pieces
}

fn posts(world: &mut World, vi: u64, count: usize) -> Vec<Post> {
    let mut at = BUFFERS + vi * 0x10_0000;
    (0..count)
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
    let place = if piece.target.is_some() { [6, 7, 8, 8, 10][place as usize] } else { place };
    place + u8::from(piece.immediate.is_some()) + if reliable { 0 } else { 0x20 }
}

#[test]
fn many_vis_under_a_bad_network() {
    let mut world = World::new();
    world
        .regions
        .insert(3, Region { base: BUFFERS, length: 0x1000_0000, key: 0x4242, tag: 7, writable: false });
    world
        .regions
        .insert(4, Region { base: WRITES, length: 0x1000_0000, key: 0x5151, tag: 7, writable: true });
    let mut models = Vec::new();
    let mut senders = Vec::new();
    for vi in [0, 3, 17, 31, 40, 45, 50, 63] {
        let reliable = vi % 2 == 1;
        let writable = vi != 50 && vi != 31;
        let stays = [3, 45].contains(&vi).then_some(vi % 32);
        let service = if reliable { service::RELIABLE_DELIVERY } else { service::UNRELIABLE };
        let mtu = world.random.random_range(0..3);
        let first_psn = world.random.random_range(0..1 << 24);
        world.connect_with(vi, service, mtu, first_psn, vi + 1000, |row| {
            receive::RDMA_WRITE.put(row, writable.into());
            receive::RNR_STAY.put(row, stays.is_some().into());
            receive::RNR_TIMER.put(row, stays.unwrap_or(7));
        });
        // A VI that stays when there is no receive has few.
        let posts = posts(&mut world, vi, if stays.is_some() { 5 } else { POSTS });
        for post in &posts {
            world.post(vi, Descriptor::new(&post.segments), true);
        }
        senders.push((pieces(&mut world, vi, 256 << mtu), 0u64));
        models.push(Model {
            vi,
            reliable,
            writable,
            stays,
            first_psn,
            expected: 0,
            msn: 0,
            consumed: 0,
            open: None,
            refused: false,
            broken: false,
            repeats: 0,
            posts,
            events: Vec::new(),
            memory: BTreeMap::new(),
            counts: BTreeMap::new(),
        });
    }
    // Every VI's packets in an order of their own: mostly the next one, now and then one from the neighbourhood.
    let mut frames = 0;
    for _ in 0..2000 {
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
            reth: piece.target.filter(|_| piece.begins),
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
            | Event::Acknowledged { vi, .. } => *vi == model.vi,
            // When among the flushes it comes, nobody says.
            Event::Repeat { .. } | Event::Count(_) => false,
        };
        let found: Vec<_> = world.events.iter().filter(|event| of(event)).cloned().collect();
        for (n, (is, should)) in found.iter().zip(&model.events).enumerate() {
            assert_eq!(is, should, "VI {}, event {n}", model.vi);
        }
        assert_eq!(found.len(), model.events.len(), "VI {}", model.vi);
        let repeats = world.events.iter().filter(|event| **event == Event::Repeat { vi: model.vi }).count();
        assert_eq!(repeats, model.repeats, "VI {}", model.vi);
        for (address, byte) in &model.memory {
            assert_eq!(world.memory.get(address), Some(byte), "VI {} at {address:#x}", model.vi);
        }
        messages += model.counts.get("count_message").copied().unwrap_or(0);
    }
    // Nothing was written that should not have been.
    let allowed: usize = models.iter().map(|model| model.memory.len()).sum();
    let written = world.memory.range(BUFFERS..WRITES + 0x1000_0000).count();
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
    let not_ready = models.iter().flat_map(|model| &model.events);
    let not_ready =
        not_ready.filter(|event| matches!(event, Event::Acknowledge { syndrome, .. } if syndrome >> 5 == 1));
    println!("{} receiver-not-ready answers", not_ready.count());
    assert!(messages > 60, "only {messages} messages were delivered");
    world.check_consumed();
}
