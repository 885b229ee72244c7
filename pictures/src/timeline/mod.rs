//! The life of a short send, from the doorbell's store to the write that completes the receive, in the cycles of the RTL's own signals.

mod draw;
mod stages;
mod wave;

use anyhow::{ensure, Context, Result};
use viaduct_bench::bound::SendSteps;
use viaduct_bench::edge::Kind;
use viaduct_bench::figure::Figure;
use viaduct_bench::latency::{self, Passage};
use viaduct_bench::pair::Pair;

use stages::{Nic, Stage, STAGES};
use wave::Wave;

/// The name of the bench's figure that is drawn.
const FIGURE: &str = "send_8B_latency_link1";

/// A stage's place in the life.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The stage.
    pub stage: Stage,
    /// Its first cycle since the doorbell.
    pub from: u64,
    /// Its cycles.
    pub cycles: u64,
}

/// A whole life.
#[derive(Debug)]
pub struct Life {
    /// The stages, one behind the other.
    pub spans: Vec<Span>,
    /// What the bench measures.
    pub figure: Figure,
    /// What the physical bound is made of.
    pub steps: SendSteps,
}

/// The picture as SVG.
///
/// # Errors
/// The NICs cannot be simulated, or a stage is not seen.
pub fn svg() -> Result<String> {
    Ok(draw::svg(&life()?))
}

/// Runs the bench's messages with waveforms, and looks at the one that took as long as its figure says.
fn life() -> Result<Life> {
    let folder = tempfile::tempdir()?;
    let files = [folder.path().join("nic.fst"), folder.path().join("nic.nic1.fst")];
    let measured = {
        let pair = Pair::new(latency::conditions(1), Some(files[0].clone()))?;
        latency::measure(FIGURE, &pair)?
    };
    let wanted: Vec<String> = stages::streams().into_iter().flat_map(wave::signals).collect();
    let waves = [Wave::read(&files[0], &wanted)?, Wave::read(&files[1], &wanted)?];
    let behind = measured.passages.len() - measured.median;
    let passage = &measured.passages[measured.median];
    let nics = [
        aligned(&waves[0], "eth_tx", passage, 0, Kind::FrameOut, behind)?,
        aligned(&waves[1], "eth_rx", passage, 1, Kind::FrameIn, behind)?,
    ];
    let cycles = stages::cycles(passage, &nics, STAGES)?;
    let (physics, message) = (latency::conditions(1).physics(), latency::conditions(1).message);
    let sample = latency::sample(passage, physics.frame_cycles(message))?;
    let spans = spans(&cycles, sample.switch);
    let sum: u64 = spans.iter().map(|span| span.cycles).sum();
    ensure!(sum == sample.cycles, "the stages take {sum} cycles, and the bench measures {}", sample.cycles);
    Ok(Life { spans, figure: measured.figure, steps: physics.send_steps(message) })
}

/// A waveform whose frame, counted from the last one, is the passage's: idle cycles are not in it.
fn aligned<'a>(
    wave: &'a Wave,
    side: &str,
    passage: &Passage,
    nic: usize,
    kind: Kind,
    behind: usize,
) -> Result<Nic<'a>> {
    let ends = wave.frames(side)?;
    let last = ends.len().checked_sub(behind).map(|index| ends[index]);
    let last = last.with_context(|| format!("the waveform of NIC {nic} has too few frames"))?;
    let event = latency::find(&passage[nic], kind)?;
    ensure!(event.last >= last, "the waveform of NIC {nic} is longer than the run");
    Ok(Nic { wave, ahead: event.last - last })
}

/// The stages as over a cable: without the cycles for which the switch held the frame.
fn spans(cycles: &[u64], switch: u64) -> Vec<Span> {
    let mut from = 0;
    let mut all = Vec::new();
    for (stage, pair) in STAGES.iter().zip(cycles.windows(2)) {
        let held = if matches!(stage.end, stages::End::Arrives(..)) { switch } else { 0 };
        let cycles = pair[1] - pair[0] - held;
        all.push(Span { stage: *stage, from, cycles });
        from += cycles;
    }
    all
}
