//! The rows of figures, and what each may cost.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{json, Map, Value};

use crate::{callgrind::Costs, measure::Page};

/// Calls behind each name of a dump.
pub const CALLS: u64 = 10_000;

/// The compiler whose code was counted. Another one makes other code of the same source.
pub const COMPILER: &str = "rustc 1.95.0";
/// Of the code of another compiler a figure may be so many times what it is here.
const OTHER_COMPILER: f64 = 1.1;

/// A figure.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// On what the doorbell is rung.
    pub page: Page,
    /// The dumps that it is counted in.
    pub dump: &'static str,
    /// Instructions a call, at most, that the row is to reach; None: it has no bar.
    pub bar: Option<u32>,
    /// What it takes today.
    pub today: Today,
    /// Atomic instructions a call, where the tests hold the row to them.
    pub atomics: Option<u32>,
}

/// What a row takes today: the tests hold it to that.
#[derive(Debug, Clone, Copy)]
pub enum Today {
    /// So many instructions in the mean, to the nearest whole number: the same each time.
    Exactly(u32),
    /// So many at most: now and then the NIC is asked whether it lives, and how long its answer is differs.
    AtMost(u32),
    /// It waits for another process.
    Differs,
}

const fn row(name: &'static str, page: Page, dump: &'static str, bar: u32, today: Today) -> Row {
    Row { name, page, dump, bar: Some(bar), today, atomics: None }
}

/// A row that has no bar.
const fn free(name: &'static str, page: Page, dump: &'static str, today: Today) -> Row {
    Row { name, page, dump, bar: None, today, atomics: None }
}

/// A row of a VI or a completion queue that no two threads use: on a page of the BAR no call takes an atomic instruction.
const fn unshared(name: &'static str, dump: &'static str, bar: u32, today: Today) -> Row {
    Row { name, page: Bar, dump, bar: Some(bar), today, atomics: Some(0) }
}

use Page::{Bar, Polled};
use Today::{AtMost, Exactly};

/// All figures.
pub const ROWS: [Row; 46] = [
    row("post_instructions/send/bar", Bar, "post send", 80, Exactly(71)),
    row("post_instructions/receive/bar", Bar, "post recv", 80, Exactly(71)),
    row("post_instructions/send_with_cq/bar", Bar, "post send, cq", 80, Exactly(71)),
    row("post_instructions/send/polled", Polled, "post send", 80, Exactly(77)),
    row("post_instructions/send_with_cq/polled", Polled, "post send, cq", 80, Exactly(77)),
    // Its descriptor is in another region than that of the post before.
    free("post_instructions/send_elsewhere/bar", Bar, "post send, elsewhere", Exactly(130)),
    free("post_instructions/send_elsewhere/polled", Polled, "post send, elsewhere", Exactly(136)),
    // It waits until viad has passed the doorbell on.
    free("post_instructions/receive/polled", Polled, "post recv", Today::Differs),
    // Of each descriptor, where twenty are posted by a call.
    free("post_many_instructions/send/bar", Bar, "post many sends", Exactly(80)),
    free("post_many_instructions/receive/bar", Bar, "post many recvs", Exactly(80)),
    free("post_many_instructions/send/polled", Polled, "post many sends", Exactly(80)),
    row("done_instructions/send/bar", Bar, "send done", 60, Exactly(49)),
    row("done_instructions/receive/bar", Bar, "recv done", 60, Exactly(49)),
    row("done_instructions/send/polled", Polled, "send done", 60, Exactly(49)),
    row("done_instructions/receive/polled", Polled, "recv done", 60, Exactly(49)),
    row("done_instructions/send_with_cq/bar", Bar, "send done, cq", 60, Exactly(49)),
    row("done_instructions/send_with_cq/polled", Polled, "send done, cq", 60, Exactly(49)),
    row("empty_done_instructions/send/bar", Bar, "empty send done", 40, Exactly(39)),
    row("empty_done_instructions/receive/bar", Bar, "empty recv done", 40, Exactly(39)),
    row("empty_done_instructions/send/polled", Polled, "empty send done", 40, Exactly(39)),
    row("empty_done_instructions/receive/polled", Polled, "empty recv done", 40, Exactly(39)),
    // With the question whether the NIC lives, which comes once in 16384 such looks, among ten thousand.
    row("empty_done_instructions/send_asking/bar", Bar, "empty send done, asking", 40, AtMost(40)),
    row("empty_done_instructions/receive_asking/bar", Bar, "empty recv done, asking", 40, AtMost(40)),
    row("empty_done_instructions/send_asking/polled", Polled, "empty send done, asking", 40, AtMost(40)),
    row("empty_done_instructions/receive_asking/polled", Polled, "empty recv done, asking", 40, AtMost(40)),
    row("cq_done_instructions/bar", Bar, "cq done", 80, Exactly(63)),
    row("cq_done_instructions/polled", Polled, "cq done", 80, Exactly(63)),
    row("empty_cq_done_instructions/bar", Bar, "empty cq done", 80, Exactly(57)),
    row("empty_cq_done_instructions/polled", Polled, "empty cq done", 80, Exactly(57)),
    // Of each completion, where twenty are taken by a call: entry and descriptor.
    free("cq_poll_instructions/send/bar", Bar, "cq poll, sends", Exactly(126)),
    free("cq_poll_instructions/receive/bar", Bar, "cq poll, recvs", Exactly(126)),
    free("cq_poll_instructions/send/polled", Polled, "cq poll, sends", Exactly(126)),
    free("cq_poll_instructions/receive/polled", Polled, "cq poll, recvs", Exactly(126)),
    free("empty_cq_poll_instructions/bar", Bar, "empty cq poll", Exactly(122)),
    free("empty_cq_poll_instructions/polled", Polled, "empty cq poll", Exactly(121)),
    unshared("post_instructions/send_unshared/bar", "post send, unshared", 80, Exactly(71)),
    unshared("post_instructions/receive_unshared/bar", "post recv, unshared", 80, Exactly(71)),
    // Its one atomic instruction is the fence before the look whether viad sleeps.
    Row {
        atomics: Some(1),
        ..row("post_instructions/send_unshared/polled", Polled, "post send, unshared", 80, Exactly(77))
    },
    unshared("done_instructions/send_unshared/bar", "send done, unshared", 60, Exactly(49)),
    unshared("done_instructions/receive_unshared/bar", "recv done, unshared", 60, Exactly(49)),
    unshared("empty_done_instructions/send_unshared/bar", "empty send done, unshared", 40, Exactly(39)),
    unshared("empty_done_instructions/receive_unshared/bar", "empty recv done, unshared", 40, Exactly(39)),
    unshared("cq_done_instructions/unshared/bar", "cq done, unshared", 80, Exactly(66)),
    unshared("empty_cq_done_instructions/unshared/bar", "empty cq done, unshared", 80, Exactly(60)),
    free(
        "post_instructions/send_elsewhere_unshared/bar",
        Bar,
        "post send, elsewhere, unshared",
        Exactly(130),
    ),
    free("cq_poll_instructions/send_unshared/bar", Bar, "cq poll, sends, unshared", Exactly(129)),
];

impl Row {
    /// What is wrong with a figure of this row's; None: it is as it was. `is_same`: [`COMPILER`] made the code.
    pub fn fault(&self, figure: Option<f64>, is_same: bool) -> Option<String> {
        let figure = match figure {
            Some(figure) if figure >= 1.0 => figure,
            _ => return Some(format!("{}: nothing was counted", self.name)),
        };
        if let Some(bar) = self.bar.filter(|bar| figure > f64::from(*bar)) {
            return Some(format!("{}: {figure:.2} instructions are more than the bar of {bar}", self.name));
        }
        let (is_as_it_was, was) = match self.today {
            Exactly(today) if is_same => (figure.round() == f64::from(today), format!("{today}")),
            AtMost(today) if is_same => (figure <= f64::from(today), format!("{today} at most")),
            Exactly(today) | AtMost(today) => {
                (figure <= OTHER_COMPILER * f64::from(today), format!("{today}, and allows a tenth more"))
            }
            Today::Differs => return None,
        };
        (!is_as_it_was).then(|| {
            format!("{}: {figure:.2} instructions; bench/instructions/src/rows.rs says {was}", self.name)
        })
    }

    /// What is wrong with the atomic instructions of a row that is held to them.
    pub fn atomics_fault(&self, figure: Option<f64>) -> Option<String> {
        let (figure, today) = (figure.unwrap_or(f64::NAN), self.atomics?);
        let is_as_it_was = figure.round() == f64::from(today);
        (!is_as_it_was).then(|| {
            format!(
                "{}: {figure:.2} atomic instructions; bench/instructions/src/rows.rs says {today}",
                self.name
            )
        })
    }
}

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

    /// Atomic instructions a call.
    pub fn atomics(&self, row: &Row) -> Option<f64> {
        Some(self.costs(row)?.atomics as f64 / CALLS as f64)
    }

    /// What is not as it was. `is_same`: [`COMPILER`] made the code.
    pub fn faults(&self, is_same: bool) -> Vec<String> {
        let of_row = |row: &Row| {
            let atomics = row.atomics_fault(self.atomics(row));
            row.fault(self.figure(row), is_same).into_iter().chain(atomics)
        };
        ROWS.iter().flat_map(of_row).collect()
    }

    /// The figures that are the same each time, as JSON.
    pub fn json(&self) -> Value {
        let exact = ROWS.iter().filter(|row| !matches!(row.today, Today::Differs));
        let figures = exact.map(|row| (row.name.to_owned(), json!(self.figure(row))));
        Value::Object(figures.collect::<Map<_, _>>())
    }

    /// The table; with `functions` also where the instructions are.
    pub fn text(&self, functions: bool) -> String {
        let mut text = format!("{:46} {:>10} {:>6} {:>8}\n", "instructions a call", "mean", "bar", "atomics");
        for row in &ROWS {
            let bar = row.bar.map_or_else(|| "-".into(), |bar| bar.to_string());
            let atomics = self.atomics(row).unwrap_or(f64::NAN);
            let figure = self.figure(row).unwrap_or(f64::NAN);
            let _ = writeln!(text, "{:46} {figure:10.4} {bar:>6} {atomics:8.4}", row.name);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_not_as_it_was_is_a_fault() {
        let held = unshared("a row", "", 80, Exactly(60));
        assert!(held.atomics_fault(Some(0.2)).is_none() && held.atomics_fault(Some(1.0)).is_some());
        assert!(held.atomics_fault(None).is_some(), "nothing was counted");
        let row = |today| row("a row", Bar, "", 80, today);
        assert!(row(Exactly(60)).atomics_fault(Some(3.0)).is_none());
        let is_fault = |today, figure| row(today).fault(figure, true).is_some();
        assert!(!is_fault(Exactly(60), Some(60.3)) && is_fault(Exactly(60), Some(61.0)));
        assert!(is_fault(Exactly(60), Some(59.0)), "better is to be said, too");
        assert!(!is_fault(AtMost(62), Some(40.0)) && is_fault(AtMost(62), Some(62.1)));
        assert!(is_fault(AtMost(62), None) && is_fault(AtMost(62), Some(0.0)), "a row that counts nothing");
        let is_fault_elsewhere = |today, figure| row(today).fault(figure, false).is_some();
        assert!(!is_fault_elsewhere(Exactly(60), Some(66.0)) && is_fault_elsewhere(Exactly(60), Some(66.1)));
        assert!(is_fault(Today::Differs, None) && !is_fault(Today::Differs, Some(70.0)));
        assert!(is_fault(Exactly(81), Some(81.0)), "more than the bar");
    }
}
