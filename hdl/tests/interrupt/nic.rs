//! Interrupts of the whole NIC, as the host sees them: transaction layer packets in, transaction layer packets out.

use viaduct_hdl::export::verilog;
use viaduct_hdl::nic::Nic;
use viaduct_spec::descriptor::COMPLETION_OFFSET;
use viaduct_spec::doorbell::{cq_page, encode, page};
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{
    command, command_op, control, event, event_code, registers, MSIX_PENDING, MSIX_TABLE,
};
use viaduct_spec::tables::{completion_queue, page as page_row, region, table, work_queue};
use viaduct_spec::tlp::{class, completion_dw1, completion_dw2, dw0, kind, request_dw1};
use viaduct_verilate::Bench;

use crate::message::{interrupt, REQUESTER};

const REGISTERS: u64 = 0;
const DOORBELLS: u64 = 2;
/// The error ring: queue and vector.
const ERRORS: (u64, u64) = (9, 0);
/// Where the descriptor lies.
const PLACE: u64 = 0x4_5000;
const TAG: u64 = 7;

fn word(fields: &[(viaduct_spec::layout::Field, u64)]) -> u32 {
    let mut row = [0];
    for (field, value) in fields {
        field.put(&mut row, *value);
    }
    row[0] as u32
}

/// The host: it answers reads of its memory with zeros.
struct Host {
    bench: Bench,
    packet: Vec<u32>,
    began: u64,
    /// Posted packets, with the cycles of their first and last beat.
    posted: Vec<(u64, u64, Vec<u32>)>,
    completions: Vec<Vec<u32>>,
    reads: Vec<Vec<u32>>,
}

impl Host {
    fn new() -> Self {
        let mut bench = Bench::new("nic", &verilog(Nic::default()));
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

    fn tick(&mut self) {
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
    fn send(&mut self, bar: u64, packet: &[u32]) {
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

    fn store(&mut self, bar: u64, address: u64, value: u64) {
        let head = word(&[(dw0::KIND, kind::WRITE_3DW.into()), (dw0::LENGTH, 2)]);
        let enables = word(&[(request_dw1::FIRST_BE, 0xF), (request_dw1::LAST_BE, 0xF)]);
        self.send(bar, &[head, enables, address as u32, value as u32, (value >> 32) as u32]);
    }

    fn store_half(&mut self, bar: u64, address: u64, value: u32) {
        let head = word(&[(dw0::KIND, kind::WRITE_3DW.into()), (dw0::LENGTH, 1)]);
        let enables = word(&[(request_dw1::FIRST_BE, 0xF)]);
        self.send(bar, &[head, enables, address as u32, value]);
    }

    fn load(&mut self, address: u64) -> u64 {
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
    fn quiet(&mut self) {
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

    fn commit(&mut self, target: u8, row: u64, words: [u64; 3]) {
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
    fn open(&mut self, queue: u64, vector: u64) {
        let mut words = [0; 3];
        work_queue::RING_REGION.put(&mut words, 1);
        work_queue::RING_LOG2.put(&mut words, 3);
        work_queue::OPEN.put(&mut words, 1);
        work_queue::TAG.put(&mut words, TAG);
        work_queue::VECTOR.put(&mut words, vector);
        self.commit(table::WORK_QUEUE, queue, words);
    }

    /// Region 1: a page, an agent's arena or not.
    fn system(&mut self, system: bool) {
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

    fn program(&mut self, vector: u64, address: u64, data: u32, masked: bool) {
        self.store(REGISTERS, MSIX_TABLE + 16 * vector, address);
        self.store(REGISTERS, MSIX_TABLE + 16 * vector + 8, u64::from(data) | u64::from(masked) << 32);
    }

    fn arm(&mut self, vi: u64, place: u64, position: u64) {
        self.store(DOORBELLS, vi << DOORBELL_SHIFT | place, 0xABCD << 32 | position);
    }

    /// The posted packets since.
    fn take(&mut self) -> Vec<Vec<u32>> {
        self.posted.drain(..).map(|(_, _, packet)| packet).collect()
    }
}

#[test]
fn an_arm_a_mask_and_an_event_reach_the_host() {
    let mut host = Host::new();
    host.open(11, 3);
    host.program(3, 0xFEE0_1000, 0x4023, true);
    assert_eq!(host.load(MSIX_TABLE + 48), 0xFEE0_1000);
    assert_eq!(host.load(MSIX_TABLE + 56), 0x1_0000_4023);

    // The consumer has seen less than there is: at once, but masked.
    host.arm(5, page::RECEIVE_ARM, 7);
    host.quiet();
    assert_eq!((host.take().len(), host.load(MSIX_PENDING)), (0, 1 << 3), "pending, and the NIC is idle");
    host.store_half(REGISTERS, MSIX_TABLE + 60, 0);
    host.quiet();
    assert_eq!(host.take(), [interrupt(0xFEE0_1000, 0x4023)]);
    assert_eq!(host.load(MSIX_PENDING), 0);

    // A queue that is not open, and half a word: ignored.
    host.arm(5, page::SEND_ARM, 7);
    host.store_half(DOORBELLS, 5 << DOORBELL_SHIFT | page::RECEIVE_ARM, 7);
    host.quiet();
    assert_eq!(host.take().len(), 0);
    assert_eq!(host.load(registers::COUNTERS + 8 * viaduct_spec::register::counter::DOORBELL_IGNORED), 2);

    // An event: a doorbell far beyond the ring. The interrupt comes behind it.
    let mut row = [0; 3];
    completion_queue::RING_OFFSET.put(&mut row, 3);
    completion_queue::RING_REGION.put(&mut row, 1);
    completion_queue::RING_LOG2.put(&mut row, 2);
    completion_queue::LIVE.put(&mut row, 1);
    completion_queue::EVENTS.put(&mut row, 1);
    completion_queue::SYSTEM_TAG.put(&mut row, TAG);
    completion_queue::VECTOR.put(&mut row, ERRORS.1);
    host.system(true);
    host.commit(table::COMPLETION_QUEUE, ERRORS.0, row);
    host.program(ERRORS.1, 0x12_FEE0_0000, 0x99, false);
    host.store(REGISTERS, registers::CONTROL, 1 << control::SEND_ENABLE.lo);
    host.store(DOORBELLS, (VIS as u64 + ERRORS.0) << DOORBELL_SHIFT | cq_page::ARM, 0xABCD << 32);
    host.store(DOORBELLS, 5 << DOORBELL_SHIFT | page::RECEIVE, encode(1, 0, 1000));
    host.quiet();
    let packets = host.take();
    let [entry, message] = &packets[..] else { panic!("{packets:x?}") };
    assert_eq!(message, &interrupt(0x12_FEE0_0000, 0x99));
    assert_eq!(entry[2], (PLACE + 3 * 64) as u32);
    assert_eq!(entry.len(), 3 + 4);
    let event = [u64::from(entry[3]) | u64::from(entry[4]) << 32];
    assert_eq!(event::CODE.get(&event), u64::from(event_code::VI_OVERRUN), "{event:x?}");
    assert_eq!(event::VI.get(&event), 5);

    // The agent's reset leaves the table to the system.
    host.store(REGISTERS, registers::CONTROL, 1 << control::RESET.lo);
    host.quiet();
    assert_eq!(host.load(MSIX_TABLE), 0x12_FEE0_0000);
    host.open(11, 3);
    host.arm(5, page::RECEIVE_ARM, 1);
    host.quiet();
    assert_eq!(host.take(), [interrupt(0xFEE0_1000, 0x4023)]);
}

#[test]
fn the_interrupt_of_a_completion_comes_behind_it() {
    let mut host = Host::new();
    host.system(false);
    host.commit(table::GATHER, 5, [TAG, 0, 0]);
    host.commit(table::TRANSMIT, 5, [0; 3]);
    host.commit(table::RECEIVE, 5, [0, TAG, 0]);
    host.open(10, 2);
    host.program(2, 0xFEE0_2000, 0x55, false);
    host.store(REGISTERS, registers::CONTROL, 1 << control::SEND_ENABLE.lo);

    let (mut least, mut most) = (u64::MAX, 0);
    for position in 0..12 {
        // The consumer sleeps before the completion, or looks too late; every other time.
        let early = position % 2 == 0;
        if early {
            host.arm(5, page::SEND_ARM, position);
            host.quiet();
            assert_eq!(host.take().len(), 0, "nothing is behind yet");
        }
        // The VI is not connected: what is posted is read and flushed.
        host.store(DOORBELLS, 5 << DOORBELL_SHIFT | page::SEND, encode(1, 0, position as u16));
        for _ in 0..300 {
            host.tick();
            if let Some(read) = host.reads.pop() {
                let head = word(&[(dw0::KIND, kind::COMPLETION_DATA.into()), (dw0::LENGTH, 16)]);
                let count = word(&[(completion_dw1::BYTE_COUNT, 64)]);
                let tag = request_dw1::TAG.get(&[read[1].into()]);
                let to = word(&[(completion_dw2::TAG, tag), (completion_dw2::REQUESTER, REQUESTER)]);
                let mut packet = vec![head, count, to];
                packet.extend([0; 16]);
                host.send(REGISTERS, &packet);
            }
        }
        host.quiet();
        if !early {
            assert_eq!(host.posted.len(), 1, "nobody sleeps");
            host.arm(5, page::SEND_ARM, position);
            host.quiet();
        }
        let [(_, written, write), (first, _, message)] = &host.posted[..] else {
            panic!("{:x?} at position {position}", host.posted)
        };
        assert_eq!(write[2], (PLACE + COMPLETION_OFFSET) as u32);
        assert_eq!(message, &interrupt(0xFEE0_2000, 0x55));
        if early {
            least = least.min(first - written);
            most = most.max(first - written);
        }
        host.posted.clear();
    }
    println!("completion's last beat to the interrupt's first: {least} to {most} cycles");
    assert!(most < 25, "{most} cycles");
}
