//! Random messages from end to end, over buses and links of all habits.

use viaduct_driver::address::Service;
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::{status, MAX_SEGMENTS};
use viaduct_tests::raw::{Completion, Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::traffic::{Shape, Traffic, LEVELS, MTUS};
use viaduct_tests::world::{quick, random_conditions, seeds, Host, World};

#[test]
fn messages_of_all_shapes_arrive_whole_and_nothing_else_changes() {
    for seed in seeds(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
        let shape = Shape { nics: 2, pairs: 4, messages: 8, mtus: MTUS, levels: LEVELS };
        let mut traffic = Traffic::new(&random_conditions(seed), &shape);
        traffic.run();
        traffic.check();
        println!("{} cycles", traffic.world.now());
    }
}

/// So many segments, each somewhere else, of 0 to 36 bytes; in all as many bytes for the same number of segments.
fn scattered(host: &Host, at: usize, segments: usize) -> Descriptor {
    let lengths = (0..segments).map(|n| n * 7 % 37);
    let pieces =
        lengths.enumerate().map(|(n, length)| (host.memory.address(at + 64 * (n * 5 % segments)), length));
    pieces.fold(Descriptor::new(), |descriptor, (address, length)| {
        descriptor.segment(address, host.region.handle, length)
    })
}

/// The bytes of a descriptor's segments, in order.
fn bytes(host: &Host, descriptor: &Descriptor) -> Vec<u8> {
    let start = host.memory.address(0);
    let pieces = descriptor.segments.iter().filter(|segment| segment.length != 0);
    pieces
        .flat_map(|piece| host.memory.read((piece.address - start) as usize, piece.length as usize))
        .collect()
}

/// A send and its receive, an RDMA write and an RDMA read, each with as many segments as a descriptor has.
#[test]
fn descriptors_of_252_segments_move_every_byte() {
    const MOST: usize = MAX_SEGMENTS as usize;
    let mut scene = Scene::on(World::new(&quick(7)));
    let mut vis = scene.hosts.each_ref().map(|host| RawVi::open(host, Service::ReliableDelivery, 256));
    let [first, second] = &mut vis;
    first.connect(second);
    let [a, b] = &mut scene.hosts;
    let rights = MemoryAttributes { tag: b.tag, rdma_write: true, rdma_read: true };
    let remote = b.register_as(0x10000, 0x4000, rights);

    let from = scattered(a, 0x1000, MOST);
    let into = scattered(b, 0x8000, MOST);
    let receive = vis[1].receive(b, &into);
    scene.world.settle();
    let send = vis[0].send(a, &from);
    let length = bytes(a, &from).len() as u32;
    let received = scene.world.complete(b, receive);
    assert_eq!(received, Completion { status: status::DONE | status::OP_RECEIVE, length, immediate: 0 });
    assert_eq!(scene.world.complete(a, send).status, status::DONE | status::OP_SEND);
    assert_eq!(bytes(a, &from), bytes(b, &into));

    let from = scattered(a, 0x1000, MOST - 1);
    let write = vis[0].send(a, &from.clone().write_to(remote.address, remote.handle));
    assert_eq!(scene.world.complete(a, write).status, status::DONE | status::OP_RDMA_WRITE);
    let length = bytes(a, &from).len();
    scene.world.settle();
    assert_eq!(bytes(a, &from), b.memory.read(0x10000, length));

    let into = scattered(a, 0x8000, MOST - 1);
    let read = vis[0].send(a, &into.clone().read_from(remote.address, remote.handle));
    assert_eq!(scene.world.complete(a, read).status, status::DONE | status::OP_RDMA_READ);
    assert_eq!(bytes(a, &into), b.memory.read(0x10000, length));
    scene.others_go_on();
}
