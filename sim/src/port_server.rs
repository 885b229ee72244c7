//! A port's socket: one peer at a time, the next one when it has gone.

use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use viaduct_driver::ethernet::stream::{read, write, FrameError};

use crate::live::Handle;
use crate::stream::{Outbox, Outgoing, Peer};

/// Frames of a peer's that wait for the network before the peer does.
const INBOX: usize = 64;

/// Serves a port on a socket, in threads of its own, for as long as the process lives.
///
/// # Errors
/// No thread can be started.
pub fn serve(listener: UnixListener, port: usize, handle: Handle) -> io::Result<()> {
    let taken = Arc::new(AtomicBool::new(false));
    let accept = move || loop {
        match listener.accept() {
            Ok((stream, _)) => admit(stream, port, &handle, &taken),
            Err(error) => {
                tracing::warn!(port, %error, "a peer could not be accepted");
                // Out of descriptors, most likely: give the others a moment to end.
                thread::sleep(Duration::from_millis(50));
            }
        }
    };
    thread::Builder::new().name(format!("port{port}-accept")).spawn(accept)?;
    Ok(())
}

fn admit(stream: UnixStream, port: usize, handle: &Handle, taken: &Arc<AtomicBool>) {
    if taken.swap(true, Ordering::AcqRel) {
        // The format has no word for a refusal: the peer sees the end.
        tracing::warn!(port, "a second peer was refused: a port has one");
        return;
    }
    let (handle, taken) = (handle.clone(), Taken(taken.clone()));
    let peer = move || {
        tracing::info!(port, "a peer is connected");
        let (inbox, frames) = mpsc::sync_channel(INBOX);
        match converse(&stream, port, &handle, &inbox, frames) {
            Ok(()) => tracing::info!(port, "the peer is gone"),
            Err(error) => tracing::error!(port, %error, "the peer is sent away"),
        }
        // Who writes to it ends, too.
        let _ = stream.shutdown(Shutdown::Both);
        // When the network sees that the inbox has no other end, the next peer may come.
        drop(taken);
        drop(inbox);
        // If the network has ended there is nobody to tell.
        let _ = handle.look_at_port(port);
    };
    if let Err(error) = thread::Builder::new().name(format!("port{port}-peer")).spawn(peer) {
        tracing::error!(port, %error, "no thread for a peer");
    }
}

/// The place of the one peer; free again however its thread ends.
struct Taken(Arc<AtomicBool>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Carries frames until the peer or the network ends: those of the peer's go into `inbox`, and come out of `frames`.
fn converse(
    stream: &UnixStream,
    port: usize,
    handle: &Handle,
    inbox: &SyncSender<Vec<u8>>,
    frames: Receiver<Vec<u8>>,
) -> Result<(), FrameError> {
    let (outbox, outgoing) = Outbox::new();
    let to = stream.try_clone()?;
    thread::Builder::new().name(format!("port{port}-write")).spawn(move || send_all(&to, port, outgoing))?;
    if handle.plug(port, Peer { inbox: frames, outbox }).is_err() {
        return Ok(());
    }
    let mut from = BufReader::new(stream);
    while let Some(frame) = read(&mut from)? {
        // Either end is gone when the network has ended.
        if inbox.send(frame).is_err() || handle.look_at_port(port).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn send_all(stream: &UnixStream, port: usize, outgoing: Outgoing) {
    if let Err(error) = outgoing.drain(|frame| write(&mut &*stream, frame)) {
        tracing::warn!(port, %error, "the peer does not take frames any more");
        // The reading thread sees the end.
        let _ = stream.shutdown(Shutdown::Both);
    }
}
