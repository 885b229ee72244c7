//! The host: its memory answers in an order and a time of its own.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::DmaCommand;
use viaduct_hdl::dma::DmaRead;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

use super::answers::{Answer, REQUESTER};
use super::command::{Command, Piece};
use crate::beat::{Beat, Collector};
use crate::bundle::Bundle;

/// The engine, and all that its host and the test know of it.
pub struct Host {
    pub bench: Bench,
    pub rng: ChaCha8Rng,
    /// Bytes of the largest request.
    pub size: u64,
    /// Commands that the engine has not taken.
    pub commands: VecDeque<Command>,
    /// Pieces whose data has not left, oldest first; the first `sent` have been requested.
    pub pieces: VecDeque<Piece>,
    pub sent: usize,
    /// Bytes of the oldest piece that have left.
    pub out: u64,
    /// A read of this access has failed.
    pub spoiled: bool,
    /// Beats of reads that failed later.
    pub early: u64,
    pub collector: Collector,
    /// Completions not delivered, in order for each tag.
    pub answers: Vec<Answer>,
    /// Beats of the completion that is on its way.
    pub delivering: VecDeque<Beat>,
    /// Tags that are out.
    pub in_use: [bool; 16],
    /// Tags whose completion never came.
    pub dead: [bool; 16],
    /// Tags of the pieces that have been requested, oldest first.
    pub tags: VecDeque<u64>,
    /// Completions of nobody: sent, and counted by the engine.
    pub unexpected: u64,
    pub seen_unexpected: u64,
    /// Lost reads that the engine has counted.
    pub seen_lost: u64,
    /// Commands that have retired, and that must, by epoch.
    pub retired: [u64; 2],
    pub want_retired: [u64; 2],
    pub time: u64,
    /// Cycles since anything happened.
    pub quiet: u32,
    pub requests: u64,
    /// One request in so many fails; 0: none.
    pub poison: u32,
    /// So many more are never answered.
    pub missing: u32,
    /// How often a completion is of nobody.
    pub bogus: f64,
    /// How often the link takes a beat.
    pub tx_rate: f64,
    /// How often it brings one.
    pub rx_rate: f64,
}

impl Host {
    /// With this code of the largest read.
    pub fn new(max_read: u64) -> Self {
        let mut bench = Bench::new("dma_read", &verilog(DmaRead::default()));
        let rng = crate::random(&bench);
        bench.set("cfg_requester_id", REQUESTER);
        bench.set("max_read", max_read);
        // Until the size is in force.
        (0..3).for_each(|_| bench.tick());
        Self {
            bench,
            rng,
            size: (128 << max_read).min(512),
            commands: VecDeque::new(),
            pieces: VecDeque::new(),
            sent: 0,
            out: 0,
            spoiled: false,
            early: 0,
            collector: Collector::default(),
            answers: Vec::new(),
            delivering: VecDeque::new(),
            in_use: [false; 16],
            dead: [false; 16],
            tags: VecDeque::new(),
            unexpected: 0,
            seen_unexpected: 0,
            seen_lost: 0,
            retired: [0; 2],
            want_retired: [0; 2],
            time: 0xFFFF_0000,
            quiet: 0,
            requests: 0,
            poison: 0,
            missing: 0,
            bogus: 0.0,
            tx_rate: 1.0,
            rx_rate: 1.0,
        }
    }

    /// One cycle.
    pub fn step(&mut self) {
        let command = self.commands.front().copied();
        self.bench.set("command_valid", command.is_some().into());
        if let Some(c) = command {
            let fields = [
                ("address", c.address),
                ("length", c.length),
                ("client", c.client),
                ("user", c.user),
                ("epoch", c.epoch.into()),
                ("last", c.last.into()),
                ("refused", c.refused.into()),
            ];
            Bundle::of::<DmaCommand>("command").set(&mut self.bench, &fields);
        }
        let mut beat = None;
        if self.rng.random_bool(self.rx_rate) {
            if self.delivering.is_empty() {
                self.choose_completion();
            }
            beat = self.delivering.pop_front();
        }
        self.bench.set("completion_valid", beat.is_some().into());
        if let Some(beat) = beat {
            beat.set(&mut self.bench, "completion");
        }
        let ready = self.rng.random_bool(self.tx_rate);
        self.bench.set("tx_ready", ready.into());
        self.bench.set("time_now", self.time & 0xFFFF_FFFF);
        self.bench.eval();

        if command.is_some() && self.bench.get("command_ready") == 1 {
            self.commands.pop_front();
        }
        if ready && self.bench.get("tx_valid") == 1 {
            let beat = Beat::get(&self.bench, "tx");
            if let Some(packet) = self.collector.push(beat) {
                self.request(&packet);
            }
        }
        self.quiet += 1;
        if self.bench.get("beat_valid") == 1 {
            self.quiet = 0;
            self.data();
        } else {
            assert_eq!(self.bench.get("retire_valid"), 0);
        }
        if !self.answers.is_empty() {
            self.quiet = 0;
        }
        self.seen_unexpected += self.bench.get("count_unexpected");
        self.seen_lost += self.bench.get("count_lost");
        if self.bench.cycles() % 128 == 0 {
            self.time += 1;
        }
        self.bench.tick();
    }

    /// Runs until everything asked for has come, letting time jump when nothing else can happen.
    pub fn finish(&mut self) {
        while !(self.commands.is_empty() && self.pieces.is_empty()) {
            self.step();
            if self.quiet == 600 {
                assert_eq!(self.bench.get("deadline_valid"), 1, "stuck at {:?}", self.pieces.front());
                let deadline = self.bench.get("deadline");
                let ahead = deadline.wrapping_sub(self.time) & 0xFFFF_FFFF;
                assert!((1..=50_400).contains(&ahead), "{ahead}");
                // Not before its time.
                self.time += ahead - 1;
                let before = self.pieces.len();
                for _ in 0..20 {
                    if self.bench.cycles() % 128 != 0 {
                        self.step();
                    }
                }
                assert_eq!(self.pieces.len(), before);
                self.time += 1;
            }
            assert!(self.quiet < 1000, "stuck at {:?}", self.pieces.front());
        }
        while !self.delivering.is_empty() {
            self.step();
        }
        let rate = std::mem::take(&mut self.rx_rate);
        // Sixteen hollow slots may have to be passed over.
        for _ in 0..40 {
            self.step();
        }
        self.rx_rate = rate;
        assert_eq!(self.bench.get("busy"), 0);
        assert_eq!(self.retired, self.want_retired);
        assert_eq!(self.seen_unexpected, self.unexpected);
    }
}
