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
        hold(3, "send_8B_rate", "", |figure| figure.value <= 32.0);
    }
}
