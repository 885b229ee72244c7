//! A model of one NIC that is driven by hand: stores, loads, frames and time go in, in the order that the caller has them, and
//! packets come out when the caller asks for them. Reads, writes and interrupts go to the caller's [`Host`] as they happen. So
//! the model can follow what another NIC was seen to do, input for input; [`Model`](super::Model) drives it from a network.
//!
//! ```text
//!   store, load, frame, pass_time, bus_changed --> Driven --> packet
//!                                                    |
//!                                 read, write, message: Host
//! ```

use viaduct_driver::device::Bar;

use super::choices::Choices;
use super::device::Device;
use super::host::Host;
use crate::clock::Cycle;

/// What a virtual interface can send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packets {
    /// An acknowledgement, a NAK, or a packet of an RDMA read's answer.
    pub answer: bool,
    /// A packet of what is posted on its send queue. A descriptor that is wrong needs a turn too, to be completed.
    pub request: bool,
}

/// A frame that the NIC has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The frame, without FCS and padding.
    pub frame: Vec<u8>,
    /// It turns round in the NIC: the caller gives it back with [`Driven::frame`].
    pub loopback: bool,
}

/// See the module's description.
#[derive(Debug, Clone)]
pub struct Driven<H> {
    pub(super) device: Device<H>,
}

impl<H: Host> Driven<H> {
    /// After power-up, at cycle 0.
    pub fn new(choices: Choices, host: H) -> Self {
        Self { device: Device::new(choices, host) }
    }

    /// The host that it reaches.
    pub fn host(&mut self) -> &mut H {
        &mut self.device.host
    }

    /// It is cycle `now`: timers that are due end.
    pub fn pass_time(&mut self, now: Cycle) {
        self.device.now = now;
        self.device.serve_timers();
    }

    /// When the first timer ends.
    pub fn deadline(&self) -> Option<Cycle> {
        self.device.deadline()
    }

    /// A store of the host's, naturally aligned.
    pub fn store(&mut self, bar: Bar, offset: u64, length: usize, value: u64) {
        match bar {
            Bar::Registers => self.device.store_register(offset, length, value),
            Bar::Doorbells => self.device.store_doorbell(offset, length, value),
        }
    }

    /// A load of the host's, naturally aligned: what it reads. Doorbell pages are written only: 0.
    pub fn load(&mut self, bar: Bar, offset: u64, length: usize) -> u64 {
        match bar {
            Bar::Registers => self.device.load_register(offset, length),
            Bar::Doorbells => 0,
        }
    }

    /// Bus Master, or MSI-X, has changed at the host: what waited for it goes on.
    pub fn bus_changed(&mut self) {
        self.device.serve_queues();
        self.device.send_interrupts();
    }

    /// Function reset.
    pub fn function_reset(&mut self) {
        self.device.function_reset();
    }

    /// A frame has come, from the wire or turned round; `damaged` if its FCS was wrong.
    pub fn frame(&mut self, frame: &[u8], damaged: bool) {
        self.device.take_frame(frame, damaged);
    }

    /// What a VI can send now; nothing if there is no such VI.
    pub fn packets(&self, vi: usize) -> Packets {
        if vi >= self.device.vis() {
            return Packets::default();
        }
        Packets { answer: self.device.has_answer(vi), request: self.device.has_request(vi) }
    }

    /// Makes the next packet of a VI: an answer, or a request. `None` if there is none, or if its turn ended a descriptor that
    /// is wrong.
    pub fn packet(&mut self, vi: usize, answer: bool) -> Option<Sent> {
        let has = self.packets(vi);
        match answer {
            true if has.answer => self.device.make_packet(vi, true),
            false if has.request => self.device.make_packet(vi, false),
            _ => return None,
        }
        self.sent()
    }

    /// Makes the next packet of the VI whose turn it is, as in a network.
    pub fn packet_in_turn(&mut self) -> Option<Sent> {
        self.device.make_packet_in_turn(true);
        self.sent()
    }

    /// The frame that was made last.
    fn sent(&mut self) -> Option<Sent> {
        let outbox = &mut self.device.outbox;
        let turned = outbox.take_turned().map(|turned| Sent { frame: turned.frame, loopback: true });
        turned.or_else(|| outbox.take_wire().map(|frame| Sent { frame, loopback: false }))
    }
}
