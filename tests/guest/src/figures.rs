//! System calls of posts and completions by way of a viad, counted by the kernel: for programs that it trusts, and for those that it does not. The
//! instructions of the same calls are counted outside a guest (`cargo xtask instructions`), whose processor counts none.

use std::{
    fs::OpenOptions,
    io::Write,
    thread,
    time::{Duration, Instant},
};

use anyhow::{ensure, Result};
use libtest_mimic::Completion;
use vipl::{Descriptor, Error, MemAttributes, Nic, Region, Vi, ViAttributes};

use crate::{
    bench::{join, LIMIT},
    memory::PAGE,
    setting::Setting,
    shared::{lacking, trust},
    system_calls::SystemCalls,
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[Test { name: "posts_make_no_system_call", body: Body::Names(figures) }];

/// Messages that are counted.
const COUNT: u32 = 20;
/// Bytes of one.
const BYTES: usize = 64;
/// A viad whose forwarder has found nothing for so long sleeps, in microseconds: practically never, and soon.
const AWAKE: u32 = 3_600_000_000;
const ASLEEP: u32 = 0;
/// By then it does.
const SLEEPS: Duration = Duration::from_millis(50);
/// A file in the folder of temporary ones, whose lines the job shows.
const FILE: &str = "figures";

/// System calls of [`COUNT`] calls each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    post_send: u64,
    post_recv: u64,
    send_done: u64,
    recv_done: u64,
    /// Looks that found nothing yet, and how many there were.
    empty_done: [u64; 2],
    /// Of waits for a message that comes later.
    recv_wait: u64,
}

impl Figures {
    /// As a line of the job's output.
    fn line(&self, way: &str) -> String {
        let mean = |calls: u64| calls as f64 / f64::from(COUNT);
        let [calls, looks] = self.empty_done;
        format!(
            "system calls a call, {way}: post_send {}, post_recv {}, send_done {}, recv_done {}, recv_wait that sleeps {}; {calls} of {looks} looks that find nothing",
            mean(self.post_send),
            mean(self.post_recv),
            mean(self.send_done),
            mean(self.recv_done),
            mean(self.recv_wait),
        )
    }
}

/// Two VIs of one NIC, connected, and their memory.
struct Ends {
    from: Vi,
    to: Vi,
    memory: Region,
    _nic: Nic,
}

impl Ends {
    fn open(name: &str) -> Result<Self> {
        let nic = Nic::open(name)?;
        let ptag = nic.create_ptag()?;
        let memory = nic.allocate(2 * PAGE, &MemAttributes::new(&ptag))?;
        let attributes = ViAttributes::new(&ptag);
        let [from, to] = join([nic.create_vi(&attributes)?, nic.create_vi(&attributes)?])?;
        Ok(Self { from, to, memory, _nic: nic })
    }

    fn descriptor(&self, slot: usize) -> Result<Descriptor> {
        let place = PAGE + slot * BYTES;
        Ok(Descriptor::new().segment(&self.memory, place, BYTES)?.build(&self.memory, slot * 64)?)
    }

    /// Counts what messages take. Before each call that posts, `rest` passes.
    fn count(&self, rest: Duration) -> Result<Figures> {
        let calls = SystemCalls::of_this_thread()?;
        let mut figures = Figures::default();
        let [mut send, mut receive] = [self.descriptor(0)?, self.descriptor(1)?];
        for _ in 0..COUNT {
            thread::sleep(rest);
            figures.post_recv += calls.during(|| self.to.post_recv(receive))?.1;
            thread::sleep(rest);
            figures.post_send += calls.during(|| self.from.post_send(send))?.1;
            send = self.found(
                &calls,
                || self.from.send_done(),
                &mut figures.send_done,
                &mut figures.empty_done,
            )?;
            receive =
                self.found(&calls, || self.to.recv_done(), &mut figures.recv_done, &mut figures.empty_done)?;
            ensure!(receive.length() == BYTES, "{} bytes arrived", receive.length());
        }
        for _ in 0..COUNT {
            self.to.post_recv(receive)?;
            (send, receive) = thread::scope(|scope| -> Result<_> {
                let sends = scope.spawn(|| {
                    thread::sleep(SLEEPS);
                    self.from.post_send(send)?;
                    self.from.send_wait(Some(LIMIT))
                });
                let (receive, count) = calls.during(|| self.to.recv_wait(Some(LIMIT)))?;
                figures.recv_wait += count;
                Ok((sends.join().expect("no panic")?, receive))
            })?;
        }
        Ok(figures)
    }

    /// Looks until something is complete: only the look that finds it counts as one.
    fn found(
        &self,
        calls: &SystemCalls,
        look: impl Fn() -> Result<Descriptor, Error>,
        hits: &mut u64,
        [misses, looks]: &mut [u64; 2],
    ) -> Result<Descriptor> {
        let start = Instant::now();
        loop {
            match calls.during(|| Ok::<_, Error>(look()))? {
                (Ok(descriptor), count) => {
                    *hits += count;
                    return Ok(descriptor);
                }
                (Err(Error::NotDone), count) if start.elapsed() < LIMIT => {
                    (*misses, *looks) = (*misses + count, *looks + 1);
                    thread::sleep(Duration::from_millis(1));
                }
                (Err(error), _) => return Err(error.into()),
            }
        }
    }
}

fn figures(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let mut file = OpenOptions::new().append(true).create(true).open(std::env::temp_dir().join(FILE))?;
    for (way, options, poll, rest) in [
        ("trusted", ",way=trusted", ASLEEP, Duration::ZERO),
        ("pools, viad looks", ",way=pools", AWAKE, Duration::ZERO),
        ("pools, viad sleeps", ",way=pools", ASLEEP, SLEEPS),
    ] {
        // What is outside a table of TOML comes first.
        let viad = Viad::start(setting, 0, None, &format!("poll_us = {poll}\n{}", trust()))?;
        let figures = Ends::open(&viad.name(options))?.count(rest)?;
        writeln!(file, "{}", figures.line(way))?;
        let looks = [figures.send_done, figures.recv_done, figures.empty_done[0]];
        ensure!(looks == [0; 3], "a look at what is complete makes no system call: {figures:?}");
        // The page of a forwarder that sleeps is rung by one: the write to its eventfd.
        let posts = if way == "pools, viad sleeps" { u64::from(COUNT) } else { 0 };
        ensure!(figures.post_send == posts, "of {COUNT} posts in the way {way}: {figures:?}");
        ensure!(way != "trusted" || figures.post_recv == 0, "it rings the NIC's own doorbell: {figures:?}");
        viad.stop()?;
    }
    Ok(Completion::Completed)
}
