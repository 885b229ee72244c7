//! The quantities that many blocks work with, and what is asked of them: each question has one block that answers it.
//!
//! | block | quantity | what it answers |
//! |---|---|---|
//! | [`Distance`] | serial numbers: PSNs, positions, marks, times | is one ahead of another, behind it, the same? |
//! | [`InFlight`] | serial numbers | does one lie among those that are in flight? |
//! | [`PathMtu`] | the code of a path MTU in a table row | how many bytes is that? |
//! | [`Portion`] | bytes to move, and room for some of them | how many go into the room, and is one of the two used up? |
//! | [`SegmentPiece`] | what is left of a segment, and of a packet | how many bytes does the next access move, and what ends with it? |
//! | [`RingSlot`] | a position and the size of its ring | which slot is it, and is the lap odd? |
//! | [`RingLevel`] | entries that wait and the size of their ring | is the ring full, or more than full? |
//!
//! All but [`InFlight`] are combinational: the block that uses one decides where its registers stand. Each is proved for all inputs
//! (`cargo xtask prove`), so a block that uses one needs no cases of its own for wrap-around, or for the largest and the least number.

mod distance;
mod in_flight;
mod path_mtu;
mod portion;
mod ring_level;
mod ring_slot;
mod segment_piece;

pub use distance::Distance;
pub use in_flight::InFlight;
pub use path_mtu::PathMtu;
pub use portion::Portion;
pub use ring_level::RingLevel;
pub use ring_slot::RingSlot;
pub use segment_piece::SegmentPiece;
