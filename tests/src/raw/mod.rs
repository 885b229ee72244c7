//! Virtual interfaces and descriptors made by hand, so that they can be wrong.

mod completion;
mod descriptor;
mod exchange;
mod region;
mod vi;

use viaduct_driver::address::Service;
use viaduct_spec::refusal;

pub use completion::Completion;
pub use descriptor::{Descriptor, Segment};
pub use region::Region;
pub use vi::{pair, RawVi};

/// The levels that there are.
pub const LEVELS: [Service; 3] =
    [Service::UnreliableDelivery, Service::ReliableDelivery, Service::ReliableReception];

/// Error bit of a reliable send's status whose peer answered with this refusal (spec: `refusal`).
pub fn refused(level: Service, syndrome: u8) -> u32 {
    refusal::error(syndrome, false, level == Service::ReliableReception)
}
