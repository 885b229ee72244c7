//! `same`: whether the NIC does here what it does in another commit, cycle for cycle: the figures of the bench, and the frames of the load
//! at two rates of the link, each with its time.

use crate::capture::{self, Frame};
use crate::project::{self, Project};
use crate::tree::{self, Tree};
use anyhow::{bail, Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// The commit to compare with
    #[arg(long = "as", value_name = "COMMIT")]
    commit: String,
}

/// What is compared, by name.
type Facts = BTreeMap<String, String>;

/// Runs both, and fails if something differs.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let trees = tree::both(project, &options.commit)?;
    let mut facts = Vec::new();
    let mut frames = Vec::new();
    for tree in &trees {
        let folder = tree.made(project, "same")?;
        let mut known = figures(tree, &folder)?;
        let (cycles, captures) = load(tree, &folder)?;
        known.extend(cycles);
        facts.push(known);
        frames.push(captures);
    }
    let [before, now] = [0, 1].map(|tree| (&facts[tree], &frames[tree]));
    let mut differences = facts_that_differ(before.0, now.0);
    for (rate, frames) in before.1 {
        differences.extend(
            now.1
                .get(rate)
                .and_then(|others| first_other(frames, others))
                .map(|what| format!("frames at link rate {rate}: {what}")),
        );
    }
    let [name, _] = &trees;
    let count: usize = now.1.values().map(Vec::len).sum();
    if differences.is_empty() {
        println!(
            "\n{} figures and {count} frames, each with its time, are those of {}",
            now.0.len(),
            name.name
        );
        return Ok(());
    }
    differences.iter().for_each(|difference| println!("{difference}"));
    bail!("{} differences from {}", differences.len(), name.name)
}

/// The bench's figures.
fn figures(tree: &Tree, folder: &Path) -> Result<Facts> {
    let file = folder.join("bench.json");
    tree.bench().arg("--json").arg(&file).run()?;
    let value: Value =
        serde_json::from_str(&project::read(&file)?).with_context(|| file.display().to_string())?;
    let figures = value.as_array().with_context(|| format!("{} is no list", file.display()))?;
    let fact = |figure: &Value| {
        let name = figure["name"].as_str().unwrap_or_default().to_owned();
        (name, format!("{} {}", figure["value"], figure["unit"].as_str().unwrap_or_default()))
    };
    Ok(figures.iter().map(fact).collect())
}

/// The cycles of the load at each rate, and its frames by rate.
fn load(tree: &Tree, folder: &Path) -> Result<(Facts, BTreeMap<String, Vec<Frame>>)> {
    let printed = tree.load("frames").arg(folder).read()?;
    let (mut facts, mut frames) = (Facts::new(), BTreeMap::new());
    for line in printed.lines() {
        let (rate, cycles) =
            line.split_once(' ').with_context(|| format!("{line:?} is no rate and cycles"))?;
        facts.insert(format!("load_link{rate}"), format!("{cycles} cycles"));
        let file = folder.join(format!("link{rate}.pcap"));
        frames.insert(rate.to_owned(), capture::read(&file)?);
    }
    Ok((facts, frames))
}

fn facts_that_differ(before: &Facts, now: &Facts) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let shown = |fact: Option<&String>| fact.map_or("nothing", String::as_str).to_owned();
    let differs = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    differs.map(|name| format!("{name}: {}, was {}", shown(now.get(name)), shown(before.get(name)))).collect()
}

/// Where the frames begin to differ, and how.
fn first_other(before: &[Frame], now: &[Frame]) -> Option<String> {
    let at = before.iter().zip(now).position(|(before, now)| before != now);
    let Some(at) = at else {
        return (before.len() != now.len()).then(|| format!("{}, were {}", now.len(), before.len()));
    };
    let [(seconds, nanoseconds), (then, nanoseconds_then)] = [now[at].time, before[at].time];
    let bytes = now[at].bytes.iter().zip(&before[at].bytes).position(|(now, before)| now != before);
    let what = match (bytes, now[at].bytes.len() == before[at].bytes.len()) {
        (None, true) => format!("comes at {seconds}.{nanoseconds:09} s, was {then}.{nanoseconds_then:09} s"),
        (None, false) => format!("has {} bytes, had {}", now[at].bytes.len(), before[at].bytes.len()),
        (Some(byte), _) => format!("has another byte {byte}"),
    };
    Some(format!("frame {} of {} is the first that {what} ({} were)", at + 1, now.len(), before.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(nanoseconds: u32, bytes: &[u8]) -> Frame {
        Frame { time: (0, nanoseconds), bytes: bytes.to_vec() }
    }

    #[test]
    fn the_first_other_frame_is_named_with_what_is_other() {
        let frames = [frame(1, &[1]), frame(2, &[2, 3])];
        assert_eq!(first_other(&frames, &frames), None);
        let late = first_other(&frames, &[frame(1, &[1]), frame(3, &[2, 3])]).unwrap();
        assert!(
            late.starts_with("frame 2 of 2 is the first that comes at 0.000000003 s, was 0.000000002 s"),
            "{late}"
        );
        let other = first_other(&frames, &[frame(1, &[1]), frame(2, &[2, 4])]).unwrap();
        assert!(other.contains("another byte 1"), "{other}");
        assert_eq!(first_other(&frames, &frames[..1]).unwrap(), "1, were 2");
    }

    #[test]
    fn a_figure_that_is_other_new_or_gone_is_a_difference() {
        let facts = |pairs: &[(&str, &str)]| -> Facts {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let (before, now) =
            (facts(&[("a", "1"), ("b", "2"), ("c", "3")]), facts(&[("a", "1"), ("b", "4"), ("d", "5")]));
        let told = facts_that_differ(&before, &now);
        assert_eq!(told, ["b: 4, was 2", "c: nothing, was 3", "d: 5, was nothing"]);
    }
}
