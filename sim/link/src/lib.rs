//! A PCI Express 1.1 link partner for a Gen1 x1 endpoint, written from the specification.
//!
//! ```text
//!            Port                                                   the endpoint, or Endpoint
//!   TLPs --> link --> transmitter --> wire, damage --> ToEndpoint ----+--> rx
//!             ^  \        ^                                           |
//!             |   LTSSM --+                                        monitor
//!             |  /        ^                                           |
//!   TLPs <-- link <-- receiver <----- wire, damage <-- FromEndpoint --+--- tx
//! ```
//!
//! All of it advances by cycles of 8 ns, two symbols each way, and by nothing else: the same seeds give
//! the same symbols. Sections are those of the PCI Express Base Specification, revision 1.1.
//!
//! * [`symbol`], [`scrambler`], [`ordered_set`], [`recogniser`], [`seam`]: what is on the lane, and what
//!   crosses the seam.
//! * [`ltssm`]: training. [`electrical`]: the filter for electrical idle.
//! * [`link`]: the data link layer. [`tlp`]: TLPs as double words.
//! * [`receiver`], [`transmitter`], [`side`]: one side of a link.
//! * [`port`], [`endpoint`]: the two sides at the seam.
//! * [`damage`]: what goes wrong between them. [`monitor`]: a checker at the seam.
//!
//! A [`port::Port`] is the downstream port of a root complex. An [`endpoint::Endpoint`] is the same
//! machine in the upstream role, for tests of the port and as a functional model.
//!
//! ```
//! use viaduct_link::endpoint::Endpoint;
//! use viaduct_link::ltssm::Role;
//! use viaduct_link::port::{Port, PortOptions};
//! use viaduct_link::seam::FromEndpoint;
//! use viaduct_link::side::Options;
//!
//! let mut port = Port::new(PortOptions::new(1));
//! let mut endpoint = Endpoint::new(Options::new(Role::Upstream, 2));
//! let mut from = FromEndpoint::default();
//! while !(port.is_active() && endpoint.side.is_active()) {
//!     let to = port.cycle(from);
//!     from = endpoint.cycle(to);
//! }
//! // A memory write of one double word.
//! port.send(vec![0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678])?;
//! let tlp = loop {
//!     let to = port.cycle(from);
//!     from = endpoint.cycle(to);
//!     if let Some(tlp) = endpoint.side.receive() {
//!         break tlp;
//!     }
//! };
//! assert_eq!(tlp[3], 0x1234_5678);
//! # Ok::<(), viaduct_link::link::Refused>(())
//! ```
#![forbid(unsafe_code)]

pub mod damage;
pub mod electrical;
pub mod endpoint;
pub mod generation;
pub mod link;
pub mod ltssm;
pub mod monitor;
pub mod ordered_set;
pub mod port;
pub mod receiver;
pub mod recogniser;
pub mod scrambler;
pub mod seam;
pub mod side;
pub mod symbol;
pub mod tlp;
pub mod transmitter;
