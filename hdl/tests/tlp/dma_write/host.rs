//! The host: it gives commands and data, and takes packets when it likes.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::DmaCommand;
use viaduct_hdl::dma::DmaWrite;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

use super::command::Command;
use super::packet::{Packet, REQUESTER};
use super::source::Source;
use crate::beat::{Beat, Collector};
use crate::bundle::Bundle;

/// The engine, and all that its host and the test know of it.
pub struct Host {
    pub bench: Bench,
    pub rng: ChaCha8Rng,
    /// `max_payload`, and since which cycle.
    pub asked: (u64, u64),
    /// With their bytes.
    pub commands: VecDeque<(Command, Vec<u8>)>,
    pub scatter: Source,
    pub complete: Source,
    pub packets: VecDeque<Packet>,
    pub collector: Collector,
    pub retire_due: Option<bool>,
    pub retired: u64,
    pub tx_rate: f64,
    pub data_rate: f64,
    pub calm: bool,
    pub busy_cycles: u64,
    /// What `cut` said when the packet began: as the edge counts credits.
    pub credited: u64,
    pub payload: u64,
    pub sent: u64,
}

impl Host {
    pub fn new(max_payload: u64) -> Self {
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

    pub fn ask(&mut self, max_payload: u64) {
        self.bench.set("max_payload", max_payload);
        self.asked = (max_payload, self.bench.cycles());
    }

    pub fn step(&mut self) {
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
            assert_eq!(self.bench.get("retire"), u64::from(epoch));
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

    pub fn finish(&mut self) {
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
