//! What stands round the DCU, as exported Verilog in Verilator. The cell itself has no model.

mod budget;
mod detector;
mod options;
mod pcs_words;
mod rx_start;
mod tx_start;

use viaduct_verilate::Bench;

/// Lets time pass.
trait Cycles {
    /// So many cycles, with the inputs as they are.
    fn run_idle(&mut self, cycles: u64);
}

impl Cycles for Bench {
    fn run_idle(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.tick();
        }
        self.eval();
    }
}
