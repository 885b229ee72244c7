//! What happens when a process of a pair dies, or the viad of one: errors within seconds, and nothing that is left behind.

use super::{counters, pair, process::Process, Bench, Found};
use anyhow::{ensure, Context, Result};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long anything may take that is not under test.
const LIMIT: Duration = Duration::from_secs(40);
/// How long a process may take to hear that its peer was killed, and to end. One that is not told hears of it by silence alone, which takes a
/// peer 12 s with viad's default of `silence_ms`.
const PROMPT: Duration = Duration::from_secs(8);
/// How long processes may take to end when the viad of one was killed. Its own client hears of it at once. The peer's viad asks after the silence of the
/// case, and knows after 2.9 s.
const SILENT: Duration = Duration::from_secs(8);
/// An exchange that would last longer than anybody waits.
const ENDLESS: pair::Exchange = pair::Exchange { way: pair::MSG, size: 1024, count: 1 << 30 };

/// A pair that exchanges messages, after some have gone both ways.
fn busy(bench: &Bench) -> Result<[Process; 2]> {
    let mut ends = pair::start(bench, ENDLESS)?;
    let (start, enough) = (Instant::now(), 100 * ENDLESS.size);
    let before = counters::Counters::of_all(bench)?;
    while counters::Counters::of_all(bench)?.since(&before).get("BYTES_RECEIVED")? < enough {
        for end in &mut ends {
            let is_there = end.ended()?.is_none();
            ensure!(is_there, "it has ended before anything happened to it; it said:\n{}", end.said());
        }
        ensure!(start.elapsed() < LIMIT, "no messages go between the two");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(ends)
}

/// A process has heard of an error and ended by itself: neither as if all were well, nor by a signal.
fn is_an_error(status: ExitStatus) -> Result<()> {
    ensure!(
        status.code().is_some_and(|code| code != 0),
        "it has ended with {status}, which tells of no error"
    );
    Ok(())
}

/// Waits until the clients of a NIC's viad have nothing of it any more, and nothing was left over.
fn given_back(bench: &Bench, nic: usize) -> Result<()> {
    let (start, name) = (Instant::now(), bench.stage.name(nic));
    loop {
        let [vis, cqs, regions] = counters::held(bench.project, &name)?;
        if (vis, cqs, regions) == (0, 0, 0) {
            let said = bench.stage.said(nic);
            ensure!(!said.contains("not everything was given back"), "viad {nic} says:\n{said}");
            return Ok(());
        }
        ensure!(
            start.elapsed() < LIMIT,
            "of NIC {nic} its clients still have {vis} VIs, {cqs} completion queues and {regions} regions"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// One of two processes is killed.
pub fn rank(bench: &mut Bench) -> Result<Found> {
    let mut notes = Vec::new();
    for victim in [0, 1] {
        let mut ends = busy(bench)?;
        ends[victim].kill()?;
        let start = Instant::now();
        let other = &mut ends[1 - victim];
        let status = other.end(PROMPT).context("the process whose peer was killed")?;
        is_an_error(status).context("the process whose peer was killed")?;
        notes.push(format!("{:.1} s", start.elapsed().as_secs_f64()));
        for nic in 0..bench.stage.nics() {
            given_back(bench, nic)?;
        }
    }
    Ok(Found { note: format!("errors after {}", notes.join(" and ")), bytes: 0 })
}

/// The viad of one of two processes is killed.
pub fn viad(bench: &mut Bench) -> Result<Found> {
    let mut ends = busy(bench)?;
    bench.stage.kill(0)?;
    let start = Instant::now();
    for (end, whose) in ends.iter_mut().zip(["whose viad was killed", "whose peer's viad was killed"]) {
        let left = SILENT.saturating_sub(start.elapsed());
        let status = end.end(left).with_context(|| format!("the process {whose}"))?;
        is_an_error(status).with_context(|| format!("the process {whose}"))?;
    }
    given_back(bench, 1)?;
    Ok(Found { note: format!("both have ended after {:.1} s", start.elapsed().as_secs_f64()), bytes: 0 })
}
