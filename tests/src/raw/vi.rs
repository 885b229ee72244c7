//! Virtual interfaces whose tokens and doorbells are made by hand.

use viaduct_driver::address::{Mtu, Service};
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::cm::NotReady;
use viaduct_driver::consumer::Vi;
use viaduct_driver::kernel_agent::Event;
use viaduct_driver::kernel_agent::ViAttributes;
use viaduct_spec::doorbell;

use super::descriptor::Descriptor;
use super::region::Region;
use crate::world::{Host, World};

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
        Self { vi: Vi::create(host.agent.clone(), attributes).expect("a VI"), sends: 0, receives: 0 }
    }

    /// Creates one under another tag, with completion queues or without.
    pub fn create(host: &Host, service: Service, mtu: u32, tag: u16, cqs: [Option<u16>; 2]) -> Self {
        let attributes = Self::attributes(tag, service, mtu, cqs);
        Self { vi: Vi::create(host.agent.clone(), attributes).expect("a VI"), sends: 0, receives: 0 }
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
            not_ready: NotReady::Break,
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
        self.vi.queues().ring_doorbell(direction, token).expect("the NIC answers");
    }

    /// Puts a token into the ring, without a doorbell.
    pub fn store_token(&mut self, direction: Direction, token: u64) {
        let position = self.position(direction);
        self.vi.queues().ring(direction).store(position, token);
        let next = position.wrapping_add(1) & doorbell::token::POSITION.mask() as u16;
        match direction {
            Direction::Send => self.sends = next,
            Direction::Receive => self.receives = next,
        }
    }

    /// Writes a descriptor into the host's memory and posts it; where it is.
    pub fn post(&mut self, host: &mut Host, direction: Direction, descriptor: &Descriptor) -> usize {
        let (place, token) = self.store(host, direction, descriptor);
        self.vi.queues().ring_doorbell(direction, token).expect("the NIC answers");
        place
    }

    /// The same without a doorbell; where it is, and its token. The NIC hears of it by the next doorbell, and has to read its slot of the ring.
    pub fn store(&mut self, host: &mut Host, direction: Direction, descriptor: &Descriptor) -> (usize, u64) {
        let bytes = descriptor.encode();
        let place = host.place(bytes.len());
        host.memory.write(place, &bytes);
        let token = self.token(direction, &host.region, host.memory.address(place));
        let token = if descriptor.short { doorbell::short(token) } else { token };
        self.store_token(direction, token);
        (place, token)
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
