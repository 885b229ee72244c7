//! Counters that only the bus and the wire can raise, in the whole NIC: its simulated host and network keep their rules.

use viaduct_spec::doorbell::{encode, page};
use viaduct_spec::profile::DOORBELL_SHIFT;
use viaduct_spec::register::{control, counter, raw_channel, registers, state};
use viaduct_spec::tables::{receive, service, table, vi_states};
use viaduct_spec::tlp::{dw0, kind, request_dw1};

use crate::host::{word, Host, DOORBELLS, REGISTERS, TAG};

/// 50.4 ms in ticks: a read that is not answered by then has failed.
const LATE: u64 = 49_200;

impl Host {
    fn counter(&mut self, number: u64) -> u64 {
        // What has been counted moves into the memory, one counter a cycle.
        (0..100).for_each(|_| self.tick());
        self.load(registers::COUNTERS + 8 * number)
    }
}

#[test]
fn packets_that_nobody_takes() {
    let mut host = Host::new();
    assert_eq!(host.counter(counter::TLP_DROPPED), 0);
    for tag in 0..3 {
        host.complete(tag, &[0]);
    }
    assert_eq!(host.counter(counter::TLP_DROPPED), 3);
    // Nor does anybody take a store of four double words.
    let head = word(&[(dw0::KIND, kind::WRITE_3DW.into()), (dw0::LENGTH, 4)]);
    host.send(
        REGISTERS,
        &[head, word(&[(request_dw1::FIRST_BE, 0xF), (request_dw1::LAST_BE, 0xF)]), 0, 1, 2, 3, 4],
    );
    assert_eq!(host.counter(counter::TLP_DROPPED), 4);
}

#[test]
fn a_read_of_host_memory_that_is_never_answered() {
    let mut host = Host::new();
    host.unconnected(2);
    host.store(REGISTERS, registers::CONTROL, 1 << control::SEND_ENABLE.lo);
    let timed_out = |host: &mut Host| {
        // STATE is the high half.
        let word = host.load(registers::CONTROL) >> 32;
        state::READ_TIMEOUT.get(&[word])
    };
    host.store(DOORBELLS, 5 << DOORBELL_SHIFT | page::SEND, encode(1, 0, 0));
    for _ in 0..300 {
        host.tick();
    }
    assert_eq!((host.reads.len(), host.counter(counter::READS_LOST), timed_out(&mut host)), (1, 0, 0));
    host.bench.set("time_now", LATE);
    host.quiet();
    assert_eq!((host.counter(counter::READS_LOST), timed_out(&mut host)), (1, 1));
}

#[test]
fn frames_that_find_no_room() {
    let mut host = Host::new();
    let enable = 1 << control::RECEIVE_ENABLE.lo | 1 << control::SEND_ENABLE.lo;
    host.store(REGISTERS, registers::CONTROL, enable);
    // Frames to whomever are for the raw channel. It has a receive, and waits for its descriptor, which never comes.
    host.system(false);
    let mut row = [0; 3];
    receive::SERVICE.put(&mut row, service::RAW.into());
    receive::TAG.put(&mut row, TAG);
    host.commit(table::RECEIVE, 5, row);
    host.commit(table::VI_STATE, 5, [vi_states::CONNECTED.into(), 0, 0]);
    host.open(11, 0);
    host.store(DOORBELLS, 5 << DOORBELL_SHIFT | page::RECEIVE, encode(1, 0, 0));
    let mut channel = [0];
    raw_channel::VI.put(&mut channel, 5);
    raw_channel::ENABLE.put(&mut channel, 1);
    raw_channel::PROMISCUOUS.put(&mut channel, 1);
    host.store_half(REGISTERS, registers::RAW_CHANNEL, channel[0] as u32);
    (0..300).for_each(|_| host.tick());
    assert_eq!(host.reads.len(), 1);
    // The shortest frames without a gap; nobody looks at `eth_rx_pause`.
    let frames = 1000;
    host.bench.set("eth_rx_valid", 1);
    for beat in 0..8 * frames {
        host.bench.set("eth_rx_data", 0x0102_0304_0506_0708);
        host.bench.set("eth_rx_last", u64::from(beat % 8 == 7));
        host.bench.set("eth_rx_keep", if beat % 8 == 7 { 0xF } else { 0xFF });
        host.tick();
    }
    host.bench.set("eth_rx_valid", 0);
    let overflow = host.counter(counter::DROP_OVERFLOW);
    assert!((100..frames).contains(&overflow), "{overflow} without room");
    // The others are dropped one by one, when the descriptor is known to be lost.
    host.bench.set("time_now", LATE);
    host.quiet();
    let [received, after, dropped] = [counter::FRAMES_RECEIVED, counter::DROP_OVERFLOW, counter::RAW_DROPPED]
        .map(|number| host.counter(number));
    assert_eq!((after, overflow + dropped), (overflow, frames), "{received} received, {dropped} dropped");
}
