//! The whole of a profile: the last virtual interface and the last region that its tables have, on NICs of both kinds.
//!
//! `cargo test -p viaduct-tests --features large --test profile` is the same for the large profile.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::agent::MemoryAttributes;
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::{REGIONS, VIS};
use viaduct_tests::memory::difference;
use viaduct_tests::raw::{Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, Host, World};

const LENGTH: usize = 3000;
/// Where messages come from, where they go, and the part of memory that is the last region.
const FROM: usize = 0x100;
const TO: usize = 0x4000;
const AT: usize = 0x8000;

/// The last VI that a host can have; all others exist too.
fn last_vi(host: &Host) -> RawVi {
    loop {
        let last = RawVi::open(host, Service::ReliableDelivery, 1024);
        if usize::from(last.index()) == VIS - 1 {
            return last;
        }
    }
}

/// The last region that a host can have; all others exist too.
fn last_region(host: &Host) -> Region {
    let attributes = MemoryAttributes { tag: host.tag, rdma_write: true, rdma_read: true };
    loop {
        let region = host.register_as(AT, 0x4000, attributes);
        if usize::from(region.index()) == REGIONS - 1 {
            return region;
        }
    }
}

/// A piece of the last region.
fn inside(region: &Region, offset: usize, length: usize) -> Descriptor {
    Descriptor::new().segment(region.address + offset as u64, region.handle, length)
}

fn last_to_last(kinds: [Kind; 2]) {
    let mut scene = Scene::on(World::new(&Setup { kinds: kinds.to_vec(), ..quick(61) }));
    let start = scene.world.now();
    let regions = scene.hosts.each_ref().map(last_region);
    let mut vis = scene.hosts.each_ref().map(last_vi);
    println!("{kinds:?}: all made in {} cycles", scene.world.now() - start);
    let [a, b] = &mut vis;
    a.connect(b);
    for (from, to) in [(0, 1), (1, 0)] {
        // A send from the last region into the peer's.
        let receive = vis[to].receive(&mut scene.hosts[to], &inside(&regions[to], TO - 0x3000, LENGTH));
        scene.world.settle();
        let send = vis[from].send(&mut scene.hosts[from], &inside(&regions[from], FROM, LENGTH).immediate(7));
        let sent = scene.world.complete(&scene.hosts[from], send);
        let received = scene.world.complete(&scene.hosts[to], receive);
        assert_eq!(sent.status, status::DONE | status::OP_SEND);
        let good = status::DONE | status::OP_RECEIVE | status::IMMEDIATE;
        assert_eq!(received, Completion { status: good, length: LENGTH as u32, immediate: 7 });
        same(&scene, [from, to], [AT + FROM, AT + TO - 0x3000]);
        // An RDMA write into the peer's last region, and an RDMA read from it.
        let remote = regions[to];
        let write = Descriptor::of(&scene.hosts[from], FROM, LENGTH).write_to(remote.address, remote.handle);
        let send = vis[from].send(&mut scene.hosts[from], &write);
        let sent = scene.world.complete(&scene.hosts[from], send);
        assert_eq!(sent.status, status::DONE | status::OP_RDMA_WRITE);
        same(&scene, [from, to], [FROM, AT]);
        let there = remote.address + 0x2000;
        let read = Descriptor::of(&scene.hosts[from], TO, LENGTH).read_from(there, remote.handle);
        let send = vis[from].send(&mut scene.hosts[from], &read);
        let sent = scene.world.complete(&scene.hosts[from], send);
        assert_eq!(sent.status, status::DONE | status::OP_RDMA_READ);
        same(&scene, [to, from], [AT + 0x2000, TO]);
    }
    assert!(vis.iter().all(|vi| vi.state() == ViState::Connected));
    assert_eq!([scene.events(0), scene.events(1)], [[], []]);
    // What VI 0 and region 1 do is nobody else's.
    scene.others_go_on();
}

fn same(scene: &Scene, [from, to]: [usize; 2], [source, sink]: [usize; 2]) {
    let [sent, arrived] =
        [(from, source), (to, sink)].map(|(host, at)| scene.hosts[host].memory.read(at, LENGTH));
    assert_eq!(difference(&arrived, &sent), None);
}

#[test]
fn the_last_vi_and_the_last_region_of_rtl_nics() {
    last_to_last([Rtl, Rtl]);
}

#[test]
fn the_last_vi_and_the_last_region_of_models() {
    last_to_last([Model, Model]);
    last_to_last([Rtl, Model]);
}
