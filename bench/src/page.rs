//! What docs/benchmarks.md shows of the measurements: the part of it that is made.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::figure::{self, Figure};
use crate::sweep::{self, Row};

/// Where the made part begins and ends.
const MARKS: [&str; 2] = [
    "<!-- made by `cargo xtask bench --page`: change nothing from here on -->\n",
    "<!-- end of what is made -->\n",
];

/// Writes the figures into `docs`: its page, the table to which the tests hold today's, and the sweep from which the plots
/// are drawn.
///
/// # Errors
/// A file cannot be read or written, or the page has no place for the figures.
pub fn write(docs: &Path, figures: &[Figure], rows: &[Row]) -> Result<()> {
    let page = docs.join("benchmarks.md");
    let old = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    let new = with(&old, &made(figures, rows)).with_context(|| page.display().to_string())?;
    fs::write(&page, new).with_context(|| page.display().to_string())?;
    for (name, text) in [("figures.json", figure::json(figures)), ("sweep.json", sweep::json(rows)?)] {
        let file = docs.join("benchmarks").join(name);
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// The page with another made part.
fn with(page: &str, made: &str) -> Result<String> {
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).context("the page has no mark where the figures begin")?;
    let (_, after) = rest.split_once(end).context("the page has no mark where the figures end")?;
    Ok(format!("{before}{begin}\n{made}\n{end}{after}"))
}

/// The made part.
fn made(figures: &[Figure], rows: &[Row]) -> String {
    format!(
        "{}\n### What they are made of\n\n{}\n### Round trips of the bus\n\n{}\n### Lost frames\n\n{}",
        table(figures),
        details(figures),
        round_trips(rows),
        losses(rows)
    )
}

/// The table of the figures.
fn table(figures: &[Figure]) -> String {
    let row = |figure: &Figure| {
        let (value, bound) = (figure.value, figure.bound.value);
        format!("| `{}` | {value:.3} | {bound:.3} | {:.3} | {} |\n", figure.name, figure.ratio(), figure.unit)
    };
    let rows: String = figures.iter().map(row).collect();
    format!("| figure | value | bound | ratio | unit |\n|---|---|---|---|---|\n{rows}")
}

/// What each figure and its bound are made of.
fn details(figures: &[Figure]) -> String {
    let row = |figure: &Figure| {
        format!("| `{}` | {} | {} |\n", figure.name, figure.how.replace('\n', " "), figure.bound.parts)
    };
    let rows: String = figures.iter().map(row).collect();
    format!("| figure | how it was measured | its bound |\n|---|---|---|\n{rows}")
}

/// A line for each of these rows, named by what it is and by what varies.
fn lines<'a>(rows: impl Iterator<Item = &'a Row>, varied: impl Fn(&Row) -> String) -> String {
    let line = |row: &Row| {
        let Row { operation, message, kind, link, vis, value, bound, ratio, unit, .. } = row;
        let vis = if *vis == 1 { "1 VI".into() } else { format!("{vis} VIs") };
        format!(
            "| {kind}: {operation} of {message} B, link {link}, {vis} | {} | {value:.3} | {bound:.3} | {ratio:.3} | {unit} |\n",
            varied(row)
        )
    };
    rows.map(line).collect()
}

/// The rows whose round trip is not the usual one, each with that of the usual one before it.
fn round_trips(rows: &[Row]) -> String {
    let what = |row: &Row| (row.kind.clone(), row.operation.clone(), row.message, row.link, row.vis);
    let mut named: Vec<&Row> = Vec::new();
    let others: Vec<&Row> = rows.iter().filter(|row| row.round_trip != 62).collect();
    named.extend(
        rows.iter().filter(|row| row.loss == 0.0 && others.iter().any(|other| what(other) == what(row))),
    );
    named.sort_by_key(|row| (what(row), row.round_trip));
    let lines = lines(named.into_iter(), |row| row.round_trip.to_string());
    format!("| what | round trip | value | bound | ratio | unit |\n|---|---|---|---|---|---|\n{lines}")
}

/// The rows of each rate of loss.
fn losses(rows: &[Row]) -> String {
    let what = |row: &Row| (row.operation.clone(), row.message, row.link);
    let others: Vec<&Row> = rows.iter().filter(|row| row.loss != 0.0).collect();
    let is_one = |row: &&Row| {
        row.kind == "goodput" && row.round_trip == 62 && others.iter().any(|other| what(other) == what(row))
    };
    let mut named: Vec<&Row> = rows.iter().filter(is_one).collect();
    named.sort_by(|a, b| what(a).cmp(&what(b)).then(a.loss.total_cmp(&b.loss)));
    let lines = lines(named.into_iter(), |row| format!("{} %", row.loss));
    format!("| what | frames lost | value | bound | ratio | unit |\n|---|---|---|---|---|---|\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::Bound;

    #[test]
    fn only_the_made_part_of_the_page_changes() {
        let [begin, end] = MARKS;
        let page = format!("# A\n{begin}old\n{end}after\n");
        let new = with(&page, "new\n").unwrap();
        assert_eq!(new, format!("# A\n{begin}\nnew\n\n{end}after\n"));
        assert_eq!(with(&new, "new\n").unwrap(), new);
        assert!(with("# A\n", "new\n").is_err());
    }

    #[test]
    fn a_figure_is_a_row_beside_its_bound() {
        let bound = Bound { value: 16.0, parts: "all of it".into() };
        let figure = Figure { name: "rate".into(), value: 40.0, unit: "cycles", bound, how: "well".into() };
        let figures = [figure];
        assert!(table(&figures).ends_with("| `rate` | 40.000 | 16.000 | 2.500 | cycles |\n"));
        assert!(details(&figures).ends_with("| `rate` | well | all of it |\n"));
    }
}
