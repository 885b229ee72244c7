//! What one virtual interface waits for holds back no other.

use viaduct_driver::address::Service;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{control, counter, registers};
use viaduct_tests::raw::{pair, Completion, Descriptor, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;

/// A receive is posted and cannot be fetched: messages for it wait. Those for another VI, whose receives are there, do not.
/// Rule FRAME-11.
#[test]
fn a_receive_that_is_not_fetched_holds_back_its_own_vi_only() {
    for level in LEVELS {
        let mut scene = Scene::new(1);
        let mut slow = pair(&scene.hosts, level, 1024);
        let mut others = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
        let [a, b] = &mut scene.hosts;
        let fetched = [0, 1, 2].map(|n| others[1].receive(b, &Descriptor::of(b, 0x4000 + n * 0x400, 200)));
        scene.world.settle();
        // Nothing is fetched any more.
        let device = b.device.clone();
        let enabled = device.read32(Bar::Registers, registers::CONTROL).expect("the NIC is there");
        let fetches = (control::SEND_ENABLE.mask() << control::SEND_ENABLE.lo) as u32;
        device.write32(Bar::Registers, registers::CONTROL, enabled & !fetches).expect("the NIC is there");
        let late = [0, 1].map(|n| slow[1].receive(b, &Descriptor::of(b, 0x8000 + n * 0x1000, 3000)));
        scene.world.arrived(1);
        for n in 0..2 {
            slow[0].send(a, &Descriptor::of(a, 0x1000 * n, 3000));
        }
        for (n, place) in fetched.into_iter().enumerate() {
            others[0].send(a, &Descriptor::of(a, 0x100 * n, 150));
            let received = scene.world.complete(b, place);
            assert_eq!((received.status, received.length), (RECEIVED, 150), "{level}");
            assert_eq!(b.memory.read(0x4000 + n * 0x400, 150), a.memory.read(0x100 * n, 150));
        }
        assert!(late.iter().all(|place| !Completion::read(&b.memory, *place).is_complete()), "{level}");
        device.write32(Bar::Registers, registers::CONTROL, enabled).expect("the NIC is there");
        for (n, place) in late.into_iter().enumerate() {
            let received = scene.world.complete(b, place);
            assert_eq!((received.status, received.length), (RECEIVED, 3000), "{level}");
            assert_eq!(b.memory.read(0x8000 + n * 0x1000, 3000), a.memory.read(0x1000 * n, 3000));
        }
        assert_eq!(scene.world.counter(1, counter::DROP_OVERFLOW), 0);
        scene.others_go_on();
    }
}

/// Reads of a NIC's that take long, and all it may have at a time: what its peer sends goes to memory meanwhile.
#[test]
fn reads_that_wait_for_the_host_hold_back_no_write() {
    const ROUND_TRIP: u64 = 6000;
    let mut setup = quick(2);
    setup.network.bus.conditions.round_trip = ROUND_TRIP;
    // Sixteen tags of 128 bytes are fewer than the bytes that a message is read ahead.
    setup.network.bus.conditions.max_read = 0;
    let mut scene = Scene::on(World::new(&setup));
    let mut busy = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    let mut others = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    let [a, b] = &mut scene.hosts;
    let places = [0, 1, 2].map(|n| others[1].receive(b, &Descriptor::of(b, 0x4000 + n * 0x400, 200)));
    scene.world.settle();
    // More reads of host B's memory than fit into all these messages' time.
    busy[1].send(b, &Descriptor::of(b, 0x8000, 60_000));
    scene.world.run(3 * ROUND_TRIP);
    for (n, place) in places.into_iter().enumerate() {
        let send = others[0].send(a, &Descriptor::of(a, 0x100 * n, 150));
        scene
            .world
            .until("the frame has left", 4 * ROUND_TRIP, || Completion::read(&a.memory, send).is_complete());
        scene
            .world
            .until("it is in memory", ROUND_TRIP / 4, || Completion::read(&b.memory, place).is_complete());
        assert_eq!(Completion::read(&b.memory, place).status, RECEIVED);
    }
}
