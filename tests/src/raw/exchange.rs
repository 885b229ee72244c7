//! A message that arrives whole.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::descriptor::status;

use super::completion::Completion;
use super::descriptor::Descriptor;
use super::vi::RawVi;
use crate::world::{Host, World};

impl World {
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
