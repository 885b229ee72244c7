//! VIs are created, connected, armed and destroyed.

use std::collections::HashSet;

use super::{super::vis::ViState, *};
use crate::address::ACK_TIME;

/// Rule LIFE-3: the order of its commits.
#[test]
fn a_vi_is_created_connected_and_destroyed() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    ledger.take_deeds();
    let vi = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    let commits = |deeds: &[Deed]| -> Vec<(u8, u32, [u64; 3])> {
        let commit = |deed: &Deed| match deed {
            Deed::Command { op: command_op::COMMIT, table, row, words } => Some((*table, *row, *words)),
            _ => None,
        };
        deeds.iter().filter_map(commit).collect()
    };
    let rows = commits(&ledger.take_deeds());
    let tables: Vec<u8> = rows.iter().map(|row| row.0).collect();
    assert_eq!(
        tables,
        [
            table::VI_STATE,
            // Nothing is left of whoever had the index.
            table::WORK_QUEUE,
            table::WORK_QUEUE,
            table::TRANSMIT,
            table::RECEIVE,
            table::VI_STATE,
            table::GATHER,
            table::WORK_QUEUE,
            table::WORK_QUEUE
        ]
    );
    assert!(rows[1..3].iter().all(|(_, _, words)| work_queue::OPEN.get(words) == 0));
    for (receive, log2) in [(0, 4), (1, 10)] {
        let (_, row, words) = rows[7 + receive];
        assert_eq!(row, receive as u32);
        assert_eq!(work_queue::OPEN.get(&words), 1);
        assert_eq!(work_queue::RING_LOG2.get(&words), log2);
        assert_eq!(work_queue::RING_OFFSET.get(&words), 128 * receive as u64);
        assert_eq!(work_queue::SYSTEM_TAG.get(&words), u64::from(agent.system_tag));
        assert_eq!(work_queue::TAG.get(&words), u64::from(tag));
        assert_eq!(work_queue::RING_REGION.get(&words), u64::from(agent.arena.region()));
    }

    let own = vi.info();
    let starting_psn = own.starting_psn ^ 0x5A_5A5A;
    let peer = ConnectionInfo { mac: Mac([2, 0, 0, 0, 0, 2]), queue_pair: 0x400, starting_psn, ..own };
    let wrong = ConnectionInfo { service: Service::UnreliableDelivery, ..peer };
    assert!(matches!(vi.connect(&wrong), Err(AgentError::Peer(_))));
    vi.connect(&peer).expect("an idle VI");
    let rows = commits(&ledger.take_deeds());
    assert_eq!(rows.iter().filter(|row| row.0 == table::TEMPLATE).count(), 8);
    assert_eq!(rows.last(), Some(&(table::VI_STATE, 0, [1, 0, 0])));
    // Each end names the PSN that it expects, so the other one sends with it.
    let psn = |table, field: Field| rows.iter().find(|row| row.0 == table).map(|row| field.get(&row.2));
    assert_eq!(psn(table::TRANSMIT, tables::transmit::PSN), Some(starting_psn.into()));
    assert_eq!(psn(table::RECEIVE, tables::receive::PSN), Some(own.starting_psn.into()));

    vi.queues().ring_doorbell(Direction::Receive, 5).expect("the ledger takes it");
    assert_eq!(ledger.take_deeds(), [Deed::Doorbell { offset: 8, token: 5 }]);

    ledger.books().registers.insert(registers::RESULT, 3);
    assert_eq!(vi.state().ok(), Some(ViState::Error));
    let again = vi.connect(&peer).expect_err("it is in error").to_string();
    assert!(again.contains("in error") && again.contains("idle"), "{again}");

    vi.destroy().expect("it exists");
    assert!(matches!(vi.destroy(), Err(AgentError::UnknownVi(0))));
    assert!(matches!(vi.connect(&peer), Err(AgentError::UnknownVi(0))));
    agent.destroy_tag(tag).expect("nobody uses it any more");
}

#[test]
fn a_vi_that_stays_when_a_message_finds_no_receive_says_so_in_its_row_and_to_its_peer() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    for (not_ready, stay, timer) in
        [(NotReady::Break, 0, 0), (NotReady::Stay { timer: 0x15, retries: 6 }, 1, 0x15)]
    {
        let vi = create_vi(&agent, ViAttributes { not_ready, ..vi_attributes(tag) }).expect("a free VI");
        ledger.take_deeds();
        vi.connect(&ConnectionInfo { mac: Mac([2, 0, 0, 0, 0, 2]), queue_pair: 0x400, ..vi.info() })
            .expect("idle");
        let row = ledger.take_deeds().into_iter().find_map(|deed| match deed {
            Deed::Command { table: table::RECEIVE, words, .. } => Some(words),
            _ => None,
        });
        let row = row.expect("a row");
        let fields = [tables::receive::RNR_STAY, tables::receive::RNR_TIMER].map(|field| field.get(&row));
        assert_eq!(fields, [stay, timer]);
        assert_eq!(agent.vi_end(vi.name()).expect("it exists").not_ready, not_ready);
    }
    for (timer, retries) in [(32, 0), (0, 8)] {
        let not_ready = NotReady::Stay { timer, retries };
        let error =
            create_vi(&agent, ViAttributes { not_ready, ..vi_attributes(tag) }).expect_err("no such number");
        assert!(error.to_string().contains("not ready is"), "{error}");
        assert_eq!(error.class(), ErrorClass::Parameter);
    }
}

#[test]
fn a_peer_may_choose_the_psn_of_its_first_packet() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let vi = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    ledger.take_deeds();
    let peer = ConnectionInfo {
        mac: Mac([2, 0, 0, 0, 0, 2]),
        queue_pair: 17,
        first_psn: Some(0x12_3456),
        ..vi.info()
    };
    vi.connect(&peer).expect("idle");
    let row = ledger.take_deeds().into_iter().find_map(|deed| match deed {
        Deed::Command { table: table::RECEIVE, words, .. } => Some(words),
        _ => None,
    });
    assert_eq!(tables::receive::PSN.get(&row.expect("a row")), 0x12_3456);
}

#[test]
fn a_peer_on_the_same_nic_is_reached_by_loopback() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let one = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    let two = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
    ledger.take_deeds();
    one.connect(&two.info()).expect("idle");
    let loopback = |deeds: Vec<Deed>| {
        deeds.iter().any(|deed| {
            matches!(deed, Deed::Command { table: table::TRANSMIT, words, .. } if words[0] >> 26 & 1 == 1)
        })
    };
    assert!(loopback(ledger.take_deeds()));
    two.connect(&ConnectionInfo { ip: Ipv4Addr::new(10, 0, 0, 9), ..one.info() }).expect("idle");
    assert!(!loopback(ledger.take_deeds()), "another address is another NIC");
}

#[test]
fn vis_run_out_and_their_queue_pair_numbers_change() {
    let (_ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let vis: Vec<_> = (0..4).map(|_| create_vi(&agent, vi_attributes(tag)).expect("a free VI")).collect();
        assert!(matches!(create_vi(&agent, vi_attributes(tag)), Err(AgentError::Full(4, _))));
        for vi in vis {
            assert!(seen.insert(vi.info().queue_pair));
            // A connection that ended takes its number with it.
            vi.make_idle().expect("it exists");
            assert!(seen.insert(vi.info().queue_pair));
            vi.destroy().expect("it exists");
        }
    }
    let attributes = ViAttributes { send_log2: 11, ..vi_attributes(tag) };
    assert!(matches!(create_vi(&agent, attributes), Err(AgentError::Ring(11))));
    let attributes = ViAttributes { max_transfer: 0, ..vi_attributes(tag) };
    assert!(matches!(create_vi(&agent, attributes), Err(AgentError::MaxTransfer(0))));
}

/// IBA 12.7.34: the time that peers wait before they send again.
#[test]
fn a_vi_says_how_long_its_nic_takes_to_acknowledge() {
    for ack_time in [ACK_TIME, 17] {
        let agent = Agent::open(Arc::new(Ledger::new()), Options { ack_time, ..options() });
        let agent = agent.expect("a sound function");
        let tag = agent.create_tag().expect("a tag");
        let vi = create_vi(&agent, vi_attributes(tag)).expect("a free VI");
        assert_eq!(vi.info().ack_time, ack_time);
    }
}

#[test]
fn arm_words_name_position_and_never_repeat() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let vis = [0, 1].map(|_| create_vi(&agent, vi_attributes(tag)).expect("a free VI"));
    let rows = ledger.take_deeds();
    // Four vectors: three for four queues.
    for (row, vector) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
        let found = rows.iter().find_map(|deed| match deed {
            Deed::Command { table: table::WORK_QUEUE, row: at, words, .. }
                if *at == row && work_queue::OPEN.get(words) == 1 =>
            {
                Some(words)
            }
            _ => None,
        });
        assert_eq!(work_queue::VECTOR.get(found.expect("a row")), vector, "row {row}");
    }
    assert_eq!(vis[1].queues().vector(Direction::Receive), 1);
    vis[1].queues().arm(Direction::Send, 0x3fff).expect("posted");
    vis[1].queues().arm(Direction::Receive, 0x4001).expect("posted");
    let page = 1 << 12;
    let arms = [
        Deed::Doorbell { offset: page + 0x10, token: 1 << 32 | 0x3fff },
        Deed::Doorbell { offset: page + 0x18, token: 2 << 32 | 1 },
    ];
    assert_eq!(ledger.take_deeds(), arms);
}
