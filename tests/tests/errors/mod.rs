//! What goes wrong in VIA's own terms: statuses, events and states, at all levels; and that nobody
//! else notices.

mod frames;
mod malformed;
mod receives;

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_tests::raw::RawVi;
use viaduct_tests::scene::Scene;

const SENT: u32 = status::DONE | status::OP_SEND;
const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;
const RELIABLE: Service = Service::ReliableDelivery;
const UNRELIABLE: Service = Service::UnreliableDelivery;

fn states(vis: &[RawVi; 2]) -> [ViState; 2] {
    [vis[0].state(), vis[1].state()]
}

fn retire(scene: &Scene, vis: [RawVi; 2]) {
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
}
