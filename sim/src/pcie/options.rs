//! How a link is simulated.

use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::link::credit::Advertised;
use viaduct_link::port::PortOptions;

use crate::root_complex::Limits;

/// Detect.Quiet of the root port in cycles: 12 ms that nobody learns anything from. All other times are the specification's.
const DETECT_QUIET: u64 = 1000;
/// Cycles for which the transceiver is not ready after power-up, and holds the endpoint in reset.
const LOCKS: u64 = 64;
/// Most credits that a port may offer: of headers, and of units of 16 bytes of data.
const MOST: (u16, u16) = (127, 2047);

/// How the link between a root complex and a NIC is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Damage on the way to the endpoint, from the link's training on.
    pub to_endpoint: Damage,
    /// Damage on the way from the endpoint.
    pub from_endpoint: Damage,
    /// What the root port does that is legal and unkind.
    pub mischief: Mischief,
    /// How much faster the root port's clock is, in parts per million: from -600 to 600, which the transceiver takes up by SKP symbols.
    pub ppm: i32,
    /// Cycles of the link's clock to cycles of the NIC's: 1 to 1, or 5 to 4 where the core runs at 100 MHz.
    pub ratio: (u32, u32),
}

impl Default for Options {
    /// A healthy link, and a core as fast as it.
    fn default() -> Self {
        Self {
            to_endpoint: Damage::default(),
            from_endpoint: Damage::default(),
            mischief: Mischief::default(),
            ppm: 0,
            ratio: (1, 1),
        }
    }
}

impl Options {
    /// The endpoint sees what the root port has sent, when it has sent it.
    pub(super) fn shows_the_root_port(&self) -> bool {
        self.to_endpoint == Damage::default() && self.mischief == Mischief::default() && self.ppm == 0
    }

    /// The root port of a root complex that grants these credits.
    pub(super) fn port(&self, seed: u64, credits: &Limits) -> PortOptions {
        let mut port = PortOptions::new(seed);
        port.side.times.detect_quiet = DETECT_QUIET;
        port.locks = LOCKS;
        port.side.mischief = self.mischief;
        port.ppm = self.ppm;
        port.to_endpoint = self.to_endpoint;
        port.from_endpoint = self.from_endpoint;
        let header = |limit: Option<u8>| limit.map(|limit| u16::from(limit).min(MOST.0));
        let data = |limit: Option<u16>| limit.map(|limit| limit.min(MOST.1));
        port.side.link.advertised = [
            Advertised { header: header(credits.posted), data: data(credits.posted_data) },
            // Reads have no data.
            Advertised { header: header(credits.nonposted), data: None },
            Advertised { header: header(credits.completion), data: data(credits.completion_data) },
        ];
        port
    }
}
