//! Memory is registered and given back, and has DMA addresses meanwhile.

use std::{collections::HashSet, time::Duration};

use super::*;

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
    assert!(matches!(create_vi(&agent, vi_attributes(agent.system_tag)), Err(AgentError::UnknownTag(_))));
    assert!(agent.destroy_tag(agent.system_tag).is_err());
    assert!((0..=u16::MAX)
        .all(|key| agent.deregister(u32::from(key) << 16 | u32::from(agent.arena.region())).is_err()));
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
