//! Ethernet ports of the switch whose other ends are sockets.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use viaduct_driver::ethernet::stream::{read, write};
use viaduct_sim::live::Status;

use super::dead::dead_beside;
use crate::support::Simulator;

/// A peer at a port.
struct Peer {
    stream: UnixStream,
    address: u8,
}

impl Peer {
    /// Connects to the port of the same number as its address.
    fn new(simulator: &Simulator, address: u8) -> Self {
        let stream = UnixStream::connect(simulator.port(address.into())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let peer = Self { stream, address };
        wait_for(simulator, |status| status.ports[usize::from(address)].connected);
        peer
    }

    /// A frame to another peer, of at least 14 bytes; to all for 0xFF.
    fn frame(&self, to: u8, number: u32, length: usize) -> Vec<u8> {
        let mut frame = vec![number as u8; length];
        frame[..6].copy_from_slice(&if to == 0xFF { [0xFF; 6] } else { [2, 0, 0, 0, 9, to] });
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 9, self.address]);
        frame[12..14].copy_from_slice(&[0x88, 0xB5]);
        if length >= 18 {
            frame[14..18].copy_from_slice(&number.to_be_bytes());
        }
        frame
    }

    fn send(&mut self, frame: &[u8]) {
        write(&mut self.stream, frame).unwrap();
    }

    fn receive(&mut self) -> Vec<u8> {
        read(&mut self.stream).unwrap().expect("the port is open")
    }

    /// The port has closed the connection, with nothing more to read.
    fn is_sent_away(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

/// Until the network says so.
fn wait_for(simulator: &Simulator, is_so: impl Fn(&Status) -> bool) {
    while !is_so(&simulator.handle().status().unwrap()) {
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn frames_pass_as_they_are_and_short_ones_are_padded() {
    let simulator = dead_beside(1, 2);
    let [mut a, mut b] = [0, 1].map(|address| Peer::new(&simulator, address));
    for (number, length) in [14, 42, 60, 61, 1514, 9216].into_iter().enumerate() {
        let to = if number == 0 { 0xFF } else { 1 };
        let mut frame = a.frame(to, number as u32, length);
        a.send(&frame);
        frame.resize(length.max(60), 0);
        assert_eq!(b.receive(), frame);
        let answer = b.frame(0, number as u32, length.max(60));
        b.send(&answer);
        assert_eq!(a.receive(), answer);
    }
    let status = simulator.handle().status().unwrap();
    assert_eq!(
        status.ports.iter().map(|port| (port.link.sent, port.link.received)).collect::<Vec<_>>(),
        [(6, 6); 2]
    );
    assert_eq!(status.nics[0].link.received, 1, "what is for all reaches the NIC, too");
    assert_eq!((status.fabric.frames, status.fabric.overflow), (12, 0));
}

#[test]
fn a_peer_that_does_not_read_makes_the_others_wait_and_nothing_is_lost() {
    const FRAMES: u32 = 6000;
    let simulator = dead_beside(1, 2);
    let [mut a, mut b] = [0, 1].map(|address| Peer::new(&simulator, address));
    // The switch learns where it is.
    let first = b.frame(0, 0, 60);
    b.send(&first);
    a.receive();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let sender = thread::spawn(move || {
        for number in 0..FRAMES {
            let frame = a.frame(1, number, 1500);
            a.send(&frame);
            counted.fetch_add(1, Ordering::Relaxed);
        }
        a
    });
    let mut before = usize::MAX;
    while before != sent.load(Ordering::Relaxed) {
        before = sent.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(300));
    }
    assert!(before < FRAMES as usize, "9 MB went to a peer that reads none of them");
    for number in 0..FRAMES {
        let frame = b.receive();
        assert_eq!((frame.len(), &frame[14..18]), (1500, &number.to_be_bytes()[..]));
    }
    drop(sender.join().unwrap());
    assert_eq!(simulator.handle().status().unwrap().fabric.overflow, 0);
}

#[test]
fn what_a_peer_has_sent_arrives_though_it_is_gone() {
    let simulator = dead_beside(1, 2);
    let mut b = Peer::new(&simulator, 1);
    for round in 0..20 {
        let mut a = Peer::new(&simulator, 0);
        let frames: Vec<Vec<u8>> = (0..40).map(|number| a.frame(1, round << 8 | number, 200)).collect();
        for frame in &frames {
            a.send(frame);
        }
        drop(a);
        for frame in &frames {
            assert_eq!(&b.receive(), frame);
        }
        wait_for(&simulator, |status| !status.ports[0].connected);
    }
}

#[test]
fn what_comes_while_nobody_is_there_is_counted() {
    let simulator = dead_beside(1, 2);
    let mut a = Peer::new(&simulator, 0);
    for number in 0..5 {
        let frame = a.frame(0xFF, number, 60);
        a.send(&frame);
    }
    wait_for(&simulator, |status| status.ports[1].lost == 5);
    let mut b = Peer::new(&simulator, 1);
    let frame = a.frame(1, 5, 60);
    a.send(&frame);
    assert_eq!(b.receive(), frame, "and the next one arrives");
}

#[test]
fn a_second_peer_is_refused_and_the_first_one_goes_on() {
    let simulator = dead_beside(1, 2);
    let [mut a, mut b] = [0, 1].map(|address| Peer::new(&simulator, address));
    let stream = UnixStream::connect(simulator.port(0)).unwrap();
    assert!(Peer { stream, address: 0 }.is_sent_away());
    let frame = a.frame(0xFF, 7, 60);
    a.send(&frame);
    assert_eq!(b.receive(), frame);
}

#[test]
fn a_peer_that_speaks_nonsense_is_sent_away_and_the_next_one_is_served() {
    let simulator = dead_beside(1, 2);
    let mut b = Peer::new(&simulator, 1);
    for nonsense in [&[0, 0, 0, 13][..], &[0, 0, 0x24, 1], &[0xFF; 40], &[0, 0, 0, 60, 1, 2]] {
        let mut a = Peer::new(&simulator, 0);
        let good = a.frame(0xFF, 1, 60);
        a.send(&good);
        a.stream.write_all(nonsense).unwrap();
        if nonsense.len() != 6 {
            assert!(a.is_sent_away());
        }
        drop(a);
        assert_eq!(b.receive(), good, "what came before it has arrived");
        wait_for(&simulator, |status| !status.ports[0].connected);
    }
}
