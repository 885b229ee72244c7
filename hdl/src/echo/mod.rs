//! `mac-echo`: a small complete design that answers ARP and ping in hardware, to bring up a board's Ethernet.

mod answer;
mod finder;
mod question;
mod station;

pub use answer::Answer;
pub use finder::Finder;
pub use question::{Asked, Question};
pub use station::Echo;
