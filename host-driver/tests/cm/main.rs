//! The connection manager: its messages held against Linux's, and two of them over a network that is as bad as can be.

mod captures;
mod cases;
mod network;
mod random;
