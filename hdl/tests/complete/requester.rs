//! `complete/sends` with its neighbours: everything it says is taken at once and noted.

use std::collections::VecDeque;

use viaduct_hdl::bus::{Acknowledged, Commit, Completion, EpochWrite, Fault, Rewind, Sent, StateWrite};
use viaduct_hdl::complete::Sends;
use viaduct_hdl::export::verilog;
use viaduct_spec::tables::{service, table, transmit, vi_states};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// A TRANSMIT row.
#[derive(Clone, Copy)]
pub struct Settings {
    pub psn: u64,
    pub service: u8,
    pub timeout: u64,
    pub retries: u64,
    pub rnr_retries: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { psn: 0, service: service::RELIABLE_DELIVERY, timeout: 0, retries: 0, rnr_retries: 0 }
    }
}

/// What `sent` says; the rest of its fields are 0.
#[derive(Clone, Copy, Default)]
pub struct Told {
    pub vi: u64,
    pub region: u64,
    pub offset: u64,
    /// Of the last packet; none: unreliable, or it has failed.
    pub psn: Option<u64>,
    pub length: u64,
    pub errors: u32,
    pub operation: u64,
    pub lost: bool,
    pub epoch: bool,
    /// It waits for a read.
    pub parked: bool,
    /// Reads that were complete when it was dropped for that, modulo 8.
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rewound {
    pub vi: u64,
    pub epoch: bool,
    pub position: u64,
    pub skip: u64,
    pub psn: u64,
}

pub struct World {
    pub dut: Bench,
    /// Completions: (vi, offset, length, status).
    pub completed: VecDeque<(u64, u64, u64, u64)>,
    /// The regions of their descriptors.
    pub regions: Vec<u64>,
    pub again: Vec<u64>,
    /// VIs of completions that write nothing.
    pub lost: Vec<u64>,
    /// VIs that broke, and the event.
    pub broken: Vec<(u64, u8)>,
    pub rewound: Vec<Rewound>,
    /// Fetch takes rewinds.
    pub rewinds: bool,
    /// A completion is taken in each of so many cycles.
    pub writes_every: u64,
    /// And a fault in each of so many; the one that waits.
    pub faults_every: u64,
    fault: Option<(u64, u8)>,
    /// Every VI's epoch as it was broadcast.
    pub epochs: [bool; 64],
    /// A fault accepted: its VI's new state is on the bus.
    pub tell: Option<u64>,
    /// Events, in the order of `COUNTS`.
    pub counts: [u64; 7],
}

pub const COUNTS: [&str; 7] =
    ["count_ack", "count_nak", "count_rnr", "count_ghost", "count_again", "count_timeout", "count_message"];

impl World {
    pub fn new() -> Self {
        let mut dut = Bench::new("sends", &verilog(Sends::default()));
        for _ in 0..70 {
            dut.tick();
        }
        let mut world = Self {
            dut,
            completed: VecDeque::new(),
            regions: vec![],
            again: vec![],
            lost: vec![],
            broken: vec![],
            rewound: vec![],
            rewinds: true,
            writes_every: 1,
            faults_every: 1,
            fault: None,
            epochs: [false; 64],
            tell: None,
            counts: [0; 7],
        };
        for vi in 0..64 {
            world.create(vi, Settings::default());
        }
        world
    }

    pub fn tick(&mut self) {
        let dut = &mut self.dut;
        dut.set("again_send_ready", 1);
        let breaks = dut.cycles() % self.faults_every == 0;
        dut.set("fault_ready", breaks.into());
        let writes = dut.cycles() % self.writes_every == 0;
        dut.set("completion_ready", writes.into());
        dut.set("rewind_ready", self.rewinds.into());
        dut.set("state_valid", 0);
        dut.eval();
        let before = self.fault.take();
        if dut.get("fault_valid") == 1 {
            let bundle = Bundle::of::<Fault>("fault");
            let fault = (bundle.get(dut, "vi"), bundle.get(dut, "code") as u8);
            assert!(before.is_none_or(|before| before == fault), "{fault:?} after {before:?}");
            self.fault = (!breaks).then_some(fault);
        }
        if dut.get("fault_valid") == 1 && breaks {
            // As vi/state does: the new state is on the bus in the cycle in which the fault is taken.
            let bundle = Bundle::of::<Fault>("fault");
            let vi = bundle.get(dut, "vi");
            self.broken.push((vi, bundle.get(dut, "code") as u8));
            let state = Bundle::of::<StateWrite>("state");
            state.set(dut, &[("vi", vi), ("state", vi_states::ERROR.into())]);
            dut.set("state_valid", 1);
            dut.eval();
        } else if let Some(vi) = self.tell.take() {
            let state = Bundle::of::<StateWrite>("state");
            state.set(dut, &[("vi", vi), ("state", vi_states::ERROR.into())]);
            dut.set("state_valid", 1);
            dut.eval();
        }
        if dut.get("completion_valid") == 1 && writes {
            let bundle = Bundle::of::<Completion>("completion");
            let get = |name| bundle.get(dut, name);
            assert_eq!((get("receive"), get("acknowledge"), get("ends")), (0, 0, 1));
            if get("write") == 1 {
                self.completed.push_back((get("vi"), get("offset"), get("length"), get("status")));
                self.regions.push(get("region"));
            } else {
                self.lost.push(get("vi"));
            }
        }
        if dut.get("again_send_valid") == 1 {
            self.again.push(dut.get("again_send"));
        }
        if dut.get("epoch_valid") == 1 {
            let bundle = Bundle::of::<EpochWrite>("epoch");
            self.epochs[bundle.get(dut, "vi") as usize] = bundle.get(dut, "epoch") == 1;
        }
        if dut.get("rewind_valid") == 1 && self.rewinds {
            let bundle = Bundle::of::<Rewind>("rewind");
            let get = |name| bundle.get(dut, name);
            let rewound = Rewound {
                vi: get("vi"),
                epoch: get("epoch") == 1,
                position: get("position"),
                skip: get("skip"),
                psn: get("psn"),
            };
            assert_eq!(self.epochs[rewound.vi as usize], rewound.epoch, "the epoch turns with the rewind");
            self.rewound.push(rewound);
        }
        for (count, name) in self.counts.iter_mut().zip(COUNTS) {
            *count += dut.get(name);
        }
        dut.tick();
    }

    /// Until nothing moves. Timers may run.
    pub fn settle(&mut self) {
        for _ in 0..800 {
            self.tick();
        }
        self.dut.eval();
        assert_eq!(self.dut.get("busy"), u64::from(!self.rewinds && self.dut.get("rewind_valid") == 1));
    }

    fn take(&mut self, valid: &str, ready: &str) {
        assert!(self.taken(valid, ready, 400), "{valid} was not taken");
    }

    /// Offers something for so many cycles, or until it is taken; whether it was.
    fn taken(&mut self, valid: &str, ready: &str, cycles: u64) -> bool {
        self.dut.set(valid, 1);
        for _ in 0..cycles {
            self.dut.eval();
            let taken = self.dut.get(ready) == 1;
            self.tick();
            if taken {
                self.dut.set(valid, 0);
                return true;
            }
        }
        false
    }

    /// A VI's settings are on the bus for so many cycles, or until they are taken; whether they were.
    pub fn offered(&mut self, vi: u64, settings: Settings, cycles: u64) -> bool {
        let mut row = [0; 2];
        transmit::PSN.put(&mut row, settings.psn);
        transmit::SERVICE.put(&mut row, settings.service.into());
        transmit::TIMEOUT.put(&mut row, settings.timeout);
        transmit::RETRIES.put(&mut row, settings.retries);
        transmit::RNR_RETRIES.put(&mut row, settings.rnr_retries);
        let bundle = Bundle::of::<Commit>("commit");
        let fields = [("target", table::TRANSMIT.into()), ("row", vi), ("word0", row[0]), ("word1", row[1])];
        bundle.set(&mut self.dut, &fields);
        self.taken("commit_valid", "commit_ready", cycles)
    }

    pub fn create(&mut self, vi: u64, settings: Settings) {
        assert!(self.offered(vi, settings, 400), "the commit was not taken");
        let state = Bundle::of::<StateWrite>("state");
        state.set(&mut self.dut, &[("vi", vi), ("state", vi_states::CONNECTED.into())]);
        self.dut.set("state_valid", 1);
        self.dut.tick();
        self.dut.set("state_valid", 0);
    }

    /// A packet has left that is not its message's last; what it says of the message.
    pub fn packet_of(&mut self, vi: u64, psn: u64, length: u64, operation: u64) {
        let epoch = self.epochs[vi as usize].into();
        let bundle = Bundle::of::<Sent>("sent");
        let fields =
            [("vi", vi), ("psn", psn), ("epoch", epoch), ("length", length), ("operation", operation)];
        bundle.set(&mut self.dut, &fields);
        self.take("sent_valid", "sent_ready");
    }

    /// The same, of the send of 1000 + `offset` bytes.
    pub fn packet(&mut self, vi: u64, psn: u64, offset: u64) {
        self.packet_of(vi, psn, 1000 + offset, 0);
    }

    /// A message has ended.
    pub fn told(&mut self, told: Told) {
        let bundle = Bundle::of::<Sent>("sent");
        let fields = [
            ("vi", told.vi),
            ("ends", 1),
            ("region", told.region),
            ("offset", told.offset),
            ("length", told.length),
            ("errors", told.errors.into()),
            ("operation", told.operation),
            ("acknowledged", told.psn.is_some().into()),
            ("psn", told.psn.unwrap_or(0)),
            ("lost", told.lost.into()),
            ("epoch", told.epoch.into()),
            ("parked", told.parked.into()),
            ("number", told.number),
        ];
        bundle.set(&mut self.dut, &fields);
        self.take("sent_valid", "sent_ready");
    }

    /// A send of 1000 + `offset` bytes has left in the VI's epoch.
    pub fn send(&mut self, vi: u64, offset: u64, psn: u64) {
        let epoch = self.epochs[vi as usize];
        self.told(Told { vi, offset, psn: Some(psn), length: 1000 + offset, epoch, ..Told::default() });
    }

    pub fn answer(&mut self, vi: u64, psn: u64, syndrome: u8) {
        let bundle = Bundle::of::<Acknowledged>("acknowledged");
        // Class 2 does not come from the wire as such: it is what an answer to a read turned out to be.
        let (syndrome, frame) = (u64::from(syndrome), u64::from(syndrome >> 5 & 3));
        bundle.set(&mut self.dut, &[("vi", vi), ("psn", psn), ("syndrome", syndrome), ("frame", frame)]);
        self.take("acknowledged_valid", "acknowledged_ready");
    }

    pub fn position(&mut self, vi: u64) -> u64 {
        self.dut.set("completed_index", vi);
        self.tick();
        self.dut.get("completed_row")
    }

    /// The completions so far, as (offset, status).
    pub fn drain(&mut self) -> Vec<(u64, u32)> {
        self.settle();
        self.completed.drain(..).map(|(_, offset, _, status)| (offset, status as u32)).collect()
    }

    /// The rewinds so far.
    pub fn rewinds(&mut self) -> Vec<Rewound> {
        self.settle();
        std::mem::take(&mut self.rewound)
    }
}
