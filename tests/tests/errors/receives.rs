//! Messages whose receive is missing or too short.

use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::wire::syndrome;
use viaduct_tests::raw::{pair, refused, Descriptor, LEVELS};
use viaduct_tests::scene::Scene;

use super::{retire, states, RECEIVED, SENT};

/// Rules UNR-4 and RSP-4.
#[test]
fn a_message_without_a_receive_is_dropped_or_breaks_the_connection() {
    let mut scene = Scene::new(1);
    for level in LEVELS {
        let mut vis = pair(&scene.hosts, level, 1024);
        let before = scene.world.counter(1, counter::DROP_NO_RECEIVE);
        let [a, _] = &mut scene.hosts;
        // Three packets: the rest of the message is dropped too.
        let send = vis[0].send(a, &Descriptor::of(a, 0, 3000));
        let sent = scene.world.complete(a, send);
        scene.world.settle();
        assert_eq!(scene.world.counter(1, counter::DROP_NO_RECEIVE), before + 1);
        if level.is_reliable() {
            assert_eq!(sent.status, SENT | refused(level, syndrome::RNR_NAK));
            assert_eq!(states(&vis), [ViState::Error; 2]);
            assert_eq!(scene.events(0), [vis[0].event(event_code::CONN_LOST, false, true)]);
            assert_eq!(scene.events(1), [vis[1].event(event_code::RECVQ_EMPTY, true, true)]);
        } else {
            assert_eq!(sent.status, SENT);
            assert_eq!(states(&vis), [ViState::Connected; 2]);
            assert_eq!(scene.events(0), []);
            assert_eq!(scene.events(1), [vis[1].event(event_code::RECVQ_EMPTY, true, false)]);
            scene.world.exchange(&mut scene.hosts, &mut vis, 3000);
        }
        retire(&scene, vis);
    }
    scene.others_go_on();
}

/// Rules UNR-4 and RSP-3.
#[test]
fn a_message_longer_than_its_receive_is_a_length_error() {
    let mut scene = Scene::new(2);
    for level in LEVELS {
        // One byte too long in the only packet, in the last one, and from the second packet on.
        for (length, room) in [(501, 500), (2100, 2099), (3000, 1024), (10, 0)] {
            let mut vis = pair(&scene.hosts, level, 1024);
            let [a, b] = &mut scene.hosts;
            let receive = vis[1].receive(b, &Descriptor::of(b, 0x2000, room));
            let guard = b.memory.read(0x2000 + room, 4096);
            let send = vis[0].send(a, &Descriptor::of(a, 0, length));
            let (sent, received) = (scene.world.complete(a, send), scene.world.complete(b, receive));
            assert_eq!(received.status, RECEIVED | status::LENGTH_ERROR);
            assert_eq!(b.memory.read(0x2000 + room, 4096), guard, "nothing behind the buffer");
            scene.world.settle();
            if level.is_reliable() {
                assert_eq!(sent.status, SENT | refused(level, syndrome::NAK_INVALID));
                assert_eq!(states(&vis), [ViState::Error; 2]);
                assert_eq!(scene.events(0), [vis[0].event(event_code::CONN_LOST, false, true)]);
                assert_eq!(scene.events(1), [vis[1].event(event_code::CONN_LOST, true, true)]);
            } else {
                assert_eq!(sent.status, SENT);
                assert_eq!(states(&vis), [ViState::Connected; 2]);
                assert_eq!([scene.events(0), scene.events(1)], [[], []]);
                scene.world.exchange(&mut scene.hosts, &mut vis, 3000);
            }
            retire(&scene, vis);
        }
    }
    scene.others_go_on();
}
