//! An upstream port at the same seam: the functional model of an endpoint's link.

use crate::ltssm::Role;
use crate::seam::{FromEndpoint, ToEndpoint};
use crate::side::{Options, Side};

/// The upstream port. It has no wires of its own; damage is the downstream port's.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The port.
    pub side: Side,
}

impl Endpoint {
    /// After power-up.
    pub fn new(options: Options) -> Self {
        Self { side: Side::new(Options { role: Role::Upstream, ..options }) }
    }

    /// A cycle of 8 ns: what it receives, and what it sends. While the physical part has not locked it
    /// stays as it is.
    pub fn cycle(&mut self, to: ToEndpoint) -> FromEndpoint {
        if !to.phy_ready {
            return FromEndpoint::default();
        }
        let detected = (self.side.detects() && to.detect_done).then_some(to.detect_present);
        let sent = self.side.step(to.heard(), detected);
        let from = FromEndpoint {
            detect_request: self.side.detects(),
            rx_invert: self.side.inverts(),
            ..FromEndpoint::default()
        };
        from.carry(sent)
    }
}
