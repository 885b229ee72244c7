//! Bandwidth: as many messages at once as the queue holds.
//!
//! A send needs a receive of the peer's, so the peer tells by credits how many messages it has taken and posted receives for again.

use std::time::{Duration, Instant};

use anyhow::{ensure, Result};
use vipl::Descriptor;

use super::{
    bench::{out_of_turn, Bench, PerfMessage, Role},
    figures::{Bandwidth, Rates},
    terms::{Limit, Operation},
};
use crate::peer::credit_of;

/// What a side knows while it measures a size.
struct Stream {
    size: u32,
    limit: Limit,
    depth: u64,
    start: Instant,
    free: Vec<Descriptor>,
    /// Messages that were posted, that are complete, and that the peer has taken.
    posted: u64,
    complete: u64,
    taken_there: u64,
    /// When each was posted and complete, since the start: not with a duration.
    times: Vec<[Duration; 2]>,
    /// When the last one was complete, since the start.
    last: Duration,
    /// Messages of the peer's that have come, and those of which it has been told.
    taken: u64,
    told: u64,
}

/// Measures a size. On the server's side there is nothing to tell.
pub fn measure(bench: &mut Bench, size: u32) -> Result<Option<Bandwidth>> {
    let terms = bench.terms();
    let count = if bench.sends() { usize::from(terms.depth) } else { 0 };
    let free = (0..count).map(|n| bench.message(n, size)).collect::<Result<_>>()?;
    let mut stream = Stream {
        size,
        limit: if bench.sends() { terms.limit } else { Limit::Iterations(0) },
        depth: terms.depth.into(),
        start: Instant::now(),
        free,
        posted: 0,
        complete: 0,
        taken_there: 0,
        times: Vec::new(),
        last: Duration::ZERO,
        taken: 0,
        told: 0,
    };
    let [own, other] = stream.run(bench)?;
    Ok((bench.role == Role::Client).then(|| Bandwidth::of(size, own.messages, own.and(other))))
}

impl Stream {
    /// Sends until the limit, and takes what comes until the peer has finished, too. Both ends' rates.
    fn run(&mut self, bench: &mut Bench) -> Result<[Rates; 2]> {
        let (mut own, mut other) = (None, None);
        loop {
            if let (Some(own), Some(other)) = (own, other) {
                return Ok([own, other]);
            }
            let mut moved = self.post(bench)?;
            moved |= self.take_sent(bench)?;
            // What is said behind the word that ends the measurement is for later.
            while own.is_none() || other.is_none() {
                let Some(receive) = bench.end.receive()? else { break };
                other = other.or(self.take(bench, receive)?);
                moved = true;
            }
            if self.owes_credit() && bench.send_credit(self.taken)? {
                self.told = self.taken;
            }
            if own.is_none() && self.complete == self.posted && !self.has_more() {
                let rates = Rates::of(self.complete, self.last, &self.times);
                bench.send_control(&PerfMessage::Finished(rates))?;
                own = Some(rates);
                moved = true;
            }
            if moved {
                continue;
            }
            // Who has nothing of his own under way, nor to send, waits for what comes; of a peer's reads and writes nothing does.
            let waits = self.complete == self.posted && !self.owes_credit();
            if waits && (bench.sleep || own.is_some() && bench.terms().operation != Operation::Send) {
                let receive = bench.end.wait_receive(true)?;
                other = other.or(self.take(bench, receive)?);
            } else if bench.sleep && self.complete < self.posted {
                let sent = bench.end.wait_sent(true)?;
                self.keep(bench, sent);
            } else {
                bench.end.idle()?;
            }
        }
    }

    /// Whether the peer is to be told how many of its messages have come.
    fn owes_credit(&self) -> bool {
        self.taken - self.told >= (self.depth / 2).max(1)
    }

    /// Whether there is another message to post.
    fn has_more(&self) -> bool {
        match self.limit {
            Limit::Iterations(count) => self.posted < count.into(),
            // There is something to tell even if the first one takes longer.
            Limit::Seconds(seconds) => {
                self.posted == 0 || self.start.elapsed() < Duration::from_secs(seconds.into())
            }
        }
    }

    /// Posts what may be posted. Whether there was something.
    fn post(&mut self, bench: &mut Bench) -> Result<bool> {
        let before = self.posted;
        let has_room = |stream: &Self| {
            bench.terms().operation != Operation::Send || stream.posted - stream.taken_there < stream.depth
        };
        while has_room(self) && self.has_more() {
            let Some(message) = self.free.pop() else { break };
            if let Limit::Iterations(_) = self.limit {
                self.times.push([self.start.elapsed(), Duration::ZERO]);
            }
            bench.end.vi.post_send(message)?;
            self.posted += 1;
        }
        Ok(self.posted > before)
    }

    /// Takes what is complete off the send queue. Whether there was something.
    fn take_sent(&mut self, bench: &mut Bench) -> Result<bool> {
        let before = self.complete;
        while let Some(sent) = bench.end.sent()? {
            self.keep(bench, sent);
        }
        Ok(self.complete > before)
    }

    /// Takes a completed send back.
    fn keep(&mut self, bench: &mut Bench, sent: Descriptor) {
        let Some(message) = bench.keep_credit(sent) else { return };
        self.last = self.start.elapsed();
        if let Some(times) = self.times.get_mut(self.complete as usize) {
            times[1] = self.last;
        }
        self.complete += 1;
        self.free.push(message);
    }

    /// Takes a receive: a message, a credit, or that the peer has finished, and its rates.
    fn take(&mut self, bench: &mut Bench, receive: Descriptor) -> Result<Option<Rates>> {
        let mut finished = None;
        match bench.end.control_of(&receive)? {
            Some(PerfMessage::Finished(rates)) => finished = Some(rates),
            Some(said) => return Err(out_of_turn(&said)),
            None if receive.immediate().is_some() => {
                self.taken_there = credit_of(&receive, self.taken_there, self.posted)?;
            }
            None => {
                let (length, size) = (receive.length(), self.size);
                ensure!(length == size as usize, "a message has {length} bytes, not {size}");
                self.taken += 1;
            }
        }
        bench.end.vi.post_recv(receive)?;
        Ok(finished)
    }
}
