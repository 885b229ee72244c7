//! Memory that is taken away, and table rows that change, while messages use them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows;
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::status;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::profile::{PAGES, REGIONS};
use viaduct_spec::tables::table;
use viaduct_tests::memory::{difference, Memory};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region, LEVELS};
use viaduct_tests::world::{random_conditions, seeds, Host, World};

const REFUSED: u32 = status::DONE | status::PROTECTION_ERROR;
const FLUSHED: u32 = status::DONE | status::DESC_FLUSHED_ERROR;
const UNKNOWN: u32 = status::DONE | status::TRANSPORT_ERROR;
/// Bytes of a message: eight packets.
const MESSAGE: usize = 8 * 1024;
/// Messages under way when the memory goes.
const MESSAGES: usize = 4;

/// Registers memory of its own, which no other region keeps mapped for the device.
fn register(host: &Host, memory: &Memory) -> Region {
    let attributes = MemoryAttributes { tag: host.tag, rdma_write: false, rdma_read: false };
    let address = memory.address(0);
    // SAFETY: the test keeps the memory until it has deregistered it or stepped the network last.
    let handle = unsafe { host.agent.register(address as usize, memory.length(), attributes) };
    Region { handle: handle.expect("room for a region"), address, length: memory.length() as u64 }
}

/// One message from `regions[0]` to `regions[1]`: the places of its send and of its receive.
fn post(
    world: &World,
    hosts: &mut [Host; 2],
    vis: &mut [RawVi; 2],
    regions: &[Region; 2],
    number: usize,
) -> [usize; 2] {
    let [a, b] = hosts;
    let at = (MESSAGE * number) as u64;
    let descriptor = |region: &Region| Descriptor::new().segment(region.address + at, region.handle, MESSAGE);
    let receive = vis[1].receive(b, &descriptor(&regions[1]));
    world.arrived(1);
    [vis[0].send(a, &descriptor(&regions[0])), receive]
}

/// The places of bystanders' messages, checked at the end.
fn bystand(world: &World, hosts: &mut [Host; 2], vis: &mut [RawVi; 2]) -> Vec<[usize; 2]> {
    let regions = [hosts[0].region, hosts[1].region];
    (0..3).map(|number| post(world, hosts, vis, &regions, number)).collect()
}

fn check_bystanders(world: &World, hosts: &[Host; 2], places: &[[usize; 2]]) {
    for (number, places) in places.iter().enumerate() {
        let sent = world.complete(&hosts[0], places[0]);
        let received = world.complete(&hosts[1], places[1]);
        assert_eq!((sent.status, received.status), (status::DONE, status::DONE | status::OP_RECEIVE));
        let data = [0, 1].map(|host: usize| hosts[host].memory.read(number * MESSAGE, MESSAGE));
        assert_eq!(difference(&data[1], &data[0]), None);
    }
}

/// How the messages may end of which one finds its region gone, and whether one did. Unreliable: all
/// after it do too. Reliable: the VI breaks; of those before it that are not acknowledged yet nobody knows, and
/// those behind it are flushed.
fn check_ends(level: Service, ends: &[u32]) -> bool {
    let refused = ends.iter().filter(|end| **end == REFUSED).count();
    let done = ends.iter().take_while(|end| **end == status::DONE).count();
    let rest = &ends[done..];
    match level {
        Service::UnreliableDelivery => assert_eq!(refused, rest.len()),
        _ => {
            assert_eq!(refused, usize::from(!rest.is_empty()));
            let before = rest.iter().take_while(|end| **end == UNKNOWN).count();
            assert!(rest.iter().skip(before + 1).all(|end| *end == FLUSHED));
        }
    }
    refused != 0
}

#[test]
fn what_is_deregistered_is_not_read_any_more() {
    for seed in seeds(&[1, 2]) {
        let world = World::new(&random_conditions(seed));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut hosts = [0, 1].map(|n| world.host(n));
        let mut bystanders = pair(&hosts, Service::ReliableDelivery, 512);
        for level in [LEVELS, LEVELS, LEVELS].concat() {
            let memories = [1, 2].map(|kind| Memory::new(MESSAGES * MESSAGE, seed ^ kind << 40));
            let regions = [0, 1].map(|n| register(&hosts[n], &memories[n]));
            let mut vis = pair(&hosts, level, 1024);
            let sent = memories[0].snapshot();
            let places: Vec<_> =
                (0..MESSAGES).map(|n| post(&world, &mut hosts, &mut vis, &regions, n)).collect();
            let others = bystand(&world, &mut hosts, &mut bystanders);
            world.run(random.random_range(0..6000));
            hosts[0].agent.deregister(regions[0].handle).expect("the NIC answers");
            // From here on the memory is the program's own again.
            memories[0].write(0, &vec![0xEE; MESSAGES * MESSAGE]);
            check_bystanders(&world, &hosts, &others);
            world.settle();
            let ends = places.iter().map(|[send, _]| Completion::read(&hosts[0].memory, *send).status);
            let ends: Vec<u32> = ends.collect();
            println!("{level}: {ends:x?}");
            let broke = check_ends(level, &ends);
            for ([_, receive], end) in places.iter().zip(&ends) {
                let received = Completion::read(&hosts[1].memory, *receive).status;
                assert!(*end != status::DONE || received == status::DONE | status::OP_RECEIVE);
            }
            // Every byte that has arrived is one that was there before.
            let (arrived, fresh) =
                (memories[1].snapshot(), Memory::new(MESSAGES * MESSAGE, seed ^ 2 << 40).snapshot());
            for (at, byte) in arrived.iter().enumerate() {
                assert!(*byte == sent[at] || *byte == fresh[at], "seed {seed}: byte {at:#x} leaked");
            }
            let broken = level.is_reliable() && broke;
            assert_eq!(vis[0].state() == ViState::Error, broken);
            let [a, b] = vis;
            a.retire(&world);
            b.retire(&world);
            hosts[1].agent.deregister(regions[1].handle).expect("the NIC answers");
            world.check();
        }
    }
}

#[test]
fn what_is_deregistered_is_not_written_any_more() {
    for seed in seeds(&[3, 4]) {
        let world = World::new(&random_conditions(seed));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut hosts = [0, 1].map(|n| world.host(n));
        let mut bystanders = pair(&hosts, Service::UnreliableDelivery, 2048);
        for level in [LEVELS, LEVELS, LEVELS].concat() {
            let memories = [1, 2].map(|kind| Memory::new(MESSAGES * MESSAGE, seed ^ kind << 40));
            let regions = [0, 1].map(|n| register(&hosts[n], &memories[n]));
            let mut vis = pair(&hosts, level, 1024);
            let places: Vec<_> =
                (0..MESSAGES).map(|n| post(&world, &mut hosts, &mut vis, &regions, n)).collect();
            let others = bystand(&world, &mut hosts, &mut bystanders);
            world.run(random.random_range(0..6000));
            hosts[1].agent.deregister(regions[1].handle).expect("the NIC answers");
            let then = memories[1].snapshot();
            check_bystanders(&world, &hosts, &others);
            world.settle();
            assert_eq!(difference(&memories[1].snapshot(), &then), None, "seed {seed}: written afterwards");
            let ends = places.iter().map(|[_, receive]| Completion::read(&hosts[1].memory, *receive).status);
            let ends: Vec<u32> = ends.map(|status| status & !status::OP_MASK).collect();
            println!("{level}: {ends:x?}");
            check_ends(level, &ends);
            for (number, _) in ends.iter().enumerate().filter(|(_, end)| **end == status::DONE) {
                let data = [0, 1].map(|n: usize| memories[n].read(number * MESSAGE, MESSAGE));
                assert_eq!(difference(&data[1], &data[0]), None, "message {number}");
            }
            let [a, b] = vis;
            a.retire(&world);
            b.retire(&world);
            hosts[0].agent.deregister(regions[0].handle).expect("the NIC answers");
            world.check();
        }
    }
}

/// Two pages with different bytes, of which a row of the region table shows one or the other.
#[test]
fn a_row_that_changes_under_traffic_is_the_old_one_or_the_new_one() {
    const ROW: u16 = REGIONS as u16 - 1;
    const PAGE: u16 = PAGES as u16 - 2;
    for seed in seeds(&[5]) {
        let world = World::new(&random_conditions(seed));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut hosts = [0, 1].map(|n| world.host(n));
        let mut vis = pair(&hosts, Service::UnreliableDelivery, 1024);
        let (tag, at) = (hosts[0].tag, [0, 1].map(|page| hosts[0].memory.address(4096 * page)));
        let key = [0x1111, 0x2222];
        for page in 0..2 {
            world.commit(0, table::PAGE, PAGE as u32 + page, &[hosts[0].map(4096 * page as usize, 4096)]);
        }
        let mut handle = [[0]; 2];
        for (handle, key) in handle.iter_mut().zip(key) {
            memory_handle::INDEX.put(handle, ROW.into());
            memory_handle::KEY.put(handle, key);
        }
        // Everything in the two rows differs.
        let row = |page: usize| {
            let row = rows::Region {
                base: at[page] + page as u64,
                length: [4096, 4000][page],
                tag,
                key: key[page] as u16,
                first_page: PAGE + page as u16,
                page_shift: 12,
                rdma_write: page == 1,
                rdma_read: page == 1,
                system: false,
                read_only: page == 1,
            };
            row.words()
        };
        let mut seen = [0; 3];
        for turn in 0..60 {
            let page = turn % 2;
            world.commit(0, table::REGION, ROW.into(), &row(page));
            // Sends through one row or the other; the row changes while they are on their way.
            let [a, b] = &mut hosts;
            let posted: Vec<_> = (0..4)
                .map(|n| {
                    let wanted = random.random_range(0..2);
                    let mut send = Descriptor::new();
                    for _ in 0..random.random_range(1..6) {
                        let offset = random.random_range(1..3800);
                        send = send.segment(at[wanted] + offset, handle[wanted][0] as u32, 150);
                    }
                    let to = 0x8000 + 0x400 * n;
                    let receive = vis[1].receive(b, &Descriptor::of(b, to, 1000));
                    (vis[0].send(a, &send), receive, to, send)
                })
                .collect();
            world.run(random.random_range(0..300));
            world.commit(0, table::REGION, ROW.into(), &row(1 - page));
            world.settle();
            let mut arrived = posted.iter().map(|(_, receive, to, _)| (*receive, *to));
            for (send, _, _, descriptor) in &posted {
                let status = Completion::read(&hosts[0].memory, *send).status;
                if status == REFUSED {
                    seen[2] += 1;
                    continue;
                }
                assert_eq!(status, status::DONE);
                // Unreliable receives are used up in the order in which messages arrive.
                let (receive, to) = arrived.next().expect("a receive for each");
                let received = Completion::read(&hosts[1].memory, receive);
                assert_eq!(received.status, status::DONE | status::OP_RECEIVE);
                let bytes = descriptor.segments.iter().flat_map(|segment| {
                    let offset = (segment.address - at[0]) as usize;
                    hosts[0].memory.read(offset, segment.length as usize)
                });
                let bytes: Vec<u8> = bytes.collect();
                let got = hosts[1].memory.read(to, bytes.len());
                assert_eq!(difference(&got, &bytes), None, "seed {seed}, turn {turn}: a torn row");
                seen[usize::from(descriptor.segments[0].address >= at[1])] += 1;
            }
            // Receives that nothing came for are taken back with the connection.
            if arrived.next().is_some() {
                for vi in &mut vis {
                    vi.vi.break_off().expect("the NIC answers");
                    world.settle();
                    vi.make_idle();
                }
                let [a, b] = &mut vis;
                a.connect(b);
            }
        }
        println!("old row, new row, refused: {seen:?}");
        assert!(seen.iter().all(|count| *count > 10), "each is seen often: {seen:?}");
        world.check();
    }
}
