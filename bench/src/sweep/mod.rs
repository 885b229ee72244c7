//! Many conditions: each size, operation, number of VIs, round trip of the bus and rate of loss, one varied at a time.

mod point;
mod points;
mod row;

use anyhow::{Context, Result};

pub use point::{Kind, Point};
pub use points::points;
pub use row::{head, json, parse, Row};

use crate::parallel;

/// Measures every point, and gives each row to `show` as it comes. Points do not see each other, so that each processor measures one
/// at a time and the rows stay the same.
///
/// # Errors
/// A point cannot be measured, or `show` fails.
pub fn run(show: &dyn Fn(&str) -> Result<()>) -> Result<Vec<Row>> {
    show(&head())?;
    let measure = |point: &Point| point.measure().with_context(|| point.name());
    parallel::map(parallel::processors(), &points(), measure, |row| show(&row.text()))
}
