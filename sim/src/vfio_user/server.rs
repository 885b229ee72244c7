//! A NIC's socket: one client at a time, the next one when it has gone.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::channel::{Channel, End};
use super::session::{Next, Session};
use crate::live::Handle;

/// How long a second client waits for the first one's end, and then has to say who it is, before
/// it is sent away. A client that has just closed its connection is gone well before.
const PATIENCE: Duration = Duration::from_millis(250);

/// Serves a NIC on a socket, in threads of its own, for as long as the process lives.
pub fn serve(listener: UnixListener, nic: usize, handle: Handle) -> io::Result<()> {
    let taken = Arc::new(AtomicBool::new(false));
    let accept = move || loop {
        match listener.accept() {
            Ok((stream, _)) => admit(stream, nic, &handle, &taken),
            Err(error) => {
                tracing::warn!(nic, %error, "a client could not be accepted");
                // Out of descriptors, most likely: give the others a moment to end.
                thread::sleep(Duration::from_millis(50));
            }
        }
    };
    thread::Builder::new().name(format!("nic{nic}-accept")).spawn(accept)?;
    Ok(())
}

fn admit(stream: UnixStream, nic: usize, handle: &Handle, taken: &Arc<AtomicBool>) {
    let asked = Instant::now();
    while taken.swap(true, Ordering::AcqRel) {
        if asked.elapsed() > PATIENCE {
            return refuse(stream, nic);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let (handle, taken) = (handle.clone(), Taken(taken.clone()));
    let client = move || {
        tracing::info!(nic, "client connected");
        let end = converse(stream, nic, handle);
        tracing::info!(nic, ?end, "client gone");
        drop(taken);
    };
    if let Err(error) = thread::Builder::new().name(format!("nic{nic}-client")).spawn(client) {
        tracing::error!(nic, %error, "no thread for a client");
    }
}

/// The place of the one client; free again however its thread ends.
struct Taken(Arc<AtomicBool>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Tells a second client that the NIC is taken.
fn refuse(stream: UnixStream, nic: usize) {
    tracing::warn!(nic, "a second client was refused");
    if stream.set_read_timeout(Some(PATIENCE)).is_err() || stream.set_write_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    let mut channel = Channel::new(stream);
    if let Ok(message) = channel.receive() {
        // It may be gone already.
        let _ = channel.send(&message.header.failure(Errno::BUSY));
    }
}

/// Serves one client to its end, and leaves the function as the next one wants to find it.
fn converse(stream: UnixStream, nic: usize, handle: Handle) -> End {
    let mut channel = Channel::new(stream);
    let mut session = Session::new(nic, handle.clone());
    let end = loop {
        let message = match channel.receive() {
            Ok(message) => message,
            Err(end) => {
                if let End::Size(header) = end {
                    let _ = channel.send(&header.failure(Errno::MSGSIZE));
                }
                break end;
            }
        };
        let (reply, close) = match session.serve(message) {
            Next::Reply(reply) => (reply, false),
            Next::Close(reply) => (reply, true),
        };
        if let Err(end) = channel.send(&reply) {
            break end;
        }
        if close {
            break End::Closed;
        }
    };
    // No access of the device may reach a client that is gone. An error here: all has ended.
    let _ = handle.unmap_all(nic);
    let _ = handle.reset(nic);
    end
}
