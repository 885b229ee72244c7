//! What the NIC must refuse: each wrong segment and each wrong descriptor, on either side and at both
//! levels, ends as VIA says; no byte of memory changes; everybody else goes on working.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::agent::MemoryAttributes;
use viaduct_driver::rows;
use viaduct_spec::descriptor::status;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::profile::{PAGES, REGIONS};
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::table;
use viaduct_spec::wire::syndrome;
use viaduct_tests::raw::{pair, refused, Completion, Descriptor, RawVi, Region, Segment, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{Host, World};

const REFUSED: u32 = status::DONE | status::PROTECTION_ERROR;
/// Memory that its owner may only read.
static CONSTANT: [u8; 8192] = [0x5A; 8192];
/// Rows that no agent gets to: of the region table, of the page table.
const ROW: u16 = REGIONS as u16 - 1;
const PAGE: u16 = PAGES as u16 - 1;

fn handle(index: u16, key: u16) -> u32 {
    let mut word = [0];
    memory_handle::INDEX.put(&mut word, index.into());
    memory_handle::KEY.put(&mut word, key.into());
    word[0] as u32
}

/// A live row for the first page of the host's memory that no agent would make, right but for `system`.
fn by_hand(world: &World, host: &Host, system: bool) -> Region {
    let address = host.memory.address(0);
    let row = rows::Region {
        base: address,
        length: 4096,
        tag: host.tag,
        key: 0x1234,
        first_page: PAGE,
        page_shift: 12,
        rdma_write: false,
        rdma_read: false,
        system,
        read_only: false,
    };
    world.commit(host.index, table::PAGE, PAGE.into(), &[host.map(0, 4096)]);
    world.commit(host.index, table::REGION, ROW.into(), &row.words());
    Region { handle: handle(ROW, 0x1234), address, length: 4096 }
}

/// A region that the host may read and not write.
fn constant(host: &Host) -> Region {
    let address = CONSTANT.as_ptr() as u64;
    let attributes = MemoryAttributes { tag: host.tag, rdma_write: false, rdma_read: false };
    // SAFETY: a static stays; the device gets no right to change it.
    let handle = unsafe { host.agent.register(address as usize, CONSTANT.len(), attributes) };
    Region { handle: handle.expect("room for a region"), address, length: CONSTANT.len() as u64 }
}

/// Segments that a VI with the host's tag must not use, and whether they are wrong for receives only.
fn wrong_segments(world: &World, host: &Host) -> Vec<(&'static str, Segment, bool)> {
    let foreign = host.register(0, 4096, host.agent.create_tag().expect("a tag"));
    let dead = host.register(0, 4096, host.tag);
    host.agent.deregister(dead.handle).expect("the NIC answers");
    let part = host.register(0x1003, 1000, host.tag);
    let start = host.memory.address(0);
    let own = host.region.handle;
    let segment = |address, handle| Segment { address, handle, length: 100 };
    let constant = constant(host);
    let arena = by_hand(world, host, true);
    vec![
        ("another tag", segment(start, foreign.handle), false),
        ("another key", segment(start, own ^ 0x1_0000), false),
        ("a region that is gone", segment(start, dead.handle), false),
        ("a region that never was", segment(start, handle(ROW - 1, 0)), false),
        ("region 0", segment(start, handle(0, memory_handle::KEY.get(&[own.into()]) as u16)), false),
        ("no row of the table", segment(start, own | 0xFFFF), false),
        ("a byte before it", segment(part.address - 1, part.handle), false),
        ("a byte behind it", segment(part.address + 901, part.handle), false),
        ("all behind it", Segment { length: 1, ..segment(part.address + 1000, part.handle) }, false),
        ("round the end of memory", segment(u64::MAX - 49, part.handle), false),
        ("far away", segment(part.address ^ 1 << 62, part.handle), false),
        ("an agent's arena", segment(arena.address, arena.handle), false),
        ("read-only memory", segment(constant.address, constant.handle), true),
    ]
}

#[test]
fn a_send_gives_away_nothing_that_is_not_its_own() {
    let mut scene = Scene::new(1);
    let segments = wrong_segments(&scene.world, &scene.hosts[0]);
    for level in LEVELS {
        for &(name, segment, _) in segments.iter().filter(|(_, _, receive_only)| !receive_only) {
            for shape in ["alone", "between good ones"] {
                println!("{level}: {name}, {shape}");
                let mut vis = pair(&scene.hosts, level, 1024);
                let [a, b] = &mut scene.hosts;
                let mut descriptor = Descriptor { segments: vec![segment], ..Descriptor::new() };
                if shape != "alone" {
                    let good = Segment { address: a.memory.address(5), handle: a.region.handle, length: 10 };
                    descriptor.segments = vec![good, segment, good];
                }
                let receive = vis[1].receive(b, &Descriptor::of(b, 0x8000, 2000));
                let refusals = scene.refusals(0);
                let frames = scene.world.counter(1, counter::FRAMES_RECEIVED);
                let [a, b] = &mut scene.hosts;
                let send = vis[0].send(a, &descriptor);
                let before = [a.memory.snapshot(), b.memory.snapshot()];
                assert_eq!(
                    scene.world.complete(a, send),
                    Completion { status: REFUSED, length: 0, immediate: 0 }
                );
                scene.unchanged_but(before, &[(0, send)]);
                assert!(scene.refusals(0) > refusals);
                assert_eq!(scene.world.counter(1, counter::FRAMES_RECEIVED), frames, "nothing was sent");
                assert_eq!(vis[1].state(), ViState::Connected);
                let [a, b] = &mut scene.hosts;
                let next = vis[0].send(a, &Descriptor::of(a, 7, 60));
                let next = scene.world.complete(a, next);
                if level.is_reliable() {
                    assert_eq!(vis[0].state(), ViState::Error);
                    assert_eq!(next.status, status::DONE | status::DESC_FLUSHED_ERROR);
                } else {
                    assert_eq!(vis[0].state(), ViState::Connected);
                    assert_eq!(next.status, status::DONE);
                    let received = scene.world.complete(b, receive);
                    assert_eq!((received.status, received.length), (status::DONE | status::OP_RECEIVE, 60));
                    assert_eq!(b.memory.read(0x8000, 60), a.memory.read(7, 60));
                }
                assert_eq!([scene.events(0), scene.events(1)], [[], []]);
                vis.into_iter().for_each(|vi| vi.retire(&scene.world));
            }
        }
    }
    scene.others_go_on();
    // The row made by hand is right but for the one bit.
    let by_hand = by_hand(&scene.world, &scene.hosts[0], false);
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    let [a, _] = &mut scene.hosts;
    let send = vis[0].send(a, &Descriptor::new().segment(by_hand.address, by_hand.handle, 100));
    assert_eq!(scene.world.complete(a, send).status, status::DONE);
    // Memory that is read-only may be sent.
    let constant = constant(a);
    let send = vis[0].send(a, &Descriptor::new().segment(constant.address, constant.handle, 100));
    assert_eq!(scene.world.complete(a, send).status, status::DONE);
}

#[test]
fn a_message_that_fails_in_the_middle_is_partial_at_the_peer() {
    for level in LEVELS {
        let mut scene = Scene::new(2);
        let mut vis = pair(&scene.hosts, level, 1024);
        let part = scene.hosts[0].register(0x100, 3000, scene.hosts[0].tag);
        let [a, b] = &mut scene.hosts;
        let receives = [0, 1].map(|n| vis[1].receive(b, &Descriptor::of(b, 0x4000 * n, 5000)));
        // The third packet holds the first byte of the second segment.
        let wrong = Descriptor::new().segment(part.address, part.handle, 2500);
        let wrong = wrong.segment(part.address, part.handle ^ 0x1_0000, 10);
        let send = vis[0].send(a, &wrong);
        let sent = scene.world.complete(a, send);
        assert_eq!(sent.status, REFUSED);
        if !level.is_reliable() {
            let next = vis[0].send(a, &Descriptor::of(a, 0x3000, 4000));
            assert_eq!(scene.world.complete(a, next).status, status::DONE);
            let [partial, whole] = receives.map(|place| scene.world.complete(b, place));
            assert_eq!(partial.status, status::DONE | status::OP_RECEIVE | status::PARTIAL_ERROR);
            assert_eq!(partial.length, 2048, "what arrived");
            assert_eq!((whole.status, whole.length), (status::DONE | status::OP_RECEIVE, 4000));
            assert_eq!(b.memory.read(0x4000, 4000), a.memory.read(0x3000, 4000));
        } else {
            scene.world.settle();
            assert_eq!(vis[0].state(), ViState::Error);
            let [a, b] = receives.map(|place| Completion::read(&b.memory, place).is_complete());
            assert!(!a && !b, "a reliable message is not complete before it is whole");
        }
        scene.others_go_on();
    }
}

#[test]
fn a_receive_writes_nothing_where_it_may_not() {
    let mut scene = Scene::new(3);
    let segments = wrong_segments(&scene.world, &scene.hosts[1]);
    for level in LEVELS {
        for &(name, segment, _) in &segments {
            for shape in ["alone", "behind a good one"] {
                println!("{level}: {name}, {shape}");
                let mut vis = pair(&scene.hosts, level, 1024);
                let [_, b] = &mut scene.hosts;
                let mut descriptor = Descriptor { segments: vec![segment], ..Descriptor::new() };
                let good = if shape == "alone" { 0 } else { 10 };
                let own = b.region.handle;
                if good != 0 {
                    let first = Segment { address: b.memory.address(0x9003), handle: own, length: good };
                    descriptor.segments.insert(0, first);
                }
                let receive = vis[1].receive(b, &descriptor);
                let after = vis[1].receive(b, &Descriptor::of(b, 0xA000, 100));
                let refusals = scene.refusals(1);
                let [a, b] = &mut scene.hosts;
                let send =
                    vis[0].send(a, &Descriptor::of(a, 0x111, (good + segment.length.min(100)) as usize));
                let mut before = [a.memory.snapshot(), b.memory.snapshot()];
                let data = a.memory.read(0x111, good as usize);
                before[1][0x9003..0x9003 + good as usize].copy_from_slice(&data);
                let received = scene.world.complete(b, receive);
                assert_eq!(received.status, REFUSED | status::OP_RECEIVE);
                let sent = scene.world.complete(a, send);
                let mut complete = vec![(0, send), (1, receive)];
                if level.is_reliable() {
                    assert_eq!(sent.status, status::DONE | refused(level, syndrome::NAK_OPERATIONAL));
                    let flushed = scene.world.complete(b, after);
                    assert_eq!(
                        flushed.status,
                        status::DONE | status::OP_RECEIVE | status::DESC_FLUSHED_ERROR
                    );
                    complete.push((1, after));
                } else {
                    assert_eq!(sent.status, status::DONE, "UC does not hear of it");
                }
                scene.unchanged_but(before, &complete);
                assert!(scene.refusals(1) > refusals);
                let lost = |vi: &RawVi, receive| vi.event(event_code::CONN_LOST, receive, true);
                if level.is_reliable() {
                    assert!(vis.iter().all(|vi| vi.state() == ViState::Error));
                    let expected = [vec![lost(&vis[0], false)], vec![lost(&vis[1], true)]];
                    assert_eq!([scene.events(0), scene.events(1)], expected);
                } else {
                    let [a, b] = &mut scene.hosts;
                    let next = vis[0].send(a, &Descriptor::of(a, 7, 60));
                    assert_eq!(scene.world.complete(a, next).status, status::DONE);
                    let received = scene.world.complete(b, after);
                    assert_eq!((received.status, received.length), (status::DONE | status::OP_RECEIVE, 60));
                    assert!(vis.iter().all(|vi| vi.state() == ViState::Connected));
                    assert_eq!([scene.events(0), scene.events(1)], [[], []]);
                }
                vis.into_iter().for_each(|vi| vi.retire(&scene.world));
            }
        }
    }
    scene.others_go_on();
}

/// Where the wrong places are, in a host's memory.
const PLACE: usize = 0x4000;

/// Wrong places for a descriptor, as region and address; and the error with which it completes, if
/// enough of it can be read to know where. Whatever holds a descriptor all the same holds this one.
fn wrong_places(world: &World, host: &Host, bytes: &[u8]) -> Vec<(&'static str, Region, u64, Option<u32>)> {
    let at = PLACE;
    let address = host.memory.address(at);
    host.memory.write(at, bytes);
    host.memory.write(0x40, bytes);
    let foreign = host.register(at, 4096, host.agent.create_tag().expect("a tag"));
    let dead = host.register(at, 4096, host.tag);
    host.agent.deregister(dead.handle).expect("the NIC answers");
    let cut = |length| host.register(at, length, host.tag);
    let late = host.register(at + 32, 4096, host.tag);
    let arena = by_hand(world, host, true);
    vec![
        ("another tag", foreign, address, None),
        ("a region that is gone", dead, address, None),
        ("a region that never was", Region { handle: handle(ROW - 1, 0), ..host.region }, address, None),
        ("no row of the table", Region { handle: 0xFFFF, ..host.region }, address, None),
        ("an agent's arena", arena, arena.address + 0x40, None),
        ("behind the region", cut(0x40), address + 0x40, None),
        ("far behind the region", cut(0x41), address + (1 << 39), None),
        ("before the region", late, address, None),
        ("a control segment that the region cuts", cut(0x1F), address, None),
        ("a segment that the region cuts", cut(0x2F), address, Some(status::FORMAT_ERROR)),
    ]
}

#[test]
fn a_descriptor_is_taken_only_from_where_the_vi_may_have_it() {
    let mut scene = Scene::new(4);
    for direction in [Direction::Send, Direction::Receive] {
        let receive = direction == Direction::Receive;
        let side = usize::from(receive);
        let host = &scene.hosts[side];
        let bytes = Descriptor::of(host, 0x2000, 100).encode();
        for (name, region, address, error) in wrong_places(&scene.world, host, &bytes) {
            for level in LEVELS {
                println!("{direction:?}, {level}: {name}");
                let mut vis = pair(&scene.hosts, level, 1024);
                // The completion of the last turn is taken away.
                scene.hosts[side].memory.write(PLACE, &bytes);
                let (before, refusals) = (scene.snapshots(), scene.refusals(side));
                let token = vis[side].token(direction, &region, address);
                vis[side].post_token(direction, token);
                let posted = vis[side].event(event_code::POST_DESC, receive, true);
                match error {
                    None => {
                        scene.world.until("the VI breaks", 20_000, || vis[side].state() == ViState::Error);
                        scene.unchanged_but(before, &[]);
                        assert_eq!(scene.events(side), [posted]);
                        // Bytes that the region does not hold are left out, not refused.
                        assert!(scene.refusals(side) > refusals || name.contains("cuts"));
                        let [a, b] = &mut scene.hosts;
                        let good = if receive { b } else { a };
                        let next = vis[side].post(good, direction, &Descriptor::of(good, 0x2000, 100));
                        let flushed = scene.world.complete(good, next).status & status::ERROR_MASK;
                        assert_eq!(flushed, status::DESC_FLUSHED_ERROR);
                    }
                    Some(error) => {
                        if receive {
                            let [a, _] = &mut scene.hosts;
                            vis[0].send(a, &Descriptor::of(a, 0x3000, 50));
                        }
                        let completion = scene.world.complete(&scene.hosts[side], PLACE);
                        assert_eq!(completion.status & !status::OP_MASK, status::DONE | error);
                        let broken = level.is_reliable();
                        assert_eq!(vis[side].state() == ViState::Error, broken);
                    }
                }
                scene.world.settle();
                let _ = [scene.events(0), scene.events(1)];
                vis.into_iter().for_each(|vi| vi.retire(&scene.world));
            }
        }
    }
    scene.others_go_on();
}

/// Bytes are checked, not what a segment has room for: programs name more than what is left of their memory.
#[test]
fn a_receive_may_name_more_than_its_region_holds() {
    let mut scene = Scene::new(7);
    let part = scene.hosts[1].register(0x1003, 1000, scene.hosts[1].tag);
    for level in LEVELS {
        for room in [1001, 65_472, u32::MAX - 1] {
            println!("{level}: {room} bytes");
            let mut vis = pair(&scene.hosts, level, 256);
            let [a, b] = &mut scene.hosts;
            // Bytes of a message, and whether they fit.
            for (length, fits) in [(60, true), (1000, true), (1001, false)] {
                let segment = Segment { address: part.address, handle: part.handle, length: room };
                let receive = vis[1].receive(b, &Descriptor { segments: vec![segment], ..Descriptor::new() });
                vis[0].send(a, &Descriptor::of(a, 0x111, length));
                let mut before = b.memory.snapshot();
                let received = scene.world.complete(b, receive);
                // The last packet's bytes go all or none.
                let placed = if fits { length } else { 768 };
                before[0x1003..0x1003 + placed].copy_from_slice(&a.memory.read(0x111, placed));
                let now = b.memory.snapshot();
                assert_eq!(
                    now[0x1003 - 8..0x1003 + 1008],
                    before[0x1003 - 8..0x1003 + 1008],
                    "{length} bytes"
                );
                if fits {
                    let whole = (status::DONE | status::OP_RECEIVE, length as u32);
                    assert_eq!((received.status, received.length), whole);
                } else {
                    assert_eq!(received.status, REFUSED | status::OP_RECEIVE);
                }
            }
            scene.world.settle();
            let broken = vis.iter().any(|vi| vi.state() == ViState::Error);
            assert_eq!(broken, level.is_reliable());
            let _ = [scene.events(0), scene.events(1)];
            vis.into_iter().for_each(|vi| vi.retire(&scene.world));
        }
    }
    scene.others_go_on();
}

#[test]
fn segments_beyond_the_region_s_end_are_not_there() {
    // Ten segments; the region ends in the sixth, which the message reaches.
    let mut scene = Scene::new(5);
    for level in LEVELS {
        for side in [0, 1] {
            let mut vis = pair(&scene.hosts, level, 1024);
            let host = &scene.hosts[side];
            let mut descriptor = Descriptor::new();
            for n in 0..10 {
                descriptor = descriptor.segment(host.memory.address(0x2000 + 50 * n), host.region.handle, 10);
            }
            host.memory.write(PLACE, &descriptor.encode());
            let cut = host.register(PLACE, 32 + 16 * 5 + 8, host.tag);
            let direction = [Direction::Send, Direction::Receive][side];
            let before = scene.snapshots();
            vis[side].post_token(direction, vis[side].token(direction, &cut, cut.address));
            if side == 1 {
                let [a, _] = &mut scene.hosts;
                vis[0].send(a, &Descriptor::of(a, 0x3000, 100));
            }
            let completion = scene.world.complete(&scene.hosts[side], PLACE);
            let error = [status::FORMAT_ERROR, status::PROTECTION_ERROR][side];
            assert_eq!(completion.status & !status::OP_MASK, status::DONE | error);
            scene.world.settle();
            let now = scene.hosts[1].memory.snapshot();
            for n in 0..10 {
                let range = 0x2000 + 50 * n..0x2000 + 50 * n + 10;
                let changed = now[range.clone()] != before[1][range];
                assert!(!changed || side == 1 && n < 5, "segment {n} behind the region's end");
            }
            let _ = [scene.events(0), scene.events(1)];
            vis.into_iter().for_each(|vi| vi.retire(&scene.world));
        }
    }
    scene.others_go_on();
}

#[test]
fn a_descriptor_in_read_only_memory_cannot_be_completed() {
    let mut scene = Scene::new(6);
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    // A descriptor of no segments; anything that is zero will do.
    static ZERO: [u8; 8192] = [0; 8192];
    let a = &scene.hosts[0];
    let attributes = MemoryAttributes { tag: a.tag, rdma_write: false, rdma_read: false };
    // SAFETY: a static stays; the device gets no right to change it.
    let handle = unsafe { a.agent.register(ZERO.as_ptr() as usize, ZERO.len(), attributes) };
    let region = Region {
        handle: handle.expect("room for a region"),
        address: ZERO.as_ptr() as u64,
        length: ZERO.len() as u64,
    };
    let refusals = scene.refusals(0);
    let token = vis[0].token(Direction::Send, &region, region.address.next_multiple_of(64));
    vis[0].post_token(Direction::Send, token);
    scene.world.until("the VI breaks", 20_000, || vis[0].state() == ViState::Error);
    let lost = vis[0].event(event_code::COMP_PROT, false, true);
    assert_eq!(scene.events(0), [lost]);
    assert!(scene.refusals(0) > refusals);
    scene.others_go_on();
}
