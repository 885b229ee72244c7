//! What the agent tells a function, in which order. What a NIC makes of it is tested on the RTL.

use std::collections::HashSet;

use viaduct_spec::{
    doorbell::cq_page,
    register::command_op,
    tables::{self, completion_queue, region, table, work_queue},
};

use super::{
    connector::Connector,
    vis::{Direction, ViAttributes, ViState},
    *,
};
use crate::{
    address::{ConnectionInfo, Mtu, Service},
    cm::{self, Discriminator, Host, Target},
    connection_agent::Ask,
    ledger::{Deed, Ledger},
};

fn options() -> Options {
    Options { seed: Some(7), ..Options::new(Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1)) }
}

fn open() -> (Arc<Ledger>, Arc<Agent>) {
    let ledger = Arc::new(Ledger::new());
    let agent = Agent::open(Arc::clone(&ledger) as _, options()).expect("a sound function");
    (ledger, agent)
}

fn refusal(register: u64, value: u64) -> String {
    let ledger = Ledger::new();
    ledger.books().registers.insert(register, value);
    Agent::open(Arc::new(ledger), options()).err().expect("it is refused").to_string()
}

fn attributes(tag: u16) -> MemoryAttributes {
    MemoryAttributes { tag, rdma_write: false, rdma_read: false }
}

fn vi_attributes(tag: u16) -> ViAttributes {
    ViAttributes {
        tag,
        service: Service::ReliableDelivery,
        mtu: Mtu::DEFAULT,
        max_transfer: 1 << 20,
        send_log2: 4,
        receive_log2: 10,
        rdma_write: false,
        rdma_read: false,
        send_cq: None,
        receive_cq: None,
    }
}

/// Registers memory that outlives the test.
fn register(agent: &Agent, memory: &'static [u8], tag: u16) -> Result<u32, AgentError> {
    // SAFETY: static memory stays, and the ledger never touches it.
    unsafe { agent.register(memory.as_ptr() as usize, memory.len(), attributes(tag)) }
}

static MEMORY: [u8; 20_000] = [1; 20_000];

#[test]
fn what_is_no_viaduct_nic_is_refused() {
    assert!(refusal(registers::MAGIC, 0x1234_5678).contains("0x12345678"));
    assert!(refusal(registers::VERSION, 99).contains("version 99"));
    assert!(refusal(registers::KIND, 3).contains("kind 3"));
    assert!(refusal(registers::VIS, 0).contains("virtual interfaces is 0"));
    assert!(refusal(registers::REGIONS, 1 << 20).contains("regions"));
    assert!(refusal(registers::DOORBELL_SHIFT, 3).contains("stride is 3"));
}

#[test]
fn bus_master_is_set_after_the_reset_and_cleared_at_the_end() {
    let (ledger, agent) = open();
    let deeds = ledger.take_deeds();
    let at = |deed: &Deed| deeds.iter().position(|d| d == deed).expect("it was done");
    assert!(at(&Deed::Reset) < at(&Deed::Enables(2)) && at(&Deed::Enables(2)) < at(&Deed::Enables(6)));
    let mapped = deeds.iter().position(|d| matches!(d, Deed::Map { .. })).expect("the arena is mapped");
    assert!(at(&Deed::Enables(6)) < mapped);
    assert_eq!(ledger.books().registers[&registers::MAC], 0x0100_0000_0002);
    assert_eq!(ledger.books().registers[&registers::IP], 0x0a00_0001);
    assert_eq!(ledger.books().registers[&registers::CONTROL], 3);
    drop(agent);
    assert_eq!(ledger.books().config[&4], 0);
    assert!(ledger.books().maps.is_empty(), "the arena is taken back");
}

#[test]
fn deregistration_commits_drains_reads_and_only_then_unmaps() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let handle = register(&agent, &MEMORY, tag).expect("memory");
    assert_ne!(handle, 0);
    let row = handle & 0xffff;
    let deeds = ledger.take_deeds();
    let Some(Deed::Command { op: command_op::COMMIT, table: table::REGION, row: written, words }) =
        deeds.last()
    else {
        panic!("the region row comes last: {deeds:?}");
    };
    assert_eq!(*written, row);
    assert_eq!(region::BASE.get(words), MEMORY.as_ptr() as u64);
    assert_eq!(region::LENGTH.get(words), 20_000);
    assert_eq!(region::KEY.get(words), u64::from(handle >> 16));
    assert_eq!(region::READ_ONLY.get(words), 1, "a constant");
    assert!(matches!(agent.destroy_tag(tag), Err(AgentError::TagInUse { users: 1, .. })));

    agent.deregister(handle).expect("it is registered");
    let deeds = ledger.take_deeds();
    let dead = Deed::Command { op: command_op::COMMIT, table: table::REGION, row, words: [0; 3] };
    let drain = Deed::Command { op: command_op::DRAIN, table: 0, row: 0, words: [0; 3] };
    assert_eq!(deeds[..3], [dead, drain, Deed::ReadResult]);
    assert!(matches!(deeds[3..], [Deed::Unmap { .. }]));
    assert!(matches!(agent.deregister(handle), Err(AgentError::UnknownHandle(_))));
    agent.destroy_tag(tag).expect("nobody uses it any more");
}

#[test]
fn nobody_waits_for_memory_that_is_being_mapped_or_unmapped() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let handle = register(&agent, &MEMORY[..4096], tag).expect("memory");
    let meanwhile = |call: &(dyn Fn() + Sync), look: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            let slow = ledger.slow.lock().expect("no panic");
            scope.spawn(call);
            while !ledger.books().mapping {
                std::thread::yield_now();
            }
            let (tell, told) = std::sync::mpsc::channel();
            scope.spawn(move || {
                look();
                let _ = tell.send(());
            });
            let served = told.recv_timeout(Duration::from_secs(10));
            drop(slow);
            served.expect("others are served meanwhile");
        });
    };
    let registered = Mutex::new(0);
    meanwhile(
        &|| *registered.lock().expect("no panic") = register(&agent, &MEMORY, tag).expect("memory"),
        &|| {
            let other = agent.create_tag().expect("a tag");
            agent.destroy_tag(other).expect("nobody uses it");
            // The tag is taken already.
            assert!(matches!(agent.destroy_tag(tag), Err(AgentError::TagInUse { users: 2, .. })));
        },
    );
    let registered = *registered.lock().expect("no panic");
    meanwhile(&|| agent.deregister(registered).expect("it is registered"), &|| {
        // It is nobody's any more, and its rows are nobody else's yet.
        assert!(matches!(agent.deregister(registered), Err(AgentError::UnknownHandle(_))));
        assert!(agent.set_memory_attributes(registered, attributes(tag)).is_err());
        assert!(agent.memory_attributes(handle).is_ok());
    });
    agent.deregister(handle).expect("it is registered");
    agent.destroy_tag(tag).expect("nobody uses it");
}

#[test]
fn a_region_that_cannot_be_unmapped_stays_and_can_be_tried_again() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let handle = register(&agent, &MEMORY, tag).expect("memory");
    let kept = ledger.books().maps.clone();
    // The device does not know of the map any more, and says no.
    ledger.books().maps.retain(|_, (length, _)| *length != 20_480 && *length != 24_576);
    assert!(matches!(agent.deregister(handle), Err(AgentError::Device(DeviceError::Refused { .. }))));
    assert_eq!(agent.memory_attributes(handle).ok(), Some(attributes(tag)));
    assert!(matches!(agent.destroy_tag(tag), Err(AgentError::TagInUse { users: 1, .. })));
    ledger.books().maps = kept;
    agent.deregister(handle).expect("it is taken back");
    agent.destroy_tag(tag).expect("nobody uses it");
}

#[test]
fn the_table_fills_and_empties_and_handles_differ() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let mut seen = HashSet::new();
    for round in 0..3 {
        // Eight rows: row 0 is never used, one is the arena's, one the error ring's.
        let handles: Vec<u32> = (0..5).map(|_| register(&agent, &MEMORY, tag).expect("a free row")).collect();
        assert!(
            matches!(register(&agent, &MEMORY, tag), Err(AgentError::Full(7, "region"))),
            "round {round}"
        );
        for handle in handles {
            assert!(seen.insert(handle), "handles are not repeated soon");
            agent.deregister(handle).expect("it is registered");
        }
    }
    assert_eq!(ledger.books().maps.len(), 2, "only the arena and the error ring");
}

#[test]
fn what_cannot_be_registered_is_refused_by_its_rule() {
    let (_ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let start = MEMORY.as_ptr() as usize;
    let error = |address, length, attributes| {
        // SAFETY: nothing is registered: that is the test.
        unsafe { agent.register(address, length, attributes) }.expect_err("a rule is broken").to_string()
    };
    assert!(error(start, 0, attributes(tag)).contains("1 to 2^48"));
    assert!(error(start, 1 << 48, attributes(tag)).contains("1 to 2^48"));
    assert!(error(usize::MAX, 2, attributes(tag)).contains("1 to 2^48"));
    assert!(error(4096, 1, attributes(tag)).contains("nothing is mapped at 0x1000"));
    assert!(error(start, 1, attributes(0)).contains("tag 0x0000 does not exist"));
    let write = MemoryAttributes { rdma_write: true, ..attributes(tag) };
    assert!(error(start, 1, write).contains("read-only"));
}

#[test]
fn the_system_tag_and_the_arena_are_nobody_elses() {
    let (_ledger, agent) = open();
    assert!(matches!(register(&agent, &MEMORY, agent.system_tag), Err(AgentError::UnknownTag(_))));
    assert!(matches!(agent.create_vi(vi_attributes(agent.system_tag)), Err(AgentError::UnknownTag(_))));
    assert!(agent.destroy_tag(agent.system_tag).is_err());
    assert!((0..=u16::MAX)
        .all(|key| agent.deregister(u32::from(key) << 16 | u32::from(agent.arena.region())).is_err()));
}

#[test]
fn a_vi_is_created_connected_and_destroyed() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    ledger.take_deeds();
    let vi = agent.create_vi(vi_attributes(tag)).expect("a free VI");
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
    let peer = ConnectionInfo { mac: Mac([2, 0, 0, 0, 0, 2]), queue_pair: 0x400, ..own };
    let wrong = ConnectionInfo { service: Service::UnreliableDelivery, ..peer };
    assert!(matches!(vi.connect(&wrong), Err(AgentError::Peer(_))));
    vi.connect(&peer).expect("an idle VI");
    let rows = commits(&ledger.take_deeds());
    assert_eq!(rows.iter().filter(|row| row.0 == table::TEMPLATE).count(), 8);
    assert_eq!(rows.last(), Some(&(table::VI_STATE, 0, [1, 0, 0])));

    vi.ring_doorbell(Direction::Receive, 5).expect("the ledger takes it");
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
fn a_peer_on_the_same_nic_is_reached_by_loopback() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let one = agent.create_vi(vi_attributes(tag)).expect("a free VI");
    let two = agent.create_vi(vi_attributes(tag)).expect("a free VI");
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
        let vis: Vec<_> = (0..4).map(|_| agent.create_vi(vi_attributes(tag)).expect("a free VI")).collect();
        assert!(matches!(agent.create_vi(vi_attributes(tag)), Err(AgentError::Full(4, _))));
        for vi in vis {
            assert!(seen.insert(vi.info().queue_pair));
            // A connection that ended takes its number with it.
            vi.make_idle().expect("it exists");
            assert!(seen.insert(vi.info().queue_pair));
            vi.destroy().expect("it exists");
        }
    }
    let attributes = ViAttributes { send_log2: 11, ..vi_attributes(tag) };
    assert!(matches!(agent.create_vi(attributes), Err(AgentError::Ring(11))));
    let attributes = ViAttributes { max_transfer: 0, ..vi_attributes(tag) };
    assert!(matches!(agent.create_vi(attributes), Err(AgentError::MaxTransfer(0))));
}

/// What a NIC makes of the rows in the deeds: the DMA address of `byte` of the region that was
/// registered last.
fn translate(deeds: &[Deed], byte: u64) -> u64 {
    let commit = |deed: &Deed| match deed {
        Deed::Command { op: command_op::COMMIT, table, row, words } => Some((*table, *row, *words)),
        _ => None,
    };
    let commits: Vec<_> = deeds.iter().filter_map(commit).collect();
    let region = commits.iter().rfind(|c| c.0 == table::REGION && c.2 != [0; 3]).expect("a region").2;
    let (base, shift) = (region::BASE.get(&region), region::PAGE_SHIFT.get(&region));
    let page = (byte >> shift) - (base >> shift);
    let row = region::FIRST_PAGE.get(&region) as u32 + page as u32;
    let address = commits.iter().rfind(|c| c.0 == table::PAGE && c.1 == row).expect("its page").2[0];
    let size = 1 << shift;
    assert_eq!(address % size, 0);
    address + byte % size
}

#[test]
fn the_same_memory_has_other_dma_addresses_each_time() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    ledger.take_deeds();
    let mut seen = HashSet::new();
    let mut live = Vec::new();
    for _ in 0..50 {
        if live.len() == 4 {
            agent.deregister(live.remove(0)).expect("it is registered");
        }
        live.push(register(&agent, &MEMORY, tag).expect("room"));
        let deeds = ledger.take_deeds();
        let map = deeds.iter().find_map(|deed| match deed {
            Deed::Map { start, address, length, .. } => Some((*start, *address, *length)),
            _ => None,
        });
        let (start, address, length) = map.expect("a map of its own");
        assert!(seen.insert(start), "an address is not used again soon");
        for n in [0, 1, 4095, 4096, 10_000, 19_999] {
            let byte = MEMORY.as_ptr() as u64 + n;
            let found = translate(&deeds, byte);
            assert!((start..start + length).contains(&found));
            assert_eq!(found - start, byte - address);
        }
    }
}

#[test]
fn a_small_address_space_costs_rows_and_then_is_full() {
    let ledger = Arc::new(Ledger::new());
    // The arena of 4 VIs takes 16 pages and up to as many rows, the error ring one; six pages are left, one of them apart.
    ledger.books().registers.insert(registers::PAGES, 23);
    ledger.books().dma_ranges =
        vec![0x1_0000..=0x1_ffff, 0x2_0000..=0x2_0fff, 0x3_0000..=0x3_0fff, 0x5_3000..=0x5_7fff];
    let agent = Agent::open(Arc::clone(&ledger) as _, options()).expect("room for the arena");
    let tag = agent.create_tag().expect("a tag");
    ledger.take_deeds();
    let memory = Mapping::new(8 * 4096).expect("memory");
    let start = (memory.start().as_ptr() as usize).next_multiple_of(4 * 4096);
    // SAFETY: the ledger never touches it, and the mapping lives longer than the agent uses it.
    let register = |pages: usize| unsafe { agent.register(start, pages * 4096, attributes(tag)) };
    let handle = register(4).expect("room");
    let deeds = ledger.take_deeds();
    let pages = deeds.iter().filter(|d| matches!(d, Deed::Command { table: table::PAGE, .. })).count();
    // One page of 16 KiB wants 0x54000 to 0x57fff.
    assert_eq!(pages, 1);
    assert_eq!(translate(&deeds, start as u64), 0x5_4000);
    agent.deregister(handle).expect("it is registered");
    ledger.take_deeds();
    let handle = register(5).expect("five pages fit at 0x53000, of 4 KiB each");
    let deeds = ledger.take_deeds();
    let pages = deeds.iter().filter(|d| matches!(d, Deed::Command { table: table::PAGE, .. })).count();
    assert_eq!(pages, 5);
    for n in 0..5 {
        assert_eq!(translate(&deeds, start as u64 + n * 4096 + 7), 0x5_3007 + n * 4096);
    }
    let full = register(2).expect_err("one page is left").to_string();
    assert!(full.contains("0x17000 bytes") && full.contains("0x2000 more"), "{full}");
    agent.deregister(handle).expect("it is registered");
    assert!(matches!(register(6), Err(AgentError::DmaAddresses { .. })));
}

#[test]
fn what_fails_half_way_leaves_neither_map_nor_address() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    ledger.books().maps_left = 0;
    assert!(matches!(register(&agent, &MEMORY, tag), Err(AgentError::Device(DeviceError::Refused { .. }))));
    ledger.books().maps_left = 1;
    let handle = register(&agent, &MEMORY, tag).expect("room again");
    agent.deregister(handle).expect("it is registered");
    assert_eq!(ledger.books().maps.len(), 2, "only the arena and the error ring");
}

#[test]
fn interrupts_are_set_after_the_reset_and_off_before_the_end() {
    let (ledger, agent) = open();
    let deeds = ledger.take_deeds();
    let at = |deeds: &[Deed], deed: &Deed| deeds.iter().position(|d| d == deed).expect("it was done");
    assert!(at(&deeds, &Deed::Reset) < at(&deeds, &Deed::Interrupts(4)));
    assert!(at(&deeds, &Deed::Enables(6)) < at(&deeds, &Deed::Interrupts(4)));
    drop(agent);
    let deeds = ledger.take_deeds();
    assert!(at(&deeds, &Deed::Interrupts(0)) < at(&deeds, &Deed::Reset));
    assert_eq!(Arc::strong_count(&ledger), 1, "no thread has it");
}

#[test]
fn arm_words_name_position_and_never_repeat() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let vis = [0, 1].map(|_| agent.create_vi(vi_attributes(tag)).expect("a free VI"));
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
    assert_eq!(vis[1].vector(Direction::Receive), 1);
    vis[1].arm(Direction::Send, 0x3fff).expect("posted");
    vis[1].arm(Direction::Receive, 0x4001).expect("posted");
    let page = 1 << 12;
    let arms = [
        Deed::Doorbell { offset: page + 0x10, token: 1 << 32 | 0x3fff },
        Deed::Doorbell { offset: page + 0x18, token: 2 << 32 | 1 },
    ];
    assert_eq!(ledger.take_deeds(), arms);
}

#[test]
fn events_wake_who_waits_for_them() {
    let (ledger, agent) = open();
    let (start, log2) = ring_of(&ledger.take_deeds(), cqs::ERROR_RING);
    assert_eq!(agent.wait_events(Duration::ZERO).ok(), Some(vec![]));
    assert_eq!(agent.wait_events(Duration::from_millis(20)).ok(), Some(vec![]));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| agent.wait_events(Duration::from_secs(60)));
        // Who waits has asked for the interrupt.
        let page = (4 + u64::from(cqs::ERROR_RING)) << 12;
        let arm = Deed::Doorbell { offset: page + cq_page::ARM, token: 3 << 32 };
        while !ledger.books().deeds.contains(&arm) {
            std::thread::yield_now();
        }
        let mut word = [0];
        event::CODE.put(&mut word, event_code::RECVQ_EMPTY.into());
        event::VI.put(&mut word, 3);
        event::BROKE.put(&mut word, 1);
        crate::queues::entries::tests::write(
            start,
            log2,
            0,
            CqEntry { token: word[0], vi: 3, receive: false },
        );
        ledger.interrupt(0);
        let events = waiter.join().expect("no panic").expect("the ledger answers");
        assert_eq!(
            events,
            [Event { code: event_code::RECVQ_EMPTY, vi: 3, life: 0, receive: false, broke: true }]
        );
    });
    assert_eq!(agent.take_events().ok(), Some(vec![]));
}

/// An event of a VI that is gone is not one of the VI that has its index now.
#[test]
fn an_event_is_of_the_vi_that_was_there_when_it_was_told() {
    let (ledger, agent) = open();
    let (start, log2) = ring_of(&ledger.take_deeds(), cqs::ERROR_RING);
    let tag = agent.create_tag().expect("a tag");
    let mut place = 0;
    let mut tell = |vi: u16| {
        let mut word = [0];
        event::CODE.put(&mut word, event_code::CONN_LOST.into());
        event::VI.put(&mut word, vi.into());
        let entry = CqEntry { token: word[0], vi, receive: false };
        crate::queues::entries::tests::write(start, log2, place, entry);
        place += 1;
    };
    let first = agent.create_vi(vi_attributes(tag)).expect("a free VI");
    tell(first.index());
    first.destroy().expect("idle");
    // The others come first.
    let others: Vec<_> = (0..3).map(|_| agent.create_vi(vi_attributes(tag)).expect("a free VI")).collect();
    let second = agent.create_vi(vi_attributes(tag)).expect("a free VI");
    assert_eq!((second.index(), others.len()), (first.index(), 3));
    tell(second.index());
    let lives: Vec<u64> = agent.take_events().expect("two").iter().map(|event| event.life).collect();
    assert_eq!(lives, [first.name().life, second.name().life].map(u64::from));
    assert_ne!(lives[0], lives[1]);
}

#[test]
fn a_holdoff_is_a_row_in_ticks_rounded_up() {
    let (ledger, agent) = open();
    assert_eq!(agent.vectors(), 4);
    ledger.take_deeds();
    for (micros, ticks) in [(0, 0), (1, 1), (2, 2), (1024, 1000), (1025, 1001), (33_553, 0x7FFF)] {
        agent.hold_off(3, Duration::from_micros(micros)).expect("up to 33 ms");
        let deeds = ledger.take_deeds();
        let row = deeds.iter().find_map(|deed| match deed {
            Deed::Command { op: command_op::COMMIT, table: table::MODERATION, row: 3, words } => {
                Some(words[0])
            }
            _ => None,
        });
        assert_eq!(row, Some(ticks), "{micros} us");
    }
    assert!(matches!(agent.hold_off(3, Duration::from_millis(34)), Err(AgentError::Holdoff(_))));
    assert!(matches!(agent.hold_off(4, Duration::ZERO), Err(AgentError::UnknownVector(4))));
}

/// Where the ring is that was committed last as that of queue `cq`, and log2 of its entries, as a NIC finds it.
fn ring_of(deeds: &[Deed], cq: u16) -> (*mut u8, u32) {
    let mut regions = std::collections::BTreeMap::new();
    let mut ring = None;
    for deed in deeds {
        match deed {
            Deed::Command { op: command_op::COMMIT, table: table::REGION, row, words } => {
                assert_eq!(region::SYSTEM.get(words), u64::from(region::LIVE.get(words) == 1));
                regions.insert(u64::from(*row), region::BASE.get(words));
            }
            Deed::Command { op: command_op::COMMIT, table: table::COMPLETION_QUEUE, row, words }
                if *row == u32::from(cq) && completion_queue::LIVE.get(words) == 1 =>
            {
                assert_eq!(completion_queue::RING_OFFSET.get(words), 0);
                let base = regions[&completion_queue::RING_REGION.get(words)];
                ring = Some((base as *mut u8, completion_queue::RING_LOG2.get(words) as u32));
            }
            _ => {}
        }
    }
    ring.expect("a row of the queue")
}

#[test]
fn a_completion_queue_is_armed_told_and_resized() {
    let (ledger, agent) = open();
    let first = ledger.take_deeds();
    let events = first.iter().find_map(|deed| match deed {
        Deed::Command { table: table::COMPLETION_QUEUE, row: 0, words, .. } => Some(*words),
        _ => None,
    });
    let events = events.expect("the error ring's row");
    assert_eq!((completion_queue::EVENTS.get(&events), completion_queue::VECTOR.get(&events)), (1, 0));

    assert!(matches!(agent.create_cq(0), Err(AgentError::Entries(0))));
    let cq = agent.create_cq(10).expect("a queue");
    assert_eq!((cq.index(), cq.vector()), (1, 2), "behind the error ring; three vectors for queues");
    let (start, log2) = ring_of(&ledger.take_deeds(), 1);
    assert_eq!(log2, 4);
    let entry = |n: u32| CqEntry { token: 1000 + u64::from(n), vi: 2, receive: n & 1 == 1 };
    for n in 0..9 {
        crate::queues::entries::tests::write(start, log2, n, entry(n));
    }
    for n in 0..7 {
        assert_eq!(cq.take().ok(), Some(Some(entry(n))));
    }
    cq.arm().expect("the ledger takes it");
    let page = (4 + 1) << 12;
    let stores = [
        // Six may be taken and not told.
        Deed::Doorbell { offset: page, token: 1 << 32 | 6 },
        Deed::Doorbell { offset: page + 8, token: 2 << 32 | 7 },
    ];
    assert_eq!(ledger.take_deeds(), stores);

    // What the old ring has left comes before what is in the new one.
    ledger.books().registers.insert(registers::RESULT, 9);
    cq.resize(100).expect("a size");
    let deeds = ledger.take_deeds();
    let (start, log2) = ring_of(&deeds, 1);
    assert_eq!(log2, 7);
    assert!(matches!(deeds.last(), Some(Deed::Unmap { .. })), "the old ring is given back");
    crate::queues::entries::tests::write(start, log2, 0, entry(9));
    for n in 7..10 {
        assert_eq!(cq.take().ok(), Some(Some(entry(n))));
    }
    assert_eq!(cq.take().ok(), Some(None));

    // One that is used stays.
    let tag = agent.create_tag().expect("a tag");
    let with = |send_cq, receive_cq| ViAttributes { send_cq, receive_cq, ..vi_attributes(tag) };
    assert!(matches!(agent.create_vi(with(Some(1), Some(2))), Err(AgentError::UnknownCq(2))));
    assert!(matches!(agent.create_vi(with(Some(0), None)), Err(AgentError::UnknownCq(0))));
    ledger.take_deeds();
    let vi = agent.create_vi(with(None, Some(1))).expect("a VI");
    for deed in ledger.take_deeds() {
        let Deed::Command { table: table::WORK_QUEUE, row, words, .. } = deed else { continue };
        if work_queue::OPEN.get(&words) == 1 {
            let to = (work_queue::TO_CQ.get(&words), work_queue::CQ.get(&words));
            assert_eq!(to, if row == 1 { (1, 1) } else { (0, 0) });
        }
    }
    assert!(matches!(cq.destroy(), Err(AgentError::CqInUse { cq: 1, users: 1 })));
    vi.destroy().expect("it exists");
    let maps = ledger.books().maps.len();
    cq.destroy().expect("nobody has it");
    assert_eq!(ledger.books().maps.len(), maps - 1);
    assert!(matches!(cq.destroy(), Err(AgentError::UnknownCq(1))));
    let both = [agent.create_cq(1), agent.create_cq(1)];
    assert!(both.iter().all(Result::is_ok));
    assert!(matches!(agent.create_cq(1), Err(AgentError::Full(2, "completion queue"))));
}

#[test]
fn where_one_must_not_sleep_one_polls() {
    let ledger = Arc::new(Ledger::new());
    ledger.books().may_sleep = false;
    let agent = Agent::open(Arc::clone(&ledger) as _, options()).expect("a sound function");
    assert_eq!(agent.generation(0), None);
    assert!(!agent.sleep(0, 0, Duration::from_secs(60)));
    assert_eq!(agent.wait_events(Duration::from_millis(5)).ok(), Some(vec![]));
    drop(agent);
    assert!(!ledger.take_deeds().iter().any(|deed| matches!(deed, Deed::Interrupts(_))));
}

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
fn a_function_that_the_system_takes_away_is_gone_for_all_who_wait_look_or_ask() {
    for (alarm, reason) in [(Alarm::Removal, "wants it back"), (Alarm::Error, "AER")] {
        let (ledger, agent) = open();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&heard);
        agent.listen(Box::new(move |vector| tell.lock().expect("no panic").push(vector)));
        let vectors = agent.vectors();
        let seen: Vec<u64> = (0..vectors).map(|n| agent.generation(n).expect("a vector")).collect();
        agent.check().expect("it is there");
        std::thread::scope(|scope| {
            const LONG: Duration = Duration::from_secs(60);
            let waiter = scope.spawn(|| agent.wait_events(LONG));
            let sleepers: Vec<_> = (1..vectors)
                .map(|n| (n, seen[usize::from(n)]))
                .map(|(n, seen)| {
                    scope.spawn({
                        let agent = &agent;
                        move || agent.sleep(n, seen, LONG)
                    })
                })
                .collect();
            ledger.alarm(alarm);
            let error = waiter.join().expect("no panic").expect_err("it is gone");
            assert_eq!(error.class(), ErrorClass::Gone);
            assert!(error.to_string().contains(reason), "{error}");
            assert!(sleepers.into_iter().all(|sleeper| sleeper.join().expect("no panic")), "all are woken");
        });
        for error in [agent.check().err(), crate::kernel_agent::KernelAgent::check_here(&*agent).err()] {
            assert_eq!(error.expect("it is gone").class(), ErrorClass::Gone);
        }
        assert_eq!(*heard.lock().expect("no panic"), (0..vectors).collect::<Vec<u8>>());
        // What is left is to close it: its memory is taken back as from any function that answers.
        drop(agent);
        assert!(ledger.books().maps.is_empty());
    }
}

#[test]
fn who_waits_is_woken_by_what_another_thread_has_heard() {
    let (ledger, agent) = open();
    let connector = Connector::open(&agent, true, 1).expect("a raw channel");
    let tag = agent.create_tag().expect("a tag");
    let vi = agent.create_vi(vi_attributes(tag)).expect("a VI");
    let name = |text: &str| Discriminator::try_from(text.as_bytes()).expect("short");
    let target = Target::Host(Host { mac: agent.mac(), ip: agent.ip() });
    for round in 0..20 {
        let seen = connector.told();
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
        assert_ne!(connector.told(), seen);
    }
}

#[test]
fn a_forked_child_is_refused_and_waits_for_no_lock_of_its_parents() {
    let (_ledger, agent) = open();
    // As if another thread were in a call.
    let held = agent.state().expect("this process");
    // SAFETY: the child calls what returns an error before it does anything, and ends without running anything of the parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let refused = agent.create_tag().is_err() && agent.take_events().is_err();
        // SAFETY: ending is always allowed.
        unsafe { libc::_exit(if refused { 7 } else { 1 }) };
    }
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: our child, and our variable.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: our child.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(held);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "status {status:#x}");
}
