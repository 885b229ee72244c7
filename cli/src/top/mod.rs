//! `viaduct top`: the NIC of a running viad, live: rates of its counters, its sessions, their VIs and what each waits for.

mod screen;
mod view;

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use anyhow::{ensure, Result};
use clap::Args;
use viaduct_driver::viad::Client;

use crate::{info, look::Look, stop::Stop};
use screen::{Screen, Wish};
use view::View;

/// The NIC of a viad.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    nic: info::Arguments,
    /// Says it once and ends, without a terminal
    #[arg(long)]
    once: bool,
    /// Seconds between two looks
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
}

/// Seconds between two looks, from the command line.
fn interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    match (0.01..=3600.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(format!("{text} is not from 0.01 to 3600")),
    }
}

/// `viaduct top`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let printed = arguments.once || arguments.nic.json;
    ensure!(
        printed || (io::stdout().is_terminal() && io::stdin().is_terminal()),
        "standard input or output is no terminal: --once and --json need none"
    );
    let (nic, viad) = arguments.nic.session()?;
    match printed {
        true => print(arguments, &nic, &viad),
        false => show(arguments, &nic, &viad),
    }
}

/// Prints what there is to see after each interval, or after the first one alone.
fn print(arguments: &Arguments, nic: &str, viad: &Client) -> Result<()> {
    let mut before = Look::take(viad, nic)?;
    loop {
        std::thread::sleep(arguments.interval);
        let look = Look::take(viad, nic)?;
        let view = View::of(&before, &look);
        let text = match arguments.nic.json {
            true => serde_json::to_string(&view)?,
            false => view.lines().join("\n"),
        };
        let mut out = io::stdout().lock();
        match writeln!(out, "{text}").and_then(|()| out.flush()) {
            // A reader that has seen enough, such as `head`.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other?,
        }
        if arguments.once {
            return Ok(());
        }
        before = look;
    }
}

/// Shows it on the terminal until somebody has seen enough.
fn show(arguments: &Arguments, nic: &str, viad: &Client) -> Result<()> {
    let stop = Stop::on_signals()?;
    let mut before = Look::take(viad, nic)?;
    let mut look = Look::take(viad, nic)?;
    let mut screen = Screen::open()?;
    let mut next = Instant::now() + arguments.interval;
    loop {
        let mut lines = View::of(&before, &look).lines();
        lines.insert(1, "  q ends, arrows scroll".into());
        screen.draw(&lines)?;
        let left = next.saturating_duration_since(Instant::now());
        match screen.wait(left, || stop.check())? {
            Some(Wish::End) => return Ok(()),
            Some(Wish::Scroll(lines)) => screen.scroll(lines),
            Some(Wish::Draw) => {}
            None => {
                before = look;
                look = Look::take(viad, nic)?;
                next = Instant::now() + arguments.interval;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_number_of_seconds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for (text, rule) in
            [("x", "no number"), ("0", "from 0.01"), ("-1", "from 0.01"), ("nan", "from 0.01")]
        {
            assert!(interval(text).is_err_and(|error| error.contains(rule)), "{text}");
        }
    }
}
