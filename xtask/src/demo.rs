//! `demo`: builds the simulator and the viaduct command, and runs `viaduct demo`.

use crate::command::Cmd;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::{ensure, Result};
use std::ffi::OsString;
use std::path::Path;

/// How long the short demo may take: one that hangs must not hang the tests.
const SMOKE_SECONDS: u32 = 300;

/// Runs the demo with the user's own arguments.
pub fn run(project: &Project, args: &[OsString]) -> Result<()> {
    setup::ensure(project, &[Need::Simulator])?;
    build(project)?;
    project.built("viaduct")?.arg("demo").args(args).run()
}

fn build(project: &Project) -> Result<()> {
    project.cargo("build")?.args(["-p", "viaduct-sim", "-p", "viaduct-cli"]).run()
}

/// A short demo for `test`, whose capture an independent program must understand.
pub fn smoke(project: &Project, built: bool) -> Result<()> {
    if !built {
        build(project)?;
    }
    let folder = project.scratch("demo")?;
    let (capture, trace) = (folder.join("demo.pcap"), folder.join("demo.fst"));
    for file in [&capture, &trace] {
        // What an earlier run left must not pass for this one's.
        if file.exists() {
            std::fs::remove_file(file)?;
        }
    }
    let demo = project.built("viaduct")?.args(["demo", "--size", "65536"]);
    demo.limit(SMOKE_SECONDS).arg("--pcap").arg(&capture).arg("--trace").arg(&trace).run()?;
    let waveform = std::fs::metadata(&trace).map_or(0, |file| file.len());
    ensure!(waveform > 0, "{} holds no waveform", trace.display());
    let good = frames(&capture, "infiniband && !_ws.malformed")?;
    let bad = frames(&capture, "_ws.malformed")?;
    println!("Wireshark reads {good} RoCEv2 frames, {bad} of the capture malformed");
    ensure!(good > 0 && bad == 0, "{} is not what RoCEv2 looks like", capture.display());
    Ok(())
}

/// Counts the frames of a capture that Wireshark shows under a filter.
fn frames(capture: &Path, filter: &str) -> Result<usize> {
    let tshark = Cmd::new("tshark").arg("-r").arg(capture).args(["-Y", filter]);
    Ok(tshark.args(["-T", "fields", "-e", "frame.number"]).read()?.lines().count())
}
