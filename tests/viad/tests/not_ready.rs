//! Messages that find no receive, on connections that were made over the wire: what each end does is agreed on there. With viads, with agents in
//! this process, and with one of each.

use std::time::Duration;

use viaduct_spec::register::event_code;
use viaduct_viad_tests::{
    stage::{until, End, BUFFER, LONG},
    wire::{meet, on_each},
};
use vipl::{
    Error, MemAttributes, Nic, NotReady, ReliabilityLevel, Status, ViAttributes, ViState, WITHOUT_END,
};

fn end(nic: &Nic, level: ReliabilityLevel, not_ready: NotReady) -> End {
    let ptag = nic.create_ptag().expect("a tag");
    let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag)).expect("memory");
    let attributes = ViAttributes { reliability_level: level, not_ready, ..ViAttributes::new(&ptag) };
    End { vi: nic.create_vi(&attributes).expect("a VI").into(), memory, nic: nic.clone() }
}

/// What a NIC has counted.
fn count(nic: &Nic, name: &str) -> u64 {
    let counters = nic.counters().expect("it answers");
    counters.iter().find(|(code, _)| code.name == name).expect("a counter").1
}

fn state(end: &End) -> ViState {
    end.vi.query().expect("it answers").state
}

#[test]
fn a_sender_sends_again_until_the_receive_is_posted() {
    on_each(|nics| {
        for level in [ReliabilityLevel::ReliableDelivery, ReliabilityLevel::ReliableReception] {
            // Either end may be the one that stays.
            for stays in [0, 1] {
                let not_ready = NotReady::Stay { timer: 12, retries: WITHOUT_END };
                let ends = [0, 1]
                    .map(|nic| end(nics[nic], level, if nic == stays { not_ready } else { NotReady::Break }));
                meet(nics, ends.each_ref());
                let (sender, receiver) = (&ends[1 - stays], &ends[stays]);
                let before = count(nics[1 - stays], "RNR_RECEIVED");
                sender.send(0, BUFFER, b"is it ready?");
                // More often than any limited count.
                assert!(until(LONG, || count(nics[1 - stays], "RNR_RECEIVED") > before + 7));
                assert!(matches!(sender.vi.send_done(), Err(Error::NotDone)));
                assert_eq!(ends.each_ref().map(state), [ViState::Connected; 2]);
                receiver.post_recv(1, BUFFER, 64);
                assert_eq!(receiver.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 12);
                assert_eq!(receiver.bytes(BUFFER, 12), b"is it ready?");
                sender.vi.send_wait(Some(LONG)).expect("it is acknowledged");
            }
        }
    });
}

#[test]
fn a_sender_breaks_when_its_retries_are_over_or_its_peer_does() {
    on_each(|nics| {
        let levels = [
            (ReliabilityLevel::ReliableDelivery, Status::TRANSPORT_ERROR),
            (ReliabilityLevel::ReliableReception, Status::REMOTE_DESC_ERROR),
        ];
        for (level, wrong) in levels {
            for (not_ready, answers) in
                [(NotReady::Stay { timer: 1, retries: 3 }, 4), (NotReady::default(), 1)]
            {
                let ends = [end(nics[0], level, NotReady::Break), end(nics[1], level, not_ready)];
                meet(nics, ends.each_ref());
                let before = count(nics[0], "RNR_RECEIVED");
                ends[0].send(0, BUFFER, b"is it ready?");
                let error = ends[0].vi.send_wait(Some(LONG)).expect_err("nothing is posted there");
                let Error::Descriptor(descriptor) = error else { panic!("{error}") };
                assert!(descriptor.status().contains(wrong), "{}", descriptor.status());
                assert_eq!(count(nics[0], "RNR_RECEIVED") - before, answers, "{not_ready:?}");
                assert_eq!(state(&ends[0]), ViState::Error);
                if not_ready == NotReady::Break {
                    assert_eq!(state(&ends[1]), ViState::Error);
                }
            }
        }
    });
}

#[test]
fn with_unreliable_delivery_such_a_message_is_dropped_whatever_the_attribute_says() {
    on_each(|nics| {
        let level = ReliabilityLevel::UnreliableDelivery;
        let not_ready = NotReady::Stay { timer: 12, retries: WITHOUT_END };
        let ends = nics.map(|nic| end(nic, level, not_ready));
        meet(nics, ends.each_ref());
        ends[0].send(0, BUFFER, b"lost");
        ends[0].vi.send_wait(Some(LONG)).expect("it has left");
        let dropped = |event: &vipl::Event| event.code == event_code::RECVQ_EMPTY && !event.broke;
        let slice = Duration::from_millis(10);
        assert!(until(LONG, || nics[1].wait_events(slice).expect("it answers").iter().any(dropped)));
        ends[1].post_recv(1, BUFFER, 64);
        ends[0].send(0, BUFFER, b"found");
        assert_eq!(ends[1].vi.recv_wait(Some(LONG)).expect("it arrives").length(), 5);
    });
}
