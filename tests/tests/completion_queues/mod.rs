//! Completion queues and the error ring of whole NICs: what their consumers find there, and when they are woken.

mod consumer;
mod interrupts;
mod order;
mod room;

use viaduct_driver::address::Service;
use viaduct_tests::raw::RawVi;
use viaduct_tests::world::Host;

const UNRELIABLE: Service = Service::UnreliableDelivery;

/// Two VIs, the one on host 0 without completion queues.
fn pair(hosts: &[Host; 2], service: Service, cqs: [Option<u16>; 2]) -> [RawVi; 2] {
    let mut vis = [
        RawVi::with_cqs(&hosts[0], service, 1024, [None; 2]),
        RawVi::with_cqs(&hosts[1], service, 1024, cqs),
    ];
    let [a, b] = &mut vis;
    a.connect(b);
    vis
}
