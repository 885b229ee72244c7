//! Our NIC in one of the two places of a capture.

use viaduct_sim::fabric::Capture;
use viaduct_tests::frame::{is_roce, untrailed, Reading, Tape};
use viaduct_tests::guests::{open, sender};
use viaduct_tests::raw::{Descriptor, RawVi};
use viaduct_tests::world::{quick, Host, World};

use super::play::Play;
use super::BUFFER;

/// A network that is recorded.
pub struct Stage {
    pub tape: Tape,
    pub vi: RawVi,
    pub hosts: [Host; 2],
    pub world: World,
}

impl Stage {
    /// With our NIC in one of the two places; nobody is in the other one.
    pub fn new(play: &Play, nic: usize) -> Self {
        let (world, hosts) = open(&quick(3));
        let tape = Tape::default();
        let capture = Capture::new(Box::new(tape.clone())).expect("memory");
        world.net.network().fabric_mut().set_capture(capture);
        let vi = play.guests.connect_one(&world, &hosts[nic], nic, play.case.terms);
        Self { tape, vi, hosts, world }
    }

    /// What a guest's NIC has sent so far.
    pub fn frames(&self, nic: usize) -> Vec<Vec<u8>> {
        let frames = self.tape.frames().into_iter().filter(|frame| is_roce(frame));
        let frames = frames.map(|frame| untrailed(&frame).to_vec());
        frames.filter(|frame| sender(&Reading::of(frame)) == nic).collect()
    }

    /// Posts a receive of the server's.
    pub fn receive(&mut self, room: usize) {
        let [_, server] = &mut self.hosts;
        let receive = Descriptor::of(server, BUFFER, room);
        self.vi.receive(server, &receive);
    }
}
