//! Reads that end well: of all sizes, many at once, behind fences.

use viaduct_spec::descriptor::{control, status};
use viaduct_tests::raw::Descriptor;
use viaduct_tests::world::{random_conditions, seeds, World};

use super::readers::Readers;
use super::{AT, SENT, TO};

#[test]
fn reads_of_all_sizes_bring_the_bytes_and_no_more() {
    for mtu in [256, 1024, 4096] {
        let mut readers = Readers::new(mtu);
        for length in [0, 1, 3, 8, 255, 256, 257, mtu as usize - 1, mtu as usize, mtu as usize + 1, 9000] {
            let before = readers.scene.hosts[0].memory.read(TO - 64, length + 128);
            let place = readers.read(0, 5, &[(TO, length)]);
            readers.done(0, place, length);
            readers.arrived(0, 5, &[(TO, length)]);
            let after = readers.scene.hosts[0].memory.read(TO - 64, length + 128);
            assert_eq!((&after[..64], &after[64 + length..]), (&before[..64], &before[64 + length..]));
        }
        readers.scene.others_go_on();
    }
}

#[test]
fn a_read_goes_into_as_many_segments_as_it_says() {
    let mut readers = Readers::new(256);
    let pieces: Vec<_> = (0..40).map(|n| (0x1000 + 300 * n, [1, 0, 7, 64, 255, 256, 100][n % 7])).collect();
    let length = pieces.iter().map(|piece| piece.1).sum();
    // Another VI's long receives come between, so that nothing of the descriptor can stay where it is looked at.
    let place = readers.read(0, 77, &pieces);
    let other = readers.read(1, 3, &[(0x6000, 5000), (0x4000, 0), (0x4001, 777)]);
    readers.done(0, place, length);
    readers.done(1, other, 5777);
    readers.arrived(0, 77, &pieces);
    readers.arrived(1, 3, &[(0x6000, 5000), (0x4001, 777)]);
}

#[test]
fn many_reads_and_sends_are_under_way_in_both_directions_at_once() {
    for seed in seeds(&[1, 2, 3]) {
        for depth in [1, 4] {
            let mut readers = Readers::on(World::new(&random_conditions(seed)), 512, depth);
            let mut reads = Vec::new();
            let mut others = Vec::new();
            for n in 0..6 {
                for host in 0..2 {
                    let length = [4000, 1, 512, 0, 1300, 2048][n];
                    let at = 0x10000 + 0x1000 * n;
                    reads.push((host, n * 100, at, length, readers.read(host, n * 100, &[(at, length)])));
                    let host_there = &mut readers.scene.hosts[1 - host];
                    let descriptor = Descriptor::of(host_there, 0x100 * n, 100);
                    let receive = readers.vis[1 - host].receive(host_there, &descriptor);
                    readers.scene.world.arrived(1 - host);
                    let descriptor = Descriptor::of(&readers.scene.hosts[host], AT + 200 * n, 100);
                    others.push((host, n, receive, readers.post(host, &descriptor)));
                }
            }
            for (host, offset, at, length, place) in reads {
                readers.done(host, place, length);
                readers.arrived(host, offset, &[(at, length)]);
            }
            for (host, n, receive, send) in others {
                assert_eq!(readers.status(host, send), SENT);
                assert_eq!(readers.status(1 - host, receive), status::DONE | status::OP_RECEIVE);
                let hosts = &readers.scene.hosts;
                assert_eq!(
                    hosts[1 - host].memory.read(0x100 * n, 100),
                    hosts[host].memory.read(AT + 200 * n, 100)
                );
            }
            readers.scene.others_go_on();
        }
    }
}

/// No answer is back when they are counted: the wire is long.
/// Rule REQ-9.
#[test]
fn as_many_reads_are_under_way_as_the_depth_allows() {
    for depth in [1, 2, 4] {
        let mut readers = Readers::far(depth);
        let frames = |readers: &Readers| readers.scene.world.net.network().fabric().counters().roce_frames;
        let before = frames(&readers);
        let places = [0; 6].map(|_| readers.read(0, 0, &[(0x1000, 100)]));
        readers.scene.world.run(1500);
        assert_eq!(frames(&readers) - before, u64::from(depth), "requests, depth {depth}");
        for place in places {
            readers.done(0, place, 100);
        }
        readers.scene.others_go_on();
    }
}

/// Rule WQ-5.
#[test]
fn a_fence_waits_for_the_reads_before_it() {
    let mut readers = Readers::new(256);
    // The send carries what the read brings: without the fence it would be read before.
    for fenced in [true, false] {
        let at = 0x1000;
        readers.scene.hosts[0].memory.write(at, &[0x5A; 8000]);
        let read = readers.read(0, 0, &[(at, 8000)]);
        let host = &mut readers.scene.hosts[1];
        let descriptor = Descriptor::of(host, 0x1000, 64);
        let receive = readers.vis[1].receive(host, &descriptor);
        readers.scene.world.arrived(1);
        let mut descriptor = Descriptor::of(&readers.scene.hosts[0], at + 7900, 64);
        descriptor.control |= if fenced { control::QFENCE } else { 0 };
        let send = readers.post(0, &descriptor);
        let behind = readers.read(0, 9, &[(0x4000, 100)]);
        assert_eq!(readers.status(1, receive), status::DONE | status::OP_RECEIVE);
        readers.done(0, read, 8000);
        assert_eq!(readers.status(0, send), SENT);
        readers.done(0, behind, 100);
        readers.arrived(0, 9, &[(0x4000, 100)]);
        let [here, there] = &readers.scene.hosts;
        let brought = there.memory.read(0x1000, 64) == there.memory.read(AT + 7900, 64);
        assert_eq!(brought, fenced);
        assert!(fenced || there.memory.read(0x1000, 64) == [0x5A; 64]);
        assert_eq!(here.memory.read(at, 8000), there.memory.read(AT, 8000));
    }
}
