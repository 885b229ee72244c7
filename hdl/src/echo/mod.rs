//! `mac-echo`: a small complete design that answers ARP and ping in hardware, to bring up a board's Ethernet.
//!
//! ```text
//!          ┌─────┐ rx  ┌──────────┐ verdict, fields ┌──────────┐ tx
//!  pads ◄─►│ Mac │────►│ Question │────────────────►│ Answerer │────► Mac
//!          └─────┘  │  └──────────┘                 └──────────┘
//!                   └────────────────────────────────────▲        Finder ◄─► Mdio ◄─► bus
//! ```
//! [`Echo`] is all of it. [`Question`] tells which frames are ARP requests or pings for us, by [`ArpRequest`], [`PingRequest`] and
//! [`PingSums`]; [`Answerer`] keeps the frames and sends them back; [`Finder`] looks for the PHY.

mod answerer;
mod arp_request;
mod beats;
mod finder;
mod ping_request;
mod ping_sums;
mod question;
mod station;

pub use answerer::Answerer;
pub use arp_request::ArpRequest;
pub use beats::{SplitIp, Words};
pub use finder::Finder;
pub use ping_request::PingRequest;
pub use ping_sums::PingSums;
pub use question::{AnswerFields, Question};
pub use station::{Echo, Lights};
