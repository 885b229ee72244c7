//! What is known of the mutants, in a file: a soak that was ended goes on where it was.

use crate::project;
use anyhow::{Context, Result};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// This test failed.
    Killed(String),
    /// It is no fault: who says so.
    Equivalent(String),
    /// All tests up to those of this judge pass, in these versions of their programs; those of the list did not end in time.
    Lives { judge: String, version: String, late: Vec<String> },
}

/// A mutant: the SHA-256 of its block's Verilog, and its name.
pub type Key = (String, String);

/// All that is known.
#[derive(Debug)]
pub struct Results {
    file: PathBuf,
    known: BTreeMap<Key, Verdict>,
}

impl Results {
    /// From a file of earlier runs, if there is one. A last line that was cut off is none.
    ///
    /// # Errors
    /// The file is no such file.
    pub fn read(file: PathBuf) -> Result<Self> {
        let text = match file.exists() {
            true => project::read(&file)?,
            false => String::new(),
        };
        let mut known = BTreeMap::new();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let (key, verdict) =
                parse(line).with_context(|| format!("{}: {line:?}; remove the file", file.display()))?;
            known.insert(key, verdict);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            project::write(&file, &text[..whole])?;
        }
        Ok(Self { file, known })
    }

    /// What is known of this one.
    pub fn get(&self, key: &Key) -> Option<&Verdict> {
        self.known.get(key)
    }

    /// Keeps a verdict.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, block: &str, key: Key, verdict: Verdict) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file);
        let file = file.as_mut().map_err(|error| anyhow::anyhow!("{}: {error}", self.file.display()))?;
        writeln!(file, "{}", line(block, &key, &verdict)).with_context(|| self.file.display().to_string())?;
        self.known.insert(key, verdict);
        Ok(())
    }
}

fn line(block: &str, (verilog, mutant): &Key, verdict: &Verdict) -> Value {
    let mut line = json!({ "block": block, "verilog": verilog, "mutant": mutant });
    match verdict {
        Verdict::Killed(by) => line["killed"] = json!(by),
        Verdict::Equivalent(by) => line["equivalent"] = json!(by),
        Verdict::Lives { judge, version, late } => {
            line["lives"] = json!({ "judge": judge, "version": version, "late": late });
        }
    }
    line
}

fn parse(line: &str) -> Result<(Key, Verdict)> {
    let value: Value = serde_json::from_str(line).context("no JSON")?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let key = (text(&value["verilog"]).context("no verilog")?, text(&value["mutant"]).context("no mutant")?);
    let lives = &value["lives"];
    let verdict = if let Some(by) = text(&value["killed"]) {
        Verdict::Killed(by)
    } else if let Some(by) = text(&value["equivalent"]) {
        Verdict::Equivalent(by)
    } else {
        let late = lives["late"].as_array().context("no verdict")?.iter().filter_map(text).collect();
        let judge = text(&lives["judge"]).context("no judge")?;
        Verdict::Lives { judge, version: text(&lives["version"]).context("no version")?, late }
    };
    Ok((key, verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_known_in_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results");
        let key = |mutant: &str| ("0123".to_owned(), mutant.to_owned());
        let lives =
            Verdict::Lives { judge: "blocks".into(), version: "1-2".into(), late: vec!["c::d".into()] };
        let all = [
            (key("a"), Verdict::Killed("a::b".into())),
            (key("b"), Verdict::Equivalent("yosys".into())),
            (key("c"), lives.clone()),
        ];
        let mut results = Results::read(file.clone()).unwrap();
        for (key, verdict) in &all {
            results.add("x/y", key.clone(), verdict.clone()).unwrap();
        }
        results.add("x/y", key("c"), Verdict::Killed("e".into())).unwrap();
        // A run that is ended may leave half a line.
        let text = project::read(&file).unwrap();
        project::write(&file, text.clone() + "{\"block\":").unwrap();
        let mut again = Results::read(file.clone()).unwrap();
        assert_eq!(again.get(&all[0].0), Some(&all[0].1));
        assert_eq!(again.get(&all[1].0), Some(&all[1].1));
        assert_eq!(again.get(&key("c")), Some(&Verdict::Killed("e".into())), "the last word counts");
        assert_eq!(again.get(&key("d")), None);
        again.add("x/y", key("d"), lives.clone()).unwrap();
        assert_eq!(Results::read(file.clone()).unwrap().get(&key("d")), Some(&lives));
        project::write(&file, "{}\n").unwrap();
        assert!(Results::read(file).unwrap_err().to_string().contains("remove the file"));
    }
}
