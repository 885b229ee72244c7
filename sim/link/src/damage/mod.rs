//! Every kind of damage: on a lane's symbols, and in how a port behaves within the specification.
//!
//! * [`Damage`] and [`Wire`]: what happens to symbols between the two sides.
//! * [`Mischief`] and [`Trouble`]: lost Acks, Nak storms, early replays, withheld credits.
//!
//! What happens follows from the seed alone. Hot reset, Recovery and a late start are no damage of
//! their own: ask the port for them when it suits least.

mod mischief;
mod symbols;
mod wire;

pub use mischief::{Mischief, Trouble};
pub use symbols::Damage;
pub use wire::Wire;
