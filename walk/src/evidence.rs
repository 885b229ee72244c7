//! What a failed walk leaves behind: the program, small, and what the NICs and the model did with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use viaduct_sim::setup::Kind;

use crate::ability::Abilities;
use crate::conditions::Schedule;
use crate::judge::Disagreement;
use crate::machine::{run, Run};
use crate::program::Program;

/// Writes it into a folder below `folder`, and says which.
pub fn leave(
    folder: &Path,
    whole: &Program,
    small: &Program,
    found: &Disagreement,
    abilities: Abilities,
) -> io::Result<PathBuf> {
    let folder = folder.join(format!("seed-{}", whole.seed));
    fs::create_dir_all(&folder)?;
    let text = format!("{:?} in schedule {:?}\n{}\n\n{small}", found.kinds, found.schedule, found.text);
    fs::write(folder.join("small.txt"), text)?;
    fs::write(folder.join("whole.txt"), whole.to_string())?;
    let mut with = Run::of(found.kinds, found.schedule.clone());
    with.pcap = Some(folder.join("found.pcap"));
    with.trace = Some(folder.join("found.fst"));
    run(small, &with, abilities)?;
    let mut with = Run::of([Kind::Model; 2], Schedule::default());
    with.pcap = Some(folder.join("model.pcap"));
    run(small, &with, abilities)?;
    Ok(folder)
}
