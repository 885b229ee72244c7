//! A bench of the vectors: the host's stores and loads, its configuration, and the packets that leave.

use viaduct_hdl::bus::{Commit, MmioWrite, TlpBeat};
use viaduct_hdl::export::verilog;
use viaduct_hdl::interrupt::Vectors;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::register::MSIX_TABLE;
use viaduct_spec::tables::table;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

pub const REQUESTER: u64 = 0xA5C3;
/// The packets of an interrupt have at most so many double words.
pub const MOST_WORDS: usize = 5;

/// The bench.
pub struct World {
    pub bench: Bench,
    store: Bundle,
    beat: Bundle,
    packet: Vec<u32>,
    /// Packets that have left, with the cycle of their first beat.
    pub packets: Vec<(u64, Vec<u32>)>,
    first: u64,
}

/// What an interrupt looks like: memory write of one double word.
pub fn interrupt(address: u64, data: u32) -> Vec<u32> {
    let second = (REQUESTER as u32) << 16 | 0x000F;
    if address >> 32 == 0 {
        vec![0x4000_0001, second, address as u32, data]
    } else {
        vec![0x6000_0001, second, (address >> 32) as u32, address as u32, data]
    }
}

impl World {
    /// After reset, enabled, and with the table cleared.
    pub fn new() -> Self {
        let mut world = Self {
            bench: Bench::new("vectors", &verilog(Vectors::default())),
            store: Bundle::of::<MmioWrite>("mmio_write"),
            beat: Bundle::of::<TlpBeat>("tx"),
            packet: Vec::new(),
            packets: Vec::new(),
            first: 0,
        };
        for (port, value) in [
            ("cfg_requester_id", REQUESTER),
            ("cfg_msix_enable", 1),
            ("cfg_msix_mask", 0),
            ("cfg_bus_master", 1),
            ("restart", 0),
            ("mmio_write_valid", 0),
            ("load_valid", 0),
            ("raise_valid", 0),
            ("queue_raise_valid", 0),
            ("retired", 0),
            ("tx_ready", 1),
            ("commit_valid", 0),
            ("time_now", 0),
        ] {
            world.bench.set(port, value);
        }
        for vector in 0..VECTORS as u64 {
            world.moderate(vector, 0);
        }
        world.ticks(20);
        world
    }

    /// A first beat is taken in this cycle.
    pub fn begins(&mut self) -> bool {
        self.bench.eval();
        self.packet.is_empty() && self.bench.get("tx_valid") == 1 && self.bench.get("tx_ready") == 1
    }

    /// One cycle.
    pub fn tick(&mut self) {
        self.bench.eval();
        if self.bench.get("tx_valid") == 1 && self.bench.get("tx_ready") == 1 {
            let (data, keep) = (self.beat.get(&self.bench, "data"), self.beat.get(&self.bench, "keep"));
            let last = self.beat.get(&self.bench, "last") == 1;
            assert!(keep == 3 || (keep == 1 && last), "keep {keep}");
            if self.packet.is_empty() {
                self.first = self.bench.cycles();
            }
            self.packet.push(data as u32);
            if keep == 3 {
                self.packet.push((data >> 32) as u32);
            }
            assert!(self.packet.len() <= MOST_WORDS, "{:x?}", self.packet);
            if last {
                self.packets.push((self.first, std::mem::take(&mut self.packet)));
            }
        }
        self.bench.tick();
    }

    pub fn ticks(&mut self, cycles: u32) {
        for _ in 0..cycles {
            self.tick();
        }
    }

    /// The packets that have left since.
    pub fn take(&mut self) -> Vec<Vec<u32>> {
        self.packets.drain(..).map(|(_, packet)| packet).collect()
    }

    /// The store of this cycle.
    pub fn set_store(&mut self, doorbell: u64, address: u64, data: u64, enables: u64) {
        let fields = [("doorbell", doorbell), ("address", address), ("data", data), ("enables", enables)];
        self.store.set(&mut self.bench, &fields);
        self.bench.set("mmio_write_valid", 1);
    }

    /// Stores bytes into an aligned row.
    pub fn store(&mut self, address: u64, data: u64, enables: u64) {
        self.set_store(0, address, data, enables);
        self.tick();
        self.bench.set("mmio_write_valid", 0);
    }

    /// Loads a row of the table.
    pub fn load(&mut self, row: u64) -> u64 {
        self.bench.set("load_valid", 1);
        self.bench.set("load", row);
        for _ in 0..8 {
            self.tick();
            self.bench.eval();
            if self.bench.get("load_value_valid") == 1 {
                let value = self.bench.get("load_value");
                self.bench.set("load_valid", 0);
                self.tick();
                return value;
            }
        }
        panic!("row {row} was not answered");
    }

    /// Programs a vector.
    pub fn program(&mut self, vector: u64, address: u64, data: u32, masked: bool) {
        assert!(vector < VECTORS as u64);
        let at = MSIX_TABLE + 16 * vector;
        self.store(at, address, 0xFF);
        self.store(at + 8, u64::from(data) | u64::from(masked) << 32, 0xFF);
    }

    /// Masks a vector or not, as systems do: four bytes.
    pub fn mask(&mut self, vector: u64, masked: bool) {
        self.store(MSIX_TABLE + 16 * vector + 8, u64::from(masked) << 32, 0xF0);
    }

    /// Commits a vector's holdoff, in ticks.
    pub fn moderate(&mut self, vector: u64, ticks: u64) {
        let fields = [("target", table::MODERATION.into()), ("row", vector), ("word0", ticks)];
        Bundle::of::<Commit>("commit").set(&mut self.bench, &fields);
        self.bench.set("commit_valid", 1);
        self.bench.eval();
        assert_eq!(self.bench.get("commit_ready"), 1);
        self.tick();
        self.bench.set("commit_valid", 0);
    }

    /// Raises a vector when so many commands are issued.
    pub fn raise(&mut self, vector: u64, issued: u64) {
        self.bench.set("raise_valid", 1);
        self.bench.set("raise", vector);
        self.bench.set("issued", issued % 256);
        self.tick();
        self.bench.set("raise_valid", 0);
    }

    pub fn pending(&mut self) -> u64 {
        self.bench.eval();
        self.bench.get("pending")
    }

    pub fn busy(&mut self) -> bool {
        self.bench.eval();
        self.bench.get("busy") == 1
    }
}
