//! What happens to frames, and frames that the test makes.

use super::Bench;
use crate::fabric::{Faults, Frame};

impl Bench {
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
}
