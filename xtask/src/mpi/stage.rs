//! Simulated NICs on one wire, each with its viad.

use super::{counters::Counters, process::Process};
use crate::guest::simulator::{Kind, Simulator};
use crate::guest::Sockets;
use crate::project::{write, Project};
use anyhow::{bail, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a viad may take to serve: it resets its NIC first.
const START: Duration = Duration::from_secs(60);

/// The NICs. What is first here ends first.
pub struct Stage {
    viads: Vec<Process>,
    simulator: Simulator,
    folder: Sockets,
}

impl Stage {
    /// Starts so many NICs, on a wire that loses so many of a hundred frames. Their viads ask a peer that has been silent for so long whether it is there.
    pub fn start(
        project: &Project,
        nics: usize,
        kind: Kind,
        (loss, seed): (f64, u64),
        silence: Duration,
    ) -> Result<Stage> {
        let folder = Sockets::make("mpi")?;
        let (loss_per_million, seed_text) = (((loss * 1e4).round() as u32).to_string(), seed.to_string());
        let arguments = ["--loss", &loss_per_million, "--seed", &seed_text];
        if loss > 0.0 {
            println!("{loss} % of the RoCE frames are lost, seed {seed}");
        }
        let simulator = Simulator::start(project, folder.path(), (nics, kind), &arguments)?;
        let config = folder.path().join("viad.toml");
        // All that a NIC has is for the one user who is here.
        let silence = silence.as_millis();
        write(&config, format!("silence_ms = {silence}\n[user]\nvis = 63\ncqs = 63\nregions = 240\n"))?;
        let mut stage = Stage { viads: Vec::new(), simulator, folder };
        for nic in 0..nics {
            let viad = viad(project, &stage, nic, &config)?;
            stage.viads.push(viad);
        }
        for nic in 0..nics {
            stage.wait(project, nic)?;
        }
        Ok(stage)
    }

    /// How many there are.
    pub fn nics(&self) -> usize {
        self.viads.len()
    }

    /// What programs open.
    pub fn name(&self, nic: usize) -> String {
        format!("viad:{}", self.socket(nic).display())
    }

    /// A NIC's IPv4 address.
    pub fn ip(nic: usize) -> String {
        format!("10.0.0.{}", nic + 1)
    }

    fn socket(&self, nic: usize) -> PathBuf {
        self.folder.path().join(format!("viad{nic}.sock"))
    }

    /// Waits until a viad serves.
    fn wait(&mut self, project: &Project, nic: usize) -> Result<()> {
        let (start, name) = (Instant::now(), self.name(nic));
        while Counters::of(project, &name).is_err() {
            let viad = &mut self.viads[nic];
            if let Some(status) = viad.ended()? {
                bail!("viad {nic} has ended, {status}; it said:\n{}", viad.said());
            }
            ensure!(start.elapsed() < START, "viad {nic} does not serve; it said:\n{}", viad.said());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills a viad.
    pub fn kill(&mut self, nic: usize) -> Result<()> {
        self.viads[nic].kill()
    }

    /// Fails if a NIC has broken a rule of the bus.
    pub fn judge(&self) -> Result<()> {
        self.simulator.judge().map(|_| ())
    }
}

/// Starts the viad of a NIC.
fn viad(project: &Project, stage: &Stage, nic: usize, config: &Path) -> Result<Process> {
    let device = stage.simulator.sockets().into_iter().nth(nic).context("a NIC has a socket")?;
    let (ip, number) = (Stage::ip(nic), nic + 1);
    let name = format!("vfio-user:{},ip={ip},mac=02:00:00:00:00:{number:02x}", device.display());
    let cmd = project.built("viad")?.args(["--nic", &name, "--config"]).arg(config);
    Process::start(&cmd.arg("--socket").arg(stage.socket(nic)).ambient("VIADUCT_LOG", "warn"))
}
