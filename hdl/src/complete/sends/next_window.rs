//! The window of a VI as an effect leaves it.
//!
//! ```text
//!              window, effect ──►┌────────────┐──► after
//!          departure, reached ──►│ NextWindow │
//!  acknowledged, message, row ──►└────────────┘
//! ```
//! Contract: the block has no state; `after` is `window` with what `effect` says, in the same cycle.
//!
//! Latency: none.
//!
//! Example: `effect` is `moves` and `pends`, and `reached` 7: in `after` the oldest PSN is 7, and a rewind waits.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/again.rs`.

use super::departed::Departure;
use super::effect::Effect;
use super::window::{refusal, SentMessage, Window, COUNT_BITS};
use crate::bus::Commit;
use crate::prims::{Number, Unpack};
use crate::rows::tables::TransmitRow;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tables::service;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct NextWindow {
    /// The window of the VI at hand; [`Sends`](super::Sends) drives this and the other inputs.
    pub window: Signal<In, Window>,
    /// The effect that changes the window.
    pub effect: Signal<In, Effect>,
    /// Where the packet that has left stands; it counts with `comes`, `advances` and `lands`.
    pub departure: Signal<In, Departure>,
    /// With `moves`: the oldest PSN that the answer does not acknowledge.
    pub reached: Signal<In, Bits<24>>,
    /// With `passes`: the oldest message has PSNs.
    pub acknowledged: Signal<In, bool>,
    /// With `passes`: the oldest message.
    pub message: Signal<In, SentMessage>,
    /// With `begins`: the TRANSMIT row of the VI.
    pub row: Signal<In, Commit>,
    /// The window after the effect.
    pub after: Signal<Out, Window>,
    transmit: Unpack<Commit, TransmitRow>,
    begun: Signal<Local, TransmitRow>,
    reception: Number<2, { service::RELIABLE_RECEPTION as u64 }>,
    no_refusal: Number<3, { refusal::NONE }>,
}

impl Logic for NextWindow {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, row => transmit.from; transmit.to => begun);
        self.after.next = self.window.val();
        if self.effect.val().comes {
            self.after.next.come = self.departure.val().place;
            if self.departure.val().current {
                self.after.next.rewinding = false;
            }
        }
        if self.effect.val().advances {
            self.after.next.fresh = self.departure.val().behind;
        }
        if self.effect.val().lands {
            if self.departure.val().ends {
                self.after.next.come = self.departure.val().place + 1;
            }
            if self.departure.val().is_new {
                self.after.next.partial = !self.departure.val().ends;
                if self.departure.val().ends {
                    self.after.next.known = self.window.val().known + 1;
                }
            }
        }
        if self.effect.val().moves {
            self.after.next.oldest = self.reached.val();
        }
        if self.effect.val().pends {
            self.after.next.pending = true;
        }
        if self.effect.val().drops {
            self.after.next.pending = false;
        }
        if self.effect.val().wakes {
            self.after.next.resting = false;
        }
        if self.effect.val().rests {
            self.after.next.resting = true;
        }
        if self.effect.val().refuses {
            self.after.next.refusal = self.effect.val().refusal;
        }
        if self.effect.val().passes {
            self.after.next.completed = self.window.val().completed + 1;
            self.after.next.known = self.window.val().known - 1;
            self.after.next.come = self.window.val().come - 1;
            if self.acknowledged.val() {
                self.after.next.first = self.message.val().after;
            }
        }
        if self.effect.val().turns {
            self.after.next.epoch = !self.window.val().epoch;
            self.after.next.rewinding = true;
        }
        // LIFE-1: a life begins at position 0, with nothing in flight.
        if self.effect.val().begins {
            self.after.next.completed = bits::<14>(0);
            self.after.next.known = bits::<COUNT_BITS>(0);
            self.after.next.come = bits::<COUNT_BITS>(0);
            fill!(self, after, begun.val().psn => first, oldest, fresh;
                false => epoch, rewinding, pending, resting, partial);
            self.after.next.reception = self.begun.val().service == self.reception.val();
            self.after.next.refusal = self.no_refusal.val();
        }
    }
}
