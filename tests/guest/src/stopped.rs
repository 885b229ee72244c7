//! The function of a viad is reset, stopped or taken away by somebody else, in the middle of what its clients do.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use vipl::Nic;

use crate::{
    bench::LIMIT,
    ranks::PLAYING,
    setting::{Place, Setting},
    shared::{game, hears_of_the_end, lacking, trust, trusted_pair, trusting},
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "a_reset_of_viad_s_function_is_told_to_all_its_programs", body: Body::Names(reset) },
    Test { name: "bus_master_off_under_viad_is_told_to_all_its_programs", body: Body::Names(stop) },
    Test {
        name: "an_unbind_of_viad_s_function_waits_until_all_its_programs_let_go",
        body: Body::Names(unbind),
    },
];

/// Configuration space: the command register.
const COMMAND: u64 = 4;
/// Command register: the function may send memory requests.
const BUS_MASTER: u16 = 1 << 2;

/// The folder of the first NIC's function.
fn function(setting: &Setting) -> Result<PathBuf> {
    match &setting.places()?[0] {
        Place::Vfio(address) => Ok(PathBuf::from("/sys/bus/pci/devices").join(address)),
        Place::VfioUser(_) => anyhow::bail!("a function of this machine"),
    }
}

fn reset(setting: &Setting) -> Result<Completion> {
    let one_way = || fs::write(function(setting)?.join("reset"), "1").context("its reset");
    under_way(setting, "somebody else", one_way, Ok)
}

fn stop(setting: &Setting) -> Result<Completion> {
    let clear = || {
        let config = OpenOptions::new().read(true).write(true).open(function(setting)?.join("config"))?;
        let mut command = [0; 2];
        config.read_exact_at(&mut command, COMMAND)?;
        let stopped = u16::from_le_bytes(command) & !BUS_MASTER;
        config.write_all_at(&stopped.to_le_bytes(), COMMAND).context("its command register")
    };
    under_way(setting, "somebody else", clear, Ok)
}

/// Who unbinds a function that is open makes the kernel ask for it back (REQ), as who unplugs it does, and waits until nobody has it open. Until then the
/// NIC does what it is told: viad ends all VIs before a trusted program hears of the end and unmaps its memory, so the IOMMU has nothing to refuse.
fn unbind(setting: &Setting) -> Result<Completion> {
    let begin = || {
        let folder = function(setting)?;
        let address = folder.file_name().context("an address")?.to_owned();
        let (told, unbound) = mpsc::channel();
        thread::spawn(move || told.send(fs::write(folder.join("driver/unbind"), address.as_encoded_bytes())));
        Ok(unbound)
    };
    let bind_again = |unbound: Receiver<io::Result<()>>| {
        let written = unbound.recv_timeout(LIMIT).context("somebody has the function open still")?;
        written.context("its driver's unbind")?;
        let address = function(setting)?.file_name().context("an address")?.to_owned();
        // Its driver_override names vfio-pci since `viaduct bind`.
        fs::write("/sys/bus/pci/drivers_probe", address.as_encoded_bytes()).context("drivers_probe")
    };
    under_way(setting, "the system wants it back", begin, bind_again)
}

/// Two trusted ranks play, and a third program looks on; then it `happens` to the NIC of the one who returns the ball. All hear of it, and
/// viad, which ends with this `reason`. What is to be done `behind` it is; then the next viad has a NIC that works.
fn under_way<T>(
    setting: &Setting,
    reason: &str,
    happens: impl FnOnce() -> Result<T>,
    behind: impl FnOnce(T) -> Result<()>,
) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    let looks_on = Nic::open(&viads[0].name(",way=pools"))?;
    let [returns, serves] = trusted_pair(&viads);
    let returns = returns.start()?;
    let mut serves = serves.start()?;
    serves.wait_for(PLAYING)?;
    let happened = happens()?;
    let [viad, other] = viads;
    viad.wait_end(reason)?;
    for end in [returns.end()?, serves.end()?] {
        hears_of_the_end(&end)?;
    }
    let start = Instant::now();
    while looks_on.check().is_ok() {
        ensure!(start.elapsed() < LIMIT, "a program must hear of it");
        thread::sleep(Duration::from_millis(10));
    }
    drop(looks_on);
    behind(happened)?;
    let viads = [Viad::start(setting, 0, None, &trust())?, other];
    let [returns, serves] = trusted_pair(&viads);
    game(returns, serves)?;
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}
