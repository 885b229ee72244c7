//! Which frames the channel takes.

use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::{Mac, Service};
use viaduct_driver::agent::raw::{Filter, RawChannel};
use viaduct_driver::kernel_agent::AgentError;
use viaduct_sim::setup::Kind;
use viaduct_spec::register::counter;
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::Frame;
use viaduct_tests::raw::pair;
use viaduct_tests::world::{quick, World};

use super::{by_name, next, noise, on_each, BROADCAST};

/// Rules RAW-1; and RAW-5: how they are counted.
#[test]
fn the_filter_is_what_it_says() {
    on_each(2, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let channel = scene.hosts[1].agent.open_raw(Filter::default()).expect("a VI is free");
        let second = scene.hosts[1].agent.open_raw(Filter::default()).expect_err("one is open");
        assert!(matches!(second, AgentError::RawOpen));
        let own = scene.hosts[1].agent.mac();
        let (group, other) = (Mac([1, 0, 0x5E, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 9]));
        for flags in 0..8 {
            let [broadcast, multicast, promiscuous] = [1, 2, 4].map(|bit| flags & bit != 0);
            channel.set_filter(Filter { broadcast, multicast, promiscuous }).expect("the NIC answers");
            for (to, flag) in [(own, true), (BROADCAST, broadcast), (group, multicast), (other, false)] {
                let frame = noise(&mut random, to, 100);
                let before = scene.world.counters(1);
                scene.world.arrived(1);
                scene.world.inject(1, &frame);
                scene.world.settle();
                let wanted = flag || promiscuous;
                let found = channel.receive().expect("the channel is open");
                assert_eq!(found, wanted.then_some(frame), "{to}, flags {flags}");
                let mut moved = scene.world.counters(1).since(&before);
                moved.retain(|(name, _)| !["FRAMES_RECEIVED", "BYTES_RECEIVED"].contains(name));
                let counted = if wanted { counter::RAW_RECEIVED } else { counter::DROP_NOT_OURS };
                assert_eq!(moved, [(by_name(counted), 1)]);
            }
        }
        scene.others_go_on();
        // Closed, it takes nothing, and can be opened again.
        channel.close().expect("the NIC answers");
        let before = scene.world.counter(1, counter::DROP_NOT_OURS);
        scene.world.inject(1, &noise(&mut random, own, 100));
        scene.world.settle();
        assert_eq!(scene.world.counter(1, counter::DROP_NOT_OURS), before + 1);
        let channel = scene.hosts[1].agent.open_raw(Filter::default()).expect("a VI is free");
        let frame = noise(&mut random, own, 100);
        scene.world.arrived(1);
        scene.world.inject(1, &frame);
        let waited = channel.wait_receive(Duration::from_secs(5)).expect("the channel is open");
        assert_eq!(waited, Some(frame));
        assert_eq!(channel.wait_receive(Duration::from_millis(1)).expect("the channel is open"), None);
        assert_eq!(scene.events(1), []);
        scene.others_go_on();
    });
}

/// The NIC is a thousand cycles away from its host, and a frame comes right after the agent has spoken.
#[test]
fn what_the_agent_has_set_holds_when_it_returns() {
    for kind in [Kind::Rtl, Kind::Model] {
        let mut setup = quick(4);
        setup.kinds = vec![kind];
        setup.network.bus.conditions.round_trip = 2000;
        let world = World::new(&setup);
        let [_, host] = [0, 1].map(|n| world.host(n));
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let channel = host.agent.open_raw(Filter::default()).expect("a VI is free");
        let frame = noise(&mut random, host.agent.mac(), 100);
        world.inject(1, &frame);
        assert_eq!(next(&world, &channel), frame);
        for broadcast in [true, false] {
            channel.set_filter(Filter { broadcast, ..Filter::default() }).expect("the NIC answers");
            let frame = noise(&mut random, BROADCAST, 100);
            world.inject(1, &frame);
            world.settle();
            assert_eq!(channel.receive().expect("the channel is open"), broadcast.then_some(frame));
        }
    }
}

/// Rules RAW-1 and RAW-3.
#[test]
fn queue_pair_1_is_the_agent_s_and_the_rest_is_not() {
    on_each(3, |mut scene| {
        let vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
        let [from, to] = [vis[0].vi.info(), vis[1].vi.info()];
        let with = |queue_pair, opcode, length| {
            Frame { queue_pair, ..Frame::new(&from, &to, opcode, 5, &vec![0x5A; length]) }.bytes()
        };
        // Without the channel.
        let closed = with(1, opcode::UD_SEND_ONLY, 264);
        // With it: what it gets, then what it does not.
        let mut tagged = closed.clone();
        tagged.splice(12..12, [0x81, 0x00, 0x00, 0x05]);
        let mut trailed = closed.clone();
        trailed.extend([0; 20]);
        let got = [
            closed.clone(),
            tagged,
            trailed,
            with(1, opcode::UD_SEND_ONLY, 8),
            with(1, opcode::UC_SEND_ONLY, 1),
            with(1, opcode::RC_SEND_ONLY, 4096),
        ];
        let mut damaged = closed.clone();
        damaged[100] ^= 4;
        let mut long = closed.clone();
        long.resize(4225, 0);
        let cases = [
            (with(1, opcode::UD_SEND_ONLY, 7), counter::DROP_MALFORMED),
            (damaged, counter::DROP_ICRC),
            (long, counter::DROP_MALFORMED),
            (with(1, 0xC0, 20), counter::DROP_BTH),
            (with(2, opcode::UD_SEND_ONLY, 264), counter::DROP_BTH),
            (with(0x7FF << 10 | 63, opcode::UC_SEND_ONLY, 20), counter::DROP_NO_VI),
            (with(to.queue_pair ^ 1 << 12, opcode::UC_SEND_ONLY, 20), counter::DROP_NO_VI),
            (vec![0xFF; 13], counter::DROP_MALFORMED),
        ];
        let check = |frame: &[u8], reason: u64, channel: Option<&RawChannel>| {
            let before = scene.world.counters(1);
            scene.world.inject(1, frame);
            scene.world.settle();
            let mut moved = scene.world.counters(1).since(&before);
            moved.retain(|(name, _)| !["FRAMES_RECEIVED", "BYTES_RECEIVED"].contains(name));
            assert_eq!(moved, [(by_name(reason), 1)], "{frame:02x?}");
            channel.and_then(|channel| channel.receive().expect("the channel is open"))
        };
        assert_eq!(check(&closed, counter::DROP_NO_VI, None), None);
        let channel = scene.hosts[1].agent.open_raw(Filter { promiscuous: true, ..Filter::default() });
        let channel = channel.expect("a VI is free");
        for frame in &got {
            assert_eq!(check(frame, counter::RAW_RECEIVED, Some(&channel)).as_ref(), Some(frame));
        }
        for (frame, reason) in &cases {
            assert_eq!(check(frame, *reason, Some(&channel)), None);
        }
        // The raw VI's own number is no way to it, whatever its generation is.
        for generation in [0, 1, 0x3FFF] {
            for opcode in [opcode::UC_SEND_ONLY, opcode::RC_SEND_ONLY, opcode::RC_ACKNOWLEDGE] {
                let frame = with(generation << 10 | u32::from(channel.vi()), opcode, 20);
                assert_eq!(check(&frame, counter::DROP_NO_VI, Some(&channel)), None);
            }
        }
        scene.others_go_on();
    });
}
