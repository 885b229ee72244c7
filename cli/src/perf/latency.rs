//! Latency: one message there, and one back.

use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use vipl::Descriptor;

use super::{
    bench::{out_of_turn, Bench, PerfMessage, Role},
    figures::{Latency, Rates},
    terms::{Limit, Operation},
};

/// Sends whose acknowledgements may be late.
const SENDS: usize = 8;

/// When the client stops.
struct Clock {
    limit: Limit,
    start: Instant,
    done: u32,
}

impl Clock {
    fn next(&mut self) -> bool {
        let more = match self.limit {
            Limit::Iterations(count) => self.done < count,
            // There is something to tell even if the first one takes longer.
            Limit::Seconds(seconds) => {
                self.done == 0 || self.start.elapsed() < Duration::from_secs(seconds.into())
            }
        };
        self.done = self.done.saturating_add(1);
        more
    }
}

/// A side's messages.
struct Messages {
    free: Vec<Descriptor>,
    all: usize,
}

impl Messages {
    fn new(bench: &Bench, size: u32) -> Result<Self> {
        let all = SENDS.min(bench.terms().depth.into());
        let free = (0..all).map(|n| bench.message(n, size)).collect::<Result<_>>()?;
        Ok(Self { free, all })
    }

    /// Posts the next one.
    fn post(&mut self, bench: &mut Bench) -> Result<()> {
        while let Some(sent) = bench.end.sent()? {
            self.free.push(sent);
        }
        let message = match self.free.pop() {
            Some(message) => message,
            None => bench.end.wait_sent(bench.sleep)?,
        };
        Ok(bench.end.vi.post_send(message)?)
    }

    /// Waits until all are complete.
    fn end(mut self, bench: &mut Bench) -> Result<()> {
        while self.free.len() < self.all {
            self.free.push(bench.end.wait_sent(bench.sleep)?);
        }
        Ok(())
    }
}

/// Measures a size. On the server's side there is nothing to tell.
pub fn measure(bench: &mut Bench, size: u32) -> Result<Option<Latency>> {
    match bench.role {
        Role::Server => serve(bench, size).map(|()| None),
        Role::Client => ask(bench, size).map(Some),
    }
}

fn ask(bench: &mut Bench, size: u32) -> Result<Latency> {
    let operation = bench.terms().operation;
    let mut messages = Messages::new(bench, size)?;
    let mut times = Vec::new();
    let mut clock = Clock { limit: bench.terms().limit, start: Instant::now(), done: 0 };
    let mut begin = Instant::now();
    let mut mark = 0u8;
    while clock.next() {
        mark = mark.wrapping_add(1);
        if operation == Operation::Write {
            bench.mark(size, mark)?;
        }
        messages.post(bench)?;
        match operation {
            Operation::Read => messages.free.push(bench.end.wait_sent(bench.sleep)?),
            Operation::Write => {
                if let Some(said) = wait_for_mark(bench, size, mark)? {
                    return Err(out_of_turn(&said));
                }
            }
            Operation::Send => {
                if let Some(said) = wait_for_data(bench, size)? {
                    return Err(out_of_turn(&said));
                }
            }
        }
        let now = Instant::now();
        times.push(now - begin);
        begin = now;
    }
    messages.end(bench)?;
    bench.send_control(&PerfMessage::Finished(Rates::default()))?;
    match bench.receive_control()? {
        PerfMessage::Finished(_) => {}
        said => return Err(out_of_turn(&said)),
    }
    let part = if operation == Operation::Read { 1.0 } else { 0.5 };
    Latency::of(size, times, part).context("no message was measured")
}

/// Answers until the client has finished.
fn serve(bench: &mut Bench, size: u32) -> Result<()> {
    let mut mark = 0u8;
    let said = if bench.terms().operation == Operation::Read {
        bench.receive_control()?
    } else {
        let mut messages = Messages::new(bench, size)?;
        let said = loop {
            mark = mark.wrapping_add(1);
            let said = match bench.terms().operation {
                Operation::Write => wait_for_mark(bench, size, mark)?,
                _ => wait_for_data(bench, size)?,
            };
            if let Some(said) = said {
                break said;
            }
            if bench.terms().operation == Operation::Write {
                bench.mark(size, mark)?;
            }
            messages.post(bench)?;
        };
        messages.end(bench)?;
        said
    };
    match said {
        PerfMessage::Finished(_) => bench.send_control(&PerfMessage::Finished(Rates::default())),
        said => Err(out_of_turn(&said)),
    }
}

/// Waits for the peer's next message; or it says something.
fn wait_for_data(bench: &mut Bench, size: u32) -> Result<Option<PerfMessage>> {
    let receive = bench.end.wait_receive(bench.sleep)?;
    let said = bench.end.control_of(&receive)?;
    let length = receive.length();
    bench.end.vi.post_recv(receive)?;
    ensure!(said.is_some() || length == size as usize, "a message has {length} bytes, not {size}");
    Ok(said)
}

/// Waits until the peer's next write has put its mark to the end; or it says something.
fn wait_for_mark(bench: &mut Bench, size: u32, mark: u8) -> Result<Option<PerfMessage>> {
    loop {
        if bench.marked(size)? == mark {
            return Ok(None);
        }
        // It also lets a simulated NIC run, and finds out whether NIC and connection are still there.
        match bench.end.receive()? {
            Some(receive) => {
                let said = bench.end.control_of(&receive)?;
                bench.end.vi.post_recv(receive)?;
                if said.is_some() {
                    return Ok(said);
                }
            }
            None => bench.end.idle()?,
        }
    }
}
