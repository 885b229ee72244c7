//! Unreliable service, the raw channel, and virtual interfaces of one NIC.

use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::{counter, event_code, raw_channel, registers};
use viaduct_spec::tables::{gather, region, service, table, transmit, vi_states};

use super::bench::{row, Bench, Completion, Descriptor, End, Level, DATA, PSN, RECEIVED, SENT, TAG};
use crate::fabric::Faults;

const A: End = (0, 1);
const B: End = (1, 2);
const WRITE: u16 = control::OP_RDMAWRITE;

fn pair(level: Level) -> Bench {
    let mut bench = Bench::new(2);
    bench.connect([A, B], level);
    bench
}

fn lost(number: u64) -> Faults {
    Faults { drop: [number].into(), ..Faults::default() }
}

/// Rules UNR-1 and UNR-3.
#[test]
fn rules_1_and_3_a_send_is_complete_when_it_has_left_and_a_gap_is_partial() {
    for missing in 1..=3 {
        let mut bench = pair(Level::unreliable());
        bench.faults(lost(missing));
        let receives = [0, 1].map(|_| bench.receive(B, &Descriptor::of(DATA, 1000)));
        let sends = [0, 1].map(|_| bench.send(A, &Descriptor::of(DATA, 700)));
        bench.settle();
        assert_eq!(sends.map(|place| bench.peek(0, place)), [(700, SENT); 2]);
        let partial: Completion = (256 * (missing as u32 - 1), RECEIVED | status::PARTIAL_ERROR);
        let expected = if missing == 1 { [(700, RECEIVED), (1000, 0)] } else { [partial, (700, RECEIVED)] };
        assert_eq!(receives.map(|place| bench.peek(1, place)), expected);
        assert_eq!(bench.counter(1, counter::DROP_PARTIAL), 3 - missing);
    }
}

/// Rule UNR-2.
#[test]
fn rule_2_no_message_is_delivered_twice() {
    let mut bench = pair(Level::unreliable());
    bench.faults(Faults { duplicate: (1..100).collect(), ..Faults::default() });
    let receives = [0; 3].map(|_| bench.receive(B, &Descriptor::of(DATA, 1000)));
    for length in [700, 7] {
        bench.send(A, &Descriptor::of(DATA, length));
    }
    bench.settle();
    assert_eq!(receives.map(|place| bench.peek(1, place)), [(700, RECEIVED), (7, RECEIVED), (1000, 0)]);
    assert_eq!(bench.counter(1, counter::DROP_PSN), 4);
}

/// Rule UNR-3.
#[test]
fn rule_3_an_rdma_write_with_a_gap_is_aborted() {
    for missing in 2..=3 {
        let mut bench = pair(Level::unreliable());
        bench.faults(lost(missing));
        bench.write(0, DATA, &[5; 700]);
        bench.send(A, &Descriptor::rdma(WRITE, DATA + 0x1000, DATA, 700));
        bench.send(A, &Descriptor::rdma(WRITE, DATA + 0x2000, DATA, 70));
        bench.settle();
        assert_eq!(bench.events(1), [(event_code::RDMAW_ABORT, 2, true, false)]);
        assert_eq!(bench.read(1, DATA + 0x1000, 256), [5; 256]);
        assert_eq!(bench.read(1, DATA + 0x2000, 70), [5; 70], "the connection stays");
    }
}

/// Rule UNR-3.
#[test]
fn rule_3_a_payload_that_does_not_fit_is_a_gap() {
    let level = Level::unreliable();
    let mut bench = pair(level);
    // The sender thinks that the path takes more than the receiver does.
    let service = row(&[(transmit::PSN, PSN.into())]);
    let larger = [(gather::TAG, TAG), (gather::MTU, level.mtu + 1), (gather::MAX_TRANSFER, 5000)];
    bench.commit(0, table::GATHER, A.1 as u64, row(&larger));
    bench.commit(0, table::TRANSMIT, A.1 as u64, service);
    let receive = bench.receive(B, &Descriptor::of(DATA, 5000));
    for descriptor in [Descriptor::of(DATA, 600), Descriptor::rdma(WRITE, DATA, DATA, 600)] {
        bench.send(A, &descriptor);
    }
    bench.settle();
    assert_eq!(bench.peek(1, receive), (5000, 0), "nothing of it was taken");
    assert_eq!(bench.counter(1, counter::DROP_PARTIAL), 4, "two messages of two packets");
    assert_eq!(bench.events(1), []);
}

/// Rule UNR-4.
#[test]
fn rule_4_no_receive_a_short_one_and_a_wrong_one() {
    let mut bench = pair(Level::unreliable());
    let send = Descriptor::of(DATA, 700);
    bench.send(A, &send);
    bench.settle();
    assert_eq!(bench.counter(1, counter::DROP_NO_RECEIVE), 1);
    assert_eq!(bench.events(1), [(event_code::RECVQ_EMPTY, 2, true, false)]);
    for (receive, error) in [
        (Descriptor::of(DATA, 699), status::LENGTH_ERROR),
        (Descriptor::of(DATA, 700).handle(0, 0), status::PROTECTION_ERROR),
        (Descriptor::of(DATA, 700).flags(control::OP_RDMAREAD), status::FORMAT_ERROR),
    ] {
        let receives = [receive, Descriptor::of(DATA, 700)].map(|it| bench.receive(B, &it));
        for _ in 0..2 {
            bench.send(A, &send);
        }
        bench.settle();
        assert_eq!(receives.map(|place| bench.peek(1, place).1), [RECEIVED | error, RECEIVED]);
    }
    assert_eq!(bench.events(1), []);
}

/// Rule UNR-4.
#[test]
fn rule_4_a_refused_rdma_write_is_an_event_or_the_receive_s() {
    for immediate in [false, true] {
        let mut bench = pair(Level::unreliable());
        bench.region(1, 1, &[(region::RDMA_WRITE, 0)]);
        let receive = bench.receive(B, &Descriptor::new());
        let write = Descriptor::rdma(WRITE, DATA, DATA, 100);
        let write = bench.send(A, &if immediate { write.immediate(1) } else { write });
        bench.settle();
        assert_eq!(bench.peek(0, write).1, SENT | status::OP_RDMA_WRITE, "the sender does not hear of it");
        let refused = status::DONE | status::OP_REMOTE_RDMA_WRITE | status::RDMA_PROT_ERROR;
        assert_eq!(bench.peek(1, receive).1, if immediate { refused } else { 0 });
        let event = (event_code::RDMAW_PROT, 2, true, false);
        assert_eq!(bench.events(1), if immediate { vec![] } else { vec![event] });
        assert_eq!(bench.state(B), vi_states::CONNECTED);
    }
}

/// Rule WQ-2.
#[test]
fn there_is_no_unreliable_read() {
    let mut bench = pair(Level::unreliable());
    let read = bench.send(A, &Descriptor::rdma(control::OP_RDMAREAD, DATA, DATA, 100));
    bench.settle();
    assert_eq!(bench.peek(0, read).1, SENT | status::OP_RDMA_READ | status::FORMAT_ERROR);
}

#[test]
fn virtual_interfaces_of_one_nic_talk_without_a_wire() {
    for level in [Level::unreliable(), Level::reliable()] {
        let mut bench = Bench::new(1);
        let ends = [(0, 1), (0, 2)];
        bench.connect(ends, level);
        bench.write(0, DATA, &[8; 700]);
        let receive = bench.receive(ends[1], &Descriptor::of(DATA + 0x1000, 700));
        let send = bench.send(ends[0], &Descriptor::of(DATA, 700));
        bench.settle();
        assert_eq!([bench.peek(0, send), bench.peek(0, receive)], [(700, SENT), (700, RECEIVED)]);
        assert_eq!(bench.read(0, DATA + 0x1000, 700), [8; 700]);
        assert_eq!(bench.net.fabric().counters().frames, 0);
    }
}

/// Two raw virtual interfaces.
fn raw(flags: &[viaduct_spec::layout::Field]) -> Bench {
    let mut bench = pair(Level { service: service::RAW, ..Level::unreliable() });
    for (nic, vi) in [A, B] {
        let mut word = row(&[(raw_channel::VI, vi as u64), (raw_channel::ENABLE, 1)]);
        flags.iter().for_each(|flag| flag.put(&mut word, 1));
        bench.store(nic, registers::RAW_CHANNEL, 4, word[0]);
    }
    bench
}

/// Rules RAW-1; and RAW-5: how they are counted.
#[test]
fn raw_frames_go_as_they_are_to_who_wants_them() {
    let own = [2, 0, 0, 0, 0, 3];
    let other = [2, 0, 0, 0, 0, 9];
    let (broadcast, multicast) = ([0xFF; 6], [1, 0, 0x5E, 0, 0, 1]);
    for (flags, wanted) in [
        (vec![], vec![own]),
        (vec![raw_channel::BROADCAST], vec![own, broadcast]),
        (vec![raw_channel::MULTICAST], vec![own, multicast]),
        (vec![raw_channel::PROMISCUOUS], vec![own, broadcast, multicast, other]),
    ] {
        for to in [own, broadcast, multicast, other] {
            let mut bench = raw(&flags);
            let mut frame: Vec<u8> = (0..100).collect();
            frame[..6].copy_from_slice(&to);
            frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 0x08, 0x06]);
            bench.write(0, DATA, &frame);
            let receive = bench.receive(B, &Descriptor::of(DATA + 0x1000, 2000));
            let send = bench.send(A, &Descriptor::of(DATA, 100));
            bench.settle();
            assert_eq!(bench.peek(0, send), (100, SENT));
            if wanted.contains(&to) {
                assert_eq!(bench.peek(1, receive), (100, RECEIVED));
                assert_eq!(bench.read(1, DATA + 0x1000, 100), frame);
                assert_eq!(bench.counter(1, counter::RAW_RECEIVED), 1);
            } else {
                assert_eq!((bench.peek(1, receive).1, bench.counter(1, counter::DROP_NOT_OURS)), (0, 1));
            }
        }
    }
}

/// Rules RAW-2 and RAW-4.
#[test]
fn the_raw_channel_drops_and_never_waits() {
    let mut bench = raw(&[]);
    bench.write(0, DATA, &[2, 0, 0, 0, 0, 3]);
    let receive = bench.receive(B, &Descriptor::of(DATA + 0x1000, 99));
    let sends = [100, 100, 13, 4200, 4201].map(|length| bench.send(A, &Descriptor::of(DATA, length)));
    bench.settle();
    assert_eq!(bench.peek(1, receive).1, RECEIVED | status::LENGTH_ERROR);
    assert_eq!(bench.counter(1, counter::RAW_DROPPED), 2);
    let error = SENT | status::LENGTH_ERROR;
    assert_eq!(sends.map(|place| bench.peek(0, place).1), [SENT, SENT, error, SENT, error]);
    assert_eq!([bench.state(A), bench.state(B)], [vi_states::CONNECTED; 2]);
}
