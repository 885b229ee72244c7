//! The bus gives a function up, as far as its owner can tell ([`signal_bus_error`]).

use std::{fs, thread, time::Duration};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use viaduct_driver::device::PciDevice;
use vipl::{Descriptor, Error, ReliabilityLevel, Return};

use crate::{
    bench::{Bench, LIMIT},
    function::signal_bus_error,
    note::note,
    setting::Setting,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] =
    &[Test { name: "an_error_of_the_bus_is_told_to_who_waits_and_to_who_asks", body: Body::Names(told) }];

/// Time in which who waits has gone to sleep.
const ASLEEP: Duration = Duration::from_millis(500);
/// Bytes of the receive that nothing comes for.
const BYTES: usize = 100;

/// Has the kernel say that the bus has found an error that it cannot mend.
fn signal(device: &dyn PciDevice) -> Result<()> {
    signal_bus_error(device.sharing().context("a function of the kernel's")?.hand_over()?.device)
}

fn told(setting: &Setting) -> Result<Completion> {
    if !setting.is_vfio() {
        return Ok(Completion::ignored_with("no kernel tells of errors of this device's bus"));
    }
    for end in [0, 1] {
        note(format!("NIC {end}"));
        let before = locked_memory()?;
        let mut bench = Bench::open(setting)?;
        let vis = bench.connect(ReliabilityLevel::ReliableDelivery)?;
        let receive = bench.ends[end].in_memory(BYTES)?;
        bench.ends[end].receive(&vis[end], receive)?;
        let (nic, device) = (&bench.ends[end].nic, &bench.ends[end].device);
        nic.check()?;
        thread::scope(|scope| {
            let waits = scope.spawn(|| vis[end].recv_wait(Some(LIMIT)));
            let listens = scope.spawn(|| nic.wait_events(LIMIT));
            thread::sleep(ASLEEP);
            ensure!(!waits.is_finished() && !listens.is_finished(), "nothing has happened yet");
            signal(&**device)?;
            is_the_bus(waits.join().expect("no panic").map(|_: Descriptor| ()))?;
            is_the_bus(listens.join().expect("no panic").map(drop))
        })?;
        is_the_bus(nic.check())?;
        bench.ends[1 - end].nic.check().context("the other NIC")?;
        let pinned = locked_memory()?;
        ensure!(
            pinned > before,
            "the kernel's account of what the NIC reaches: {pinned} kB, {before} kB before"
        );
        drop((vis, bench));
        ensure!(locked_memory()? == before, "{} kB stay with the NIC, {before} kB before", locked_memory()?);
        Bench::open(setting)?.transfer()?;
    }
    Ok(Completion::Completed)
}

/// A call has ended because of the bus's error; a C program's handler gets VIP_ERROR_CATASTROPHIC for it.
fn is_the_bus(outcome: Result<(), Error>) -> Result<()> {
    let error = outcome.err().context("it must end with an error")?;
    let is = error.code() == Return::ErrorResource && error.to_string().contains("AER");
    ensure!(is, "{error}");
    Ok(())
}

/// Memory of this process that stays in its place, in kB: the kernel counts there what it has mapped for the NIC.
fn locked_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).context("a line of its memory")?;
    line.trim().strip_suffix(" kB").and_then(|count| count.parse().ok()).context("a number of kB")
}
