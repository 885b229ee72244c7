//! A file from one application to another over one VI.
//!
//! Flow control is the applications', as VIA wants it: the receiver keeps a window of receives
//! posted, and tells the sender how many it has taken off and posted again by small messages on the
//! same VI (no data; the count is the immediate data). The sender never has more messages under way
//! than there are receives.

mod channel;
mod receive;
mod send;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{anyhow, bail, Result};
use clap::{Args, ValueEnum};
use vipl::{Descriptor, Error, Mtu, Nic, Ptag, ReliabilityLevel, Vi, ViAttributes};

use crate::{
    note::{self, Note, Report},
    stop::Stop,
};
use channel::{Channel, Offer, Outcome};

/// Ticks of the device's clock are so many microseconds.
const TICK_US: f64 = 1.024;
/// Largest message: the transfers' buffers are a window of them.
const MAX_MESSAGE: u32 = 16 << 20;
/// Receives that the sender has posted for credits. There are never more than two under way: each
/// stands for half a window.
const CREDIT_RECEIVES: usize = 4;
/// How often an idle application looks at the other one.
const LOOK: Duration = Duration::from_millis(100);
/// How long an application that failed waits for the reason of the other one.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// VIA's reliability levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reliability {
    /// Unreliable Delivery: messages may be lost
    Unreliable,
    /// Reliable Delivery: messages arrive, or the connection breaks
    Delivery,
    /// Reliable Reception: the same, and a send is complete when its data is in the peer's memory
    Reception,
}

impl From<Reliability> for ReliabilityLevel {
    fn from(level: Reliability) -> Self {
        match level {
            Reliability::Unreliable => Self::UnreliableDelivery,
            Reliability::Delivery => Self::ReliableDelivery,
            Reliability::Reception => Self::ReliableReception,
        }
    }
}

/// What both applications are told.
#[derive(Args)]
pub struct Common {
    /// The NIC: vfio:PCI-ADDRESS or vfio-user:PATH, then [,mac=..][,ip=..][,seed=..]
    #[arg(long)]
    nic: String,
    /// Unix socket on which the two applications meet
    #[arg(long)]
    channel: PathBuf,
    /// Reliability level; the same at both ends
    #[arg(long, value_enum, default_value = "delivery")]
    reliability: Reliability,
    /// Largest packet in bytes: 256, 512, 1024, 2048 or 4096
    #[arg(long, default_value = "1024")]
    mtu: Mtu,
    /// Seconds without any progress after which to give up
    #[arg(long, default_value_t = 10)]
    timeout: u64,
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
}

/// Receives a file.
#[derive(Args)]
pub struct ReceiveArguments {
    #[command(flatten)]
    common: Common,
    /// Where the bytes go; nowhere when not given
    #[arg(long)]
    file: Option<PathBuf>,
    /// Receives posted ahead, 2 to 1024
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1024))]
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

/// An application's end of the transfer.
struct End {
    nic: Nic,
    ptag: Ptag,
    vi: Vi,
    channel: Channel,
    stop: Stop,
    timeout: Duration,
    mtu: Mtu,
    json: bool,
    /// When something last happened, and when the other end was last looked at.
    last: Instant,
    looked: Instant,
}

impl End {
    /// A VI for messages of up to `message` bytes, `depth` of them at once.
    fn new(
        common: &Common,
        channel: Channel,
        stop: &Stop,
        nic: Nic,
        message: u32,
        depth: usize,
    ) -> Result<Self> {
        let ptag = nic.create_ptag()?;
        let vi = nic.create_vi(&ViAttributes {
            reliability_level: common.reliability.into(),
            max_transfer_size: message,
            mtu: common.mtu,
            depth,
            ..ViAttributes::new(&ptag)
        })?;
        let (last, looked) = (Instant::now(), Instant::now());
        let timeout = Duration::from_secs(common.timeout);
        let (stop, mtu, json) = (stop.clone(), common.mtu, common.json);
        Ok(Self { nic, ptag, vi, channel, stop, timeout, mtu, json, last, looked })
    }

    /// Something happened.
    fn progress(&mut self) {
        self.last = Instant::now();
    }

    /// Nothing happened: is there still hope? What the other end says before the end is no good news.
    fn idle(&mut self, other: &str) -> Result<()> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        self.stop.check()?;
        if self.channel.has_spoken(Duration::ZERO) {
            match self.channel.hear()? {
                Outcome::Failed(reason) => bail!("the {other} gave up: {reason}"),
                Outcome::Arrived(_) => bail!("the {other} says that all bytes are there before they can be"),
            }
        }
        if self.last.elapsed() > self.timeout {
            bail!("no progress for {} s", self.timeout.as_secs());
        }
        Ok(())
    }

    /// What the transfer was, at its end.
    fn report(&self, offer: &Offer, sha256: String, seconds: f64, device_us: f64) -> Result<Report> {
        Ok(Report {
            pid: std::process::id(),
            kind: note::kind(self.nic.attributes().kind).into(),
            sha256,
            bytes: offer.bytes,
            messages: offer.messages(),
            mtu: self.mtu.bytes(),
            seconds,
            device_us,
            counters: note::counters(&self.nic)?,
        })
    }

    /// Completes the reason why this end gives up by what its NIC has to say, tells the other end, and
    /// hears what that one knows.
    fn explain(&mut self, error: anyhow::Error, own: &str, other: &str) -> anyhow::Error {
        let mut text = format!("{error:#}");
        match self.nic.check() {
            Ok(()) => {
                let reasons = note::reasons(&self.nic);
                if !reasons.is_empty() {
                    text += &format!("; the {own}'s NIC: {reasons}");
                }
            }
            // Whatever failed, it failed because of this.
            Err(gone) if !error.downcast_ref::<Error>().is_some_and(Error::is_gone) => {
                text += &format!("; {gone}");
            }
            Err(_) => {}
        }
        // A peer that is gone need not be told, and says nothing.
        let _ = self.channel.say(&Outcome::Failed(text.clone()));
        if self.json {
            // The demo hears the other end by itself.
            return anyhow!(text);
        }
        if let Ok(Outcome::Failed(reason)) = self.channel.hear_for(LAST_WORDS) {
            // It may give up because this end did: what was told it need not be told here.
            let own = format!("the {own} gave up: {text}");
            let news = reason.strip_prefix(&own).map_or(&*reason, |rest| rest.trim_start_matches("; "));
            if !news.is_empty() {
                text += &format!("; the {other}: {news}");
            }
        }
        anyhow!(text)
    }
}

/// A completed descriptor, None while there is none, or why there never will be one. An empty queue
/// has none.
fn done(result: Result<Descriptor, Error>, what: &str) -> Result<Option<Descriptor>> {
    match result {
        Ok(descriptor) => Ok(Some(descriptor)),
        Err(Error::NotDone | Error::Empty) => Ok(None),
        Err(error @ Error::Descriptor(_)) => Err(anyhow!(error).context(format!("{what} failed"))),
        Err(error) => Err(error.into()),
    }
}

/// Where data starts in a buffer, and what a message without data takes: the descriptor is first.
const HEADER: usize = 64;

/// Bytes of a buffer for a message and its descriptor.
fn room(message: u32) -> usize {
    (HEADER + message as usize).next_multiple_of(HEADER)
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
        assert_eq!([0, 1, 64, 65].map(room), [64, 128, 128, 192]);
        assert_eq!(device_us(u32::MAX, 1), 2.0 * TICK_US);
        assert_eq!(hex(&[0, 0xab, 7]), "00ab07");
    }
}
