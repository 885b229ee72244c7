//! `viaduct sim tap`: a network interface of this machine's on a port of the simulator's switch.
//!
//! ```text
//!   host's TCP/IP -- TAP --> this thread ----> DIR/portN.sock -- switch
//!                        <-- another thread <--
//! ```

use std::{
    io::{self, BufReader},
    net::Shutdown,
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
    thread,
};

use anyhow::{Context, Result};
use rustix::{
    event::{poll, PollFd, PollFlags, Timespec},
    io::Errno,
};
use viaduct_driver::{
    address::Mac,
    ethernet::{
        stream::{read, write, FrameError},
        Tap,
    },
};

use crate::{output::print, stop::Stop};

/// How long a wait goes on after a signal, which another thread may have got.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Makes the interface, puts it on a port of the simulator whose sockets are in `dir`, and carries frames until somebody ends this process, the simulator ends or the interface is deleted.
///
/// # Errors
/// No such port; no interface; frames that are none; the interface's end.
pub fn run(dir: &Path, port: u8, name: &str, mac: Option<Mac>) -> Result<()> {
    let socket = dir.join(format!("port{port}.sock"));
    let stop = Stop::on_signals()?;
    let shown = || socket.display().to_string();
    let stream = UnixStream::connect(&socket).with_context(|| {
        format!("{}: is the simulator up, and does it have this port (--ports)?", shown())
    })?;
    let tap = Tap::open(name, mac).with_context(|| format!("{name:?} as a network interface"))?;
    print(&format!("{name} is on {}", shown()))?;
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let ended = from_switch(&stream, |frame| tap.send(frame));
            // Who waits for the interface sees the end, too.
            let _ = stream.shutdown(Shutdown::Both);
            ended
        });
        let sent = to_switch(&stream, &tap, &stop);
        // The reader ends, maybe in the middle of a frame.
        let _ = stream.shutdown(Shutdown::Both);
        let received = reader.join().unwrap_or(Ok(()));
        match stop.check() {
            Err(_) => Ok(()),
            Ok(()) => sent.and_then(|()| received.with_context(shown)),
        }
    })
}

/// Gives the host what comes from the switch, until that ends.
fn from_switch(stream: &UnixStream, mut give: impl FnMut(&[u8])) -> Result<(), FrameError> {
    let mut from = BufReader::new(stream);
    loop {
        match read(&mut from) {
            Ok(Some(frame)) => give(&frame),
            Ok(None) => return Ok(()),
            Err(FrameError::System(error)) if is_end(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the other end of the socket is gone. The kernel says reset, and not end, if that had not read all that it was sent.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Gives the switch what the host sends, until somebody ends this process or the switch is gone.
fn to_switch(stream: &UnixStream, tap: &Tap, stop: &Stop) -> Result<()> {
    while stop.check().is_ok() {
        // The other thread reads the socket; here only its end counts.
        let mut files = [
            PollFd::from_borrowed_fd(tap.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::RDHUP),
        ];
        match poll(&mut files, Some(&LOOK)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !files[1].revents().is_empty() {
            break;
        }
        while let Some(frame) = tap.receive().context("the network interface")? {
            match write(&mut &*stream, &frame) {
                Err(error) if is_end(&error) => return Ok(()),
                result => result.context("the port")?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_simulator_that_ends_before_it_has_read_all_ends_the_bridge_without_an_error() {
        let (switch, stream) = UnixStream::pair().expect("two sockets");
        write(&mut &switch, &[7; 60]).expect("room");
        (&stream).write_all(b"what nobody reads").expect("room");
        drop(switch);
        let mut given = Vec::new();
        from_switch(&stream, |frame| given.push(frame.to_vec())).expect("it is the end");
        assert_eq!(given, [vec![7; 60]]);
    }
}
