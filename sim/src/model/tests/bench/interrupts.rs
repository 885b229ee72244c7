//! Interrupts: an eventfd for each vector.

use std::fs::File;
use std::io::Read as _;

use rustix::event::{eventfd, EventfdFlags};

use super::Bench;

impl Bench {
    /// Gives each of these vectors an eventfd.
    pub fn vectors(&mut self, nic: usize, vectors: std::ops::Range<usize>) {
        let start = vectors.start;
        let mut eventfds = Vec::new();
        for vector in vectors {
            let eventfd = File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
            eventfds.push(Some(eventfd.try_clone().unwrap()));
            self.eventfds.push((nic, vector, eventfd));
        }
        self.net.set_vectors(nic, start, eventfds);
    }

    /// The vectors that were raised since the last call.
    pub fn raised(&mut self, nic: usize) -> Vec<usize> {
        let raised = |file: &File| (&*file).read(&mut [0; 8]).is_ok();
        let own = self.eventfds.iter().filter(|(of, ..)| *of == nic);
        own.filter(|(.., file)| raised(file)).map(|(_, vector, _)| *vector).collect()
    }
}
