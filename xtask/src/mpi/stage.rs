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

/// What the NICs, their wire and their viads are like.
pub struct Conditions<'a> {
    /// What the NICs are.
    pub kind: Kind,
    /// The wire loses so many of a hundred frames.
    pub loss: f64,
    /// Which ones.
    pub seed: u64,
    /// The viads ask a peer that has been silent for so long whether it is there.
    pub silence: Duration,
    /// Each frame goes into this file; and what hosts do takes no device time, which stands until they have been quiet for so long.
    pub measured: Option<(&'a Path, Duration)>,
}

/// The NICs. What is first here ends first.
pub struct Stage {
    viads: Vec<Process>,
    simulator: Simulator,
    folder: Sockets,
}

impl Stage {
    /// Starts so many NICs.
    pub fn start(project: &Project, nics: usize, conditions: &Conditions) -> Result<Stage> {
        let folder = Sockets::make("mpi")?;
        let &Conditions { kind, loss, seed, silence, measured } = conditions;
        if loss > 0.0 {
            println!("{loss} % of the RoCE frames are lost, seed {seed}");
        }
        let loss_per_million = (loss * 1e4).round() as u32;
        let mut arguments =
            ["--loss", &loss_per_million.to_string(), "--seed", &seed.to_string()].map(String::from).to_vec();
        if let Some((capture, quiet)) = measured {
            let capture = std::path::absolute(capture)?.display().to_string();
            arguments.extend(["--pcap".into(), capture, "--hold".into(), quiet.as_micros().to_string()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
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

    /// The last lines that a viad has said.
    pub fn said(&self, nic: usize) -> String {
        self.viads[nic].said()
    }

    /// Kills a viad.
    pub fn kill(&mut self, nic: usize) -> Result<()> {
        self.viads[nic].kill()
    }

    /// Fails if a NIC has broken a rule of the bus.
    pub fn judge(&self) -> Result<()> {
        self.simulator.judge().map(|_| ())
    }

    /// Ends all of it, as [`Stage::judge`] has it. Then the capture is whole.
    pub fn end(self) -> Result<()> {
        self.judge()?;
        drop(self.viads);
        self.simulator.end()
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
