//! The endpoint's RTL, Verilated: two clocks, the symbol seam on one side and the NIC's edge on the other.

use std::io;

use viaduct_link::seam::{FromEndpoint, ToEndpoint};
use viaduct_verilate::Options;

use crate::nic::{NicIn, NicOut};
use crate::shim::{Calls, Shim, Verilated};

#[allow(clippy::pedantic)]
mod model {
    //! What `viaduct_verilate::archive` wrote: the ports as structs, and the model's functions.
    include!(concat!(env!("OUT_DIR"), "/pcie_endpoint.rs"));
}

/// SHA-256 of the endpoint's Verilog.
pub const VERILOG_SHA256: &str = model::VERILOG_SHA256;

/// The endpoint's Verilog.
pub const VERILOG: &str = include_str!(concat!(env!("OUT_DIR"), "/pcie_endpoint.v"));

#[derive(Debug)]
struct EndpointShim;

// SAFETY: all of it is what the build script has had written for this Verilog, with the same name, prefix and clock.
unsafe impl Shim for EndpointShim {
    type Model = model::Model;
    type In = model::In;
    type Out = model::Out;
    const VERILOG: &'static str = VERILOG;
    const LINKED: Calls<Self> = Calls {
        new: model::pcie_endpoint_new,
        delete: model::pcie_endpoint_delete,
        cycle: model::pcie_endpoint_cycle,
    };

    fn options() -> Options {
        Options { prefix: "pcie_endpoint".into(), clock: "none".into(), ..Options::named("pcie_endpoint") }
    }
}

/// The endpoint.
#[derive(Debug)]
pub struct Endpoint {
    model: Verilated<EndpointShim>,
    input: model::In,
    output: model::Out,
}

impl Endpoint {
    /// After power-up, with both clocks low: see [`Verilated::new`].
    ///
    /// # Errors
    /// The mutant that the environment chooses cannot be compiled.
    pub fn new(seed: u64) -> io::Result<Self> {
        let (input, output) = (model::In::default(), model::Out::default());
        let mut endpoint = Self { model: Verilated::new(seed)?, input, output };
        endpoint.settle();
        Ok(endpoint)
    }

    /// Shows the model its inputs as they are, clocks among them, and looks at its outputs.
    fn settle(&mut self) {
        self.model.cycle(&self.input, &mut self.output);
    }

    /// The LTSSM's state, as the lights of a board show it.
    pub fn state(&self) -> u8 {
        self.output.ltssm_state
    }

    /// The core is held in reset: the link is down.
    pub fn link_down(&self) -> bool {
        self.output.link_down != 0
    }

    /// A rising edge of `pclk` with what the port sends; what the endpoint sends in the next cycle.
    pub fn pclk_edge(&mut self, to: &ToEndpoint) -> FromEndpoint {
        if self.input.pclk != 0 {
            self.input.pclk = 0;
            self.settle();
        }
        self.input = model::In {
            // The other clock falls as this one rises: nothing looks at that edge.
            clock: 0,
            pclk: 1,
            phy_ready: to.phy_ready.into(),
            rx_data: to.rx_data,
            rx_k: to.rx_k,
            rx_error: to.rx_error,
            rx_idle: to.rx_idle.into(),
            detect_done: to.detect_done.into(),
            detect_present: to.detect_present.into(),
            ..self.input
        };
        self.settle();
        let output = &self.output;
        FromEndpoint {
            tx_data: output.tx_data,
            tx_k: output.tx_k,
            tx_idle: output.tx_idle != 0,
            detect_request: output.detect_request != 0,
            rx_invert: output.rx_invert != 0,
        }
    }

    /// Sets the NIC's inputs for this cycle of the core's clock, but for those of Ethernet, the time base and `reset`. They do not depend on
    /// what the NIC does in this cycle.
    pub fn drive(&self, input: &mut NicIn) {
        let output = &self.output;
        *input = NicIn {
            tlp_rx_valid: output.tlp_rx_valid != 0,
            tlp_rx_data: output.tlp_rx_data,
            tlp_rx_keep: output.tlp_rx_keep,
            tlp_rx_last: output.tlp_rx_last != 0,
            tlp_rx_bar: output.tlp_rx_bar,
            tlp_tx_ready: output.tlp_tx_ready != 0,
            credit_ph: output.credit_ph,
            credit_pd: output.credit_pd,
            credit_nph: output.credit_nph,
            credit_ch: output.credit_ch,
            credit_cd: output.credit_cd,
            cfg_requester_id: output.cfg_requester_id,
            cfg_max_payload: output.cfg_max_payload,
            cfg_max_read: output.cfg_max_read,
            cfg_rcb: output.cfg_rcb != 0,
            cfg_extended_tag: output.cfg_extended_tag != 0,
            cfg_bus_master: output.cfg_bus_master != 0,
            cfg_function_reset: output.cfg_function_reset != 0,
            cfg_msix_enable: output.cfg_msix_enable != 0,
            cfg_msix_mask: output.cfg_msix_mask != 0,
            link_down: output.link_down != 0,
            ..*input
        };
    }

    /// A rising edge of the core's clock with what the NIC did in this cycle.
    pub fn core_edge(&mut self, output: &NicOut) {
        if self.input.clock != 0 {
            self.input.clock = 0;
            self.settle();
        }
        self.input = model::In {
            clock: 1,
            pclk: 0,
            tlp_rx_np_ready: output.tlp_rx_np_ready.into(),
            tlp_tx_valid: output.tlp_tx_valid.into(),
            tlp_tx_data: output.tlp_tx_data,
            tlp_tx_keep: output.tlp_tx_keep,
            tlp_tx_last: output.tlp_tx_last.into(),
            tlp_tx_class: output.tlp_tx_class,
            function_reset_done: output.function_reset_done.into(),
            ..self.input
        };
        self.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`Endpoint::drive`] says so, and [`super::super::PcieNic`] relies on it.
    #[test]
    fn what_the_nic_sees_does_not_depend_on_what_it_does_in_the_same_cycle() {
        let mut endpoint = Endpoint::new(1).unwrap();
        for cycle in 0..64 {
            endpoint.pclk_edge(&ToEndpoint::default());
            endpoint.core_edge(&NicOut::default());
            let mut first = NicIn::default();
            endpoint.drive(&mut first);
            endpoint.input.tlp_rx_np_ready ^= 1;
            endpoint.input.tlp_tx_valid ^= 1;
            endpoint.input.tlp_tx_last ^= 1;
            endpoint.input.tlp_tx_class ^= 1;
            endpoint.input.tlp_tx_data = !endpoint.input.tlp_tx_data;
            endpoint.input.function_reset_done ^= 1;
            endpoint.settle();
            let mut second = NicIn::default();
            endpoint.drive(&mut second);
            assert_eq!(first, second, "cycle {cycle}");
        }
    }
}
