//! The raw channel between two whole NICs, of the RTL, the model, and one of each; through the agent, and by descriptors made by
//! hand where those must be wrong.

use std::time::Duration;

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::{Mac, Service};
use viaduct_driver::agent::raw::{Filter, RawChannel, LONGEST_FRAME, RECEIVES, SENDS, SHORTEST_FRAME};
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::agent::AgentError;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_spec::descriptor::status;
use viaduct_spec::layout::Field;
use viaduct_spec::register::{counter, raw_channel, registers};
use viaduct_spec::tables::{gather, receive, service, table, transmit, vi_states};
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::Frame;
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, random_conditions, Host, World};

const PAIRS: [[Kind; 2]; 4] = [[Rtl, Rtl], [Model, Model], [Rtl, Model], [Model, Rtl]];
const BROADCAST: Mac = Mac([0xFF; 6]);

/// A scene on each pair of NICs.
fn on_each(seed: u64, mut test: impl FnMut(Scene)) {
    for kinds in PAIRS {
        println!("{kinds:?}");
        let mut setup = quick(seed);
        setup.kinds = kinds.to_vec();
        test(Scene::on(World::new(&setup)));
    }
}

fn open(scene: &Scene) -> [RawChannel; 2] {
    [0, 1].map(|host| scene.hosts[host].agent.open_raw(Filter::default()).expect("a VI is free"))
}

/// A frame of random bytes that is no IP.
fn noise(random: &mut ChaCha8Rng, to: Mac, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    random.fill_bytes(&mut frame);
    frame[..6].copy_from_slice(&to.0);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame
}

/// As it arrives: padded by the MAC that sent it.
fn padded(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Steps until a frame is there.
fn next(world: &World, channel: &RawChannel) -> Vec<u8> {
    let mut frame = None;
    world.until("a frame arrives", 200_000, || {
        frame = channel.receive().expect("the channel is open");
        frame.is_some()
    });
    frame.expect("it is there")
}

fn by_name(number: u64) -> &'static str {
    counter::CODES.codes.iter().find(|code| code.value == number).expect("a counter").name
}

#[test]
fn frames_of_every_length_both_ways() {
    on_each(1, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let channels = open(&scene);
        let fixed =
            [14, 15, 16, 17, 22, 23, 24, 59, 60, 61, 64, 65, 1514, 4095, 4096, 4097, 4110, 4199, 4200];
        let others: Vec<usize> =
            (0..10).map(|_| random.random_range(SHORTEST_FRAME..=LONGEST_FRAME)).collect();
        for (n, length) in fixed.into_iter().chain(others).enumerate() {
            let (from, to) = (n % 2, 1 - n % 2);
            let mut frame = noise(&mut random, scene.hosts[to].agent.mac(), length);
            if n % 5 == 4 && length > 18 {
                frame[12..16].copy_from_slice(&[0x81, 0x00, 0x20, 0x07]);
            }
            channels[from].send(&frame).expect("room");
            assert_eq!(next(&scene.world, &channels[to]), padded(&frame), "{length}");
        }
        for channel in &channels {
            for length in [0, 13, 4201, 9000] {
                let error = channel.send(&vec![0; length]).expect_err("no frame");
                assert!(matches!(error, AgentError::Frame(of) if of == length), "{error}");
            }
            assert_eq!(channel.dropped().expect("a counter"), 0);
        }
        scene.others_go_on();
    });
}

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

#[test]
fn a_slow_agent_loses_frames_and_nobody_else_anything() {
    on_each(4, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let channel = scene.hosts[1].agent.open_raw(Filter::default()).expect("a VI is free");
        let to = scene.hosts[1].agent.mac();
        let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
        scene.world.settle();
        for round in 0..2 {
            let before = channel.dropped().expect("a counter");
            let mut frames = Vec::new();
            for n in 0..RECEIVES + 40 {
                let length = random.random_range(60..400);
                frames.push(noise(&mut random, to, length));
                scene.world.inject(1, &frames[n]);
                if n % 20 == 0 {
                    // In the middle of them messages of both levels, as whole as ever.
                    scene.others_go_on();
                    scene.world.exchange(&mut scene.hosts, &mut vis, 2000);
                }
            }
            scene.world.settle();
            assert_eq!(channel.dropped().expect("a counter"), before + 40, "round {round}");
            for frame in &frames[..RECEIVES] {
                assert_eq!(channel.receive().expect("the channel is open").as_ref(), Some(frame));
            }
            assert_eq!(channel.receive().expect("the channel is open"), None);
            scene.world.settle();
        }
        assert_eq!(scene.events(1), []);
        scene.others_go_on();
    });
}

#[test]
fn frames_and_messages_at_once() {
    for (kinds, seed) in PAIRS.into_iter().zip(5..) {
        println!("{kinds:?}");
        let mut setup = random_conditions(seed);
        setup.kinds = kinds.to_vec();
        let mut scene = Scene::on(World::new(&setup));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let channels = open(&scene);
        let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 512);
        let (mut sent, mut got) = ([vec![], vec![]], [vec![], vec![]]);
        for _ in 0..40 {
            for from in 0..2 {
                for _ in 0..random.random_range(0..6) {
                    let length =
                        *[60, 64, random.random_range(60..1600), 4200].choose(&mut random).expect("some");
                    let frame = noise(&mut random, scene.hosts[1 - from].agent.mac(), length);
                    match channels[from].send(&frame) {
                        Ok(()) => sent[from].push(frame),
                        Err(AgentError::RawFull) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            let length = random.random_range(0..5000);
            scene.world.exchange(&mut scene.hosts, &mut vis, length);
            let length = random.random_range(0..5000);
            scene.world.exchange(&mut scene.hosts, &mut scene.bystanders, length);
            for to in 0..2 {
                while let Some(frame) = channels[to].receive().expect("the channel is open") {
                    got[1 - to].push(frame);
                }
            }
        }
        scene.world.settle();
        for to in 0..2 {
            while let Some(frame) = channels[to].receive().expect("the channel is open") {
                got[1 - to].push(frame);
            }
            assert_eq!(channels[to].dropped().expect("a counter"), 0);
        }
        assert!(sent.iter().all(|sent| sent.len() > 50));
        assert!(got == sent, "frames are missing, doubled or changed");
        scene.others_go_on();
    }
}

#[test]
fn as_many_as_there_is_room_for_and_then_no_more() {
    for kinds in PAIRS {
        println!("{kinds:?}");
        // The wire takes 4000 cycles for each frame, much longer than the agent.
        let mut setup = quick(9);
        setup.kinds = kinds.to_vec();
        setup.network.link.rate = 1;
        let mut scene = Scene::on(World::new(&setup));
        let channels = open(&scene);
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let to = scene.hosts[1].agent.mac();
        scene.world.settle();
        let mut frames = Vec::new();
        let full = loop {
            assert!(frames.len() < RECEIVES, "all of them have left");
            let frame = noise(&mut random, to, 4000);
            match channels[0].send(&frame) {
                Ok(()) => frames.push(frame),
                Err(error) => break error,
            }
        };
        assert!(frames.len() >= SENDS && matches!(full, AgentError::RawFull), "{full}");
        for frame in &frames {
            assert_eq!(&next(&scene.world, &channels[1]), frame);
        }
        scene.world.settle();
        channels[0].send(&frames[0]).expect("room");
        assert_eq!(next(&scene.world, &channels[1]), frames[0]);
        scene.others_go_on();
    }
}

/// Makes a VI the raw one, past the agent.
fn raw_vi(world: &World, host: &Host, flags: &[Field], loopback: bool) -> RawVi {
    let vi = RawVi::new(host, Service::UnreliableDelivery, 256);
    let row = u32::from(vi.index());
    let raw = u64::from(service::RAW);
    let commit = |table, fields: &[(Field, u64)]| {
        let mut words = [0; 2];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        world.commit(host.index, table, row, &words);
    };
    let tag = u64::from(host.tag);
    commit(
        table::GATHER,
        &[(gather::TAG, tag), (gather::RAW, 1), (gather::MTU, 1), (gather::MAX_TRANSFER, 1 << 16)],
    );
    commit(
        table::TRANSMIT,
        &[(transmit::SERVICE, raw), (transmit::LOOPBACK, loopback.into()), (transmit::PSN, 0xFF_FFFF)],
    );
    // A PSN, a peer and an MTU that say nothing here.
    let psn = u64::from(0x80_0000u32 + row);
    commit(
        table::RECEIVE,
        &[(receive::TAG, tag), (receive::SERVICE, raw), (receive::MTU, 1), (receive::PSN, psn)],
    );
    // A template with a tag, which a raw frame does not get.
    for word in 0..8 {
        world.commit(host.index, table::TEMPLATE, 8 * row + word, &[0x0700_0081]);
    }
    world.commit(host.index, table::VI_STATE, row, &[vi_states::CONNECTED.into()]);
    let mut word = [0];
    raw_channel::VI.put(&mut word, row.into());
    raw_channel::ENABLE.put(&mut word, 1);
    flags.iter().for_each(|flag| flag.put(&mut word, 1));
    let device = world.device(host.index);
    device.write32(Bar::Registers, registers::RAW_CHANNEL, word[0] as u32).expect("a register");
    assert_eq!(device.read32(Bar::Registers, registers::RAW_CHANNEL).expect("a register"), word[0] as u32);
    vi
}

const SENT: u32 = status::DONE | status::OP_SEND;
const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;

#[test]
fn descriptors_that_are_wrong_send_nothing() {
    on_each(10, |mut scene| {
        let mut vi = raw_vi(&scene.world, &scene.hosts[0], &[], false);
        let mut other = raw_vi(&scene.world, &scene.hosts[1], &[], false);
        let host = &mut scene.hosts[0];
        let mut frame = vec![7; 4300];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
        host.memory.write(0, &frame);
        let (address, handle) = (host.memory.address(0), host.region.handle);
        let of = |length| Descriptor::of(host, 0, length);
        let cases = [
            (of(13), status::LENGTH_ERROR),
            (of(4201), status::LENGTH_ERROR),
            (Descriptor::new(), status::LENGTH_ERROR),
            (Descriptor { length: Some(99), ..of(100) }, status::LENGTH_ERROR),
            (of(100).immediate(7), status::FORMAT_ERROR),
            (of(100).write_to(address, handle), status::FORMAT_ERROR | status::OP_RDMA_WRITE),
            (of(13).immediate(7), status::FORMAT_ERROR),
            (Descriptor { reserved: 1, ..of(100) }, status::FORMAT_ERROR),
            (Descriptor::new().segment(address, handle ^ 1 << 20, 100), status::PROTECTION_ERROR),
            (of(14), 0),
            // As many segments as a frame needs, and none of them aligned.
            (Descriptor::new().segment(address, handle, 6).segment(address + 6, handle, 4194), 0),
            (Descriptor::new().segment(address, handle, 4099).segment(address + 4099, handle, 101), 0),
        ];
        // One receive is always there; a frame that is not sent leaves it for the next.
        let mut posted: Option<usize> = None;
        for (descriptor, error) in cases {
            let before = scene.world.counter(0, counter::FRAMES_SENT);
            if posted.is_none_or(|place| Completion::read(&scene.hosts[1].memory, place).is_complete()) {
                let descriptor = Descriptor::of(&scene.hosts[1], 1, 4200);
                posted = Some(other.receive(&mut scene.hosts[1], &descriptor));
                scene.world.arrived(1);
            }
            let length: u32 = descriptor.segments.iter().map(|segment| segment.length).sum();
            let place = vi.send(&mut scene.hosts[0], &descriptor);
            let sent = scene.world.complete(&scene.hosts[0], place);
            scene.world.settle();
            assert_eq!(sent.status, SENT | error, "{descriptor:?}");
            assert_eq!(sent.length, if error == 0 { length } else { 0 });
            let frames = scene.world.counter(0, counter::FRAMES_SENT) - before;
            assert_eq!(frames, u64::from(error == 0));
            let got = Completion::read(&scene.hosts[1].memory, posted.expect("one is posted"));
            if error == 0 {
                assert_eq!((got.status, got.length), (RECEIVED, length.max(60)));
                let data = scene.hosts[1].memory.read(1, length as usize);
                assert_eq!(data, frame[..length as usize]);
            } else {
                assert!(!got.is_complete());
            }
        }
        assert_eq!([vi.state(), other.state()], [ViState::Connected; 2]);
        assert_eq!([scene.events(0), scene.events(1)], [vec![], vec![]]);
        scene.others_go_on();
    });
}

#[test]
fn receives_that_are_wrong_say_so() {
    on_each(11, |mut scene| {
        let mut vi = raw_vi(&scene.world, &scene.hosts[1], &[raw_channel::BROADCAST], false);
        let frame = noise(&mut ChaCha8Rng::seed_from_u64(11), BROADCAST, 300);
        let host = &scene.hosts[1];
        let (address, handle) = (host.memory.address(0), host.region.handle);
        let cases = [
            (Descriptor::of(host, 0, 299), status::LENGTH_ERROR),
            (Descriptor::new(), status::LENGTH_ERROR),
            (Descriptor { reserved: 1, ..Descriptor::of(host, 0, 300) }, status::FORMAT_ERROR),
            (Descriptor::new().segment(address, handle ^ 1 << 20, 300), status::PROTECTION_ERROR),
            (Descriptor::of(host, 0, 300), 0),
            (
                Descriptor::of(host, 0, 100).segment(address + 100, handle, 0).segment(
                    address + 100,
                    handle,
                    900,
                ),
                0,
            ),
        ];
        for (descriptor, error) in cases {
            let before = scene.world.counter(1, counter::RAW_RECEIVED);
            let place = vi.receive(&mut scene.hosts[1], &descriptor);
            scene.world.arrived(1);
            scene.world.inject(1, &frame);
            let got = scene.world.complete(&scene.hosts[1], place);
            scene.world.settle();
            let length = if error == 0 { 300 } else { 0 };
            assert_eq!((got.status, got.length), (RECEIVED | error, length), "{descriptor:?}");
            let received = scene.world.counter(1, counter::RAW_RECEIVED) - before;
            assert_eq!(received, u64::from(error == 0));
            if error == 0 {
                assert_eq!(scene.hosts[1].memory.read(0, 300), frame);
            }
        }
        assert_eq!(scene.world.counter(1, counter::RAW_DROPPED), 0);
        // Broken: what is posted is flushed, and frames are dropped and counted.
        let receive = Descriptor::of(&scene.hosts[1], 0, 300);
        let place = vi.receive(&mut scene.hosts[1], &receive);
        scene.world.settle();
        vi.vi.break_off().expect("the NIC answers");
        scene.world.inject(1, &frame);
        let got = scene.world.complete(&scene.hosts[1], place);
        assert_eq!(got.status, RECEIVED | status::DESC_FLUSHED_ERROR);
        scene.world.settle();
        assert_eq!(scene.world.counter(1, counter::RAW_DROPPED), 1);
        // Nor does the channel of a VI that is not raw, or not there, take any.
        for index in [u64::from(scene.bystanders[1].index()), 1023] {
            let mut word = [0];
            raw_channel::VI.put(&mut word, index);
            raw_channel::ENABLE.put(&mut word, 1);
            raw_channel::BROADCAST.put(&mut word, 1);
            let device = scene.world.device(1);
            device.write32(Bar::Registers, registers::RAW_CHANNEL, word[0] as u32).expect("a register");
            scene.world.arrived(1);
            scene.world.inject(1, &frame);
            scene.world.settle();
        }
        assert_eq!(scene.world.counter(1, counter::RAW_DROPPED), 3);
        assert_eq!(scene.events(1), []);
        scene.others_go_on();
    });
}

/// Frames that turn round inside the NIC are not padded.
#[test]
fn raw_frames_turn_round_if_the_row_says_so() {
    on_each(12, |mut scene| {
        let mut vi = raw_vi(&scene.world, &scene.hosts[0], &[raw_channel::PROMISCUOUS], true);
        let mut random = ChaCha8Rng::seed_from_u64(12);
        for length in (14..34).chain([59, 60, 1000, 4096, 4097, 4200]) {
            let host = &mut scene.hosts[0];
            let frame = noise(&mut random, Mac([4, 0, 0, 0, 0, 9]), length);
            host.memory.write(0, &frame);
            let receive = vi.receive(host, &Descriptor::of(host, 8001, 4228));
            let send = vi.send(host, &Descriptor::of(host, 0, length));
            let received = scene.world.complete(&scene.hosts[0], receive);
            assert_eq!((received.status, received.length), (RECEIVED, length as u32));
            let sent = scene.world.complete(&scene.hosts[0], send);
            assert_eq!((sent.status, sent.length), (SENT, length as u32));
            assert_eq!(scene.hosts[0].memory.read(8001, length), frame);
        }
        scene.others_go_on();
    });
}

/// What the host sends by TCP/IP leaves room for what is said about connections.
#[test]
fn frames_that_leave_room_leave_room() {
    const ROOM: usize = 4;
    on_each(9, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let channels = open(&scene);
        let to = scene.hosts[1].agent.mac();
        // Before any slot was used, and when all were.
        for round in 0..3 {
            let mut sent = 0;
            // Some may leave meanwhile.
            let full = loop {
                match channels[0].send_leaving(&noise(&mut random, to, 4000), ROOM) {
                    Ok(()) => sent += 1,
                    Err(error) => break error,
                }
            };
            assert!(
                matches!(full, AgentError::RawFull) && sent >= SENDS - ROOM,
                "round {round}: {sent}, {full}"
            );
            for _ in 0..ROOM {
                channels[0].send(&noise(&mut random, to, 100)).expect("there is room");
                sent += 1;
            }
            for _ in 0..sent {
                next(&scene.world, &channels[1]);
            }
            scene.world.settle();
        }
        scene.others_go_on();
    });
}
