//! Tells whether a frame is an ARP request for our address.
//!
//! ```text
//!                rx, index ──►┌────────────┐──► fits
//!           begins, broken ──►│ ArpRequest │──► sender
//!            peer, address ──►└────────────┘
//! ```
//! Contract: in the cycle after a beat, `fits` is high if the frame may still be an ARP request (Ethernet, IPv4) for `address` whose sender
//! is the sender of the frame; after the last beat it is the verdict. `begins` comes with the first beat and says that such a frame may
//! begin so; `broken` may come with any beat and says that the frame is none. `sender` is the sender's IPv4 address, in the cycle of the
//! fourth beat only.
//!
//! Latency: 1 cycle after a beat.
//!
//! Example: a frame of type ARP comes whose fourth beat names another Ethernet address than `peer`: `fits` falls behind that beat.
//!
//! Tests: with `Echo`, `tests/mac/echo.rs`.

use super::beats::{ArpEnd, ArpKind, ArpSender, ArpTarget, SplitIp};
use crate::bus::FrameBeat;
use crate::mac::ethernet::{SplitAddress, TypeBeat, ARP_TYPE, IPV4_TYPE};
use crate::prims::{Cast, Number};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ArpRequest {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat of a frame received, from the MAC.
    pub rx: FlowSink<FrameBeat>,
    /// Number of the beat at `rx` in its frame, up to 7; `Question` drives this and the next four ports.
    pub index: Signal<In, Bits<3>>,
    /// The frame is for us or for everybody, and its sender is no group.
    pub begins: Signal<In, bool>,
    /// The frame is damaged or too short.
    pub broken: Signal<In, bool>,
    /// Ethernet address of the frame's sender; it is whole from the third beat on.
    pub peer: Signal<In, SplitAddress>,
    /// Our IPv4 address.
    pub address: Signal<In, SplitIp>,
    /// The frame may still be a request for us; `Question` listens.
    pub fits: Signal<Out, bool>,
    /// IPv4 address of the asker, in the fourth beat.
    pub sender: Signal<Out, Bits<32>>,
    /// `fits`.
    holds: DFF<bool>,
    start: Cast<Bits<64>, TypeBeat>,
    kind: Cast<Bits<64>, ArpKind>,
    sender_fields: Cast<Bits<64>, ArpSender>,
    target: Cast<Bits<64>, ArpTarget>,
    rear: Cast<Bits<64>, ArpEnd>,
    arp_type: Number<16, { ARP_TYPE }>,
    ipv4: Number<16, { IPV4_TYPE }>,
    /// Hardware type 1.
    ethernet: Number<16, 0x0100>,
    six: Number<8, 6>,
    four: Number<8, 4>,
    request: Number<16, 0x0100>,
}

impl Logic for ArpRequest {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, holds);
        drive!(self, rx.data.val().data => start.from, kind.from, sender_fields.from, target.from, rear.from;
            holds.q => fits; sender_fields.to.val().address => sender);

        if self.rx.valid.val() {
            match self.index.val().index() {
                0 => {
                    self.holds.d.next = self.begins.val();
                }
                1 => {
                    if (self.start.to.val().ethertype != self.arp_type.val())
                        | (self.start.to.val().content != self.ethernet.val())
                    {
                        self.holds.d.next = false;
                    }
                }
                2 => {
                    if (self.kind.to.val().protocol != self.ipv4.val())
                        | (self.kind.to.val().hardware_bytes != self.six.val())
                        | (self.kind.to.val().protocol_bytes != self.four.val())
                        | (self.kind.to.val().operation != self.request.val())
                        | (self.kind.to.val().sender_first != self.peer.val().first)
                    {
                        self.holds.d.next = false;
                    }
                }
                3 => {
                    if self.sender_fields.to.val().rest != self.peer.val().rest {
                        self.holds.d.next = false;
                    }
                }
                4 => {
                    if self.target.to.val().address_first != self.address.val().first {
                        self.holds.d.next = false;
                    }
                }
                5 => {
                    if self.rear.to.val().address_rest != self.address.val().rest {
                        self.holds.d.next = false;
                    }
                }
                _ => {}
            }
        }
        if self.broken.val() {
            self.holds.d.next = false;
        }
    }
}
