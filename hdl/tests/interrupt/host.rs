//! The whole NIC and its host: transaction layer packets in, transaction layer packets out.

use viaduct_hdl::export::nic;
use viaduct_spec::profile::DOORBELL_SHIFT;
use viaduct_spec::register::{command, command_op, registers, MSIX_TABLE};
use viaduct_spec::tables::{page as page_row, region, table, work_queue};
use viaduct_spec::tlp::{class, completion_dw1, completion_dw2, dw0, kind, request_dw1};
use viaduct_verilate::{Bench, Options};

use crate::message::REQUESTER;

pub const REGISTERS: u64 = 0;
pub const DOORBELLS: u64 = 2;
/// Where the descriptor lies.
pub const PLACE: u64 = 0x4_5000;
pub const TAG: u64 = 7;

pub fn word(fields: &[(viaduct_spec::layout::Field, u64)]) -> u32 {
    let mut row = [0];
    for (field, value) in fields {
        field.put(&mut row, *value);
    }
    row[0] as u32
}

/// The host, which answers nothing by itself.
pub struct Host {
    pub bench: Bench,
    packet: Vec<u32>,
    began: u64,
    /// Posted packets, with the cycles of their first and last beat.
    pub posted: Vec<(u64, u64, Vec<u32>)>,
    completions: Vec<Vec<u32>>,
    pub reads: Vec<Vec<u32>>,
}

impl Host {
    pub fn new() -> Self {
        // As the simulator's: it is the same model then.
        let options = Options { optimise: "-O2".into(), ..Options::named("nic") };
        let text = nic();
        let mut bench = Bench::with(&options, &text, Bench::usual_seed());
        for (port, value) in [
            ("tlp_tx_ready", 1),
            ("eth_tx_ready", 1),
            ("credit_ph", 100),
            ("credit_pd", 1000),
            ("credit_nph", 100),
            ("credit_ch", 100),
            ("credit_cd", 1000),
            ("cfg_requester_id", REQUESTER),
            ("cfg_max_payload", 0),
            ("cfg_max_read", 2),
            ("cfg_bus_master", 1),
            ("cfg_msix_enable", 1),
        ] {
            bench.set(port, value);
        }
        let (posted, completions, reads) = Default::default();
        let mut host = Self { bench, packet: Vec::new(), began: 0, posted, completions, reads };
        // Rows are cleared.
        host.quiet();
        host
    }

    pub fn tick(&mut self) {
        self.bench.eval();
        if self.bench.get("tlp_tx_valid") == 1 {
            if self.packet.is_empty() {
                self.began = self.bench.cycles();
            }
            let data = self.bench.get("tlp_tx_data");
            self.packet.push(data as u32);
            if self.bench.get("tlp_tx_keep") == 3 {
                self.packet.push((data >> 32) as u32);
            }
            if self.bench.get("tlp_tx_last") == 1 {
                let packet = std::mem::take(&mut self.packet);
                match self.bench.get("tlp_tx_class") as u8 {
                    class::POSTED => self.posted.push((self.began, self.bench.cycles(), packet)),
                    class::NON_POSTED => self.reads.push(packet),
                    _ => self.completions.push(packet),
                }
            }
        }
        self.bench.tick();
    }

    /// A packet to the NIC.
    pub fn send(&mut self, bar: u64, packet: &[u32]) {
        let beats = packet.len().div_ceil(2);
        for (n, pair) in packet.chunks(2).enumerate() {
            self.bench.set("tlp_rx_valid", 1);
            self.bench.set("tlp_rx_bar", bar);
            let high = pair.get(1).copied().unwrap_or(0);
            self.bench.set("tlp_rx_data", u64::from(pair[0]) | u64::from(high) << 32);
            self.bench.set("tlp_rx_keep", if pair.len() == 2 { 3 } else { 1 });
            self.bench.set("tlp_rx_last", u64::from(n + 1 == beats));
            self.tick();
        }
        self.bench.set("tlp_rx_valid", 0);
    }

    pub fn store(&mut self, bar: u64, address: u64, value: u64) {
        let head = word(&[(dw0::KIND, kind::WRITE_3DW.into()), (dw0::LENGTH, 2)]);
        let enables = word(&[(request_dw1::FIRST_BE, 0xF), (request_dw1::LAST_BE, 0xF)]);
        self.send(bar, &[head, enables, address as u32, value as u32, (value >> 32) as u32]);
    }

    pub fn store_half(&mut self, bar: u64, address: u64, value: u32) {
        let head = word(&[(dw0::KIND, kind::WRITE_3DW.into()), (dw0::LENGTH, 1)]);
        let enables = word(&[(request_dw1::FIRST_BE, 0xF)]);
        self.send(bar, &[head, enables, address as u32, value]);
    }

    pub fn load(&mut self, address: u64) -> u64 {
        let head = word(&[(dw0::KIND, kind::READ_3DW.into()), (dw0::LENGTH, 2)]);
        let enables = word(&[(request_dw1::FIRST_BE, 0xF), (request_dw1::LAST_BE, 0xF)]);
        self.send(REGISTERS, &[head, enables, address as u32]);
        for _ in 0..100 {
            self.tick();
            if let Some(packet) = self.completions.pop() {
                return u64::from(packet[3]) | u64::from(packet[4]) << 32;
            }
        }
        panic!("the load of {address:#x} was not answered");
    }

    /// Runs until the NIC says that it is idle, some cycles long.
    pub fn quiet(&mut self) {
        let mut calm = 0;
        for _ in 0..20_000 {
            self.tick();
            self.bench.eval();
            calm = if self.bench.get("idle") == 1 { calm + 1 } else { 0 };
            if calm == 20 {
                return;
            }
        }
        panic!("the NIC never comes to rest");
    }

    pub fn commit(&mut self, target: u8, row: u64, words: [u64; 3]) {
        for (register, word) in
            [registers::STAGE0, registers::STAGE1, registers::STAGE2].into_iter().zip(words)
        {
            self.store(REGISTERS, register, word);
        }
        let mut word = [0];
        command::OP.put(&mut word, command_op::COMMIT.into());
        command::TABLE.put(&mut word, target.into());
        command::ROW.put(&mut word, row);
        self.store(REGISTERS, registers::COMMAND, word[0]);
        self.quiet();
    }

    /// Opens a queue whose ring is never read.
    pub fn open(&mut self, queue: u64, vector: u64) {
        let mut words = [0; 3];
        work_queue::RING_REGION.put(&mut words, 1);
        work_queue::RING_LOG2.put(&mut words, 3);
        work_queue::OPEN.put(&mut words, 1);
        work_queue::TAG.put(&mut words, TAG);
        work_queue::VECTOR.put(&mut words, vector);
        self.commit(table::WORK_QUEUE, queue, words);
    }

    /// VI 5, not connected, with its send queue: what is posted is read, to be flushed.
    pub fn unconnected(&mut self, vector: u64) {
        self.system(false);
        self.commit(table::GATHER, 5, [TAG, 0, 0]);
        self.commit(table::TRANSMIT, 5, [0; 3]);
        self.commit(table::RECEIVE, 5, [0, TAG, 0]);
        self.open(10, vector);
    }

    /// Completes a read of host memory.
    pub fn complete(&mut self, tag: u64, data: &[u32]) {
        let length = data.len() as u64;
        let head = word(&[(dw0::KIND, kind::COMPLETION_DATA.into()), (dw0::LENGTH, length)]);
        let count = word(&[(completion_dw1::BYTE_COUNT, 4 * length)]);
        let to = word(&[(completion_dw2::TAG, tag), (completion_dw2::REQUESTER, REQUESTER)]);
        self.send(REGISTERS, &[&[head, count, to], data].concat());
    }

    /// Region 1: a page, an agent's arena or not.
    pub fn system(&mut self, system: bool) {
        let mut row = [0; 3];
        region::LENGTH.put(&mut row, 4096);
        region::TAG.put(&mut row, TAG);
        region::PAGE_SHIFT.put(&mut row, 12);
        region::LIVE.put(&mut row, 1);
        region::SYSTEM.put(&mut row, system.into());
        self.commit(table::REGION, 1, row);
        let mut row = [0; 3];
        page_row::ADDRESS.put(&mut row, PLACE);
        self.commit(table::PAGE, 0, row);
    }

    pub fn program(&mut self, vector: u64, address: u64, data: u32, masked: bool) {
        self.store(REGISTERS, MSIX_TABLE + 16 * vector, address);
        self.store(REGISTERS, MSIX_TABLE + 16 * vector + 8, u64::from(data) | u64::from(masked) << 32);
    }

    pub fn arm(&mut self, vi: u64, place: u64, position: u64) {
        self.store(DOORBELLS, vi << DOORBELL_SHIFT | place, 0xABCD << 32 | position);
    }

    /// The posted packets since.
    pub fn take(&mut self) -> Vec<Vec<u32>> {
        self.posted.drain(..).map(|(_, _, packet)| packet).collect()
    }
}
