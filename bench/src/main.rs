//! `viaduct-bench`: what the Verilated NIC takes in device time, beside what the wire and the bus would
//! take if its logic took no time. The same build gives the same figures, whatever the machine does meanwhile.

use std::process::ExitCode;

use clap::Parser;
use viaduct_bench::program::{self, Arguments};

fn main() -> ExitCode {
    match program::run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use viaduct_bench::figure::Figure;
    use viaduct_bench::measurements::{Options, MEASUREMENTS};

    /// Measures the figures with these beginnings and ends of their names, and holds them to their bar. They are exact.
    fn hold(count: usize, begins: &str, ends: &str, meets: fn(&Figure) -> bool) {
        let is_named = |name: &str| name.starts_with(begins) && name.ends_with(ends);
        let mut held = 0;
        for measurement in MEASUREMENTS.iter().filter(|measurement| is_named(measurement.name)) {
            let figure = measurement.run(&Options::default()).expect("a figure");
            assert!(meets(&figure), "{}", figure.text());
            held += 1;
        }
        assert_eq!(held, count);
    }

    #[test]
    fn latency_keeps_its_distance_to_the_bound() {
        hold(1, "send_8B_latency", "link1", |figure| figure.ratio() <= 1.42);
        hold(1, "send_8B_latency", "link8", |figure| figure.ratio() <= 1.62);
    }

    #[test]
    fn sends_and_writes_of_64_kib_reach_97_percent_of_their_bound() {
        hold(1, "send_64K_goodput", "link8", |figure| figure.ratio() >= 0.97);
        hold(1, "write_64K_goodput", "link8", |figure| figure.ratio() >= 0.97);
    }

    #[test]
    fn reads_of_64_kib_reach_97_percent_of_their_bound() {
        hold(1, "read_64K_goodput", "link8", |figure| figure.ratio() >= 0.97);
    }

    #[test]
    fn each_of_two_directions_reaches_92_percent_of_its_bound() {
        hold(1, "bidir_64K_goodput", "link8", |figure| figure.ratio() >= 0.92);
    }

    #[test]
    fn many_vis_send_a_message_in_at_most_17_cycles() {
        hold(1, "send_8B_rate", "vi16", |figure| figure.value <= 17.0);
        hold(1, "send_8B_rate", "vi64", |figure| figure.value <= 17.0);
    }

    #[test]
    fn one_vi_sends_a_message_in_at_most_30_cycles() {
        hold(1, "send_8B_rate", "vi1", |figure| figure.value <= 30.0);
    }
}
