//! `speed`: how fast two RTL NICs are simulated here and in another commit, measured in turns.
//!
//! | figure | what runs |
//! |---|---|
//! | the simulation | messages between two NICs with their root complexes, wire and hosts, as each tree builds all of it |
//! | its NICs alone | the two compiled models, as each tree builds them, to which it plays the pins that it has recorded of such messages |
//! | NICs, equal flags | the Verilog of each, compiled by this tree, to which its recorded pins are played |
//!
//! Each NIC meets its own recording, since NICs of two commits may take other cycles for the same messages. A cycle in which either does
//! something else than recorded ends the command. Speeds are cycles of the pair by seconds of processor time, which is what a machine with
//! nothing else to do takes of time: nothing runs beside the one thread.

use crate::doctor;
use crate::project::Project;
use crate::tree::{self, Tree};
use anyhow::{Context, Result};

/// What is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// The commit to compare with
    #[arg(long, value_name = "COMMIT")]
    against: String,
    /// How often both are measured, one after the other
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
}

/// The figures, in the order in which a tree gives them.
const FIGURES: [&str; 3] = ["the simulation", "its NICs alone", "NICs, equal flags"];

/// Measures and prints.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let trees = tree::both(project, &options.against)?;
    let mut folders = Vec::new();
    for tree in &trees {
        let folder = tree.made(project, "speed")?;
        tree.load("pins").arg(&folder).run()?;
        folders.push(folder);
    }
    let mut speeds: [[Vec<f64>; 3]; 2] = Default::default();
    for pair in 1..=options.pairs {
        println!("pair {pair} of {}", options.pairs);
        for (number, folder) in folders.iter().enumerate() {
            let own = numbers(&trees[number].load("time").read()?)?;
            let equal = numbers(&trees[1].load("replay").arg(folder).read()?)?;
            for (figure, speed) in own.into_iter().chain(equal).enumerate() {
                speeds[number][figure].push(speed);
            }
        }
    }
    doctor::show(&table(&trees, &speeds))
}

fn numbers(text: &str) -> Result<Vec<f64>> {
    let number = |word: &str| word.parse().with_context(|| format!("{word:?} is no speed"));
    text.split_whitespace().map(number).collect()
}

/// The least, the median and the most.
fn spread(speeds: &[f64]) -> [f64; 3] {
    let mut sorted = speeds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    };
    [sorted[0], median, sorted[sorted.len() - 1]]
}

fn table(trees: &[Tree; 2], speeds: &[[Vec<f64>; 3]; 2]) -> String {
    let [before, now] = trees.each_ref().map(|tree| tree.name.as_str());
    let head = |name: &str| format!("{:^26}", format!("{name}: kcycles/s"));
    let mut text = format!("\n{:18} {} {} ratio\n", "", head(before), head(now));
    text += &format!(
        "{:18} {} {} of medians\n",
        "",
        columns(["least", "median", "most"]),
        columns(["least", "median", "most"])
    );
    for (figure, name) in FIGURES.iter().enumerate() {
        let [before, now] = [0, 1].map(|tree| spread(&speeds[tree][figure]));
        let shown = |spread: [f64; 3]| columns(spread.map(|speed| format!("{:.1}", speed / 1000.0)));
        text += &format!("{name:18} {} {} {:.2}\n", shown(before), shown(now), now[1] / before[1]);
    }
    text
}

fn columns<T: std::fmt::Display>(cells: [T; 3]) -> String {
    cells.map(|cell| format!("{cell:>8}")).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), [1.0, 2.5, 4.0]);
        assert_eq!(spread(&[5.0]), [5.0; 3]);
    }

    #[test]
    fn what_a_program_prints_is_numbers_or_an_error() {
        assert_eq!(numbers("133051 144062\n").unwrap(), [133051.0, 144062.0]);
        assert!(numbers("fast").is_err());
    }
}
