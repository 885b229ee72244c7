//! Receives into wrong segments.

use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;
use viaduct_tests::raw::{pair, refused, Descriptor, RawVi, Segment, LEVELS};
use viaduct_tests::scene::Scene;

use super::wrong::wrong_segments;
use super::REFUSED;

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
