//! Descriptors in wrong places.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_tests::raw::{pair, Descriptor, Region, LEVELS};
use viaduct_tests::scene::Scene;

use super::wrong::{wrong_places, PLACE};

/// Rule WQ-6.
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

/// Rule WQ-2.
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

/// Rule WQ-7.
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
