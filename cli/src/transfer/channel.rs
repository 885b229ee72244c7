//! The channel beside the NIC: a Unix socket on which the two applications agree on the transfer,
//! exchange what connects their VIs, and tell each other how it ended. No data goes through it.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use serde::{de::DeserializeOwned, Deserialize, Serialize};

use crate::stop::Stop;

/// The longest line that is heard.
const MAX_LINE: usize = 4096;
/// How often something that is waited for is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What the sender offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of a message; the last one may be shorter.
    pub message: u32,
}

impl Offer {
    /// Messages of the file.
    pub fn messages(&self) -> u64 {
        self.bytes.div_ceil(self.message.into())
    }
}

/// What the receiver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Receives that it has posted, and keeps posted.
    pub receives: u32,
}

/// How it ended for the one who says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All bytes arrived; their SHA-256.
    Arrived(String),
    /// They did not.
    Failed(String),
}

/// One end of the channel.
pub struct Channel {
    stream: UnixStream,
    stop: Stop,
    patience: Duration,
}

impl Channel {
    /// Waits at `path` for the sender. The socket is gone again when this returns.
    pub fn accept(path: &Path, patience: Duration, stop: &Stop) -> Result<Self> {
        let context = || format!("the channel {}", path.display());
        if path.exists()
            && UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
        {
            // Left behind by a process that was killed.
            fs::remove_file(path).with_context(context)?;
        }
        let listener = UnixListener::bind(path).with_context(context)?;
        let accepted = (|| {
            listener.set_nonblocking(true)?;
            loop {
                stop.check()?;
                match listener.accept() {
                    Ok((stream, _)) => {
                        stream.set_nonblocking(false)?;
                        return Self::new(stream, patience, stop);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK),
                    Err(error) => return Err(error.into()),
                }
            }
        })();
        let _ = fs::remove_file(path);
        accepted.with_context(context)
    }

    /// Goes to the receiver at `path`, waiting for it to be there.
    pub fn connect(path: &Path, patience: Duration, stop: &Stop) -> Result<Self> {
        let start = Instant::now();
        loop {
            stop.check()?;
            match UnixStream::connect(path) {
                Ok(stream) => return Self::new(stream, patience, stop),
                Err(_) if start.elapsed() < patience => std::thread::sleep(LOOK),
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("no receiver at the channel {}", path.display()))
                }
            }
        }
    }

    fn new(stream: UnixStream, patience: Duration, stop: &Stop) -> Result<Self> {
        stream.set_write_timeout(Some(patience))?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self { stream, stop: stop.clone(), patience })
    }

    /// Says one thing.
    pub fn say(&mut self, what: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(what)?;
        self.stream.write_all(format!("{line}\n").as_bytes()).context("the peer on the channel")
    }

    /// Hears one thing, for as long as there is patience.
    pub fn hear<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.hear_for(self.patience)
    }

    /// Hears one thing, for this long.
    pub fn hear_for<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<T> {
        let start = Instant::now();
        let mut line = Vec::new();
        loop {
            self.stop.check()?;
            if !self.has_spoken(LOOK) {
                if start.elapsed() > patience {
                    bail!("the peer on the channel said nothing for {} s", patience.as_secs());
                }
                continue;
            }
            let mut byte = [0];
            match self.stream.read(&mut byte).context("the peer on the channel")? {
                0 => bail!("the peer application ended"),
                _ if byte == *b"\n" => break,
                _ if line.len() >= MAX_LINE => bail!("the peer on the channel talks too much"),
                _ => line.push(byte[0]),
            }
        }
        let text = String::from_utf8_lossy(&line);
        serde_json::from_slice(&line).with_context(|| format!("the peer on the channel said {text:?}"))
    }

    /// Whether the peer says something, or has ended, within `time`.
    pub fn has_spoken(&self, time: Duration) -> bool {
        let mut sockets = [PollFd::new(&self.stream, PollFlags::IN)];
        // At most a second or so: it always fits.
        let time = Timespec::try_from(time).ok();
        matches!(poll(&mut sockets, time.as_ref()), Ok(count) if count > 0)
    }

    /// The stream itself, for [`vipl::Vi::connect_through`].
    pub fn stream(&mut self) -> &mut UnixStream {
        &mut self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, UnixStream) {
        let (one, two) = UnixStream::pair().expect("sockets");
        let stop = Stop::on_signals().expect("signals");
        (Channel::new(one, Duration::from_millis(200), &stop).expect("a socket"), two)
    }

    #[test]
    fn what_is_said_is_heard() {
        let (mut one, two) = pair();
        let stop = Stop::on_signals().expect("signals");
        let mut two = Channel::new(two, Duration::from_secs(5), &stop).expect("a socket");
        let offer = Offer { bytes: u64::MAX, message: 65536 };
        one.say(&offer).expect("a listener");
        one.say(&Outcome::Failed("no".into())).expect("a listener");
        assert!(two.has_spoken(Duration::ZERO));
        assert_eq!(two.hear::<Offer>().ok(), Some(offer));
        assert_eq!(two.hear::<Outcome>().ok(), Some(Outcome::Failed("no".into())));
        assert!(!two.has_spoken(Duration::ZERO));
        drop(one);
        assert!(two.has_spoken(Duration::ZERO), "it ended");
        let error = two.hear::<Offer>().expect_err("nobody is there").to_string();
        assert!(error.contains("ended"), "{error}");
    }

    #[test]
    fn a_peer_that_says_nonsense_or_nothing_is_an_error() {
        let (mut one, mut two) = pair();
        two.write_all(b"nonsense\n").expect("a listener");
        assert!(one.hear::<Offer>().expect_err("no offer").to_string().contains("nonsense"));
        assert!(one.hear::<Offer>().expect_err("silence").to_string().contains("nothing"));
        two.write_all(&[b'x'; 2 * MAX_LINE]).expect("a listener");
        assert!(one.hear::<Offer>().expect_err("no end").to_string().contains("too much"));
    }

    #[test]
    fn the_socket_is_gone_when_the_sender_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("channel");
        // One that was left behind.
        drop(UnixListener::bind(&path).expect("a socket"));
        let stop = Stop::on_signals().expect("signals");
        let other = path.clone();
        let sender = std::thread::spawn(move || {
            let stop = Stop::on_signals().expect("signals");
            let mut channel = Channel::connect(&other, Duration::from_secs(10), &stop).expect("a receiver");
            channel.say(&Window { receives: 7 }).expect("a listener");
        });
        let mut channel = Channel::accept(&path, Duration::from_secs(10), &stop).expect("a sender");
        assert_eq!(channel.hear::<Window>().ok(), Some(Window { receives: 7 }));
        assert!(!path.exists());
        sender.join().expect("no panic");
    }
}
