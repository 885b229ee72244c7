//! Processes of ours that are killed while a program of Linux' talks to them.
//!
//! Who hears of it is decided by who is left to say so. Behind viad that is viad: it ends the connections of its client. Where the agent has died with its
//! process nobody says anything: a peer that has sent something, and gets no acknowledgement, gives up when it has sent it again as often as its retry count
//! says; one that waits for a message waits on, and so does soft-RoCE with a retry count of 7, which has no end there (docs/linux.md).

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};

use crate::program::{beside, example, Program};
use crate::refusals::hears_of_end;
use crate::rping::PORT;
use crate::stage::{Stage, OWN_IP};
use crate::talk::LIMIT;
use crate::Case;

/// How soon what is said at once is heard, on a machine that does other things.
const SOON: Duration = Duration::from_secs(5);
/// ucmatose's retry count: so often its kernel sends a message again.
const RETRIES: u32 = 5;
/// How long rdma_cm's connections wait for an acknowledgement before: 4.096 us * 2^17.
const TIMEOUT: Duration = Duration::from_nanos(4096 << 17);
/// What soft-RoCE counts, each in a file.
const COUNTERS: &str = "/sys/class/infiniband/rxe0/ports/1/hw_counters";

/// The cases.
pub const CASES: [Case; 2] =
    [("our_program_behind_viad_is_killed", behind_viad), ("our_program_is_killed", alone)];

/// viad says goodbye for its client.
fn behind_viad(stage: &mut Stage) -> Result<()> {
    let socket = stage.folder().join("viad.sock");
    let mut viad = Command::new(beside("viad")?);
    let viad = Program::start_logged(viad.args(["--nic", &stage.name(), "--socket"]).arg(&socket))?;
    while !viad.line().context("viad serves")?.contains("serving") {}

    let name = format!("viad:{}", socket.display());
    let program = Program::start(Command::new(example("rping")?).arg(name))?;
    ensure!(program.line()? == OWN_IP.to_string(), "the example listens elsewhere");
    stage.guest.start_command("rping", &format!("rping -c -a {OWN_IP} -C 1000000 -v"))?;
    stage.guest.wait_for_output("rping", "ping data", LIMIT)?;
    program.kill()?;
    let killed = Instant::now();
    hears_of_end(stage)?;
    let heard = killed.elapsed();
    ensure!(heard < SOON, "it has heard of the end after {heard:?}");
    stage.figure(format!("heard after {:.0} ms", heard.as_secs_f64() * 1000.0));
    Ok(())
}

/// Nobody says goodbye. The peer is in the middle of a message, which our VI has no receive for: its kernel sends it again, and gives up.
fn alone(stage: &mut Stage) -> Result<()> {
    let mut deaf = Command::new(beside("viaduct-linux-deaf")?);
    let program = Program::start(deaf.arg(stage.name()).arg(PORT.to_string()))?;
    ensure!(program.line()? == "listens", "it does not listen");
    let before = Counted::now(stage)?;
    // It answers a message of ours. It does not look at how that completes.
    stage.guest.start_command("ucmatose", &format!("ucmatose -s {OWN_IP} -p {PORT} -C 1"))?;
    ensure!(program.line()? == "asked", "it was not asked");
    program.kill()?;
    let killed = Instant::now();
    let wait = format!(
        "until [ $(cat {COUNTERS}/retry_exceeded_err) != {} ]; do usleep 20000; done",
        before.given_up
    );
    stage.guest.run(&wait, LIMIT).context("its kernel gives up")?;
    let given_up = killed.elapsed();
    let counted = Counted::now(stage)?;
    let again = counted.again - before.again;
    ensure!(again == RETRIES, "it has sent the message again {again} times");
    ensure!(given_up > TIMEOUT * RETRIES, "it has given up after {given_up:?}");
    stage.figure(format!("sent again {again} times, given up after {:.1} s", given_up.as_secs_f64()));
    stage.guest.run("killall ucmatose", LIMIT)?;
    stage.guest.end_of_command("ucmatose", LIMIT).map(drop)
}

/// What soft-RoCE has counted.
struct Counted {
    /// Requests that it has sent again because no answer came.
    again: u32,
    /// Queue pairs that have done so as often as they may.
    given_up: u32,
}

impl Counted {
    fn now(stage: &mut Stage) -> Result<Self> {
        let printed =
            stage.guest.run(&format!("cd {COUNTERS}; cat completer_retry_err retry_exceeded_err"), LIMIT)?;
        let counts: Result<Vec<u32>, _> = printed.lines().map(str::parse).collect();
        let counts = counts.with_context(|| printed.clone())?;
        let [again, given_up] = counts[..] else { anyhow::bail!("two counters: {printed:?}") };
        Ok(Self { again, given_up })
    }
}
