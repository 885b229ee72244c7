//! Models on a fabric, driven by hand: rows, rings, doorbells. Virtual addresses are DMA addresses, and places in a file.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt;

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::device::Bar;
use viaduct_spec::descriptor::{
    control, control_segment, data_segment, status, CONTROL_SEGMENT_BYTES, SEGMENT_BYTES,
};
use viaduct_spec::doorbell::{self, cq_page, page};
use viaduct_spec::handle::{memory_handle, queue_pair};
use viaduct_spec::layout::Field;
use viaduct_spec::profile::{CQS, DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{command, command_op, control as control_register, counter, event, registers};
use viaduct_spec::tables::{
    completion_queue, cq_entry, gather, page as page_row, receive, region, service, table, transmit,
    vi_state, vi_states, work_queue,
};
use viaduct_spec::wire::UDP_PORT;

use crate::fabric::{Capture, Faults, Frame, Link};
use crate::memory::Range;
use crate::model::Choices;
use crate::network::{Activity, Network, Options, Port};
use crate::root_complex::Access;

/// Where each host's memory is: user data first, then the arena.
pub const DATA: u64 = 0x10_0000;
/// Bytes of user data.
pub const DATA_BYTES: u64 = 0x10_0000;
/// Where the arena is.
const ARENA: u64 = DATA + DATA_BYTES;
const ARENA_BYTES: u64 = 0x10_0000;
/// Where descriptors are put.
const DESCRIPTORS: u64 = DATA + 0xC_0000;
/// Region rows.
pub const DATA_REGION: u16 = 1;
const ARENA_REGION: u16 = 2;
/// Tags of users and agent.
pub const TAG: u64 = 7;
const SYSTEM_TAG: u64 = 9;
/// Key of the data region.
const KEY: u64 = 0x5A5A;
const RING_LOG2: u64 = 5;
const RING_BYTES: u64 = 8 << RING_LOG2;
/// Where completion queues' rings are in the arena.
const CQ_RINGS: u64 = 0x8_0000;
const CQ_RING_BYTES: u64 = 0x1000;
/// The completion queue that takes events: no test has more than it has room for.
pub const ERROR_RING: u64 = CQS as u64 - 1;
const ERROR_RING_LOG2: u64 = 8;
/// First PSN of every connection: it wraps soon.
pub const PSN: u32 = 0xFF_FFF8;
/// Offset of a descriptor's Status in the file.
const STATUS: u64 = 28;

/// A virtual interface: which NIC, and its index.
pub type End = (usize, usize);

/// How two virtual interfaces are connected.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Service.
    pub service: u8,
    /// Code of the path MTU.
    pub mtu: u64,
    /// TIMEOUT.
    pub timeout: u64,
    /// RETRIES.
    pub retries: u64,
    /// RNR_RETRIES; RNR_STAY if not 0.
    pub rnr: u64,
    /// READ_DEPTH in both directions.
    pub depth: u64,
    /// RDMA is enabled at the targets.
    pub rdma: bool,
}

impl Level {
    /// Reliable Delivery that sends again.
    pub fn reliable() -> Self {
        let service = service::RELIABLE_DELIVERY;
        Self { service, mtu: 0, timeout: 200, retries: 7, rnr: 200, depth: 4, rdma: true }
    }

    /// Unreliable Delivery.
    pub fn unreliable() -> Self {
        Self { service: service::UNRELIABLE, ..Self::reliable() }
    }
}

/// A descriptor to be posted.
#[derive(Debug, Clone, Default)]
pub struct Descriptor {
    control: u16,
    immediate: u32,
    length: Option<u32>,
    segments: Vec<(u64, u32, u32)>,
}

/// The handle of the data region.
pub fn handle() -> u32 {
    let mut word = [0];
    memory_handle::INDEX.put(&mut word, DATA_REGION.into());
    memory_handle::KEY.put(&mut word, KEY);
    word[0] as u32
}

impl Descriptor {
    /// A send or receive of no segments.
    pub fn new() -> Self {
        Self::default()
    }

    /// A send or receive of one segment.
    pub fn of(address: u64, length: u32) -> Self {
        Self::new().segment(address, length)
    }

    /// An RDMA write or read of one segment.
    pub fn rdma(operation: u16, remote: u64, address: u64, length: u32) -> Self {
        let target = Self { control: operation, segments: vec![(remote, handle(), 0)], ..Self::default() };
        target.segment(address, length)
    }

    /// One more segment.
    pub fn segment(mut self, address: u64, length: u32) -> Self {
        self.segments.push((address, handle(), length));
        self
    }

    /// With another handle in its segment of this number.
    pub fn handle(mut self, segment: usize, handle: u32) -> Self {
        self.segments[segment].1 = handle;
        self
    }

    /// With immediate data.
    pub fn immediate(mut self, data: u32) -> Self {
        self.control |= control::IMMEDIATE;
        self.immediate = data;
        self
    }

    /// With more control bits.
    pub fn flags(mut self, bits: u16) -> Self {
        self.control |= bits;
        self
    }

    /// With a Length that need not be right.
    pub fn length(mut self, length: u32) -> Self {
        self.length = Some(length);
        self
    }

    fn encode(&self) -> Vec<u8> {
        let rdma = usize::from(self.control & control::OP_MASK != 0);
        let sum: u32 = self.segments.iter().skip(rdma).map(|segment| segment.2).sum();
        let mut words = vec![0; (CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * self.segments.len()) / 8];
        control_segment::SEG_COUNT.put(&mut words, self.segments.len() as u64);
        control_segment::CONTROL.put(&mut words, self.control.into());
        control_segment::IMMEDIATE.put(&mut words, self.immediate.into());
        control_segment::LENGTH.put(&mut words, self.length.unwrap_or(sum).into());
        for (row, (address, handle, length)) in words[4..].chunks_exact_mut(2).zip(&self.segments) {
            data_segment::ADDRESS.put(row, *address);
            data_segment::HANDLE.put(row, (*handle).into());
            data_segment::LENGTH.put(row, (*length).into());
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Row words from fields.
pub fn row(fields: &[(Field, u64)]) -> [u64; 3] {
    let mut words = [0; 3];
    fields.iter().for_each(|(field, value)| field.put(&mut words, *value));
    words
}

/// What is written into a descriptor: Length, Status.
pub type Completion = (u32, u32);

/// The bench.
pub struct Bench {
    pub net: Network,
    files: Vec<File>,
    /// NIC, vector and eventfd.
    eventfds: Vec<(usize, usize, File)>,
    /// Positions of each queue: [NIC][VI][receive].
    positions: Vec<Vec<[u16; 2]>>,
    next_descriptor: u64,
    /// Events seen, by NIC.
    events: Vec<u64>,
}

impl Bench {
    /// So many models, all rows but those of virtual interfaces written.
    pub fn new(nics: usize) -> Self {
        Self::captured(nics, None)
    }

    /// The same, with a capture.
    pub fn captured(nics: usize, capture: Option<Capture>) -> Self {
        let options =
            Options { link: Link { latency: 16, rate: 8, ..Link::default() }, ..Options::default() };
        let ports = (0..nics).map(|_| Port::Model(Choices::default())).collect();
        let mut bench = Self {
            net: Network::of(ports, &options, capture),
            files: Vec::new(),
            eventfds: Vec::new(),
            positions: vec![vec![[0; 2]; VIS]; nics],
            next_descriptor: DESCRIPTORS,
            events: vec![0; nics],
        };
        for nic in 0..nics {
            let file = tempfile::tempfile().unwrap();
            file.set_len(ARENA + ARENA_BYTES).unwrap();
            let range = Range {
                iova: DATA,
                length: DATA_BYTES + ARENA_BYTES,
                offset: DATA,
                readable: true,
                writable: true,
            };
            bench.net.memory(nic).map(&range, Some(file.try_clone().unwrap())).unwrap();
            bench.files.push(file);
            // Memory Enable and Bus Master.
            bench.net.config_write(nic, 4, &[6, 0]);
            bench.store(nic, registers::MAC, 8, Self::mac(nic));
            bench.store(nic, registers::IP, 4, Self::ip(nic));
            bench.store(nic, registers::PKEY, 4, 0xFFFF);
            bench.region(nic, DATA_REGION, &[]);
            let arena = [
                (region::SYSTEM, 1),
                (region::TAG, SYSTEM_TAG),
                (region::BASE, ARENA),
                (region::FIRST_PAGE, 1),
            ];
            bench.region(nic, ARENA_REGION, &arena);
            for (index, at) in [(0, DATA), (1, ARENA)] {
                bench.commit(nic, table::PAGE, index, row(&[(page_row::ADDRESS, at)]));
            }
            bench.cq(nic, ERROR_RING, ERROR_RING_LOG2, &[(completion_queue::EVENTS, 1)]);
            let enable = control_register::RECEIVE_ENABLE.mask() | control_register::SEND_ENABLE.mask() << 1;
            bench.store(nic, registers::CONTROL, 4, enable);
        }
        bench
    }

    fn mac(nic: usize) -> u64 {
        0x0200_0000_0002 | (nic as u64) << 40
    }

    fn ip(nic: usize) -> u64 {
        0x0A00_0001 + nic as u64
    }

    /// Writes a region row; what is not said is as in the data region.
    pub fn region(&mut self, nic: usize, index: u16, fields: &[(Field, u64)]) {
        let usual = [
            (region::BASE, DATA),
            (region::LENGTH, DATA_BYTES),
            (region::TAG, TAG),
            (region::KEY, KEY),
            (region::PAGE_SHIFT, 20),
            (region::LIVE, 1),
            (region::RDMA_READ, 1),
            (region::RDMA_WRITE, 1),
        ];
        let mut words = row(&usual);
        fields.iter().for_each(|(field, value)| field.put(&mut words, *value));
        self.commit(nic, table::REGION, index.into(), words);
    }

    pub fn store(&mut self, nic: usize, offset: u64, length: usize, value: u64) {
        self.net.store(nic, Access::new(Bar::Registers, offset, length).unwrap(), value);
    }

    pub fn load(&mut self, nic: usize, offset: u64, length: usize) -> u64 {
        self.net.load_and_wait(nic, Access::new(Bar::Registers, offset, length).unwrap())
    }

    pub fn ring(&mut self, nic: usize, page: usize, offset: u64, length: usize, value: u64) {
        let at = ((page as u64) << DOORBELL_SHIFT) + offset;
        self.net.store(nic, Access::new(Bar::Doorbells, at, length).unwrap(), value);
    }

    pub fn command(&mut self, nic: usize, op: u8, number: u8, at: u64) {
        let word = row(&[(command::OP, op.into()), (command::TABLE, number.into()), (command::ROW, at)]);
        self.store(nic, registers::COMMAND, 8, word[0]);
    }

    pub fn commit(&mut self, nic: usize, number: u8, at: u64, words: [u64; 3]) {
        for (offset, word) in [registers::STAGE0, registers::STAGE1, registers::STAGE2].into_iter().zip(words)
        {
            self.store(nic, offset, 8, word);
        }
        self.command(nic, command_op::COMMIT, number, at);
    }

    /// Writes a work queue's row, which empties it. `more` says what is not usual.
    pub fn queue(&mut self, (nic, vi): End, receive: usize, more: &[(Field, u64)]) {
        let at = 2 * vi + receive;
        let mut words = row(&[
            (work_queue::RING_OFFSET, at as u64 * RING_BYTES / 64),
            (work_queue::RING_REGION, ARENA_REGION.into()),
            (work_queue::RING_LOG2, RING_LOG2),
            (work_queue::OPEN, 1),
            (work_queue::SYSTEM_TAG, SYSTEM_TAG),
            (work_queue::TAG, TAG),
        ]);
        more.iter().for_each(|(field, value)| field.put(&mut words, *value));
        self.commit(nic, table::WORK_QUEUE, at as u64, words);
        self.positions[nic][vi][receive] = 0;
    }

    pub fn template(from: End, to: End) -> Vec<u64> {
        let mut bytes = [0u8; 64];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &Self::mac(to.0).to_le_bytes()[..6]);
        put(6, &Self::mac(from.0).to_le_bytes()[..6]);
        put(12, &[8, 0, 0x45]);
        put(22, &[64, 17]);
        put(26, &(Self::ip(from.0) as u32).to_be_bytes());
        put(30, &(Self::ip(to.0) as u32).to_be_bytes());
        put(34, &0xC001u16.to_be_bytes());
        put(36, &UDP_PORT.to_be_bytes());
        put(44, &[0xFF, 0xFF]);
        put(46, &Self::queue_pair(to.1).to_be_bytes());
        let sum = (14..34).step_by(2).fold(0u32, |sum, at| {
            let sum = sum + u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            (sum & 0xFFFF) + (sum >> 16)
        });
        bytes[24..26].copy_from_slice(&(sum as u16).to_be_bytes());
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// The queue pair number of a VI.
    pub fn queue_pair(vi: usize) -> u32 {
        row(&[(queue_pair::VI, vi as u64), (queue_pair::GENERATION, 3)])[0] as u32
    }

    /// Connects two virtual interfaces.
    pub fn connect(&mut self, ends: [End; 2], level: Level) {
        for [own, peer] in [ends, [ends[1], ends[0]]] {
            let (nic, vi) = own;
            for (n, word) in (0..).zip(Self::template(own, peer)) {
                self.commit(nic, table::TEMPLATE, 8 * vi as u64 + n, [word, 0, 0]);
            }
            let rdma = u64::from(level.rdma);
            let rows = [
                (
                    table::GATHER,
                    row(&[
                        (gather::TAG, TAG),
                        (gather::MTU, level.mtu),
                        (gather::RDMA_READ, 1),
                        (gather::MAX_TRANSFER, 0x1_0000),
                    ]),
                ),
                (
                    table::TRANSMIT,
                    row(&[
                        (transmit::PSN, PSN.into()),
                        (transmit::SERVICE, level.service.into()),
                        (transmit::LOOPBACK, (own.0 == peer.0).into()),
                        (transmit::READ_DEPTH, level.depth),
                        (transmit::TIMEOUT, level.timeout),
                        (transmit::RETRIES, level.retries),
                        (transmit::RNR_RETRIES, level.rnr),
                    ]),
                ),
                (
                    table::RECEIVE,
                    row(&[
                        (receive::PEER_IP, Self::ip(peer.0)),
                        (receive::PSN, PSN.into()),
                        (receive::SERVICE, level.service.into()),
                        (receive::MTU, level.mtu),
                        (receive::TAG, TAG),
                        (receive::GENERATION, 3),
                        (receive::RDMA_WRITE, rdma),
                        (receive::RDMA_READ, rdma),
                        (receive::RNR_STAY, (level.rnr != 0).into()),
                        (receive::RNR_TIMER, 1),
                        (receive::READ_DEPTH, level.depth),
                    ]),
                ),
                (table::VI_STATE, row(&[(vi_state::STATE, vi_states::CONNECTED.into())])),
            ];
            self.queue(own, 0, &[]);
            self.queue(own, 1, &[]);
            rows.into_iter().for_each(|(number, words)| self.commit(nic, number, vi as u64, words));
        }
        self.settle();
    }

    /// Writes a descriptor and its ring slot; its place and token.
    pub fn prepare(&mut self, (nic, vi): End, receive: bool, descriptor: &Descriptor) -> (u64, u64) {
        let bytes = descriptor.encode();
        let place = self.next_descriptor;
        self.next_descriptor += bytes.len().next_multiple_of(64) as u64;
        if self.next_descriptor >= ARENA - 0x1000 {
            self.next_descriptor = DESCRIPTORS;
        }
        self.write(nic, place, &bytes);
        let position = &mut self.positions[nic][vi][usize::from(receive)];
        let token = doorbell::encode(DATA_REGION, (place - DATA) / 64, *position);
        let slot = u64::from(*position) % (1 << RING_LOG2);
        *position = position.wrapping_add(1) & 0x3FFF;
        let ring = ARENA + (2 * vi as u64 + u64::from(receive)) * RING_BYTES;
        self.write(nic, ring + 8 * slot, &token.to_le_bytes());
        (place, token)
    }

    /// Posts a descriptor; its place.
    pub fn post(&mut self, end: End, receive: bool, descriptor: &Descriptor) -> u64 {
        let (place, token) = self.prepare(end, receive, descriptor);
        let offset = if receive { page::RECEIVE } else { page::SEND };
        self.ring(end.0, end.1, offset, 8, token);
        place
    }

    pub fn send(&mut self, end: End, descriptor: &Descriptor) -> u64 {
        self.post(end, false, descriptor)
    }

    /// Posts a receive, and waits until the NIC has it.
    pub fn receive(&mut self, end: End, descriptor: &Descriptor) -> u64 {
        let place = self.post(end, true, descriptor);
        while self.net.backlog(end.0) != 0 {
            self.net.step(16);
        }
        place
    }

    pub fn write(&self, nic: usize, at: u64, data: &[u8]) {
        self.files[nic].write_all_at(data, at).unwrap();
    }

    pub fn read(&self, nic: usize, at: u64, length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        self.files[nic].read_exact_at(&mut data, at).unwrap();
        data
    }

    fn read_u32(&self, nic: usize, at: u64) -> u32 {
        u32::from_le_bytes(self.read(nic, at, 4).try_into().unwrap())
    }

    /// What stands in a descriptor now; its status is 0 while it is not complete.
    pub fn peek(&self, nic: usize, place: u64) -> Completion {
        (self.read_u32(nic, place + STATUS - 4), self.read_u32(nic, place + STATUS))
    }

    pub fn immediate(&self, nic: usize, place: u64) -> u32 {
        self.read_u32(nic, place + 20)
    }

    /// Runs until nothing moves and no timer runs.
    pub fn settle(&mut self) {
        let limit = self.net.now() + 1_000_000_000;
        while self.net.now() < limit {
            match self.net.activity() {
                Activity::Busy => self.net.step(16),
                Activity::Idle(Some(when)) => self.net.skip_to(when),
                Activity::Idle(None) => return,
            }
        }
        panic!("the network does not come to rest");
    }

    pub fn counter(&mut self, nic: usize, number: u64) -> u64 {
        self.load(nic, registers::COUNTERS + 8 * number, 8)
    }

    /// Code, VI, receive queue, broke of each event.
    pub fn events(&mut self, nic: usize) -> Vec<(u8, u64, bool, bool)> {
        let mut events = Vec::new();
        loop {
            let entry = self.entry(nic, ERROR_RING, self.events[nic]);
            if cq_entry::PHASE.get(&entry) == 0 {
                return events;
            }
            self.events[nic] += 1;
            assert!(self.events[nic] < 1 << ERROR_RING_LOG2);
            let word = [cq_entry::TOKEN.get(&entry)];
            let flag = |field: Field| field.get(&word) != 0;
            events.push((
                event::CODE.get(&word) as u8,
                event::VI.get(&word),
                flag(event::RECEIVE),
                flag(event::BROKE),
            ));
        }
    }

    pub fn state(&mut self, (nic, vi): End) -> u8 {
        self.command(nic, command_op::QUERY, table::VI_STATE, vi as u64);
        self.load(nic, registers::RESULT, 8) as u8
    }

    pub fn set_state(&mut self, (nic, vi): End, state: u8) {
        self.commit(nic, table::VI_STATE, vi as u64, row(&[(vi_state::STATE, state.into())]));
    }

    pub fn faults(&mut self, faults: Faults) {
        self.net.fabric_mut().set_faults(faults);
    }

    /// Frames that went over the fabric, of those that faults count.
    pub fn roce_frames(&self) -> u64 {
        self.net.fabric().counters().roce_frames
    }

    pub fn inject(&mut self, nic: usize, data: Vec<u8>) {
        self.net.inject(nic, Frame { data, damaged: false });
    }

    /// A live completion queue of 2^log2 entries.
    pub fn cq(&mut self, nic: usize, queue: u64, log2: u64, more: &[(Field, u64)]) {
        let at = CQ_RINGS + queue * CQ_RING_BYTES;
        self.write(nic, ARENA + at, &vec![0; 16 << log2]);
        let mut words = row(&[
            (completion_queue::RING_OFFSET, at / 64),
            (completion_queue::RING_REGION, ARENA_REGION.into()),
            (completion_queue::RING_LOG2, log2),
            (completion_queue::LIVE, 1),
            (completion_queue::SYSTEM_TAG, SYSTEM_TAG),
        ]);
        more.iter().for_each(|(field, value)| field.put(&mut words, *value));
        self.commit(nic, table::COMPLETION_QUEUE, queue, words);
    }

    /// An entry's two words.
    pub fn entry(&self, nic: usize, queue: u64, slot: u64) -> [u64; 2] {
        let bytes = self.read(nic, ARENA + CQ_RINGS + queue * CQ_RING_BYTES + 16 * slot, 16);
        [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()))
    }

    pub fn cq_word(&mut self, nic: usize, queue: usize, arm: bool, index: u64) {
        let offset = if arm { cq_page::ARM } else { cq_page::INDEX };
        self.ring(nic, VIS + queue, offset, 8, index);
    }

    /// Gives each of these vectors an eventfd.
    pub fn vectors(&mut self, nic: usize, vectors: std::ops::Range<usize>) {
        let start = vectors.start;
        let mut eventfds = Vec::new();
        for vector in vectors {
            let eventfd = File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
            eventfds.push(Some(eventfd.try_clone().unwrap()));
            self.eventfds.push((nic, vector, eventfd));
        }
        self.net.set_vectors(nic, start, eventfds);
    }

    /// The vectors that were raised since the last call.
    pub fn raised(&mut self, nic: usize) -> Vec<usize> {
        let raised = |file: &File| (&*file).read(&mut [0; 8]).is_ok();
        let own = self.eventfds.iter().filter(|(of, ..)| *of == nic);
        own.filter(|(.., file)| raised(file)).map(|(_, vector, _)| *vector).collect()
    }

    /// Every NIC's memory was always there.
    pub fn check(&mut self) {
        for nic in 0..self.net.len() {
            assert_eq!(self.net.counters(nic).0.unsupported, 0);
        }
    }
}

/// A whole send, and its receive.
pub const SENT: u32 = status::DONE | status::OP_SEND;
pub const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;

/// Counters by number, for messages of tests.
pub fn moved(bench: &mut Bench, nic: usize) -> Vec<(&'static str, u64)> {
    let mut counters: Vec<_> =
        counter::CODES.codes.iter().map(|code| (code.name, bench.counter(nic, code.value))).collect();
    counters.retain(|(_, value)| *value != 0);
    counters
}
