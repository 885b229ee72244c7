//! When a consumer is woken.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::agent::vis::Direction;
use viaduct_driver::device::PciDevice;
use viaduct_spec::tables::table;
use viaduct_tests::raw::{Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, Host, World};

use super::consumer::Consumer;
use super::{pair, UNRELIABLE};

/// The only vector of host 1's NIC that the agent uses where nobody may sleep.
struct Interrupts(File);

impl Interrupts {
    fn of(host: &Host) -> Self {
        let file = File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd"));
        host.device.set_interrupts(&[file.as_fd()]).expect("vectors");
        Self(file)
    }

    /// Interrupts since.
    fn count(&self) -> u64 {
        let mut value = [0; 8];
        (&self.0).read(&mut value).map_or(0, |_| u64::from_ne_bytes(value))
    }
}

/// A message to host 1, whose receive is posted; the receive's place.
fn begin(scene: &mut Scene, vis: &mut [RawVi; 2], consumer: &mut Consumer) {
    let [a, b] = &mut scene.hosts;
    consumer.post(b, &mut vis[1], Direction::Receive, &Descriptor::of(b, 0x2000, 64));
    scene.world.arrived(1);
    vis[0].send(a, &Descriptor::of(a, 0, 64));
}

/// Rule CQ-6.
#[test]
fn an_arm_and_an_entry_in_any_order_are_one_interrupt() {
    let mut scene = Scene::on(World::new(&quick(7)));
    let interrupts = Interrupts::of(&scene.hosts[1]);
    let mut consumer = Consumer::new(&scene.hosts[1], 8);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None, consumer.index()]);
    // How long it takes; nobody is armed.
    begin(&mut scene, &mut vis, &mut consumer);
    let start = scene.world.now();
    scene.world.until("the entry comes", 100_000, || consumer.take(&scene.hosts[1]).is_some());
    let usual = scene.world.now() - start;
    scene.world.settle();
    assert_eq!(interrupts.count(), 0);

    let gaps = (0..usual.saturating_sub(100)).step_by(50).chain(usual.saturating_sub(100)..usual + 60);
    for gap in gaps {
        begin(&mut scene, &mut vis, &mut consumer);
        scene.world.net.network().step(gap.max(1));
        consumer.cq.arm().expect("the NIC is there");
        scene.world.settle();
        assert_eq!(interrupts.count(), 1, "{gap} cycles after the send, {usual} is usual");
        assert!(consumer.take(&scene.hosts[1]).is_some());
        if gap % 16 == 0 {
            // One shot.
            begin(&mut scene, &mut vis, &mut consumer);
            scene.world.settle();
            assert_eq!(interrupts.count(), 0);
            assert!(consumer.take(&scene.hosts[1]).is_some());
        }
    }
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}

#[test]
fn a_vector_that_is_held_off_wakes_its_consumer_once_for_many_entries() {
    /// Ticks, and cycles of one.
    const HOLDOFF: u64 = 300;
    const TICK: u64 = 128;
    let mut scene = Scene::on(World::new(&quick(8)));
    let interrupts = Interrupts::of(&scene.hosts[1]);
    scene.world.commit(1, table::MODERATION, 0, &[HOLDOFF]);
    let mut consumer = Consumer::new(&scene.hosts[1], 16);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None, consumer.index()]);
    let wait = |scene: &Scene| {
        scene.world.until("an interrupt", 2 * HOLDOFF * TICK, || interrupts.count() == 1);
        scene.world.now()
    };
    // The first one comes at once.
    consumer.cq.arm().expect("the NIC is there");
    begin(&mut scene, &mut vis, &mut consumer);
    let start = scene.world.now();
    let first = wait(&scene);
    assert!(first - start < HOLDOFF * TICK / 4, "{} cycles", first - start);
    assert!(consumer.take(&scene.hosts[1]).is_some());
    for _ in 0..5 {
        consumer.cq.arm().expect("the NIC is there");
        begin(&mut scene, &mut vis, &mut consumer);
        scene.world.settle();
        assert!(consumer.take(&scene.hosts[1]).is_some(), "entries are not held off");
    }
    let second = wait(&scene);
    let ticks = (second - first) as f64 / TICK as f64;
    println!("{ticks} ticks between two interrupts");
    assert!((ticks - HOLDOFF as f64).abs() < 3.0, "{ticks} ticks");
    // Without holdoff each is one again.
    scene.world.commit(1, table::MODERATION, 0, &[0]);
    scene.world.run(2 * HOLDOFF * TICK);
    for _ in 0..3 {
        consumer.cq.arm().expect("the NIC is there");
        begin(&mut scene, &mut vis, &mut consumer);
        scene.world.settle();
        assert!(consumer.take(&scene.hosts[1]).is_some());
        wait(&scene);
    }
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}
