//! The packets that an RTL NIC sends over its bus, as they leave.

use std::sync::{Arc, Mutex, PoisonError};

use viaduct_sim::nic::{NicIn, NicOut};
use viaduct_sim::tlp::{Request, Tlp};

use crate::world::World;

/// See the module's description.
#[derive(Debug, Clone, Default)]
pub struct SentPackets(Arc<Mutex<Vec<Tlp>>>);

impl SentPackets {
    /// Those of this NIC from now on, in the place of what looked at its ports before.
    pub fn of(world: &World, nic: usize) -> Self {
        let sent = Self::default();
        let (whole, mut packet) = (sent.clone(), Vec::new());
        let probe = move |_, input: &NicIn, output: &NicOut| {
            if !output.tlp_tx_valid || !input.tlp_tx_ready {
                return;
            }
            packet.push(output.tlp_tx_data as u32);
            if output.tlp_tx_keep == 0b11 {
                packet.push((output.tlp_tx_data >> 32) as u32);
            }
            if output.tlp_tx_last {
                let packet = Tlp::decode(&std::mem::take(&mut packet)).expect("a packet of the NIC's");
                whole.0.lock().unwrap_or_else(PoisonError::into_inner).push(packet);
            }
        };
        world.net.network().probe(nic, Box::new(probe));
        sent
    }

    /// Takes what has left since the last call.
    pub fn take(&self) -> Vec<Tlp> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, the reads alone.
    pub fn take_reads(&self) -> Vec<Request> {
        let reads = |packet| match packet {
            Tlp::Read(request) => Some(request),
            _ => None,
        };
        self.take().into_iter().filter_map(reads).collect()
    }
}
