//! The connection manager: its messages held against Linux's, and two of them over a network that is as bad as can be.

mod captures;
mod cases;
mod judged;
mod network;
mod random;
// The judge of the co-simulation suite, which needs a C++ compiler; this does not.
#[allow(dead_code, reason = "not every frame's fields are asked for here")]
#[path = "../../../tests/src/tshark.rs"]
mod tshark;
