//! The NIC itself: the Verilog that hdl/ exports, compiled by Verilator.

use std::io;
use std::path::{Path, PathBuf};

use viaduct_verilate::Options;

use crate::nic::{Nic, NicIn, NicOut};
use crate::shim::{Calls, Shim, Verilated};

#[allow(clippy::pedantic)]
mod model {
    //! What `viaduct_verilate::archive` wrote: the ports as structs, and the model's functions.
    include!(concat!(env!("OUT_DIR"), "/nic.rs"));
}

/// SHA-256 of the Verilog that is simulated; `cargo xtask fit` shows the same of what it builds.
pub const VERILOG_SHA256: &str = model::VERILOG_SHA256;

/// The Verilog that is simulated.
pub const VERILOG: &str = include_str!(concat!(env!("OUT_DIR"), "/nic.v"));

#[derive(Debug)]
struct NicShim;

// SAFETY: all of it is what the build script has had written for this Verilog, with the same name and prefix.
unsafe impl Shim for NicShim {
    type Model = model::Model;
    type In = model::In;
    type Out = model::Out;
    const VERILOG: &'static str = VERILOG;
    const LINKED: Calls<Self> =
        Calls { new: model::viaduct_new, delete: model::viaduct_delete, cycle: model::viaduct_cycle };

    fn options() -> Options {
        Options::named("nic")
    }
}

/// A Verilated NIC.
#[derive(Debug)]
pub struct Rtl {
    model: Verilated<NicShim>,
}

impl Rtl {
    /// A NIC after power-up: see [`Verilated::new`].
    ///
    /// # Errors
    /// The mutant that the environment chooses cannot be compiled.
    pub fn new(seed: u64) -> io::Result<Self> {
        Ok(Self { model: Verilated::new(seed)? })
    }

    /// A NIC after power-up that records every signal from now on in an FST file. Idle cycles that are skipped are not in
    /// it: time in the waveform is cycles that were simulated.
    ///
    /// Tracing is in a model of its own, which is compiled here when it is asked for the first time: that takes a quarter of a
    /// minute. It is slow, and holds signals that the other model has not: what is random at power-up is other than without a
    /// trace.
    ///
    /// # Errors
    /// The file cannot be written, or the model cannot be compiled.
    pub fn traced(seed: u64, path: &Path) -> io::Result<Self> {
        Ok(Self { model: Verilated::traced(seed, path)? })
    }
}

/// The waveform file of one NIC of several: `name.fst`, `name.nic1.fst`, `name.nic2.fst`.
pub fn trace_file(path: &Path, nic: usize) -> PathBuf {
    if nic == 0 {
        return path.to_owned();
    }
    let extension = path.extension().unwrap_or("fst".as_ref()).to_string_lossy().into_owned();
    path.with_extension(format!("nic{nic}.{extension}"))
}

impl Nic for Rtl {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        let ports = model::In {
            reset: input.reset.into(),
            tlp_rx_valid: input.tlp_rx_valid.into(),
            tlp_rx_data: input.tlp_rx_data,
            tlp_rx_keep: input.tlp_rx_keep,
            tlp_rx_last: input.tlp_rx_last.into(),
            tlp_rx_bar: input.tlp_rx_bar,
            tlp_tx_ready: input.tlp_tx_ready.into(),
            credit_ph: input.credit_ph,
            credit_pd: input.credit_pd,
            credit_nph: input.credit_nph,
            credit_ch: input.credit_ch,
            credit_cd: input.credit_cd,
            cfg_requester_id: input.cfg_requester_id,
            cfg_max_payload: input.cfg_max_payload,
            cfg_max_read: input.cfg_max_read,
            cfg_rcb: input.cfg_rcb.into(),
            cfg_extended_tag: input.cfg_extended_tag.into(),
            cfg_bus_master: input.cfg_bus_master.into(),
            cfg_function_reset: input.cfg_function_reset.into(),
            link_down: input.link_down.into(),
            cfg_msix_enable: input.cfg_msix_enable.into(),
            cfg_msix_mask: input.cfg_msix_mask.into(),
            eth_rx_valid: input.eth_rx_valid.into(),
            eth_rx_data: input.eth_rx_data,
            eth_rx_keep: input.eth_rx_keep,
            eth_rx_last: input.eth_rx_last.into(),
            eth_rx_bad: input.eth_rx_bad.into(),
            eth_tx_ready: input.eth_tx_ready.into(),
            time_now: input.time_now,
        };
        let mut shown = model::Out::default();
        self.model.cycle(&ports, &mut shown);
        *output = NicOut {
            tlp_rx_np_ready: shown.tlp_rx_np_ready != 0,
            tlp_tx_valid: shown.tlp_tx_valid != 0,
            tlp_tx_data: shown.tlp_tx_data,
            tlp_tx_keep: shown.tlp_tx_keep,
            tlp_tx_last: shown.tlp_tx_last != 0,
            tlp_tx_class: shown.tlp_tx_class,
            function_reset_done: shown.function_reset_done != 0,
            eth_rx_pause: shown.eth_rx_pause != 0,
            eth_tx_valid: shown.eth_tx_valid != 0,
            eth_tx_data: shown.eth_tx_data,
            eth_tx_keep: shown.eth_tx_keep,
            eth_tx_last: shown.eth_tx_last != 0,
            loopback_valid: shown.loopback_valid != 0,
            loopback_ready: shown.loopback_ready != 0,
            loopback_data: shown.loopback_data,
            loopback_keep: shown.loopback_keep,
            loopback_last: shown.loopback_last != 0,
            idle: shown.idle != 0,
            read_deadline_valid: shown.read_deadline_valid != 0,
            read_deadline: shown.read_deadline,
            interrupt_deadline_valid: shown.interrupt_deadline_valid != 0,
            interrupt_deadline: shown.interrupt_deadline,
            send_deadline_valid: shown.send_deadline_valid != 0,
            send_deadline: shown.send_deadline,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nic_has_its_own_waveform() {
        let file = |nic| trace_file(Path::new("/tmp/wave.fst"), nic);
        assert_eq!(file(0), Path::new("/tmp/wave.fst"));
        assert_eq!(file(2), Path::new("/tmp/wave.nic2.fst"));
        assert_eq!(trace_file(Path::new("wave"), 1), Path::new("wave.nic1.fst"));
    }
}
