//! Many messages in one direction or in both, with so many posted that the NIC always has work.

use anyhow::{bail, ensure, Result};
use vipl::{Descriptor, Error, Vi};

use crate::conditions::Conditions;
use crate::edge::{Event, Kind};
use crate::pair::{Host, Pair};
use crate::way::Way;

/// Cycles without a message after which none comes any more, beside those that its bytes take.
const PATIENCE: u64 = 200_000;
/// The same where frames are lost: a time-out takes half a million cycles, and more than one may follow.
const LOSSY_PATIENCE: u64 = 16_000_000;

/// Cycles without a message after which none comes any more.
fn patience(conditions: &Conditions) -> u64 {
    let idle = if conditions.loss.per_mille == 0 { PATIENCE } else { LOSSY_PATIENCE };
    // It may be as slow as a byte in four cycles.
    idle + 4 * conditions.message as u64 * conditions.connections as u64
}

/// The messages of one connection that one host posts.
struct Flow {
    /// The host.
    from: usize,
    /// Its place among the connections.
    number: usize,
    posted: usize,
    received: usize,
    sent: usize,
}

/// Moves `messages` on each connection, and gives for each direction the completions at the edge of the receiver, or of the one
/// that writes or reads. Each message is looked at that has not been overwritten by a later one. If there are two directions, the
/// faster one goes on until the slower one is done.
pub fn run(pair: &Pair, messages: usize) -> Result<Vec<Vec<Event>>> {
    let conditions @ Conditions { way, both, window, message: length, .. } = *pair.conditions();
    let sends = way == Way::Send;
    ensure!(!(both && sends), "the completions of sends and of receives look the same at the edge");
    let mut flows = Vec::new();
    for number in 0..conditions.connections {
        let receiver = &pair.hosts[1];
        for n in (0..2 * window).filter(|_| sends) {
            receiver.vis[number].post_recv(receiver.descriptor(2 * window * number + n, length)?)?;
        }
        for from in 0..=usize::from(both) {
            flows.push(Flow { from, number, posted: 0, received: if sends { 0 } else { messages }, sent: 0 });
        }
    }
    pair.settle()?;
    pair.edges.iter().for_each(|edge| drop(edge.take()));
    for n in 0..window {
        for flow in &mut flows {
            let [from, to] = flow.ends(pair);
            let descriptor = from.move_to(to, way, flow.place(window, n), length)?;
            from.vis[flow.number].post_send(descriptor)?;
            flow.posted += 1;
        }
    }
    let patience = patience(&conditions);
    let mut moved = pair.now();
    loop {
        let done = flows.iter().all(|flow| flow.received >= messages && flow.sent >= messages);
        if done && flows.iter().all(|flow| flow.sent == flow.posted) {
            break;
        }
        for flow in &mut flows {
            let [from, to] = flow.ends(pair).map(|host| &host.vis[flow.number]);
            while let Some(descriptor) = taken(to.recv_done())? {
                ensure!(descriptor.length() == length, "{} bytes arrived", descriptor.length());
                to.post_recv(descriptor)?;
                flow.received += 1;
                moved = pair.now();
            }
            while let Some(descriptor) = taken(from.send_done())? {
                flow.sent += 1;
                moved = pair.now();
                if flow.posted < messages || (both && !done) {
                    from.post_send(descriptor)?;
                    flow.posted += 1;
                }
            }
        }
        ensure!(pair.now() < moved + patience, "messages arrive no more");
        pair.pause();
    }
    let events = pair.edges.each_ref().map(|edge| edge.take());
    for flow in &flows {
        flow.check(pair, messages)?;
    }
    pair.settle()?;
    pair.check()?;
    // Who completes what is counted.
    let counted = usize::from(sends)..=usize::from(sends || both);
    let completions = |events: &Vec<Event>| -> Vec<Event> {
        events.iter().filter(|event| event.kind == Kind::Completion).copied().collect()
    };
    Ok(events[counted].iter().map(completions).collect())
}

impl Flow {
    /// The host that posts, and the other.
    fn ends<'a>(&self, pair: &'a Pair) -> [&'a Host; 2] {
        [&pair.hosts[self.from], &pair.hosts[1 - self.from]]
    }

    /// Where the n-th of its messages lies: those of the two hosts lie apart.
    fn place(&self, window: usize, n: usize) -> usize {
        2 * window * self.number + window * self.from + n
    }

    /// Its last messages are as they were sent.
    fn check(&self, pair: &Pair, messages: usize) -> Result<()> {
        let Conditions { way, window, message: length, .. } = *pair.conditions();
        let [from, to] = self.ends(pair);
        for message in messages.saturating_sub(2 * window)..messages {
            let sent = self.place(window, message % window);
            // Receives are twice as many as sends.
            let taken = if way == Way::Send { self.place(window, message % (2 * window)) } else { sent };
            let intact = from.bytes(sent, length)? == to.bytes(taken, length)?;
            ensure!(intact, "message {message} of connection {} is damaged", self.number);
        }
        Ok(())
    }
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
    let limit = pair.now() + patience(pair.conditions());
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
