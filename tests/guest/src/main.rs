//! `viaduct-guest`: what only a kernel's VFIO, IOMMU and users can show of the agent and of VIPL.
//!
//! ```text
//!   viaduct-guest --nic vfio:0000:01:00.0 --nic vfio:0000:02:00.0 [--dmar] [filter]
//! ```
//! One static binary that runs where two NICs are that reach each other: in a QEMU guest (`cargo xtask
//! vfio`), on a machine with two boards, or beside a simulator (`--nic vfio-user:PATH` twice), where
//! the simulator's table of DMA maps stands for the IOMMU and tests that need a kernel are ignored,
//! with the reason. It prints what libtest prints, and ends with its status. Every test ends with
//! messages in both directions and at both levels: whatever was done to a NIC, the next transfer works. With `--dmar` the IOMMU's
//! faults in the kernel's log are those that the test has provoked, and no others ([`ledger`]).
//!
//! One file each theme; [`bench`] has the two NICs, [`meddling`] stands between the agent and a NIC and
//! makes it reach for memory that it must not, [`witness`] tells who saw that refused.

mod bench;
mod bus_error;
mod bus_master;
mod child;
mod figures;
mod fork;
mod function;
mod handed;
mod held;
mod hostile;
mod interrupts;
mod kernel;
mod ledger;
mod machine;
mod meddling;
mod memory;
mod note;
mod own;
mod owner;
mod program;
mod ranks;
mod refusals;
mod regions;
mod reset;
mod setting;
mod shared;
mod stopped;
mod stream;
mod system_calls;
mod user;
mod viads;
mod witness;

use std::{
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Result;
use clap::Parser;
use libtest_mimic::{Arguments, Completion, Trial};

use bench::Bench;
use child::Deed;
use ledger::Ledger;
use machine::Machine;
use setting::Setting;
use vipl::Mac;

/// Tests of the agent and VIPL over two NICs
#[derive(Parser)]
pub struct Options {
    /// Name of a NIC; given twice
    #[arg(long, value_name = "NAME", required = true)]
    nic: Vec<String>,
    /// The kernel's log must tell of each access that a test has refused, and of no other
    #[arg(long)]
    dmar: bool,
    /// What the NICs are: leaves out the tests that are for NICs of the other kind
    #[arg(long, value_name = "KIND")]
    nics: Option<Kind>,
    /// Line to who runs this machine, and does to it what its own system cannot
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Runs as this user, with no right that the user has not
    #[arg(long, value_name = "UID", hide = true)]
    as_user: Option<u32>,
    /// Limits the memory that may be locked
    #[arg(long, value_name = "BYTES", hide = true)]
    memlock: Option<u64>,
    /// Whose memory that is, if not its own
    #[arg(long, value_name = "PID", hide = true)]
    of: Option<i32>,
    /// Does this, and no tests
    #[arg(long, value_name = "DEED", hide = true)]
    deed: Option<Deed>,
    /// The NIC of who serves the ball
    #[arg(long, value_name = "MAC", hide = true)]
    peer: Option<Mac>,
    /// What is known of somebody else
    #[arg(long, value_name = "TEXT", hide = true)]
    told: Option<String>,
    /// So many balls; without it they end with the process
    #[arg(long, value_name = "COUNT", hide = true)]
    balls: Option<u64>,
    #[command(flatten)]
    tests: Arguments,
}

/// What a test is given.
#[derive(Clone, Copy)]
pub enum Body {
    /// Two open NICs. They do the transfer behind the test.
    Pair(fn(&mut Bench) -> Result<Completion>),
    /// Their names. NICs opened anew do the transfer.
    Names(fn(&Setting) -> Result<Completion>),
}

/// A test.
pub struct Test {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub body: Body,
}

impl Test {
    fn run(&self, setting: &Setting) -> Result<Completion> {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| self.body(setting)));
        // Whatever came of it, a panic too: the next test has an account of its own.
        let closed = setting.ledger.as_ref().map_or(Ok(()), Ledger::close);
        let outcome = outcome.unwrap_or_else(|panic| panic::resume_unwind(panic));
        outcome.and_then(|outcome| closed.map(|()| outcome))
    }

    fn body(&self, setting: &Setting) -> Result<Completion> {
        match self.body {
            Body::Pair(run) => {
                let mut bench = Bench::open(setting)?;
                let outcome = run(&mut bench)?;
                for end in &bench.ends {
                    end.device.give_interrupts_back()?;
                }
                bench.transfer()?;
                Ok(outcome)
            }
            Body::Names(run) => {
                let outcome = run(setting)?;
                Bench::open(setting)?.transfer()?;
                Ok(outcome)
            }
        }
    }
}

/// What NICs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Rtl,
    Model,
}

/// The tests of what the NICs do, or have done to them.
const TESTS: &[&[Test]] = &[
    refusals::TESTS,
    regions::TESTS,
    bus_master::TESTS,
    interrupts::TESTS,
    reset::TESTS,
    shared::TESTS,
    hostile::TESTS,
    stopped::TESTS,
];

/// More of them, for RTL: of all that software does in them there is a test in [`OF_SOFTWARE`].
const OF_RTL: &[&[Test]] = &[stopped::OF_THE_FUNCTION];

/// The tests of what the library, viad and the kernel do, for models: the NICs carry a message or two.
const OF_SOFTWARE: &[&[Test]] = &[
    bus_error::TESTS,
    owner::TESTS,
    handed::TESTS,
    user::TESTS,
    program::TESTS,
    held::TESTS,
    own::TESTS,
    fork::TESTS,
    figures::TESTS,
    stopped::OF_THE_SYSTEM,
];

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(deed) = options.deed {
        return child::main(deed, &options);
    }
    let Ok(nics) = <[String; 2]>::try_from(options.nic) else {
        eprintln!("two NICs are needed: --nic NAME --nic NAME");
        return ExitCode::from(2);
    };
    let ledger = match options.dmar.then(Ledger::open).transpose() {
        Ok(ledger) => ledger,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let setting = Setting { nics, ledger, machine: options.machine.map(Machine) };
    let of_rtl: &[&[Test]] = if options.nics == Some(Kind::Model) { &[] } else { OF_RTL };
    let of_software: &[&[Test]] = if options.nics == Some(Kind::Rtl) { &[] } else { OF_SOFTWARE };
    let tests = TESTS.iter().chain(of_rtl).chain(of_software).copied().flatten().chain(refusals::LAST);
    let trials = tests.map(|test| {
        let setting = setting.clone();
        Trial::ignorable_test(test.name, move || note::run(|| test.run(&setting)))
    });
    // A NIC has one owner at a time: one test after the other.
    let arguments = Arguments { test_threads: Some(1), ..options.tests };
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
