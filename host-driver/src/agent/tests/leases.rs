//! DMA addresses are leased to somebody who maps memory there, and come back only when nothing is left in them.

use std::os::fd::AsFd;

use super::*;
use crate::device::DmaAccess;

const LEASE: u64 = 1 << 24;
const BYTES: u64 = 0x5000;

/// Registers pages of somebody else's at an address of the lease.
fn leased(agent: &Agent, lease: &Lease, tag: u16, iova: u64, address: u64) -> Result<u32, AgentError> {
    agent.register_leased(lease, iova, (address, BYTES), DmaAccess::ReadWrite, attributes(tag), u64::MAX)
}

#[test]
fn what_its_owner_maps_the_agent_neither_maps_nor_unmaps() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let lease = agent.lease(LEASE).expect("there is room");
    assert_eq!((lease.first() % LEASE, lease.bytes()), (0, LEASE), "aligned to its size");
    ledger.take_deeds();
    let (iova, address) = (lease.first() + 0x1000, 0x7f00_0000_1000);
    let handle = leased(&agent, &lease, tag, iova, address).expect("in the lease");
    let deeds = ledger.take_deeds();
    assert!(deeds.iter().all(|deed| matches!(deed, Deed::Command { .. })), "rows, and no map: {deeds:?}");
    let pages: Vec<u64> = deeds
        .iter()
        .filter_map(|deed| match deed {
            Deed::Command { table: table::PAGE, words, .. } => Some(words[0]),
            _ => None,
        })
        .collect();
    // Its addresses are congruent modulo 8 KiB and more, so that one page of 32 KiB has all of it.
    assert_eq!(pages, [lease.first()]);
    agent.deregister(handle).expect("it is registered");
    let deeds = ledger.take_deeds();
    assert!(
        !deeds.iter().any(|deed| matches!(deed, Deed::Unmap { .. } | Deed::TakeBack { .. })),
        "{deeds:?}"
    );
}

#[test]
fn addresses_that_are_not_congruent_cost_smaller_pages() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let lease = agent.lease(LEASE).expect("there is room");
    ledger.take_deeds();
    leased(&agent, &lease, tag, lease.first() + 0x2000, 0x7f00_0000_1000).expect("in the lease");
    let deeds = ledger.take_deeds();
    let pages = deeds.iter().filter(|deed| matches!(deed, Deed::Command { table: table::PAGE, .. })).count();
    assert_eq!(pages as u64, BYTES / 4096);
}

#[test]
fn only_addresses_of_the_lease_are_registered() {
    let (_ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let lease = agent.lease(LEASE).expect("there is room");
    let (first, end) = (lease.first(), lease.first() + LEASE);
    for iova in [first - 0x1000, end - 0x1000, end, 0, u64::MAX - 0xfff, first + 8] {
        let error = leased(&agent, &lease, tag, iova, 0x7f00_0000_0000).expect_err("outside");
        assert!(matches!(error, AgentError::OutsideLease { .. }), "{iova:#x}: {error}");
    }
    leased(&agent, &lease, tag, end - BYTES, 0x7f00_0000_0000).expect("the last pages");
}

#[test]
fn a_lease_ends_behind_its_regions_and_is_unmapped_before_it_is_anybodys() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let lease = agent.lease(LEASE).expect("there is room");
    let iova = lease.first() + 0x3000;
    ledger.books().others.insert(iova, BYTES);
    // What was mapped and never registered.
    ledger.books().others.insert(iova + BYTES, 0x1000);
    let handle = leased(&agent, &lease, tag, iova, 0x7f00_0000_3000).expect("in the lease");
    let error = agent.end_lease(&lease, BYTES).expect_err("a region is registered");
    assert!(matches!(error, AgentError::LeaseInUse(1)), "{error}");
    assert_eq!(ledger.books().others.len(), 2, "nothing is unmapped that the NIC may reach");
    agent.deregister(handle).expect("it is registered");
    ledger.take_deeds();
    agent.end_lease(&lease, BYTES).expect("nothing is registered there");
    assert_eq!(ledger.take_deeds(), [Deed::TakeBack { first: lease.first(), bytes: LEASE }]);
    assert!(ledger.books().others.is_empty());
}

#[test]
fn addresses_in_which_something_may_be_left_are_not_used_again() {
    let (ledger, agent) = open();
    // Room for one such lease.
    let bytes = 1 << 38;
    let lease = agent.lease(bytes).expect("there is room");
    assert!(matches!(agent.lease(bytes), Err(AgentError::DmaAddresses { .. })), "it is the only one");
    ledger.books().others.insert(lease.first(), BYTES);
    ledger.books().skips_others = true;
    let error = agent.end_lease(&lease, BYTES).expect_err("the kernel skips it").to_string();
    assert!(error.contains("unmapped 0x0 bytes") && error.contains("0x5000"), "{error}");
    assert!(agent.lease(bytes).is_err(), "the addresses are not leased again");
    ledger.books().skips_others = false;
    agent.end_lease(&lease, BYTES).expect("it can be tried again");
    agent.lease(bytes).expect("they are free");
}

#[test]
fn registers_go_on_answering_while_somebody_has_a_lease() {
    let enables = |deeds: &[Deed]| {
        let enabled = |deed: &Deed| match deed {
            Deed::Enables(value) => Some(*value),
            _ => None,
        };
        deeds.iter().filter_map(enabled).next_back()
    };
    let (ledger, agent) = open();
    agent.lease(LEASE).expect("there is room");
    drop(agent);
    assert_eq!(enables(&ledger.take_deeds()), Some(MEMORY_ENABLE), "and no bus master");
    let (ledger, agent) = open();
    drop(agent);
    assert_eq!(enables(&ledger.take_deeds()), Some(0));
}

#[test]
fn a_view_of_another_process_s_memory_is_mapped_where_it_lies_and_stays() {
    let (ledger, agent) = open();
    let tag = agent.create_tag().expect("a tag");
    let view = Arc::new(Mapping::new(8 * 4096).expect("memory"));
    let own = view.start().as_ptr() as u64;
    ledger.take_deeds();
    // The owner's byte 0x1234 of its third page.
    let address = 0x7f00_0000_2234;
    let register = |offset, length| {
        agent.register_view(&view, None, offset, (address, length), attributes(tag), u64::MAX)
    };
    let handle = register(0x3234, 0x1000).expect("inside");
    let deeds = ledger.take_deeds();
    let mapped = deeds.iter().find_map(|deed| match deed {
        Deed::Map { address, length, access, .. } => Some((*address, *length, *access)),
        _ => None,
    });
    assert_eq!(mapped, Some((own + 0x3000, 0x2000, DmaAccess::ReadWrite)), "two pages of the view");
    let base = deeds.iter().find_map(|deed| match deed {
        Deed::Command { table: table::REGION, words, .. } => Some(region::BASE.get(words)),
        _ => None,
    });
    assert_eq!(base, Some(address), "the NIC knows it by its owner's addresses");
    assert!(
        register(0x7234, 0x1000).is_err() && register(0x3235, 1).is_err() && register(u64::MAX, 1).is_err()
    );
    assert_eq!(Arc::strong_count(&view), 2, "kept as long as it is registered");
    agent.deregister(handle).expect("it is registered");
    assert_eq!(Arc::strong_count(&view), 1);
}

#[test]
fn a_memfd_that_the_device_maps_itself_is_mapped_from_where_the_memory_lies_in_it() {
    let (ledger, agent) = open();
    ledger.books().maps_memfds = true;
    let tag = agent.create_tag().expect("a tag");
    let (view, file) = Mapping::shared("pool", 8 * 4096).expect("memory");
    let view = Arc::new(view);
    let register = |offset, length| {
        let range = (0x7f00_0000_2234, length);
        agent.register_view(&view, Some(file.as_fd()), offset, range, attributes(tag), u64::MAX)
    };
    ledger.take_deeds();
    let handle = register(0x3234, 0x1000).expect("inside");
    let maps = |deed: &Deed| matches!(deed, Deed::Map { .. } | Deed::MapMemfd { .. } | Deed::Unmap { .. });
    let maps = || ledger.take_deeds().into_iter().filter(maps).collect::<Vec<_>>();
    let deeds = maps();
    let &[Deed::MapMemfd { start, inode, offset, length, access }] = &deeds[..] else {
        panic!("one map, of the file: {deeds:?}")
    };
    assert_eq!(inode, rustix::fs::fstat(&file).expect("a file").st_ino);
    assert_eq!((offset, length, access), (0x3000, 0x2000, DmaAccess::ReadWrite));
    assert!(register(0x7234, 0x1000).is_err() && register(0x3235, 1).is_err());
    assert_eq!(
        Arc::strong_count(&view),
        2,
        "nobody can seal the file against writing while it is registered"
    );
    agent.deregister(handle).expect("it is registered");
    assert_eq!(maps(), [Deed::Unmap { start }]);
    assert_eq!(Arc::strong_count(&view), 1);
    // What the device refuses is given back.
    ledger.books().maps_left = 0;
    register(0x3234, 0x1000).expect_err("there is no room");
    ledger.books().maps_left = 1;
    register(0x3234, 0x1000).expect("nothing of the first is left");
}
