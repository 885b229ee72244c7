//! Packets from the root port to the root complex, as beats, as its credits allow.

use std::collections::VecDeque;

use viaduct_link::tlp::{payload_dw, Class, Tlp};
use viaduct_spec::tlp::class;

use crate::nic::{NicIn, NicOut};
use crate::tlp::beat;

/// The packets, in the order in which they came.
#[derive(Debug, Default)]
pub struct Upward {
    packets: VecDeque<Tlp>,
    /// Beats of the first one that have gone.
    gone: usize,
}

impl Upward {
    /// A packet has come.
    pub fn push(&mut self, tlp: Tlp) {
        self.packets.push_back(tlp);
    }

    /// The link is down: what has not gone is lost.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Nothing is here.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Shows the next beat, and moves on if the root complex takes it in this cycle.
    pub fn present(&mut self, input: &NicIn, output: &mut NicOut) {
        output.tlp_tx_valid = false;
        let Some(packet) = self.packets.front() else { return };
        let kind = Class::of(packet[0]);
        if self.gone == 0 && !has_credit(input, kind, packet[0]) {
            return;
        }
        let (data, keep) = beat(packet, self.gone);
        output.tlp_tx_valid = true;
        output.tlp_tx_data = data;
        output.tlp_tx_keep = keep;
        output.tlp_tx_last = (self.gone + 1) * 2 >= packet.len();
        output.tlp_tx_class = match kind {
            Class::Posted => class::POSTED,
            Class::NonPosted => class::NON_POSTED,
            Class::Completion => class::COMPLETION,
        };
        if input.tlp_tx_ready {
            self.gone += 1;
            if output.tlp_tx_last {
                self.gone = 0;
                self.packets.pop_front();
            }
        }
    }
}

fn has_credit(input: &NicIn, kind: Class, first: u32) -> bool {
    let units = payload_dw(first).div_ceil(4) as u16;
    match kind {
        Class::Posted => input.credit_ph > 0 && input.credit_pd >= units,
        Class::NonPosted => input.credit_nph > 0,
        Class::Completion => input.credit_ch > 0 && input.credit_cd >= units,
    }
}
