//! The raw VI by descriptors made by hand.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::{Mac, Service};
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_spec::descriptor::status;
use viaduct_spec::layout::Field;
use viaduct_spec::register::{counter, raw_channel, registers};
use viaduct_spec::tables::{gather, receive, service, table, transmit, vi_states};
use viaduct_tests::raw::{Completion, Descriptor, RawVi};
use viaduct_tests::world::{Host, World};

use super::{noise, on_each, BROADCAST};

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

/// Rule RAW-4.
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

/// Rule RAW-2.
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
/// Rule RAW-4.
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
