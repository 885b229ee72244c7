//! What NICs have counted, and what is left of their clients, by `viaduct stat`.

use super::Bench;
use crate::project::Project;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// Counters by their names: a NIC's, or the sums of several.
#[derive(Debug, Default, PartialEq)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// A NIC's.
    pub fn of(project: &Project, nic: &str) -> Result<Counters> {
        Counters::read(&look(project, nic)?)
    }

    /// Those of all NICs of a bench together.
    pub fn of_all(bench: &Bench) -> Result<Counters> {
        Ok(Counters::sum(of_each(bench)?))
    }

    /// Those of several NICs together.
    pub fn sum(all: impl IntoIterator<Item = Counters>) -> Counters {
        let mut sums = BTreeMap::new();
        for (name, value) in all.into_iter().flat_map(|Counters(one)| one) {
            *sums.entry(name).or_insert(0) += value;
        }
        Counters(sums)
    }

    fn read(look: &Value) -> Result<Counters> {
        let counters = look["counters"].as_array().context("`viaduct stat` tells of no counters")?;
        let one = |counter: &Value| Some((counter["name"].as_str()?.to_string(), counter["value"].as_u64()?));
        let counters: Option<_> = counters.iter().map(one).collect();
        Ok(Counters(counters.context("a counter has a name and a value")?))
    }

    /// What has been counted since.
    pub fn since(&self, before: &Counters) -> Counters {
        let change = |(name, value): (&String, &u64)| {
            (name.clone(), value - before.0.get(name).unwrap_or(&0).min(value))
        };
        Counters(self.0.iter().map(change).collect())
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Result<u64> {
        self.0.get(name).copied().with_context(|| format!("there is no counter {name}"))
    }
}

/// The counters of each NIC of a bench.
pub fn of_each(bench: &Bench) -> Result<Vec<Counters>> {
    (0..bench.stage.nics()).map(|nic| Counters::of(bench.project, &bench.stage.name(nic))).collect()
}

/// VIs, completion queues and regions that the clients of a NIC's viad have.
pub fn held(project: &Project, nic: &str) -> Result<[u64; 3]> {
    let look = look(project, nic)?;
    let all = &look["all_sessions"];
    let mut held = [0; 3];
    for (held, name) in held.iter_mut().zip(["vis", "cqs", "regions"]) {
        *held = all[name].as_u64().with_context(|| format!("`viaduct stat` tells of no {name}"))?;
    }
    Ok(held)
}

fn look(project: &Project, nic: &str) -> Result<Value> {
    let stat = project.built("viaduct")?.args(["stat", nic, "--json", "--all"]);
    let text = stat.probe().with_context(|| format!("{stat} fails"))?;
    serde_json::from_str(&text).with_context(|| format!("{stat} says {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counters(sent: u64) -> Counters {
        let sent = json!({ "name": "BYTES_SENT", "value": sent, "meaning": "" });
        Counters::read(&json!({ "counters": [sent] })).unwrap()
    }

    #[test]
    fn what_is_counted_is_what_has_come_since() {
        assert_eq!(counters(7).since(&counters(5)).get("BYTES_SENT").unwrap(), 2);
        assert!(counters(7).get("BYTES").unwrap_err().to_string().contains("no counter BYTES"));
        assert!(Counters::read(&json!({ "counters": [{ "name": "X" }] })).is_err());
        assert!(Counters::read(&json!({})).is_err());
    }
}
