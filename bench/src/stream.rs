//! Many messages in one direction, with so many posted that the NIC always has work.

use anyhow::{bail, ensure, Result};
use vipl::{Descriptor, Error, Vi};

use crate::edge::{Event, Kind};
use crate::pair::{Conditions, Pair};
use crate::way::Way;

/// Cycles without a message after which none comes any more.
const PATIENCE: u64 = 200_000;

/// One connection.
struct Flow {
    posted: usize,
    received: usize,
    sent: usize,
}

/// Moves `messages` on each connection, and gives the completions at the edge of the receiver, or of the one that writes or
/// reads. Each message is looked at that has not been overwritten by a later one.
pub fn run(pair: &Pair, messages: usize) -> Result<Vec<Event>> {
    let [sender, receiver] = &pair.hosts;
    let Conditions { way, window, message: length, .. } = *pair.conditions();
    let sends = way == Way::Send;
    // Who completes what is counted.
    let counted = usize::from(sends);
    let mut flows = Vec::new();
    for (number, vi) in receiver.vis.iter().enumerate() {
        for n in (0..2 * window).filter(|_| sends) {
            vi.post_recv(receiver.descriptor(2 * window * number + n, length)?)?;
        }
        flows.push(Flow { posted: 0, received: if sends { 0 } else { messages }, sent: 0 });
    }
    pair.settle()?;
    pair.edges[counted].take();
    for n in 0..window {
        for (number, flow) in flows.iter_mut().enumerate() {
            sender.vis[number].post_send(sender.move_to(
                receiver,
                way,
                2 * window * number + n,
                length,
            )?)?;
            flow.posted += 1;
        }
    }
    let mut moved = pair.now();
    while flows.iter().any(|flow| flow.received < messages || flow.sent < messages) {
        for (number, flow) in flows.iter_mut().enumerate() {
            let (from, to) = (&sender.vis[number], &receiver.vis[number]);
            while let Some(descriptor) = taken(to.recv_done())? {
                ensure!(descriptor.length() == length, "{} bytes arrived", descriptor.length());
                to.post_recv(descriptor)?;
                flow.received += 1;
                moved = pair.now();
            }
            while let Some(descriptor) = taken(from.send_done())? {
                flow.sent += 1;
                moved = pair.now();
                if flow.posted < messages {
                    from.post_send(descriptor)?;
                    flow.posted += 1;
                }
            }
        }
        ensure!(pair.now() < moved + PATIENCE, "messages arrive no more");
        pair.pause();
    }
    let events = pair.edges[counted].take();
    for number in 0..flows.len() {
        for message in messages.saturating_sub(2 * window)..messages {
            let taken = if sends { 2 * window } else { window };
            let [from, to] = [window, taken].map(|places| 2 * window * number + message % places);
            let intact = sender.bytes(from, length)? == receiver.bytes(to, length)?;
            ensure!(intact, "message {message} of connection {number} is damaged");
        }
    }
    pair.settle()?;
    pair.check()?;
    Ok(events.into_iter().filter(|event| event.kind == Kind::Completion).collect())
}

/// The head of a queue, if it is complete and well.
fn taken(result: Result<Descriptor, Error>) -> Result<Option<Descriptor>> {
    match result {
        Ok(descriptor) => Ok(Some(descriptor)),
        Err(Error::NotDone | Error::Empty) => Ok(None),
        Err(error) => bail!(error),
    }
}

/// Cycles a message without the first and the last `skip` of them.
pub fn steady(completions: &[Event], skip: usize) -> Result<f64> {
    ensure!(completions.len() > 2 * skip + 1, "too few messages");
    let inner = &completions[skip..completions.len() - skip];
    let cycles = inner[inner.len() - 1].last - inner[0].last;
    Ok(cycles as f64 / (inner.len() - 1) as f64)
}

/// One message and no other under way.
pub fn single(sender: &Vi, receiver: &Vi, descriptor: Descriptor, pair: &Pair) -> Result<Descriptor> {
    sender.post_send(descriptor)?;
    let limit = pair.now() + PATIENCE;
    let mut sent = None;
    let mut received = false;
    while sent.is_none() || !received {
        ensure!(pair.now() < limit, "the message does not arrive");
        pair.pause();
        received |= taken(receiver.recv_done())?.is_some();
        sent = sent.or(taken(sender.send_done())?);
    }
    pair.settle()?;
    sent.ok_or_else(|| Error::NotDone.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_messages_do_not_count() {
        let at = |last| Event { kind: Kind::Completion, bytes: 8, first: last, last };
        let events = [0, 1000, 1010, 1020, 1035, 5000].map(at);
        assert_eq!(steady(&events, 1).unwrap(), 35.0 / 3.0);
        assert!(steady(&events, 3).is_err());
    }
}
