//! The switch and its links against frames that a test makes.

use std::io::Write;
use std::sync::{Arc, Mutex};

use pcap_file::pcap::PcapReader;
use viaduct_spec::wire::UDP_PORT;

use super::*;
use crate::nic::{NicIn, NicOut};

/// A writer whose bytes the test can see.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ports whose NICs send what they are given and keep what they get.
struct Net {
    fabric: Fabric,
    macs: Vec<Mac>,
    inputs: Vec<NicIn>,
    queues: Vec<VecDeque<Vec<u8>>>,
    at: Vec<usize>,
    pause: Vec<bool>,
    receiving: Vec<Vec<u8>>,
    /// Port, cycle of the last beat, bytes, damaged.
    got: Vec<(usize, Cycle, Vec<u8>, bool)>,
    now: Cycle,
}

impl Net {
    fn new(ports: usize, link: Link, capture: Option<Capture>) -> Self {
        Self {
            fabric: Fabric::new(ports, link, capture),
            macs: (0..ports).map(|_| Mac::new(link.rate)).collect(),
            inputs: vec![NicIn::default(); ports],
            queues: vec![VecDeque::new(); ports],
            at: vec![0; ports],
            pause: vec![false; ports],
            receiving: vec![Vec::new(); ports],
            got: Vec::new(),
            now: 0,
        }
    }

    fn run(&mut self, cycles: u64) {
        let end = self.now + cycles;
        while self.now < end {
            let stop = (self.now + self.fabric.link().latency).min(end);
            for port in 0..self.macs.len() {
                (self.now..stop).for_each(|now| self.cycle(port, now));
            }
            self.now = stop;
            self.fabric.exchange(self.now, self.macs.iter_mut());
        }
    }

    fn cycle(&mut self, port: usize, now: Cycle) {
        let input = &mut self.inputs[port];
        self.macs[port].drive(now, input);
        let mut output = NicOut { eth_rx_pause: self.pause[port], ..NicOut::default() };
        if let Some(frame) = self.queues[port].front() {
            let at = self.at[port];
            let count = (frame.len() - at).min(8);
            let mut lanes = [0; 8];
            lanes[..count].copy_from_slice(&frame[at..at + count]);
            output.eth_tx_valid = true;
            output.eth_tx_data = u64::from_le_bytes(lanes);
            output.eth_tx_keep = (0xFFu16 >> (8 - count)) as u8;
            output.eth_tx_last = at + count == frame.len();
            if input.eth_tx_ready {
                self.at[port] += count;
            }
        }
        self.macs[port].observe(now, input, &output);
        if output.eth_tx_valid && input.eth_tx_ready && output.eth_tx_last {
            self.queues[port].pop_front();
            self.at[port] = 0;
        }
        if input.eth_rx_valid {
            let count = input.eth_rx_keep.count_ones() as usize;
            self.receiving[port].extend_from_slice(&input.eth_rx_data.to_le_bytes()[..count]);
            if input.eth_rx_last {
                let frame = std::mem::take(&mut self.receiving[port]);
                self.got.push((port, now, frame, input.eth_rx_bad));
            }
        }
    }

    fn ports(&self) -> Vec<usize> {
        self.got.iter().map(|(port, ..)| *port).collect()
    }
}

fn address(port: usize) -> Address {
    [2, 0, 0, 0, 0, port as u8]
}

/// A frame with `length` bytes in all; a RoCE one if it is long enough.
fn frame(from: usize, to: Address, length: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|n| n as u8).collect();
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&address(from));
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[23] = 17;
    frame[36..38].copy_from_slice(&UDP_PORT.to_be_bytes());
    frame[38..40].copy_from_slice(&(length as u16 - 34).to_be_bytes());
    frame
}

#[test]
fn a_frame_takes_its_time_twice_and_the_latency_once() {
    let link = Link { latency: 50, rate: 1, ..Link::default() };
    let mut net = Net::new(2, link, None);
    net.queues[0].push_back(frame(0, address(1), 100));
    net.run(1000);
    // 8 preamble, 100 bytes, 4 FCS: 112 cycles in, 50 across, 112 out.
    let (port, cycle, data, damaged) = &net.got[0];
    assert_eq!((*port, *cycle, *damaged), (1, 112 + 50 + 112, false));
    assert_eq!(*data, frame(0, address(1), 100));
    assert!(net.fabric.is_quiet());
}

#[test]
fn time_does_not_depend_on_the_steps() {
    let run = |cycles: u64| {
        let mut net = Net::new(3, Link { latency: 64, rate: 2, ..Link::default() }, None);
        for n in 0..20 {
            net.queues[n % 3].push_back(frame(n % 3, address((n + 1) % 3), 60 + n * 37));
        }
        while net.now < 20_000 {
            net.run(cycles);
        }
        net.got.sort();
        net.got
    };
    assert_eq!(run(64), run(5));
    assert_eq!(run(64), run(20_000));
}

#[test]
fn short_frames_are_padded() {
    let mut net = Net::new(2, Link::default(), None);
    net.queues[0].push_back(frame(0, address(1), 54));
    net.run(1000);
    let data = &net.got[0].2;
    assert_eq!((data.len(), &data[54..]), (60, &[0; 6][..]));
}

#[test]
fn the_switch_learns_where_addresses_are() {
    let mut net = Net::new(3, Link::default(), None);
    net.queues[0].push_back(frame(0, address(2), 60));
    net.run(1000);
    assert_eq!(net.ports(), [1, 2], "not known yet");
    net.queues[2].push_back(frame(2, address(0), 60));
    net.run(1000);
    net.queues[0].push_back(frame(0, address(2), 60));
    net.run(1000);
    assert_eq!(net.ports(), [1, 2, 0, 2]);
    net.queues[1].push_back(frame(1, [0xFF; 6], 60));
    net.run(1000);
    assert_eq!(net.ports()[4..], [0, 2], "broadcast");
}

#[test]
fn faults_hit_the_frames_they_name() {
    let mut net = Net::new(2, Link::default(), None);
    net.fabric.set_faults(Faults {
        flip_icrc: [2].into(),
        drop: [3].into(),
        duplicate: [4].into(),
        damage: [5].into(),
        ..Faults::default()
    });
    let mut other = frame(0, address(1), 80);
    other[12] = 0x86;
    net.queues[0].push_back(other);
    for n in 0..5 {
        net.queues[0].push_back(frame(0, address(1), 70 + n));
    }
    net.run(5000);
    let lengths: Vec<usize> = net.got.iter().map(|got| got.2.len()).collect();
    assert_eq!(lengths, [80, 70, 71, 73, 73, 74], "frames that are not RoCE are not counted");
    let flipped: u32 =
        net.got[2].2.iter().zip(frame(0, address(1), 71)).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert_eq!(flipped, 1);
    assert_eq!(
        net.got.iter().map(|got| got.3).collect::<Vec<_>>(),
        [false, false, false, false, false, true]
    );
    assert_eq!((net.fabric.counters().frames, net.fabric.counters().faults), (6, 4));
}

#[test]
fn a_delayed_frame_is_overtaken() {
    let mut net = Net::new(2, Link::default(), None);
    net.fabric.set_faults(Faults { delay: [2, 4].into(), duplicate: [4].into(), ..Faults::default() });
    for n in 0..5 {
        net.queues[0].push_back(frame(0, address(1), 70 + n));
    }
    net.run(10_000);
    let lengths: Vec<usize> = net.got.iter().map(|got| got.2.len()).collect();
    assert_eq!(lengths, [70, 72, 74, 71, 73, 73]);
    assert_eq!(net.fabric.counters().faults, 2);
}

#[test]
fn the_capture_holds_every_frame_in_device_time() {
    let bytes = Shared::default();
    let capture = Capture::new(Box::new(bytes.clone())).unwrap();
    let mut net = Net::new(3, Link::default(), Some(capture));
    net.queues[0].push_back(frame(0, address(1), 100));
    net.queues[1].push_back(frame(1, address(0), 60));
    net.run(2000);
    net.fabric.finish_capture().unwrap();
    let bytes = bytes.0.lock().unwrap().clone();
    assert_eq!(bytes[..4], 0xA1B2_3C4Du32.to_le_bytes(), "nanoseconds");
    let mut reader = PcapReader::new(&bytes[..]).unwrap();
    let mut found = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        found.push((packet.timestamp.as_nanos(), packet.data.to_vec()));
    }
    // The shorter one ends first.
    let expected = [(72 * 8, frame(1, address(0), 60)), (112 * 8, frame(0, address(1), 100))];
    assert_eq!(found, expected);
}

#[test]
fn a_frame_of_nobody_s_comes_to_one_port_as_it_is() {
    let bytes = Shared::default();
    let capture = Capture::new(Box::new(bytes.clone())).unwrap();
    let mut net = Net::new(3, Link { latency: 50, rate: 1, ..Link::default() }, Some(capture));
    let faults = Faults { drop: [1].into(), ..Faults::default() };
    net.fabric.set_faults(faults);
    net.fabric.inject(0, 1, Frame { data: frame(0, address(2), 100), damaged: false });
    net.fabric.inject(0, 1, Frame { data: vec![7], damaged: true });
    net.fabric.inject(0, 1, Frame { data: Vec::new(), damaged: false });
    net.fabric.inject(0, 3, Frame { data: vec![7], damaged: false });
    assert!(!net.fabric.is_quiet());
    net.run(1000);
    // As if its last byte had come in at 0.
    assert_eq!(net.got[0], (1, 50 + 112, frame(0, address(2), 100), false));
    assert_eq!((net.got[1].2.as_slice(), net.got[1].3), (&[7][..], true));
    assert_eq!(net.got.len(), 2);
    net.fabric.finish_capture().unwrap();
    assert_eq!(bytes.0.lock().unwrap().len(), 24 + 16 + 100 + 16 + 1);
    net.queues[2].extend([frame(2, address(0), 60), frame(2, address(0), 60)]);
    net.run(1000);
    assert_eq!(net.ports(), [1, 1, 0, 1], "the fault hits a NIC's frame; port 0 is not learnt");
}

#[test]
fn a_nic_that_asks_for_silence_gets_it_and_loses_nothing() {
    let link = Link { latency: 64, rate: 8, ..Link::default() };
    let mut net = Net::new(2, link, None);
    net.pause[1] = true;
    net.run(200);
    for _ in 0..100 {
        net.queues[0].push_back(frame(0, address(1), 1500));
    }
    net.run(60_000);
    assert!(net.got.is_empty());
    assert!(net.queues[0].len() > 40, "the sender was held: {} frames left", net.queues[0].len());
    net.pause[1] = false;
    net.run(60_000);
    assert_eq!((net.got.len(), net.fabric.counters().overflow), (100, 0));
    assert!(net.fabric.is_quiet());
}

#[test]
fn two_senders_share_the_receiver_s_link() {
    let mut net = Net::new(3, Link { latency: 64, rate: 1, ..Link::default() }, None);
    net.queues[2].push_back(frame(2, address(0), 60));
    net.run(500);
    net.got.clear();
    for _ in 0..20 {
        net.queues[0].push_back(frame(0, address(2), 1000));
        net.queues[1].push_back(frame(1, address(2), 1000));
    }
    let start = net.now;
    net.run(60_000);
    let at_two: Vec<Cycle> = net.got.iter().filter(|got| got.0 == 2).map(|got| got.1).collect();
    assert_eq!(at_two.len(), 40);
    assert!(at_two.windows(2).all(|pair| pair[1] - pair[0] >= 1012 + 12));
    assert!(*at_two.last().unwrap() - start >= 40 * 1012);
}
