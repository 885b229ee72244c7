//! The rows of figures, and what each may cost.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{json, Map, Value};

use crate::{callgrind::Costs, measure::Page};

/// Calls behind each name of a dump.
pub const CALLS: u64 = 10_000;

/// A figure.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// On what the doorbell is rung.
    pub page: Page,
    /// The dumps that it is counted in.
    pub dump: &'static str,
    /// Instructions a call, at most, in the mean.
    pub most: Option<f64>,
}

const fn row(name: &'static str, page: Page, dump: &'static str, most: f64) -> Row {
    Row { name, page, dump, most: Some(most) }
}

use Page::{Bar, Polled};

/// All figures.
pub const ROWS: [Row; 18] = [
    row("post_instructions/send/bar", Bar, "post send", 80.0),
    row("post_instructions/receive/bar", Bar, "post recv", 80.0),
    row("post_instructions/send_with_cq/bar", Bar, "post send, cq", 80.0),
    row("post_instructions/send/polled", Polled, "post send", 80.0),
    row("post_instructions/send_with_cq/polled", Polled, "post send, cq", 80.0),
    // It waits until viad has passed the doorbell on: no bar, and another figure each time.
    Row { name: "post_instructions/receive/polled", page: Polled, dump: "post recv", most: None },
    row("done_instructions/send/bar", Bar, "send done", 60.0),
    row("done_instructions/receive/bar", Bar, "recv done", 60.0),
    row("done_instructions/send/polled", Polled, "send done", 60.0),
    row("done_instructions/receive/polled", Polled, "recv done", 60.0),
    row("empty_done_instructions/send/bar", Bar, "empty send done", 40.0),
    row("empty_done_instructions/receive/bar", Bar, "empty recv done", 40.0),
    row("empty_done_instructions/send/polled", Polled, "empty send done", 40.0),
    row("empty_done_instructions/receive/polled", Polled, "empty recv done", 40.0),
    row("cq_done_instructions/bar", Bar, "cq done", 80.0),
    row("cq_done_instructions/polled", Polled, "cq done", 80.0),
    row("empty_cq_done_instructions/bar", Bar, "empty cq done", 80.0),
    row("empty_cq_done_instructions/polled", Polled, "empty cq done", 80.0),
];

/// What was counted, on either kind of page.
pub struct Counted {
    /// On a page of the BAR.
    pub bar: BTreeMap<String, Costs>,
    /// On a page that is polled.
    pub polled: BTreeMap<String, Costs>,
}

impl Counted {
    /// The costs that a row is of.
    pub fn costs(&self, row: &Row) -> Option<&Costs> {
        match row.page {
            Bar => self.bar.get(row.dump),
            Polled => self.polled.get(row.dump),
        }
    }

    /// Instructions a call.
    pub fn figure(&self, row: &Row) -> Option<f64> {
        Some(self.costs(row)?.total as f64 / CALLS as f64)
    }

    /// The figures that are the same each time, as JSON.
    pub fn json(&self) -> Value {
        let exact = ROWS.iter().filter(|row| row.most.is_some());
        let figures = exact.map(|row| (row.name.to_owned(), json!(self.figure(row))));
        Value::Object(figures.collect::<Map<_, _>>())
    }

    /// The table; with `functions` also where the instructions are.
    pub fn text(&self, functions: bool) -> String {
        let mut text =
            format!("{:44} {:>10} {:>6} {:>8}\n", "instructions a call", "mean", "most", "atomics");
        for row in &ROWS {
            let most = row.most.map_or_else(|| "-".into(), |most| most.to_string());
            let atomics = self.costs(row).map_or(f64::NAN, |costs| costs.atomics as f64 / CALLS as f64);
            let figure = self.figure(row).unwrap_or(f64::NAN);
            let _ = writeln!(text, "{:44} {figure:10.4} {most:>6} {atomics:8.4}", row.name);
            if let Some(costs) = self.costs(row).filter(|_| functions) {
                let mut by_cost: Vec<_> = costs.functions.iter().filter(|(_, cost)| **cost > 0).collect();
                by_cost.sort_by_key(|(_, cost)| std::cmp::Reverse(**cost));
                for (name, cost) in by_cost.into_iter().take(30) {
                    let _ = writeln!(text, "    {:10.4}  {name}", *cost as f64 / CALLS as f64);
                }
            }
        }
        text
    }
}
