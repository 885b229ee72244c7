//! Connections of the steps, and messages over them.

use viaduct_driver::device_protocol::rows::{self, Rights};
use viaduct_spec::tables::{receive, table, transmit};
use viaduct_tests::raw::{pair, Descriptor, RawVi};
use viaduct_tests::scene::Scene;

use super::{PSN, RELIABLE};

/// A reliable connection with its first PSN; `stay`: the second VI waits for receives.
pub fn reliable(scene: &Scene, stay: bool) -> [RawVi; 2] {
    let vis = pair(&scene.hosts, RELIABLE, 1024);
    let [peer, own] = [vis[0].vi.info(), vis[1].vi.info()];
    let mut row = rows::transmit(PSN, RELIABLE, false, 4);
    transmit::TIMEOUT.put(&mut row, 1000);
    transmit::RNR_RETRIES.put(&mut row, 5);
    scene.world.commit(0, table::TRANSMIT, vis[0].index().into(), &row);
    let rights = Rights { write: true, read: true, reads: 4 };
    let row = rows::Receive::connected(&own, &peer, scene.hosts[1].tag, rights);
    let mut row = rows::Receive { psn: PSN, ..row }.words();
    receive::RNR_STAY.put(&mut row, stay.into());
    receive::RNR_TIMER.put(&mut row, 20);
    scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &row);
    vis
}

/// Breaks and destroys them.
pub fn retire(scene: &Scene, vis: [RawVi; 2]) {
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
}

/// Posts a receive and sends a message; both complete.
pub fn message(scene: &mut Scene, vis: &mut [RawVi; 2], length: usize) {
    let [a, b] = &mut scene.hosts;
    let receive = vis[1].receive(b, &Descriptor::of(b, 0x1000, length));
    scene.world.settle();
    let send = vis[0].send(a, &Descriptor::of(a, 0x100, length));
    let [sent, received] = [(&*a, send), (&*b, receive)].map(|(host, at)| scene.world.complete(host, at));
    assert_eq!([sent.length, received.length], [length as u32; 2]);
    scene.world.settle();
}

/// A message that may find no receive.
pub fn send(scene: &mut Scene, vis: &mut [RawVi; 2], length: usize) {
    let a = &mut scene.hosts[0];
    vis[0].send(a, &Descriptor::of(a, 0x100, length));
    scene.world.settle();
}
