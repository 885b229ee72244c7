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
            let ended = from_switch(&stream, &tap);
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
fn from_switch(stream: &UnixStream, tap: &Tap) -> Result<(), FrameError> {
    let mut from = BufReader::new(stream);
    while let Some(frame) = read(&mut from)? {
        tap.send(&frame);
    }
    Ok(())
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
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                result => result.context("the port")?,
            }
        }
    }
    Ok(())
}
