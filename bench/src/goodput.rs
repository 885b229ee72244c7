//! Goodput and rate of a stream, as figures.

use anyhow::{Context, Result};

use crate::bound::Bound;
use crate::conditions::Conditions;
use crate::figure::Figure;
use crate::loss::Loss;
use crate::pair::Pair;
use crate::parallel;
use crate::stream;
use crate::way::Way;

/// The unit of goodput.
const GOODPUT: &str = "bytes/cycle";
/// Messages of a run over a wire that loses frames, and how many of the first and of the last do not count.
const LOSSY: (usize, usize) = (20, 2);

/// Bytes of payload a cycle, of the slower direction if there are two: of so many messages without so many of the first and of the last.
///
/// # Errors
/// A message does not arrive or is damaged, or a rule of the bus is broken.
pub fn goodput(name: &str, pair: &Pair, (messages, skip): (usize, usize)) -> Result<Figure> {
    let Conditions { way, both, message, window, mtu, .. } = *pair.conditions();
    let directions = stream::run(pair, messages)?;
    let each = directions.iter().map(|events| stream::steady(&events[..events.len().min(messages)], skip));
    let each = each.collect::<Result<Vec<f64>>>()?;
    let slower = each.iter().copied().fold(0.0, f64::max);
    let beside = match (both, &each[..]) {
        (true, [one, other]) => format!(
            ", the slower direction of two: {:.3} from host 0, {:.3} from host 1",
            message as f64 / one,
            message as f64 / other
        ),
        _ => String::new(),
    };
    let how = format!(
        "{} of {messages} messages, {window} posted at a time, one descriptor a message; {slower:.0} cycles a message{beside}",
        messages - 2 * skip
    );
    let (physics, mtu) = (pair.conditions().physics(), mtu.bytes() as usize);
    let bound =
        if both { physics.goodput_of_each(way, message, mtu) } else { physics.goodput(way, message, mtu) };
    Ok(Figure { name: name.into(), value: message as f64 / slower, unit: GOODPUT, bound, how })
}

/// Goodput over a wire that loses so many of 1000 frames: the mean of what each seed gives, beside the bound of a wire that loses none.
/// So many seeds are measured at a time.
///
/// # Errors
/// As [`goodput`], or there is no seed.
pub fn lossy(
    name: &str,
    conditions: &Conditions,
    per_mille: u32,
    seeds: &[u64],
    at_a_time: usize,
) -> Result<Figure> {
    let measure = |&seed: &u64| {
        let pair = Pair::new(Conditions { loss: Loss { per_mille, seed }, ..*conditions }, None)?;
        let figure =
            goodput(name, &pair, LOSSY).with_context(|| format!("seed {seed}:{}", pair.counters()))?;
        Ok((figure, pair.lost()))
    };
    let measured = parallel::map(at_a_time, seeds, measure, |_| Ok(()))?;
    let values: Vec<f64> = measured.iter().map(|(figure, _)| figure.value).collect();
    let lost: u64 = measured.iter().map(|(_, (lost, _))| lost).sum();
    let all: u64 = measured.iter().map(|(_, (_, frames))| frames).sum();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let how = format!(
        "mean of {} seeds, {least:.3} the least and {most:.3} the greatest; {} of {} messages each, {} posted at a time; \
         {lost} of {all} frames were lost",
        seeds.len(),
        LOSSY.0 - 2 * LOSSY.1,
        LOSSY.0,
        conditions.window
    );
    let value = values.iter().sum::<f64>() / values.len() as f64;
    let bound = measured.into_iter().next().context("a mean is of one seed at least")?.0.bound;
    Ok(Figure { name: name.into(), value, unit: GOODPUT, bound, how })
}

/// Cycles a short message.
///
/// # Errors
/// As [`goodput`].
pub fn rate(name: &str, pair: &Pair) -> Result<Figure> {
    let Conditions { way, message, window, connections, mtu, .. } = *pair.conditions();
    // The first and last windows are not steady: the queues fill and run empty.
    let (messages, skip) = (4 * window, window * connections);
    let events = stream::run(pair, messages)?;
    let each = stream::steady(&events[0], skip)?;
    let how = format!(
        "{} of {} messages, {window} posted at a time on each of {connections} VIs; a doorbell for each message, \
         as vipl rings it",
        messages * connections - 2 * skip,
        messages * connections
    );
    let physics = pair.conditions().physics();
    let bound = match way {
        Way::Send => physics.send_rate(message),
        Way::Write | Way::Read => {
            let Bound { value, parts } = physics.goodput(way, message, mtu.bytes() as usize);
            Bound { value: message as f64 / value, parts: format!("{message} bytes by the {parts}") }
        }
    };
    Ok(Figure { name: name.into(), value: each, unit: "cycles/message", bound, how })
}
