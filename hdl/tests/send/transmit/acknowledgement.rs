//! An acknowledgement through the model: what is asked for, and its frame if it leaves.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_hdl::bus::word;
use viaduct_spec::tables::{service, vi_states};
use viaduct_spec::wire::{opcode, syndrome};

use super::{Expected, World};
use crate::frames;
use crate::port::fields;

impl World {
    pub fn acknowledgement(&mut self) {
        let rng = &mut self.rng;
        let others: Vec<u64> = (0..64).filter(|n| self.vis[*n as usize].service != service::RAW).collect();
        let n = *others.choose(rng).unwrap();
        let code = *[syndrome::ACK, syndrome::NAK_OPERATIONAL, syndrome::RNR_NAK].choose(rng).unwrap();
        // Its connection has ended meanwhile.
        let forgotten = rng.random_bool(0.1);
        let left = self.vis[n as usize].state != vi_states::IDLE && !forgotten;
        self.acknowledgement_of(n, code, forgotten, left);
    }

    /// An acknowledgement of a VI's, which leaves or does not.
    pub fn acknowledgement_of(&mut self, n: u64, code: u8, forgotten: bool, leaves: bool) {
        let rng = &mut self.rng;
        let (psn, msn) = (rng.random_range(0..1 << 24), rng.random_range(0..1 << 24));
        let kind = if forgotten { word::FORGET } else { word::SAY };
        self.acks.push_back(fields(&[
            ("vi", n),
            ("psn", psn),
            ("msn", msn),
            ("syndrome", code.into()),
            ("kind", kind),
        ]));
        let vi = &self.vis[n as usize];
        if leaves {
            let frame = frames::Fields {
                opcode: opcode::RC_ACKNOWLEDGE,
                psn: psn as u32,
                extension: Some(u32::from(code) << 24 | msn as u32),
                ..Default::default()
            };
            self.ack_frames.push_back(Expected {
                bytes: vi.headers.frame(&frame),
                loopback: vi.loopback,
                vlan: vi.headers.vlan,
            });
        }
    }
}
