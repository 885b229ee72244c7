//! The function of a viad is reset, stopped or taken away by somebody else, in the middle of what its clients do.

use std::os::fd::OwnedFd;

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;

use crate::{
    function::{device_files, reset_device, signal_bus_error, Function, Removal, Unbinding},
    ranks::PLAYING,
    setting::Setting,
    shared::{game, hears_of_the_end, lacking, trust, trusted_pair, trusting},
    stream::{Remains, Stream},
    viads::{Viad, SOMEBODY_ELSE, WANTED, WAYS},
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "an_error_of_viad_s_bus_is_told_to_all_its_programs", body: Body::Names(error) },
    Test { name: "viad_is_killed_in_the_middle_of_its_programs_streams", body: Body::Names(killed) },
];

/// What is done to the function itself. To software a removal is the same as an unbind, and a reset by a program the same as one through sysfs; and a
/// program of C has its viads' Bus Master Enable taken away (`program.rs`).
pub const OF_THE_FUNCTION: &[Test] = &[
    Test { name: "a_reset_of_viad_s_function_is_told_to_all_its_programs", body: Body::Names(reset) },
    Test { name: "bus_master_off_under_viad_is_told_to_all_its_programs", body: Body::Names(stop) },
    Test {
        name: "an_unbind_of_viad_s_function_waits_until_all_its_programs_let_go",
        body: Body::Names(unbind),
    },
];

/// What the system does. To a NIC it is the same as [`OF_THE_FUNCTION`].
pub const OF_THE_SYSTEM: &[Test] = &[
    Test { name: "viad_s_function_is_removed_when_all_its_programs_have_let_go", body: Body::Names(remove) },
    Test {
        name: "a_reset_by_one_who_has_viad_s_function_open_is_told_to_all_its_programs",
        body: Body::Names(reset_by_a_program),
    },
];

fn reset(setting: &Setting) -> Result<Completion> {
    under_way(setting, SOMEBODY_ELSE, |_| Function::of(setting, 0)?.reset(), Ok)
}

/// A trusted program has the function's file, and may do so (VFIO_DEVICE_RESET).
fn reset_by_a_program(setting: &Setting) -> Result<Completion> {
    under_way(setting, SOMEBODY_ELSE, |viad| reset_device(device_file(viad)?), Ok)
}

fn stop(setting: &Setting) -> Result<Completion> {
    under_way(setting, SOMEBODY_ELSE, |_| Function::of(setting, 0)?.stop(), Ok)
}

/// Until nobody has the function open the NIC does what it is told: viad ends all VIs before a trusted program hears of the end and unmaps its memory, so
/// the IOMMU has nothing to refuse.
fn unbind(setting: &Setting) -> Result<Completion> {
    let begin = |_: &Viad| Function::of(setting, 0)?.unbind();
    under_way(setting, WANTED, begin, Unbinding::bind_again)
}

/// As an unplug: behind it the system has no such function, until it looks for it again.
fn remove(setting: &Setting) -> Result<Completion> {
    let begin = |_: &Viad| Ok(Function::of(setting, 0)?.remove());
    under_way(setting, WANTED, begin, Removal::find_again)
}

/// Nobody may trust what the NIC does from then on: viad takes its Bus Master Enable away before a program hears of it. Where there is somebody to ask, its
/// root port sends the message of an error, and the kernel resets the link after it has told vfio-pci.
fn error(setting: &Setting) -> Result<Completion> {
    let signal = |viad: &Viad| {
        if let Some(machine) = &setting.machine {
            return machine.bus_error(0);
        }
        signal_bus_error(device_file(viad)?)
    };
    under_way(setting, "AER", signal, Ok)
}

/// Two trusted ranks play, and a program of each way has a stream of its own, besides one that closes its NIC at once; then it `happens` to the NIC of the
/// one who returns the ball. All hear of it, and viad, which ends with this `reason`. What is to be done `behind` it is; then the next viad has a NIC that works, and that writes nothing of before.
fn under_way<T>(
    setting: &Setting,
    reason: &str,
    happens: impl FnOnce(&Viad) -> Result<T>,
    behind: impl FnOnce(T) -> Result<()>,
) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    let closes = Stream::begin(&viads[0].name(WAYS[0]))?;
    let streams = streams(&viads[0])?;
    let [returns, serves] = trusted_pair(&viads);
    let returns = returns.start()?;
    let mut serves = serves.start()?;
    serves.wait_for(PLAYING)?;
    let happened = happens(&viads[0])?;
    // It unmaps its memory as soon as it hears: the NIC must not reach that any more.
    drop(closes.end()?);
    let [viad, other] = viads;
    viad.wait_end(reason)?;
    for end in [returns.end()?, serves.end()?] {
        hears_of_the_end(&end)?;
    }
    let remains = end(streams)?;
    let before = bytes(&remains)?;
    behind(happened)?;
    let viads = [Viad::start(setting, 0, None, &trust())?, other];
    let [returns, serves] = trusted_pair(&viads);
    game(returns, serves)?;
    ensure!(bytes(&remains)? == before, "the NIC has written after its end ({reason})");
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

/// Nobody ends the VIs of a viad that is killed. One trusted program closes its NIC as soon as it hears of that, another one keeps it.
fn killed(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viad = Viad::start(setting, 0, None, &trust())?;
    let closes = Stream::begin(&viad.name(",way=trusted"))?;
    let keep = streams(&viad)?;
    // By SIGKILL.
    drop(viad);
    drop(closes.end()?);
    let remains = end(keep)?;
    let next = Viad::start(setting, 0, None, &trust())?;
    let before = bytes(&remains)?;
    let viads = [next, Viad::start(setting, 1, None, &trust())?];
    let [returns, serves] = trusted_pair(&viads);
    game(returns, serves)?;
    ensure!(bytes(&remains)? == before, "the NIC has written after its viad's end");
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}

/// A copy of the file of a viad's function.
fn device_file(viad: &Viad) -> Result<OwnedFd> {
    device_files(viad.id())?.into_iter().next().context("viad has no file of a device")
}

/// A stream of a program of each way.
fn streams(viad: &Viad) -> Result<Vec<Stream>> {
    WAYS.iter().map(|way| Stream::begin(&viad.name(way))).collect()
}

/// Each program has heard of the end.
fn end(streams: Vec<Stream>) -> Result<Vec<Remains>> {
    streams.into_iter().map(Stream::end).collect()
}

fn bytes(remains: &[Remains]) -> Result<Vec<Vec<u8>>> {
    remains.iter().map(Remains::bytes).collect()
}
