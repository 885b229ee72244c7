//! Virtual interfaces and descriptors made by hand, so that they can be wrong.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::{Mtu, Service};
use viaduct_driver::agent::vis::{Direction, Vi, ViAttributes, ViState};
use viaduct_driver::agent::Event;
use viaduct_spec::descriptor::{
    control, control_segment, data_segment, status, CONTROL_SEGMENT_BYTES, SEGMENT_BYTES,
};
use viaduct_spec::doorbell;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::refusal;

use crate::memory::Memory;
use crate::world::{Host, World};

/// The levels that there are.
pub const LEVELS: [Service; 3] =
    [Service::UnreliableDelivery, Service::ReliableDelivery, Service::ReliableReception];

/// Error bit of a reliable send's status whose peer answered with this refusal (spec: `refusal`).
pub fn refused(level: Service, syndrome: u8) -> u32 {
    refusal::error(syndrome, false, level == Service::ReliableReception)
}

/// A registered region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Region {
    /// The memory handle.
    pub handle: u32,
    /// Virtual address of its first byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
}

impl Region {
    /// Its row of the region table.
    pub fn index(&self) -> u16 {
        memory_handle::INDEX.get(&[self.handle.into()]) as u16
    }

    /// The token, at ring position `position`, of a descriptor at `address`, which need not lie in the region.
    pub fn token(&self, address: u64, position: u16) -> u64 {
        doorbell::encode(self.index(), address.wrapping_sub(self.address & !63) / 64, position)
    }
}

/// A data segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Virtual address.
    pub address: u64,
    /// Memory handle.
    pub handle: u32,
    /// Bytes.
    pub length: u32,
}

/// A descriptor, as it will be written: right at first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Data segments.
    pub segments: Vec<Segment>,
    /// Control word.
    pub control: u16,
    /// Reserved word.
    pub reserved: u32,
    /// ImmediateData.
    pub immediate: u32,
    /// SegCount, if not the number of the segments.
    pub count: Option<u16>,
    /// Length, if not the sum of the segments.
    pub length: Option<u32>,
}

impl Descriptor {
    /// Nothing to send, no room to receive in.
    pub fn new() -> Self {
        Self::default()
    }

    /// One segment at `offset` of a host's memory.
    pub fn of(host: &Host, offset: usize, length: usize) -> Self {
        Self::new().segment(host.memory.address(offset), host.region.handle, length)
    }

    /// One more segment.
    pub fn segment(mut self, address: u64, handle: u32, length: usize) -> Self {
        self.segments.push(Segment { address, handle, length: length as u32 });
        self
    }

    /// An RDMA write to there: before all other segments.
    pub fn write_to(mut self, address: u64, handle: u32) -> Self {
        self.control |= control::OP_RDMAWRITE;
        self.segments.insert(0, Segment { address, handle, length: 0 });
        self
    }

    /// An RDMA read from there: before all other segments.
    pub fn read_from(mut self, address: u64, handle: u32) -> Self {
        self.control |= control::OP_RDMAREAD;
        self.segments.insert(0, Segment { address, handle, length: 0 });
        self
    }

    /// With immediate data.
    pub fn immediate(mut self, data: u32) -> Self {
        self.control |= control::IMMEDIATE;
        self.immediate = data;
        self
    }

    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * self.segments.len()
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut words = vec![0; self.bytes() / 8];
        let sum = self.segments.iter().fold(0u32, |sum, segment| sum.wrapping_add(segment.length));
        let count = self.count.unwrap_or(self.segments.len() as u16);
        control_segment::SEG_COUNT.put(&mut words, count.into());
        control_segment::CONTROL.put(&mut words, self.control.into());
        control_segment::RESERVED.put(&mut words, self.reserved.into());
        control_segment::IMMEDIATE.put(&mut words, self.immediate.into());
        control_segment::LENGTH.put(&mut words, self.length.unwrap_or(sum).into());
        for (row, segment) in words[4..].chunks_exact_mut(2).zip(&self.segments) {
            data_segment::ADDRESS.put(row, segment.address);
            data_segment::HANDLE.put(row, segment.handle.into());
            data_segment::LENGTH.put(row, segment.length.into());
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// What a NIC wrote into a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Status word; 0 until complete.
    pub status: u32,
    /// Length word.
    pub length: u32,
    /// ImmediateData.
    pub immediate: u32,
}

impl Completion {
    /// Of the descriptor at `offset` of a memory.
    pub fn read(memory: &Memory, offset: usize) -> Self {
        let words: [u64; 4] = std::array::from_fn(|word| memory.word(offset + 8 * word));
        Self {
            status: control_segment::STATUS.get(&words) as u32,
            length: control_segment::LENGTH.get(&words) as u32,
            immediate: control_segment::IMMEDIATE.get(&words) as u32,
        }
    }

    /// The NIC is done with it.
    pub fn is_complete(&self) -> bool {
        self.status & (status::DONE | status::ERROR_MASK) != 0
    }
}

/// A VI used through the agent alone: tokens and doorbells by hand.
#[derive(Debug)]
pub struct RawVi {
    /// The VI.
    pub vi: Vi,
    /// Ring position of the next send.
    pub sends: u16,
    /// Ring position of the next receive.
    pub receives: u16,
}

impl RawVi {
    /// Slots of each of its rings.
    pub const SLOTS: u16 = 16;

    /// Creates one under the host's tag.
    pub fn new(host: &Host, service: Service, mtu: u32) -> Self {
        Self::tagged(host, service, mtu, host.tag)
    }

    /// Creates one under another tag.
    pub fn tagged(host: &Host, service: Service, mtu: u32, tag: u16) -> Self {
        Self::create(host, service, mtu, tag, [None; 2])
    }

    /// Creates one whose work queues have completion queues: of its sends, of its receives.
    pub fn with_cqs(host: &Host, service: Service, mtu: u32, cqs: [Option<u16>; 2]) -> Self {
        Self::create(host, service, mtu, host.tag, cqs)
    }

    /// Creates one whose peer may write to the host's memory, and read it if the level has that.
    pub fn open(host: &Host, service: Service, mtu: u32) -> Self {
        let attributes = ViAttributes {
            rdma_write: true,
            rdma_read: service.is_reliable(),
            ..Self::attributes(host.tag, service, mtu, [None; 2])
        };
        Self { vi: host.agent.create_vi(attributes).expect("a VI"), sends: 0, receives: 0 }
    }

    /// Creates one under another tag, with completion queues or without.
    pub fn create(host: &Host, service: Service, mtu: u32, tag: u16, cqs: [Option<u16>; 2]) -> Self {
        let attributes = Self::attributes(tag, service, mtu, cqs);
        Self { vi: host.agent.create_vi(attributes).expect("a VI"), sends: 0, receives: 0 }
    }

    fn attributes(
        tag: u16,
        service: Service,
        mtu: u32,
        [send_cq, receive_cq]: [Option<u16>; 2],
    ) -> ViAttributes {
        let log2 = Self::SLOTS.ilog2();
        let mtu = Mtu::try_from(mtu).expect("an MTU");
        ViAttributes {
            tag,
            service,
            mtu,
            max_transfer: 1 << 16,
            send_log2: log2,
            receive_log2: log2,
            rdma_write: false,
            rdma_read: false,
            send_cq,
            receive_cq,
        }
    }

    /// Connects two.
    pub fn connect(&mut self, other: &mut Self) {
        self.vi.connect(&other.vi.info()).expect("idle");
        other.vi.connect(&self.vi.info()).expect("idle");
        (self.sends, other.sends) = (0, 0);
    }

    /// Its index.
    pub fn index(&self) -> u16 {
        self.vi.index()
    }

    /// Which one of those that have had this index.
    pub fn life(&self) -> u64 {
        self.vi.name().life.into()
    }

    /// The event of this name of one of its queues, with which it breaks or without which it goes on.
    pub fn event(&self, code: u8, receive: bool, broke: bool) -> Event {
        Event { code, vi: self.index(), life: self.life(), receive, broke }
    }

    /// Its state in the NIC.
    pub fn state(&self) -> ViState {
        self.vi.state().expect("the NIC answers")
    }

    /// Makes it idle after it broke, or breaks it first: all that is posted must be complete by then.
    pub fn make_idle(&mut self) {
        self.vi.make_idle().expect("the NIC answers");
        (self.sends, self.receives) = (0, 0);
    }

    /// Breaks it, lets what is posted be flushed, and destroys it.
    pub fn retire(self, world: &World) {
        self.vi.break_off().expect("the NIC answers");
        world.settle();
        self.vi.make_idle().expect("the NIC answers");
        self.vi.destroy().expect("the NIC answers");
    }

    /// The token for the next position of a queue.
    pub fn token(&self, direction: Direction, region: &Region, address: u64) -> u64 {
        region.token(address, self.position(direction))
    }

    /// Puts a token into the ring and rings the doorbell with it.
    pub fn post_token(&mut self, direction: Direction, token: u64) {
        self.store_token(direction, token);
        self.vi.ring_doorbell(direction, token).expect("the NIC answers");
    }

    /// Puts a token into the ring, without a doorbell.
    pub fn store_token(&mut self, direction: Direction, token: u64) {
        let position = self.position(direction);
        self.vi.ring(direction).store(position, token);
        let next = position.wrapping_add(1) & doorbell::token::POSITION.mask() as u16;
        match direction {
            Direction::Send => self.sends = next,
            Direction::Receive => self.receives = next,
        }
    }

    /// Writes a descriptor into the host's memory and posts it; where it is.
    pub fn post(&mut self, host: &mut Host, direction: Direction, descriptor: &Descriptor) -> usize {
        let bytes = descriptor.encode();
        let place = host.place(bytes.len());
        host.memory.write(place, &bytes);
        self.post_token(direction, self.token(direction, &host.region, host.memory.address(place)));
        place
    }

    /// Posts a send.
    pub fn send(&mut self, host: &mut Host, descriptor: &Descriptor) -> usize {
        self.post(host, Direction::Send, descriptor)
    }

    /// Posts a receive.
    pub fn receive(&mut self, host: &mut Host, descriptor: &Descriptor) -> usize {
        self.post(host, Direction::Receive, descriptor)
    }

    fn position(&self, direction: Direction) -> u16 {
        match direction {
            Direction::Send => self.sends,
            Direction::Receive => self.receives,
        }
    }
}

/// Creates a VI on each of two hosts and connects them.
pub fn pair(hosts: &[Host; 2], service: Service, mtu: u32) -> [RawVi; 2] {
    let mut vis = [0, 1].map(|n| RawVi::new(&hosts[n], service, mtu));
    let [a, b] = &mut vis;
    a.connect(b);
    vis
}

impl World {
    /// Steps until a descriptor is complete.
    pub fn complete(&self, host: &Host, place: usize) -> Completion {
        let what = format!("the descriptor at {place:#x} of host {} is complete", host.index);
        self.until(&what, 300_000, || Completion::read(&host.memory, place).is_complete());
        Completion::read(&host.memory, place)
    }

    /// Sends a message of `length` bytes from the first of two connected VIs to the other, and checks
    /// that it arrives whole and that both descriptors say so. Uses the last quarter of both hosts'
    /// data: the rest is for the test.
    pub fn exchange(&self, hosts: &mut [Host; 2], vis: &mut [RawVi; 2], length: usize) {
        let ([sender, receiver], [send_vi, receive_vi]) = (hosts, vis);
        let at = Host::DATA / 4 * 3;
        // New bytes each time.
        let mut data = vec![0; length];
        ChaCha8Rng::seed_from_u64(self.now() ^ self.seed << 32).fill_bytes(&mut data);
        sender.memory.write(at, &data);
        receiver.memory.write(at + 1, &vec![0xA5; length]);
        let receive = receive_vi.receive(receiver, &Descriptor::of(receiver, at + 1, length));
        self.arrived(receiver.index);
        let immediate = self.now() as u32;
        let send = send_vi.send(sender, &Descriptor::of(sender, at, length).immediate(immediate));
        let received = self.complete(receiver, receive);
        let sent = self.complete(sender, send);
        assert_eq!((sent.status, sent.length), (status::DONE | status::OP_SEND, length as u32));
        let good = status::DONE | status::OP_RECEIVE | status::IMMEDIATE;
        assert_eq!(received, Completion { status: good, length: length as u32, immediate });
        assert_eq!(receiver.memory.read(at + 1, length), data);
    }
}
