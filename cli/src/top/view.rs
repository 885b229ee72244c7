//! What `viaduct top` shows: the later of two looks at a NIC, and how fast its counters have grown between them.

use serde::Serialize;
use viaduct_driver::viad::report::Totals;

use crate::look::{Counter, Look, Session, TICK_US};

/// What is shown.
#[derive(Serialize)]
pub struct View<'a> {
    nic: &'a str,
    /// The NIC's time between the two looks.
    interval_us: f64,
    counters: Vec<Rate<'a>>,
    all_sessions: Totals,
    sessions: &'a [Session],
    #[serde(skip)]
    look: &'a Look,
}

/// A counter, and how fast it grows.
#[derive(Serialize)]
struct Rate<'a> {
    #[serde(flatten)]
    counter: &'a Counter,
    /// In a second of the NIC's time; None: no time has passed there.
    per_second: Option<f64>,
}

impl<'a> View<'a> {
    /// Of two looks at one NIC.
    pub fn of(before: &Look, look: &'a Look) -> Self {
        let interval_us = f64::from(look.ticks.wrapping_sub(before.ticks)) * TICK_US;
        let rate = |(counter, before): (&'a Counter, &Counter)| Rate {
            counter,
            // A viad that was started anew has reset the NIC.
            per_second: (interval_us > 0.0)
                .then(|| counter.value.saturating_sub(before.value) as f64 * 1e6 / interval_us),
        };
        let counters = look.counters.iter().zip(&before.counters).map(rate).collect();
        let Look { nic, all_sessions, sessions, .. } = look;
        Self { nic, interval_us, counters, all_sessions: *all_sessions, sessions, look }
    }

    /// For people: a line each.
    pub fn lines(&self) -> Vec<String> {
        let seconds = self.interval_us / 1e6;
        let mut lines = vec![format!("{}, in the last {seconds:.3} s of the NIC's time", self.nic)];
        let counted: Vec<&Rate<'_>> = self.counters.iter().filter(|rate| rate.counter.value != 0).collect();
        let width = counted.iter().map(|rate| rate.counter.name.len()).max().unwrap_or_default();
        if !counted.is_empty() {
            lines.push(format!("  {:>14}  {:>14}  {:width$}  meaning", "per second", "in all", "counter"));
        }
        for Rate { counter: Counter { name, value, meaning }, per_second } in counted {
            let rate = per_second.map_or("?".into(), |rate| format!("{rate:.1}"));
            lines.push(format!("  {rate:>14}  {value:>14}  {name:width$}  {meaning}"));
        }
        lines.extend(self.look.lines());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(ticks: u32, value: u64) -> Look {
        let counters = vec![
            Counter { name: "SENT", value, meaning: "sent" },
            Counter { name: "LOST", value: 0, meaning: "lost" },
        ];
        Look::example(ticks, counters)
    }

    fn rate(before: &Look, after: &Look) -> serde_json::Value {
        serde_json::to_value(View::of(before, after)).expect("JSON")["counters"][0]["per_second"].clone()
    }

    #[test]
    fn rates_are_of_the_nic_s_time() {
        let (before, after) = (look(u32::MAX - 499, 10), look(500, 1034));
        // 1000 ticks, the time base having wrapped.
        assert_eq!(rate(&before, &after), 1e6);
        let text = View::of(&before, &after).lines().join("\n");
        assert!(text.contains("0.001 s of the NIC's time"), "{text}");
        assert!(text.contains("1000000.0            1034  SENT  sent") && !text.contains("LOST"), "{text}");
    }

    #[test]
    fn a_nic_whose_time_stands_still_has_no_rates() {
        assert_eq!(rate(&look(5, 1), &look(5, 2)), serde_json::Value::Null);
        assert!(View::of(&look(5, 1), &look(5, 2)).lines()[2].contains("?"));
    }

    #[test]
    fn a_nic_that_was_reset_has_no_negative_rate() {
        assert_eq!(rate(&look(0, 9), &look(1, 2)), 0.0);
    }
}
