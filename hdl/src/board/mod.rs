//! The tops of boards: pins, clocks and reset round the designs. See docs/boards.md and `constraints/`.

mod card;
mod echo;
mod echo_with_reference;
mod lights;
mod nic;
mod nic_with_mac;
mod nic_with_reference;
mod options;
mod pad;
mod pll;
mod start;
mod targets;
mod ticks;
pub mod trace;

pub use card::Card;
pub use echo::EchoBoard;
pub use echo_with_reference::EchoWithReference;
pub use lights::Lights;
pub use nic::NicBoard;
pub use nic_with_mac::NicWithMac;
pub use nic_with_reference::NicWithReference;
pub use options::BoardOptions;
pub use pad::Pad;
pub use pll::{Oscillator, Pll};
pub use start::Start;
pub use targets::{all, core_of, Target};
pub use ticks::Ticks;

/// How a board differs from another, as far as its logic sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wiring {
    /// The clock it has.
    pub oscillator: Oscillator,
    /// Delay of the clock to the PHY, steps of 25 ps.
    pub tx_steps: u8,
    /// Delay of data and control from the PHY, steps of 25 ps.
    pub rx_steps: u8,
}

/// Our Ethernet address on a board, first byte in bits 7:0: 02-00-56-49-41-01, administered locally.
pub const STATION: u64 = 0x0141_4956_0002;

/// Our IPv4 address in `mac-echo`, first byte in bits 7:0: 192.168.1.50.
pub const ADDRESS: u64 = 0x3201_a8c0;
