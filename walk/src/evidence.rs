//! What a failed walk leaves behind: the program, small, and what the NICs and the model did with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use viaduct_sim::model::Mutant;
use viaduct_sim::setup::Kind;

use crate::conditions::choices;
use crate::follow::line;
use crate::judge::Disagreement;
use crate::machine::{run, Run};
use crate::program::Program;

/// Writes it into a folder below `folder`, and says which.
pub fn leave(
    folder: &Path,
    whole: &Program,
    small: &Program,
    found: &Disagreement,
    mutant: Option<Mutant>,
) -> io::Result<PathBuf> {
    let folder = folder.join(format!("seed-{}", whole.seed));
    fs::create_dir_all(&folder)?;
    let text = format!("{:?}\n{}\n\n{small}", found.kinds, found.text);
    fs::write(folder.join("small.txt"), text)?;
    fs::write(folder.join("whole.txt"), whole.to_string())?;
    let mut with = Run::of(found.kinds, choices(small.seed, mutant));
    with.pcap = Some(folder.join("found.pcap"));
    with.waves = Some(folder.join("found.fst"));
    let outcome = run(small, &with)?;
    for (nic, trace) in outcome.traces.iter().enumerate() {
        let lines: Vec<String> = trace.moments.iter().map(line).collect();
        fs::write(folder.join(format!("found.nic{nic}.txt")), lines.join("\n") + "\n")?;
    }
    let mut with = Run::of([Kind::Model; 2], choices(small.seed, None));
    with.pcap = Some(folder.join("model.pcap"));
    run(small, &with)?;
    Ok(folder)
}
