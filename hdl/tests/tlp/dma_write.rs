//! The write engine against a model that cuts the same commands.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{client, DmaCommand, WriteBeat};
use viaduct_hdl::dma::DmaWrite;
use viaduct_hdl::export::verilog;
use viaduct_spec::tlp::{dw0, kind, request_dw1};
use viaduct_verilate::Bench;

use crate::beat::{field, Beat, Collector};
use crate::bundle::Bundle;

const REQUESTER: u64 = 0x03F1;

#[derive(Clone, Copy, Debug)]
struct Command {
    address: u64,
    length: u64,
    client: u64,
    epoch: bool,
}

/// A packet as it must leave.
#[derive(Debug)]
struct Packet {
    address: u64,
    bytes: Vec<u8>,
    /// Epoch of the command that ends with it.
    done: Option<bool>,
}

/// One client's data: a beat on show, and how the stream goes on.
#[derive(Default)]
struct Source {
    stream: VecDeque<u8>,
    beat: Option<([u8; 8], u64, u64)>,
}

impl Source {
    /// Offers a beat of the next bytes, now or later; whole words if `calm`.
    fn offer(&mut self, bench: &mut Bench, rng: &mut ChaCha8Rng, rate: f64, calm: bool, name: &str) {
        if self.beat.is_none() && !self.stream.is_empty() && rng.random_bool(rate) {
            let start = if calm { 0 } else { rng.random_range(0..8) };
            let most = (8 - start).min(self.stream.len() as u64);
            let count = if calm { most } else { rng.random_range(1..=most) };
            let mut data: [u8; 8] = rng.random();
            for lane in start..start + count {
                data[lane as usize] = self.stream.pop_front().unwrap();
            }
            self.beat = Some((data, start, count));
        }
        bench.set(&format!("{name}_valid"), self.beat.is_some().into());
        if let Some((data, start, count)) = self.beat {
            let fields = [("data", u64::from_le_bytes(data)), ("start", start), ("count", count)];
            Bundle::of::<WriteBeat>(name).set(bench, &fields);
        }
    }

    fn taken(&mut self, bench: &Bench, name: &str) {
        if bench.get(&format!("{name}_ready")) == 1 {
            self.beat = None;
        }
    }
}

struct Host {
    bench: Bench,
    rng: ChaCha8Rng,
    /// `max_payload`, and since which cycle.
    asked: (u64, u64),
    /// With their bytes.
    commands: VecDeque<(Command, Vec<u8>)>,
    scatter: Source,
    complete: Source,
    packets: VecDeque<Packet>,
    collector: Collector,
    retire_due: Option<bool>,
    retired: u64,
    tx_rate: f64,
    data_rate: f64,
    calm: bool,
    busy_cycles: u64,
    /// What `cut` said when the packet began: as the edge counts credits.
    credited: u64,
    payload: u64,
    sent: u64,
}

impl Host {
    fn new(max_payload: u64) -> Self {
        let mut bench = Bench::new("dma_write", &verilog(DmaWrite::default()));
        let rng = crate::random(&bench);
        bench.set("cfg_requester_id", REQUESTER);
        bench.set("max_payload", max_payload);
        // Until the size is in force.
        (0..3).for_each(|_| bench.tick());
        Self {
            bench,
            rng,
            asked: (max_payload, 0),
            commands: VecDeque::new(),
            scatter: Source::default(),
            complete: Source::default(),
            packets: VecDeque::new(),
            collector: Collector::default(),
            retire_due: None,
            retired: 0,
            tx_rate: 1.0,
            data_rate: 1.0,
            calm: false,
            busy_cycles: 0,
            credited: 0,
            payload: 0,
            sent: 0,
        }
    }

    fn command(&mut self, command: Command) {
        let bytes: Vec<u8> = (0..command.length).map(|_| self.rng.random()).collect();
        let source = if command.client == client::COMPLETE { &mut self.complete } else { &mut self.scatter };
        source.stream.extend(&bytes);
        self.commands.push_back((command, bytes));
    }

    fn ask(&mut self, max_payload: u64) {
        self.bench.set("max_payload", max_payload);
        self.asked = (max_payload, self.bench.cycles());
    }

    /// A command has been taken: from now on it is cut by the size in force.
    fn taken(&mut self, command: Command, bytes: &[u8]) {
        let cut = self.bench.get("cut");
        let (asked, since) = self.asked;
        assert!(cut == asked || self.bench.cycles() == since, "cut by {cut}, and {asked} has been asked for");
        let size = (128 << cut).min(4096);
        let end = command.address + command.length;
        let mut at = command.address;
        while at < end {
            let stop = end.min(at / size * size + size);
            let (from, to) = ((at - command.address) as usize, (stop - command.address) as usize);
            self.packets.push_back(Packet {
                address: at,
                bytes: bytes[from..to].to_vec(),
                done: (stop == end).then_some(command.epoch),
            });
            at = stop;
        }
    }

    fn random_command(&mut self) -> Command {
        let rng = &mut self.rng;
        let length = match rng.random_range(0..4) {
            0 => rng.random_range(1..=16),
            1 => rng.random_range(1..=300),
            2 => 8,
            _ => rng.random_range(1..=4096),
        };
        let base: u64 = match rng.random_range(0..4) {
            0 => 0x1_0000,
            1 => 0xFFFF_F000,
            2 => 0x7_FFFF_F000,
            _ => rng.random::<u64>() >> 8,
        };
        Command {
            address: base + rng.random_range(0..0x1000),
            length,
            client: if rng.random_bool(0.3) { client::COMPLETE } else { client::SCATTER },
            epoch: rng.random(),
        }
    }

    fn packet(&mut self, packet: &[u32]) {
        let want = self.packets.pop_front().expect("a packet nobody asked for");
        let long = field(dw0::KIND, packet[0]) == u64::from(kind::WRITE_4DW);
        assert!(long || field(dw0::KIND, packet[0]) == u64::from(kind::WRITE_3DW));
        assert_eq!(packet[0] & 0x00FF_FC00, 0, "no attribute, no class");
        assert_eq!(field(request_dw1::REQUESTER, packet[1]), REQUESTER);
        assert_eq!(field(request_dw1::TAG, packet[1]), 0, "nobody answers a write");
        let address = if long { u64::from(packet[2]) << 32 | u64::from(packet[3]) } else { packet[2].into() };
        assert_eq!(long, address >> 32 != 0, "short header exactly below 4 GiB");
        assert_eq!(address, want.address & !3);
        let lane = (want.address % 4) as usize;
        let words = (lane + want.bytes.len()).div_ceil(4);
        assert_eq!(field(dw0::LENGTH, packet[0]), words as u64 & 0x3FF);
        let head = if long { 4 } else { 3 };
        assert_eq!(packet.len(), head + words);
        let bytes: Vec<u8> = packet[head..].iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(bytes[lane..lane + want.bytes.len()], want.bytes);
        let enabled = |word: usize| {
            (0..4)
                .filter(|b| (lane..lane + want.bytes.len()).contains(&(word * 4 + b)))
                .fold(0, |m, b| m | 1 << b)
        };
        assert_eq!(field(request_dw1::FIRST_BE, packet[1]), enabled(0));
        let last = if words == 1 { 0 } else { enabled(words - 1) };
        assert_eq!(field(request_dw1::LAST_BE, packet[1]), last);
        assert!(
            want.bytes.len() as u64 <= self.credited,
            "a payload of {} bytes with credits for {}",
            want.bytes.len(),
            self.credited
        );
        self.payload += want.bytes.len() as u64;
        self.sent += 1;
        self.retire_due = want.done;
    }

    fn step(&mut self) {
        let command = self.commands.front().map(|(command, _)| *command);
        self.bench.set("command_valid", command.is_some().into());
        if let Some(c) = command {
            let fields = [
                ("address", c.address),
                ("length", c.length),
                ("client", c.client),
                ("user", self.rng.random_range(0..256)),
                ("epoch", c.epoch.into()),
                ("last", self.rng.random_range(0..2)),
            ];
            Bundle::of::<DmaCommand>("command").set(&mut self.bench, &fields);
        }
        self.scatter.offer(&mut self.bench, &mut self.rng, self.data_rate, self.calm, "scatter");
        self.complete.offer(&mut self.bench, &mut self.rng, self.data_rate, self.calm, "complete");
        let ready = self.rng.random_bool(self.tx_rate);
        self.bench.set("tx_ready", ready.into());
        self.bench.eval();

        // A command retires in the cycle after its last beat was taken, and not else.
        let retire = self.bench.get("retire_valid") == 1;
        assert_eq!(retire, self.retire_due.is_some());
        if let Some(epoch) = self.retire_due.take() {
            assert_eq!(self.bench.get("retire_epoch"), u64::from(epoch));
            self.retired += 1;
        }
        assert_eq!(self.bench.get("retired"), self.retired & 0xFF);
        if self.bench.get("command_ready") == 1 {
            if let Some((command, bytes)) = self.commands.pop_front() {
                self.taken(command, &bytes);
            }
        }
        self.scatter.taken(&self.bench, "scatter");
        self.complete.taken(&self.bench, "complete");
        if ready && self.bench.get("tx_valid") == 1 {
            let beat = Beat::get(&self.bench, "tx");
            if self.collector.is_empty() {
                self.credited = (128 << self.bench.get("cut")).min(4096);
            }
            if let Some(packet) = self.collector.push(beat) {
                self.packet(&packet);
            }
        }
        self.busy_cycles += self.bench.get("busy");
        self.bench.tick();
    }

    fn finish(&mut self) {
        let limit = self.bench.cycles() + 400_000;
        while !self.packets.is_empty() || !self.commands.is_empty() {
            self.step();
            assert!(self.bench.cycles() < limit, "stuck at {:?}", self.packets.front());
        }
        for _ in 0..4 {
            self.step();
        }
        assert_eq!(self.bench.get("busy"), 0);
        assert!(self.collector.is_empty());
        assert!(self.scatter.beat.is_none() && self.complete.beat.is_none());
    }
}

#[test]
fn packets_carry_exactly_the_bytes_of_the_commands() {
    for max_payload in 0..=5 {
        let mut host = Host::new(max_payload);
        for round in 0..6 {
            (host.tx_rate, host.data_rate) = [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3)][round % 3];
            host.calm = round >= 3;
            for _ in 0..80 {
                let command = host.random_command();
                host.command(command);
            }
            host.finish();
        }
        assert!(host.retired > 256);
    }
}

#[test]
fn large_writes_go_at_full_rate() {
    // Cycles for each packet beyond one for each 8 bytes: header, and what does not fill a beat.
    for (base, extra) in [(0x1000, 3), (0x1003, 4), (0x1_0000_0000, 2), (0x1_0000_0005, 4)] {
        for max_payload in [0, 1, 5] {
            let mut host = Host::new(max_payload);
            host.calm = true;
            for n in 0..20 {
                let address = base + n * 4096;
                host.command(Command { address, length: 4096, client: client::SCATTER, epoch: false });
            }
            host.finish();
            assert_eq!(host.payload, 20 * 4096);
            let most = host.payload / 8 + host.sent * extra + 10;
            assert!(
                host.busy_cycles <= most,
                "{base:#x}: {} cycles, {} packets, at most {most}",
                host.busy_cycles,
                host.sent
            );
        }
    }
}

#[test]
fn reset_forgets_what_is_half_done() {
    let mut host = Host::new(0);
    for _ in 0..50 {
        for _ in 0..5 {
            let command = host.random_command();
            host.command(command);
        }
        for _ in 0..host.rng.random_range(0..300) {
            host.step();
        }
        host.bench.set("command_valid", 0);
        host.bench.set("scatter_valid", 0);
        host.bench.set("complete_valid", 0);
        host.bench.reset();
        let rng = host.rng.clone();
        host = Host { commands: VecDeque::new(), packets: VecDeque::new(), ..host };
        host.scatter = Source::default();
        host.complete = Source::default();
        host.collector = Collector::default();
        (host.retire_due, host.retired, host.rng) = (None, 0, rng);
        let command = host.random_command();
        host.command(command);
        host.finish();
    }
}

/// The system may set another size at any time: no packet is larger than what the edge counts credits for, and the new size is in force for
/// the next command, however many wait.
#[test]
fn another_max_payload_under_load_is_obeyed_from_the_next_command_on() {
    let mut host = Host::new(2);
    for round in 0..400 {
        for _ in 0..3 {
            let command = host.random_command();
            host.command(command);
        }
        (host.tx_rate, host.data_rate) = [(1.0, 1.0), (0.2, 1.0), (1.0, 0.3)][round % 3];
        for _ in 0..host.rng.random_range(0..600) {
            host.step();
        }
        let max_payload = host.rng.random_range(0..=5);
        host.ask(max_payload);
    }
    host.finish();
    assert!(host.retired == 1200, "{}", host.retired);
}
