//! How fast it is simulated: cycles a second in which two NICs are stepped, one for a while and then the other, as a network has them.

use std::path::Path;

use anyhow::{ensure, Context, Result};
use rustix::time::{clock_gettime, ClockId};
use viaduct_sim::nic::{Nic, NicOut};
use viaduct_sim::rtl::Rtl;
use viaduct_verilate::{Dut, Handle, Options};

use crate::pins;
use crate::recording::{Recording, Seen};
use crate::scene::{Plan, Scene};

/// Cycles for which one NIC is stepped before the other.
const QUANTUM: usize = 64;
/// Times that the recorded pins are played for one figure.
const TIMES: usize = 4;

/// Seconds that the processors have worked for this program. All of it is one thread, so on a machine that does nothing else these are
/// seconds on the wall.
fn worked() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The whole simulation: NICs, root complexes, wire and hosts.
pub fn simulation(plan: Plan) -> Result<f64> {
    let scene = Scene::new(Plan { never_skip: true, ..plan }, None)?;
    let start = worked();
    let cycles = scene.run()?;
    Ok(cycles as f64 / (worked() - start))
}

/// Plays what was recorded to both, in turns; gives cycles a second.
fn play(lengths: [usize; 2], mut cycle: impl FnMut(usize, usize)) -> f64 {
    let start = worked();
    for from in (0..lengths[0].max(lengths[1])).step_by(QUANTUM) {
        for (nic, length) in lengths.into_iter().enumerate() {
            (from.min(length)..(from + QUANTUM).min(length)).for_each(|row| cycle(nic, row));
        }
    }
    (lengths[0] + lengths[1]) as f64 / 2.0 / (worked() - start)
}

/// The NICs as this tree's simulator has them compiled, with nothing around them.
///
/// # Errors
/// They do not do what was recorded.
pub fn nics(seen: &[Vec<Seen>; 2]) -> Result<f64> {
    let mut best: f64 = 0.0;
    for _ in 0..TIMES {
        let mut nics = [Rtl::new(1).made()?, Rtl::new(2).made()?];
        let (mut output, mut other) = (NicOut::default(), 0);
        let speed = play(seen.each_ref().map(Vec::len), |nic, row| {
            let (_, input, shown) = &seen[nic][row];
            nics[nic].cycle(input, &mut output);
            other += usize::from(output != *shown);
        });
        ensure!(other == 0, "in {other} cycles a NIC does not do what it was recorded to do");
        best = best.max(speed);
    }
    Ok(best)
}

/// The NICs of a folder's `top.v`, compiled by this tree, to which the folder's pins are played.
///
/// # Errors
/// They do not do what was recorded, or cannot be compiled.
pub fn folder(folder: &Path) -> Result<f64> {
    let verilog = folder.join("top.v");
    let verilog = std::fs::read_to_string(&verilog).with_context(|| verilog.display().to_string())?;
    let options = Options { trace: false, optimise: "-O2".into(), ..Options::named("nic") };
    let recordings = [pins::read(&folder.join("nic0.pins"))?, pins::read(&folder.join("nic1.pins"))?];
    let find =
        |dut: &Dut, names: &[String]| -> Vec<Handle> { names.iter().map(|name| dut.port(name)).collect() };
    let mut best: f64 = 0.0;
    for time in 0..=TIMES {
        let mut nics = [Dut::seeded(&verilog, &options, 1)?, Dut::seeded(&verilog, &options, 2)?];
        let (inputs, outputs) =
            (find(&nics[0], &recordings[0].inputs), find(&nics[0], &recordings[0].outputs));
        // What is random at power-up may be shown where nothing is valid.
        let valid: Vec<usize> =
            (0..outputs.len()).filter(|&at| recordings[0].outputs[at].ends_with("_valid")).collect();
        let mut other = 0;
        let speed =
            play(recordings.each_ref().map(|recording: &Recording| recording.rows.len()), |nic, row| {
                let (nic, row) = (&mut nics[nic], &recordings[nic].rows[row]);
                for (input, value) in inputs.iter().zip(&row.inputs) {
                    nic.write(*input, *value);
                }
                // The first time is for looking.
                if time == 0 {
                    nic.eval();
                    other += valid.iter().filter(|&&at| nic.read(outputs[at]) != row.outputs[at]).count();
                }
                nic.tick();
            });
        ensure!(other == 0, "{other} outputs are not what they were recorded to be");
        if time > 0 {
            best = best.max(speed);
        }
    }
    Ok(best)
}

/// Making a NIC may fail in one commit and not in another.
trait Made {
    /// The NIC.
    fn made(self) -> Result<Box<dyn Nic>>;
}

impl Made for Rtl {
    fn made(self) -> Result<Box<dyn Nic>> {
        Ok(Box::new(self))
    }
}

impl Made for std::io::Result<Rtl> {
    fn made(self) -> Result<Box<dyn Nic>> {
        Ok(Box::new(self?))
    }
}
