//! Steps: what a host does wrong, or asks for.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::agent::cqs::ERROR_RING;
use viaduct_driver::agent::vis::Direction;
use viaduct_driver::consumer::Cq;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_spec::tables::table;
use viaduct_tests::raw::{pair, Descriptor, RawVi};
use viaduct_tests::scene::Scene;

use super::connection::{message, retire, send};
use super::UNRELIABLE;

pub fn refused(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let a = &mut scene.hosts[0];
    let wrong = a.region.handle ^ 1 << 16;
    vis[0].send(a, &Descriptor::new().segment(a.memory.address(0), wrong, 100));
    scene.world.settle();
    retire(scene, vis);
}

pub fn half_a_doorbell(scene: &mut Scene) {
    let vi = RawVi::new(&scene.hosts[0], UNRELIABLE, 1024);
    let page = u64::from(vi.index()) << scene.hosts[0].agent.limits().doorbell_shift;
    scene.hosts[0].device.write32(Bar::Doorbells, page, 1).expect("the NIC is there");
    scene.world.settle();
    vi.vi.destroy().expect("the NIC answers");
}

pub fn cq_overrun(scene: &mut Scene) {
    let cq = Cq::create(scene.hosts[0].agent.clone(), 4).expect("a queue");
    let mut vis = [
        RawVi::with_cqs(&scene.hosts[0], UNRELIABLE, 1024, [Some(cq.index()), None]),
        RawVi::new(&scene.hosts[1], UNRELIABLE, 1024),
    ];
    let [a, b] = &mut vis;
    a.connect(b);
    // No message arrives anywhere: its completion is what counts.
    vis[1].vi.break_off().expect("the NIC answers");
    for _ in 0..12 {
        send(scene, &mut vis, 10);
    }
    retire(scene, vis);
    let _ = [scene.events(0), scene.events(1)];
}

pub fn interrupt(scene: &mut Scene) {
    let file = File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd"));
    scene.hosts[1].device.set_interrupts(&[file.as_fd()]).expect("vectors");
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    vis[1].vi.queues().arm(Direction::Receive, 0).expect("the NIC is there");
    scene.world.settle();
    message(scene, &mut vis, 100);
    retire(scene, vis);
}

pub fn no_error_ring(scene: &mut Scene) {
    scene.world.commit(1, table::COMPLETION_QUEUE, ERROR_RING.into(), &[0, 0]);
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    send(scene, &mut vis, 10);
    retire(scene, vis);
}
