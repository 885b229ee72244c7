//! Steps: messages, writes and reads, and messages that find no receive or too short a one.

use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_tests::raw::{pair, Descriptor};
use viaduct_tests::scene::Scene;

use super::connection::{message, reliable, retire, send};
use super::{AT, RELIABLE, UNRELIABLE};

pub fn reliable_messages(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    [0, 1, 100, 3000].into_iter().for_each(|length| message(scene, &mut vis, length));
    retire(scene, vis);
}

pub fn unreliable_messages(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 256);
    [0, 7, 256, 5000].into_iter().for_each(|length| message(scene, &mut vis, length));
    retire(scene, vis);
}

pub fn writes(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    let [a, b] = &mut scene.hosts;
    let attributes = MemoryAttributes { tag: b.tag, rdma_write: true, rdma_read: false };
    let region = b.register_as(AT, 0x4000, attributes);
    for (length, immediate) in [(0, None), (100, Some(1)), (2500, None)] {
        if immediate.is_some() {
            vis[1].receive(b, &Descriptor::of(b, 0, 10));
            scene.world.settle();
        }
        let write = Descriptor::of(a, 0x100, length).write_to(region.address, region.handle);
        vis[0].send(a, &immediate.into_iter().fold(write, Descriptor::immediate));
        scene.world.settle();
    }
    retire(scene, vis);
}

pub fn reads(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    let [a, b] = &mut scene.hosts;
    let attributes = MemoryAttributes { tag: b.tag, rdma_write: false, rdma_read: true };
    let region = b.register_as(AT, 0x4000, attributes);
    for length in [0, 100, 2500] {
        let read = Descriptor::of(a, 0x4000, length).read_from(region.address, region.handle);
        let place = vis[0].send(a, &read);
        assert_eq!(scene.world.complete(a, place).length as usize, length);
        scene.world.settle();
    }
    retire(scene, vis);
}

pub fn no_receive(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    send(scene, &mut vis, 2500);
    retire(scene, vis);
    // The event is taken, so that the ring is as empty as before.
    scene.events(1);
}

pub fn too_long(scene: &mut Scene) {
    for level in [UNRELIABLE, RELIABLE] {
        let mut vis =
            if level == RELIABLE { reliable(scene, false) } else { pair(&scene.hosts, level, 1024) };
        let b = &mut scene.hosts[1];
        vis[1].receive(b, &Descriptor::of(b, 0x1000, 2000));
        scene.world.settle();
        // The second packet is the last that fits in part: none of it counts as received.
        send(scene, &mut vis, 2040);
        retire(scene, vis);
        let _ = [scene.events(0), scene.events(1)];
    }
}
