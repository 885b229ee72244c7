//! A file from one application to another over one VI. The receiver is the server, and the sender its client ([`crate::peer`]).
//!
//! Flow control is the applications', as VIA wants it: the receiver keeps a window of receives
//! posted, and tells the sender how many it has taken off and posted again by small messages on the
//! same VI (no data; the count is the immediate data). The sender never has more messages under way
//! than there are receives.

mod receive;
mod send;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};
use vipl::connections::HostAddress;

use crate::{
    note::{self, Note, Report},
    peer::{End, Options},
};

/// Ticks of the device's clock are so many microseconds.
const TICK_US: f64 = 1.024;
/// Largest message: the transfers' buffers are a window of them.
const MAX_MESSAGE: u32 = 16 << 20;
/// Receives that the sender has posted for credits. There are never more than two under way: each
/// stands for half a window.
const CREDIT_RECEIVES: usize = 4;

/// What both applications are told.
#[derive(Args)]
#[group(skip)]
struct Common {
    #[command(flatten)]
    options: Options,
    /// Notes in JSON, one a line
    #[arg(long)]
    json: bool,
}

/// Sends a file.
#[derive(Args)]
pub struct SendArguments {
    #[command(flatten)]
    common: Common,
    /// The file
    #[arg(long)]
    file: PathBuf,
    /// Bytes of a message
    #[arg(long, default_value_t = 64 << 10)]
    message: u32,
    /// MAC or IPv4 address of the receiver's NIC
    receiver: HostAddress,
}

/// Receives a file.
#[derive(Args)]
pub struct ReceiveArguments {
    #[command(flatten)]
    common: Common,
    /// Where the bytes go; nowhere when not given
    #[arg(long)]
    file: Option<PathBuf>,
    /// Receives posted ahead, 2 to 1000
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1000))]
    window: u32,
}

/// `viaduct send`.
pub fn send(arguments: SendArguments) -> Result<()> {
    told(arguments.common.json, send::run(&arguments))
}

/// `viaduct receive`.
pub fn receive(arguments: ReceiveArguments) -> Result<()> {
    told(arguments.common.json, receive::run(&arguments))
}

/// Tells the demo of a failure, too.
fn told(json: bool, result: Result<()>) -> Result<()> {
    if let (true, Err(error)) = (json, &result) {
        note::say(&Note::Failure(format!("{error:#}")));
    }
    result
}

/// What the sender offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Offer {
    /// Bytes of the file.
    bytes: u64,
    /// Bytes of a message; the last one may be shorter.
    message: u32,
}

impl Offer {
    /// Messages of the file.
    fn messages(&self) -> u64 {
        self.bytes.div_ceil(self.message.into())
    }
}

/// What the receiver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Window {
    /// Receives that it has posted for data, and keeps posted.
    receives: u32,
}

/// What the receiver says at the end: all bytes arrived, and this is their SHA-256.
#[derive(Debug, Serialize, Deserialize)]
struct Arrived(String);

/// What the transfer was, at its end.
fn report(end: &End, offer: &Offer, sha256: String, seconds: f64, device_us: f64) -> Result<Report> {
    Ok(Report {
        pid: std::process::id(),
        kind: note::kind(end.nic.attributes().kind).into(),
        sha256,
        bytes: offer.bytes,
        messages: offer.messages(),
        mtu: end.vi.attributes().mtu.bytes(),
        seconds,
        device_us,
        counters: note::counters(&end.nic)?,
    })
}

/// Microseconds of device time between two readings.
fn device_us(from: u32, to: u32) -> f64 {
    f64::from(to.wrapping_sub(from)) * TICK_US
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums() {
        let messages = |bytes| Offer { bytes, message: 10 }.messages();
        assert_eq!([0, 1, 10, 11].map(messages), [0, 1, 1, 2]);
        assert_eq!(device_us(u32::MAX, 1), 2.0 * TICK_US);
        assert_eq!(hex(&[0, 0xab, 7]), "00ab07");
    }
}
