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
    use serde_json::Value;
    use viaduct_bench::figure::Figure;
    use viaduct_bench::measurements::{Measurement, Options, MEASUREMENTS};
    use viaduct_bench::parallel;

    /// What docs/benchmarks.md shows.
    const RECORDED: &str = include_str!("../../docs/benchmarks/figures.json");

    /// What each figure must reach: cycles at most, or a share of its bound.
    enum Bar {
        /// At most so many cycles a message.
        Cycles(f64),
        /// At most so many times its bound.
        Times(f64),
        /// At least so much of its bound.
        Share(f64),
    }
    use Bar::{Cycles, Share, Times};

    const BARS: [(&str, Bar); 19] = [
        ("send_8B_latency_link1", Times(1.42)),
        ("send_8B_latency_link8", Times(1.6)),
        ("send_8B_latency_pcie_link1", Times(2.35)),
        ("send_8B_latency_pcie_link8", Times(2.75)),
        ("pcie_added_latency_link1", Times(5.0)),
        ("pcie_added_latency_link8", Times(5.0)),
        ("send_64K_goodput_link1", Share(0.97)),
        ("send_64K_goodput_link8", Share(0.97)),
        ("write_64K_goodput_link1", Share(0.97)),
        ("write_64K_goodput_link8", Share(0.97)),
        ("read_64K_goodput_link8", Share(0.97)),
        ("send_64K_goodput_pcie_link8", Share(0.97)),
        ("write_64K_goodput_pcie_link8", Share(0.97)),
        ("read_64K_goodput_pcie_link8", Share(0.97)),
        ("bidir_64K_goodput_link8", Share(0.92)),
        ("send_8B_rate_vi1", Cycles(17.0)),
        ("send_8B_rate_vi16", Cycles(17.0)),
        ("send_8B_rate_vi64", Cycles(17.0)),
        ("write_64K_goodput_link1_loss1", Share(0.6)),
    ];

    impl Bar {
        fn is_met(&self, figure: &Figure) -> bool {
            match self {
                Cycles(most) => figure.value <= *most,
                Times(most) => figure.ratio() <= *most,
                Share(least) => figure.ratio() >= *least,
            }
        }
    }

    /// Time is counted in cycles, so each figure is the same on every machine: a change of the RTL that moves one shows here, and is either
    /// mended or measured anew by `cargo xtask bench --page`.
    #[test]
    fn every_figure_is_as_recorded_and_meets_its_bar() {
        let recorded: Vec<Value> = serde_json::from_str(RECORDED).expect("the record is JSON");
        let run = |measurement: &Measurement| measurement.run(&Options::default());
        let figures = parallel::map(parallel::processors(), MEASUREMENTS, run, |_| Ok(())).expect("figures");
        assert_eq!((figures.len(), recorded.len()), (BARS.len(), BARS.len()));
        let mut faults = Vec::new();
        for ((figure, record), (name, bar)) in figures.iter().zip(&recorded).zip(&BARS) {
            assert_eq!(figure.name, *name);
            if figure.json() != *record {
                faults.push(format!("not as recorded, {record}:\n{}", figure.text()));
            }
            if !bar.is_met(figure) {
                faults.push(format!("its bar is missed:\n{}", figure.text()));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
