//! Memory by message and interrupts over a NIC's socket: a NIC that the test scripts against
//! clients that answer, refuse, lie, keep silent or die; and the Verilated NICs.

mod buffer;
mod clients;
mod interrupts;
mod memory;
mod verilated;

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::device::PciDevice;
use viaduct_sim::live::NicStatus;
use viaduct_sim::network::{Network, Options};
use viaduct_sim::root_complex::{Dma, NIC_ID};
use viaduct_sim::tlp::{Request, Tlp};

use crate::support::client::{words, Message, Remote};
use crate::support::scripted::{Script, Scripted};
use crate::support::Simulator;

const PAGE: usize = 4096;

/// A NIC that the test scripts, behind a socket.
struct Scene {
    simulator: Simulator,
    script: Arc<Mutex<Script>>,
}

impl Scene {
    fn start(dma: Dma) -> Self {
        let (nic, script) = Scripted::make();
        let mut options = Options::default();
        options.bus.dma = dma;
        Self { simulator: Simulator::start(Network::new(vec![nic], &options, None)), script }
    }

    fn remote(&self, holds_lock: bool) -> Remote {
        let remote = Remote::connect(&self.simulator.socket(0), holds_lock);
        remote.config_write32(4, 6).unwrap();
        remote
    }

    /// A client that says only what the test says.
    fn raw(&self) -> UnixStream {
        let mut stream = UnixStream::connect(self.simulator.socket(0)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        say(&mut stream, 1, &[0, 0, 1, 0]);
        assert_eq!(Message::receive(&mut stream).unwrap().command, 1);
        say(&mut stream, 10, &words(&[4, 0, 7, 4, 6]));
        assert_eq!(Message::receive(&mut stream).unwrap().command, 10);
        stream
    }

    /// Packets that the NIC sends, once its doorbell rings.
    fn script(&self, packets: &[Tlp]) {
        self.script.lock().unwrap().send.extend(packets.iter().cloned());
    }

    /// Waits for the completions of so many reads.
    fn completions(&self, number: usize) -> Vec<(u8, u8, Vec<u32>)> {
        let mut found = Vec::new();
        within(|| {
            found = self
                .script
                .lock()
                .unwrap()
                .got
                .iter()
                .filter_map(|packet| match packet {
                    Tlp::Completion(c) => Some((c.tag, c.status, c.data.clone())),
                    _ => None,
                })
                .collect();
            found.len() >= number
        });
        found
    }

    fn status(&self) -> NicStatus {
        self.simulator.handle().status().unwrap().nics.remove(0)
    }
}

/// Waits until it holds.
fn within(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a command, and waits for nothing.
fn say(stream: &mut UnixStream, command: u16, body: &[u8]) {
    let message = Message { id: 0x77, command, flags: 0, error: 0, body: body.to_vec() };
    stream.write_all(&message.bytes()).unwrap();
}

/// A store that wakes the NIC.
const RING: [u32; 6] = [0, 0, 2, 8, 1, 0];

fn ring(stream: &mut UnixStream) {
    let message = Message { id: 0x78, command: 10, flags: 0x10, error: 0, body: words(&RING) };
    stream.write_all(&message.bytes()).unwrap();
}

/// A read of the NIC's.
fn read(address: u64, bytes: usize, tag: u8) -> Tlp {
    Tlp::Read(Request::new(address, bytes, tag, NIC_ID))
}

/// A write of the NIC's.
fn write(address: u64, data: &[u32]) -> Tlp {
    Tlp::Write(Request::new(address, data.len() * 4, 0, NIC_ID), data.to_vec())
}

fn new_eventfd() -> File {
    File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap())
}

/// How often it was raised since the last call.
fn count(mut eventfd: &File) -> u64 {
    let mut value = [0; 8];
    eventfd.read(&mut value).map_or(0, |_| u64::from_ne_bytes(value))
}
