//! `viaduct-bench`: what the Verilated NIC takes in device time, beside what the wire and the bus would
//! take if its logic took no time. The same build gives the same figures, whatever the machine does meanwhile.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{ensure, Context, Result};
use clap::Parser;
use viaduct_bench::figure::{self, Figure};
use viaduct_bench::pair::{Conditions, Pair};
use viaduct_bench::way::Way;
use viaduct_bench::{latency, stream, SHORT};
use vipl::Mtu;

/// Measures the NIC in device time.
#[derive(Parser)]
struct Arguments {
    /// Also writes the figures into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs only this figure
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Also shows what crosses the NICs' edges during a message
    #[arg(long)]
    timeline: bool,
    /// Records the waveforms of NIC 0 here and those of NIC 1 beside it
    #[arg(long, value_name = "FILE", requires = "only")]
    trace: Option<PathBuf>,
}

/// A long one.
const LONG: usize = 64 << 10;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut figures = Vec::new();
    show(&figure::head())?;
    for (name, conditions, measure) in MEASUREMENTS {
        if arguments.only.as_deref().is_some_and(|only| only != *name) {
            continue;
        }
        let pair = Pair::new(*conditions, arguments.trace.clone()).with_context(|| (*name).to_string())?;
        let figure =
            measure(name, &pair, &arguments).with_context(|| format!("{name}:{}", pair.counters()))?;
        show(&figure.text())?;
        figures.push(figure);
    }
    ensure!(!figures.is_empty(), "there is no figure of this name");
    if let Some(file) = &arguments.json {
        std::fs::write(file, figure::json(&figures)).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// How a figure is measured.
type Measure = fn(&'static str, &Pair, &Arguments) -> Result<Figure>;

/// Every figure.
const MEASUREMENTS: &[(&str, Conditions, Measure)] = &[
    ("send_8B_latency_link1", latency::conditions(1), latency),
    ("send_8B_latency_link8", latency::conditions(8), latency),
    ("send_64K_goodput_link1", long(Way::Send, 1), goodput),
    ("send_64K_goodput_link8", long(Way::Send, 8), goodput),
    ("write_64K_goodput_link1", long(Way::Write, 1), goodput),
    ("write_64K_goodput_link8", long(Way::Write, 8), goodput),
    ("read_64K_goodput_link8", long(Way::Read, 8), goodput),
    ("send_8B_rate_vi1", short(1, 256), rate),
    ("send_8B_rate_vi16", short(16, 32), rate),
    ("send_8B_rate_vi64", short(64, 8), rate),
];

/// Long messages on one connection; `link`: bytes a cycle on the wire.
const fn long(way: Way, link: u64) -> Conditions {
    Conditions { way, rate: link, mtu: Mtu::MAX, connections: 1, message: LONG, window: 8 }
}

/// Short sends, `window` at a time on each of so many connections, on the fast wire.
const fn short(connections: usize, window: usize) -> Conditions {
    Conditions { way: Way::Send, rate: 8, mtu: Mtu::DEFAULT, connections, message: SHORT, window }
}

/// Shows text; it is the program's only output.
fn show(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn latency(name: &'static str, pair: &Pair, arguments: &Arguments) -> Result<Figure> {
    let measured = latency::measure(name, pair)?;
    if arguments.timeline {
        show(&latency::timeline(&measured.passages[measured.median]))?;
    }
    Ok(measured.figure)
}

fn goodput(name: &'static str, pair: &Pair, _: &Arguments) -> Result<Figure> {
    let (messages, skip) = (32, 8);
    let Conditions { way, message, window, mtu, .. } = *pair.conditions();
    let each = stream::steady(&stream::run(pair, messages)?, skip)?;
    let how = format!(
        "{} of {messages} messages, {window} posted at a time, one descriptor a message; {each:.0} cycles a message",
        messages - 2 * skip
    );
    let bound = pair.conditions().physics().goodput(way, message, mtu.bytes() as usize);
    Ok(Figure { name, value: message as f64 / each, unit: "bytes/cycle", bound, how })
}

fn rate(name: &'static str, pair: &Pair, _: &Arguments) -> Result<Figure> {
    let Conditions { message, window, connections, .. } = *pair.conditions();
    // The first and last windows are not steady: the queues fill and run empty.
    let (messages, skip) = (4 * window, window * connections);
    let each = stream::steady(&stream::run(pair, messages)?, skip)?;
    let how = format!(
        "{} of {} messages, {window} posted at a time on each of {connections} VIs; a doorbell for each message, \
         as vipl rings it",
        messages * connections - 2 * skip,
        messages * connections
    );
    let bound = pair.conditions().physics().send_rate(message);
    Ok(Figure { name, value: each, unit: "cycles/message", bound, how })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Arguments, Figure, Pair, MEASUREMENTS};

    /// Measures the figures with these beginnings and ends of their names, and holds them to their bar. They are exact.
    fn hold(count: usize, begins: &str, ends: &str, meets: fn(&Figure) -> bool) {
        let arguments = Arguments::parse_from(["viaduct-bench"]);
        let named = MEASUREMENTS.iter().filter(|(name, ..)| name.starts_with(begins) && name.ends_with(ends));
        let mut held = 0;
        for (name, conditions, measure) in named {
            let pair = Pair::new(*conditions, None).expect("two NICs");
            let figure = measure(name, &pair, &arguments).expect("a figure");
            assert!(meets(&figure), "{}", figure.text());
            held += 1;
        }
        assert_eq!(held, count);
    }

    #[test]
    fn latency_is_at_most_one_and_a_half_times_its_bound() {
        hold(1, "send_8B_latency", "link1", |figure| figure.ratio() <= 1.5);
    }

    #[test]
    fn sends_and_writes_of_64_kib_reach_nine_tenths_of_their_bound() {
        hold(1, "send_64K_goodput", "link8", |figure| figure.ratio() >= 0.9);
        hold(1, "write_64K_goodput", "link8", |figure| figure.ratio() >= 0.9);
    }

    #[test]
    fn reads_of_64_kib_reach_nine_tenths_of_their_bound() {
        hold(1, "read_64K_goodput", "link8", |figure| figure.ratio() >= 0.9);
    }

    #[test]
    fn a_message_takes_at_most_32_cycles() {
        hold(2, "send_8B_rate", "", |figure| figure.value <= 32.0);
    }
}
