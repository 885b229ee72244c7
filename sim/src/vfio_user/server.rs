//! A NIC's socket: one client at a time, the next one when it has gone.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use viaduct_spec::profile::VECTORS;

use super::channel::{receive, send, End, Message};
use super::dma::{Port, Unanswered};
use super::outbox::Outbox;
use super::session::{Next, Session};
use crate::live::Handle;

/// How long a second client waits for the first one's end before it is sent away. A client that has just closed its connection is gone in
/// milliseconds, but on a machine with much else to do the threads that see it off may have to wait for a processor.
const LEAVING: Duration = Duration::from_secs(2);

/// How long a client that is sent away has to say who it is, and one that has sent nonsense to take its answers.
const PATIENCE: Duration = Duration::from_millis(250);

/// Commands that wait for the session before the reader does.
const COMMANDS: usize = 256;

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
        if asked.elapsed() > LEAVING {
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
    if let Ok(message) = receive(&stream) {
        // It may be gone already.
        let _ = send(&stream, &message.header.failure(Errno::BUSY));
    }
}

/// Serves one client to its end, and leaves the function as the next one wants to find it.
fn converse(stream: UnixStream, nic: usize, handle: Handle) -> End {
    let stream = Arc::new(stream);
    let (outbox, unanswered) = (Outbox::new(stream.clone()), Unanswered::default());
    let (sender, commands) = mpsc::sync_channel(COMMANDS);
    let port = |largest| Port::new(outbox.clone(), unanswered.clone(), largest);
    let session = Session::new(nic, handle.clone(), &port, outbox.clone());
    let end = thread::scope(|scope| {
        let named = |part: &str| thread::Builder::new().name(format!("nic{nic}-{part}"));
        let writer = named("writer").spawn_scoped(scope, || outbox.write());
        let obey = || obey(session, commands, &outbox);
        let obeys = writer.and_then(|_| named("session").spawn_scoped(scope, obey));
        let end = match &obeys {
            Ok(_) => read(&stream, nic, &handle, &unanswered, sender),
            Err(error) => End::System(error.kind().into()),
        };
        // What the client has not answered it never will; a load may wait for it.
        let _ = handle.detach(nic);
        if let (Ok(obeys), End::Closed | End::Size(_)) = (obeys, &end) {
            // It may have asked for things before it closed.
            let _ = obeys.join();
            if let End::Size(header) = end {
                outbox.push(header.failure(Errno::MSGSIZE));
            }
            outbox.drain(PATIENCE);
        }
        outbox.close();
        end
    });
    // No access of the device may reach a client that is gone, and no interrupt. It may have attached itself with the last that it asked for. An
    // error here: all has ended.
    let _ = handle.detach(nic);
    let _ = handle.set_vectors(nic, 0, (0..VECTORS).map(|_| None).collect());
    let _ = handle.unmap_all(nic);
    let _ = handle.reset(nic);
    end
}

/// Takes what the client sends: commands for the session, answers for the stepping thread.
fn read(
    stream: &UnixStream,
    nic: usize,
    handle: &Handle,
    unanswered: &Unanswered,
    session: SyncSender<Message>,
) -> End {
    loop {
        let message = match receive(stream) {
            Ok(message) => message,
            Err(end) => return end,
        };
        if message.header.is_command() {
            if session.send(message).is_err() {
                return End::Closed;
            }
            continue;
        }
        match unanswered.resolve(message) {
            Ok((id, answer)) => {
                if handle.dma_answer(nic, id, answer).is_err() {
                    return End::Closed;
                }
            }
            Err(nonsense) => {
                tracing::warn!(nic, %nonsense, "connection closed");
                return End::Nonsense(nonsense);
            }
        }
    }
}

/// Does what the commands ask for, one after the other.
fn obey(mut session: Session, commands: Receiver<Message>, outbox: &Outbox) {
    for message in commands {
        if !message.header.no_reply() {
            outbox.wait_for_room();
        }
        let (reply, close) = match session.serve(message) {
            Next::Reply(reply) => (reply, false),
            Next::Close(reply) => (reply, true),
            Next::Later => continue,
        };
        if !reply.is_empty() {
            // Where the client is gone, nobody wants it.
            let _ = outbox.push(reply);
        }
        if close {
            outbox.drain(PATIENCE);
            // That ends the reader.
            outbox.close();
            break;
        }
    }
    session.finish();
}
