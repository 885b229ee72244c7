//! The raw channel opens and closes, and the connection manager behind it wakes who waits.

use std::time::Duration;

use super::{super::connector::Connector, *};
use crate::{
    cm::{self, Discriminator, Host, Target},
    kernel_agent::connection_agent::Ask,
};

#[test]
fn the_raw_channel_opens_last_and_closes_first() {
    let (ledger, agent) = open();
    ledger.take_deeds();
    let channel = agent.open_raw(raw::Filter { broadcast: true, ..Default::default() }).expect("room");
    assert!(matches!(agent.open_raw(raw::Filter::default()), Err(AgentError::RawOpen)));
    let vi = u32::from(channel.vi());
    let deeds = ledger.take_deeds();
    let connected =
        Deed::Command { op: command_op::COMMIT, table: table::VI_STATE, row: vi, words: [1, 0, 0] };
    let at = deeds.iter().position(|deed| *deed == connected).expect("it is connected");
    let service = |wanted, field: viaduct_spec::layout::Field, raw: u8| {
        let found = deeds[..at].iter().rev().find_map(|deed| match deed {
            Deed::Command { table, row, words, .. } if (*table, *row) == (wanted, vi) => {
                Some(field.get(words))
            }
            _ => None,
        });
        assert_eq!(found, Some(raw.into()), "table {wanted}");
    };
    service(table::GATHER, tables::gather::RAW, 1);
    service(table::TRANSMIT, tables::transmit::SERVICE, tables::service::RAW);
    service(table::RECEIVE, tables::receive::SERVICE, tables::service::RAW);
    let doorbells = deeds[at..].iter().filter(|deed| matches!(deed, Deed::Doorbell { .. })).count();
    assert_eq!(doorbells, raw::RECEIVES);
    let register = || ledger.books().registers[&registers::RAW_CHANNEL];
    assert_eq!(register(), u64::from(vi) | 3 << 16);
    assert_eq!(ledger.books().maps.len(), 3, "the arena, the error ring, and the frames");

    // Nothing ever leaves here: 16 frames, and no more.
    for _ in 0..raw::SENDS {
        channel.send(&[0; 60]).expect("room");
    }
    assert!(matches!(channel.send(&[0; 60]), Err(AgentError::RawFull)));
    assert!(matches!(channel.send(&[0; 13]), Err(AgentError::Frame(13))));
    assert!(matches!(channel.receive(), Ok(None)));
    ledger.take_deeds();
    drop(channel);
    assert_eq!(register(), 0);
    let deeds = ledger.take_deeds();
    let broken = Deed::Command { op: command_op::COMMIT, table: table::VI_STATE, row: vi, words: [3, 0, 0] };
    assert_eq!(deeds[0], broken);
    let drain = Deed::Command { op: command_op::DRAIN, table: 0, row: 0, words: [0; 3] };
    let drained = deeds.iter().rposition(|deed| *deed == drain).expect("it is drained");
    assert!(matches!(deeds[drained..], [_, Deed::ReadResult, Deed::Unmap { .. }]));
    assert_eq!(ledger.books().maps.len(), 2);
    drop(agent.open_raw(raw::Filter::default()).expect("it was given back"));
}

#[test]
fn who_waits_is_woken_by_what_another_thread_has_heard() {
    let (ledger, agent) = open();
    let connector = Connector::open(&agent, true, 1).expect("a raw channel");
    let tag = agent.create_tag().expect("a tag");
    let vi = create_vi(&agent, vi_attributes(tag)).expect("a VI");
    let name = |text: &str| Discriminator::try_from(text.as_bytes()).expect("short");
    let target = Target::Host(Host { mac: agent.mac(), ip: agent.ip() });
    for round in 0..20 {
        let seen = connector.event_count();
        ledger.books().checks = 0;
        let asked = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| connector.wait(seen, Duration::from_secs(60)));
            if round % 2 == 0 {
                // By now it sleeps, most likely; if not, nothing below is different.
                std::thread::sleep(Duration::from_millis(5));
            }
            let (from, to) = (name("here"), name("nobody"));
            let ask = Ask { vi: vi.name(), target, from, to, data: Vec::new(), timeout: None };
            let asked = connector.connect(ask).expect("it is asked");
            waiter.join().expect("no panic").expect("the device answers");
            asked
        });
        // The waiter has done what was due: nobody waits there, and that is known. Who sleeps in vain asks whether the device lives.
        let heard = connector.take_event(|event| event.id() == asked);
        assert!(
            matches!(heard, Some(cm::Event::Refused { refusal: cm::event::Refusal::NoMatch, .. })),
            "{heard:?}"
        );
        assert_eq!(ledger.books().checks, 0, "round {round}");
        assert_ne!(connector.event_count(), seen);
    }
}
