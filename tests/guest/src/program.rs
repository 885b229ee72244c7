//! A program of C (vipl/c/tests/c/failure.c) loses both its NICs while all calls that can wait do wait. They are its own or viads'. The system wants the
//! functions back (REQ), the bus gives them up (ERR), somebody else resets or stops them, or their viads are killed. The program itself checks what VIPL
//! says. Here is checked what it keeps of the functions.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{ensure, Result};
use libtest_mimic::Completion;

use crate::{
    child::{Child, Running},
    function::{device_files, signal_bus_error, Function, Unbinding},
    note::note,
    setting::Setting,
    shared::{lacking, trusting},
    viads::{Viad, SOMEBODY_ELSE, WANTED, WAYS},
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "a_c_program_is_told_of_an_error_of_the_bus", body: Body::Names(error) },
    Test { name: "a_c_program_is_told_that_its_functions_are_wanted_back", body: Body::Names(removal) },
    Test { name: "a_c_program_of_viads_is_told_of_an_error_of_their_bus", body: Body::Names(error_of_viads) },
    Test {
        name: "a_c_program_of_viads_is_told_that_their_functions_are_wanted_back",
        body: Body::Names(removal_of_viads),
    },
    Test {
        name: "a_c_program_of_viads_is_told_of_a_reset_of_their_functions",
        body: Body::Names(reset_of_viads),
    },
    Test { name: "a_c_program_of_viads_is_told_that_bus_master_is_off", body: Body::Names(stop_of_viads) },
    Test { name: "a_c_program_of_viads_is_told_that_they_were_killed", body: Body::Names(death_of_viads) },
];

/// What the program says when all its calls wait.
const UNDER_WAY: &str = "under way";
/// What it says when its handlers have been told, no call has hung, and it has closed the NICs.
const ENDED: &str = "all has ended";
/// The way of a program that viad trusts.
const BY_TRUST: Way = Way { option: WAYS[0], preloaded: "" };
/// The way of one that it does not trust. It needs the allocator, since it registers what malloc gave it.
const BY_POOLS: Way = Way { option: WAYS[1], preloaded: "/lib/libvipl_heap.so" };

/// How the program has a part of viads' NICs.
#[derive(Clone, Copy)]
struct Way {
    /// Behind the NIC's name.
    option: &'static str,
    /// What is preloaded.
    preloaded: &'static str,
}

/// Whose the NICs are.
enum Owner {
    /// The program's.
    Itself,
    /// Two viads', and the program's way.
    Viads([Viad; 2], Way),
}

impl Owner {
    /// The viads that have them.
    fn viads(&self) -> &[Viad] {
        match self {
            Self::Itself => &[],
            Self::Viads(viads, _) => viads,
        }
    }

    /// Both functions' devices, as their owner has them.
    fn devices(&self, program: &Running) -> Result<Vec<OwnedFd>> {
        let files = match self {
            Self::Itself => device_files(program.id())?,
            Self::Viads(viads, _) => {
                let files: Result<Vec<_>> = viads.iter().map(|viad| device_files(viad.id())).collect();
                files?.into_iter().flatten().collect()
            }
        };
        ensure!(files.len() == 2, "there are {} files of devices", files.len());
        Ok(files)
    }

    /// The program. Functions of its own still answer, so it closes them without an error. Of a viad's it cannot know that.
    fn command(&self, setting: &Setting, file: &Path) -> Command {
        let mut command = Command::new(file);
        command.env("VIADUCT_NICS_FILE", "/dev/null");
        match self {
            Self::Itself => command.arg("answer").env("VIADUCT_NICS", nics(setting)),
            Self::Viads([one, other], Way { option, preloaded }) => {
                let nics = format!("nic0={};nic1={}", one.name(option), other.name(option));
                command.arg("viads").env("VIADUCT_NICS", nics).env("LD_PRELOAD", preloaded)
            }
        };
        command
    }
}

fn error(setting: &Setting) -> Result<Completion> {
    fail(setting, Owner::Itself, give_up, because("AER"), Ok)
}

/// The error is viad's to hear of, whatever the way of its programs.
fn error_of_viads(setting: &Setting) -> Result<Completion> {
    by(setting, &[BY_POOLS], |owner| fail(setting, owner, give_up, because("AER"), Ok))
}

/// The bus gives both functions up.
fn give_up(owner: &Owner, program: &Running) -> Result<()> {
    owner.devices(program)?.iter().try_for_each(signal_bus_error)
}

fn removal(setting: &Setting) -> Result<Completion> {
    removal_of(setting, Owner::Itself)
}

fn removal_of_viads(setting: &Setting) -> Result<Completion> {
    by(setting, &[BY_TRUST, BY_POOLS], |owner| removal_of(setting, owner))
}

fn removal_of(setting: &Setting, owner: Owner) -> Result<Completion> {
    let unbind =
        |_: &Owner, _: &Running| [0, 1].map(|nic| Function::of(setting, nic)?.unbind()).into_iter().collect();
    let bind = |unbound: Vec<_>| unbound.into_iter().try_for_each(Unbinding::bind_again);
    fail(setting, owner, unbind, because(WANTED), bind)
}

fn reset_of_viads(setting: &Setting) -> Result<Completion> {
    by_somebody_else(setting, BY_TRUST, Function::reset)
}

fn stop_of_viads(setting: &Setting) -> Result<Completion> {
    by_somebody_else(setting, BY_POOLS, Function::stop)
}

/// Somebody does this to both functions. For viad a reset and a stop are the same, so one way of a program's is enough for each.
fn by_somebody_else(
    setting: &Setting,
    way: Way,
    deed: impl Fn(&Function) -> Result<()>,
) -> Result<Completion> {
    let deeds =
        |_: &Owner, _: &Running| [0, 1].into_iter().try_for_each(|nic| deed(&Function::of(setting, nic)?));
    by(setting, &[way], |owner| fail(setting, owner, deeds, because(SOMEBODY_ELSE), Ok))
}

fn death_of_viads(setting: &Setting) -> Result<Completion> {
    let kill = |owner: &Owner, _: &Running| owner.viads().iter().try_for_each(Viad::kill);
    by(setting, &[BY_TRUST, BY_POOLS], |owner| fail(setting, owner, kill, |_| Ok(()), Ok))
}

/// How a viad ends whose NIC has failed: it says why.
fn because(reason: &str) -> impl Fn(Viad) -> Result<()> + use<'_> {
    move |viad| viad.wait_end(reason)
}

/// Two viads for each of these ways.
fn by(setting: &Setting, ways: &[Way], run: impl Fn(Owner) -> Result<Completion>) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    for way in ways {
        note(way.option);
        if let ignored @ Completion::Ignored { .. } = run(Owner::Viads(trusting(setting)?, *way))? {
            return Ok(ignored);
        }
    }
    Ok(Completion::Completed)
}

/// Starts the program; then it `happens` to the NICs, and each viad `ends` so. What is to be done `behind` it is done while the program lives still, which
/// has closed them.
fn fail<T>(
    setting: &Setting,
    owner: Owner,
    happens: impl FnOnce(&Owner, &Running) -> Result<T>,
    ends: impl Fn(Viad) -> Result<()>,
    behind: impl FnOnce(T) -> Result<()>,
) -> Result<Completion> {
    if !setting.is_vfio() {
        return Ok(Completion::ignored_with("no kernel has this device's functions"));
    }
    let Some(file) = file() else {
        return Ok(Completion::ignored_with("the program failure is not beside this one"));
    };
    let mut program = Child::program(owner.command(setting, &file)).start()?;
    program.wait_for(UNDER_WAY)?;
    let happened = happens(&owner, &program)?;
    program.wait_for(ENDED)?;
    // By pools it never had any.
    let kept = device_files(program.id())?.len();
    ensure!(kept == 0, "it has closed its NICs, and keeps {kept} files of devices");
    if let Owner::Viads(viads, _) = owner {
        viads.into_iter().try_for_each(ends)?;
    }
    behind(happened)?;
    program.lives()?;
    let end = program.end()?;
    ensure!(end.success, "it has failed: {}", end.said);
    Ok(Completion::Completed)
}

/// The program, if it is beside this one.
fn file() -> Option<PathBuf> {
    let file = std::env::current_exe().ok()?.with_file_name("failure");
    file.exists().then_some(file)
}

/// What VIPL programs are told of the NICs.
fn nics(setting: &Setting) -> String {
    let names = setting.nics.iter().enumerate().map(|(nic, name)| {
        let (place, number) = (name.split(',').next().unwrap_or_default(), nic + 1);
        format!("nic{nic}={place},mac=02:00:00:00:00:{number:02},ip=10.0.0.{number}")
    });
    names.collect::<Vec<_>>().join(";")
}
