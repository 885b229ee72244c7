//! What is written, refused or told to wait, and what the peer is answered.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::receive;
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::raw::Completion;

use super::target::Target;
use super::{fill, AT, BYTES, IMMEDIATE, RELIABLE, UNRELIABLE, WRITTEN};

#[test]
fn a_peer_writes_where_it_may() {
    for service in [UNRELIABLE, RELIABLE, Service::ReliableReception] {
        let mut target = Target::new(service, 1024, &[]);
        let first = target.psn;
        let receive = target.post(100);
        let before = target.scene.snapshots();
        let (mut sent, mut messages) = (Vec::new(), 0);
        for (offset, length) in [(0, 1), (5, 0), (7, 100), (200, 1024), (1301, 5000)] {
            let data = fill(length, offset as u8);
            let frames = target.write(offset, &data, false);
            target.inject(&frames);
            assert_eq!(target.memory(offset, length), data);
            sent.push((offset, data));
            messages += 1;
        }
        let frames = target.write(8000, &fill(3000, 1), true);
        target.inject(&frames);
        sent.push((8000, fill(3000, 1)));
        assert_eq!(
            target.completion(receive),
            Completion { status: WRITTEN | status::IMMEDIATE, length: 3000, immediate: IMMEDIATE }
        );
        assert_eq!(target.counter(counter::MESSAGES_RECEIVED), messages + 1);
        // Nothing else has changed, but the receive.
        let mut expected = before;
        for (offset, data) in &sent {
            expected[1][AT + offset..AT + offset + data.len()].copy_from_slice(data);
        }
        expected[1][receive..receive + 32].copy_from_slice(&target.scene.hosts[1].memory.read(receive, 32));
        target.scene.unchanged_but(expected, &[]);
        assert_eq!(target.vis[1].state(), ViState::Connected);
        target.scene.others_go_on();
        let answers = target.answers();
        if service == UNRELIABLE {
            assert_eq!(answers, []);
        } else {
            let psns = [0, 1, 2, 3, 8, 11].map(|n| (first + n) & 0xFF_FFFF);
            let expected: Vec<_> = (1..).zip(psns).map(|(msn, psn)| (psn, syndrome::ACK, msn)).collect();
            assert_eq!(answers, expected, "{service:?}");
        }
    }
}

/// Rules RSP-5 and RSP-8.
#[test]
fn what_may_not_be_written_breaks_the_vi_and_the_nak_is_repeated() {
    let mut target = Target::new(RELIABLE, 1024, &[]);
    let receive = target.post(100);
    let first = target.psn;
    // The last byte lies behind the region; the whole is refused with its first packet.
    let bad = target.write(BYTES - 1999, &fill(2000, 1), false);
    let more = target.write(0, b"more", false);
    let before = target.scene.snapshots();
    target.inject(&bad[..1]);
    assert_eq!(target.vis[1].state(), ViState::Error);
    let events = target.scene.events(1);
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].code, events[0].broke), (event_code::RDMAW_PROT, true));
    assert_eq!(
        target.completion(receive).status,
        status::DONE | status::OP_RECEIVE | status::DESC_FLUSHED_ERROR
    );
    for frame in [&bad[1..], &more].concat() {
        target.inject(&[frame]);
    }
    target.scene.unchanged_but(before, &[(1, receive)]);
    assert_eq!(target.counter(counter::NAKS_SENT), 3);
    target.scene.others_go_on();
    assert_eq!(target.answers(), [(first, syndrome::NAK_ACCESS, 0); 3]);
}

#[test]
fn a_vi_without_the_right() {
    let mut target = Target::new(RELIABLE, 1024, &[(receive::RDMA_WRITE, 0)]);
    let first = target.psn;
    let receive = target.post(100);
    let frames = target.write(0, b"no", true);
    target.inject(&frames);
    assert_eq!(target.completion(receive).status, WRITTEN | status::RDMA_PROT_ERROR);
    assert_eq!(target.scene.events(1)[0].code, event_code::CONN_LOST);
    target.scene.others_go_on();
    assert_eq!(target.answers(), [(first, syndrome::NAK_INVALID, 0)]);
}

/// Rule RSP-4.
#[test]
fn a_receiver_that_is_not_ready_stays() {
    let mut target = Target::new(RELIABLE, 1024, &[(receive::RNR_STAY, 1), (receive::RNR_TIMER, 14)]);
    let first = target.psn;
    let send = target.packet(opcode::RC_SEND_ONLY, b"patience");
    target.inject(std::slice::from_ref(&send));
    target.inject(std::slice::from_ref(&send));
    assert_eq!(target.counter(counter::RNR_SENT), 2);
    assert_eq!((target.vis[1].state(), target.scene.events(1)), (ViState::Connected, vec![]));
    let receive = target.post(100);
    target.inject(&[send]);
    let completion = target.completion(receive);
    assert_eq!((completion.status, completion.length), (status::DONE | status::OP_RECEIVE, 8));
    target.scene.others_go_on();
    let wait = (first, syndrome::RNR_NAK | 14, 0);
    assert_eq!(target.answers(), [wait, wait, (first, syndrome::ACK, 1)]);
}
