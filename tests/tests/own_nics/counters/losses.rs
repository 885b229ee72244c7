//! Steps: packets that are lost or come twice, and a receiver that is not ready.

use viaduct_sim::fabric::Faults;
use viaduct_spec::register::counter;
use viaduct_tests::raw::{pair, Completion, Descriptor};
use viaduct_tests::scene::Scene;

use super::connection::{message, reliable, retire, send};
use super::UNRELIABLE;

pub fn lost_packet(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    scene.world.lose([1]);
    message(scene, &mut vis, 1500);
    retire(scene, vis);
}

pub fn lost_acknowledgement(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    scene.world.lose([2]);
    message(scene, &mut vis, 900);
    retire(scene, vis);
}

pub fn not_ready(scene: &mut Scene) {
    let mut vis = reliable(scene, true);
    let a = &mut scene.hosts[0];
    let place = vis[0].send(a, &Descriptor::of(a, 0x100, 700));
    let asked = || scene.world.counter(0, counter::RNR_RECEIVED);
    let before = asked();
    scene.world.until("it is told to wait", 20_000, || asked() > before);
    let [a, b] = &mut scene.hosts;
    vis[1].receive(b, &Descriptor::of(b, 0x1000, 700));
    scene.world.until("its time", 2_000_000, || Completion::read(&a.memory, place).is_complete());
    scene.world.settle();
    retire(scene, vis);
}

pub fn partial(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let b = &mut scene.hosts[1];
    vis[1].receive(b, &Descriptor::of(b, 0x1000, 3000));
    scene.world.settle();
    scene.world.lose([1]);
    send(scene, &mut vis, 3000);
    scene.world.lose([2]);
    send(scene, &mut vis, 3000);
    scene.world.lose([]);
    retire(scene, vis);
}

pub fn twice(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let number = scene.world.net.network().fabric().counters().roce_frames + 1;
    let faults = Faults { duplicate: [number].into(), ..Faults::default() };
    scene.world.net.network().fabric_mut().set_faults(faults);
    message(scene, &mut vis, 100);
    retire(scene, vis);
}
