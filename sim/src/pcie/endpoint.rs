//! The endpoint's RTL, Verilated: two clocks, the symbol seam on one side and the NIC's edge on the other.

use std::io;

use viaduct_link::seam::{FromEndpoint, ToEndpoint};
use viaduct_verilate::{Dut, Handle, Options};

use crate::nic::{NicIn, NicOut};

/// The endpoint's Verilog.
pub const VERILOG: &str = include_str!(concat!(env!("OUT_DIR"), "/pcie_endpoint.v"));

/// Ports by name, found once.
macro_rules! ports {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        struct Ports { $($(#[$doc])* $name: Handle),* }

        impl Ports {
            fn of(dut: &Dut) -> Self {
                Self { $($name: dut.port(stringify!($name))),* }
            }
        }
    };
}

ports! {
    pclk, clock, phy_ready, rx_data, rx_k, rx_error, rx_idle, detect_done, detect_present, tx_data, tx_k, tx_idle, detect_request,
    rx_invert, state, tlp_rx_valid, tlp_rx_data, tlp_rx_keep, tlp_rx_last, tlp_rx_bar, tlp_rx_np_ready, tlp_tx_valid, tlp_tx_ready,
    tlp_tx_data, tlp_tx_keep, tlp_tx_last, tlp_tx_class, credit_ph, credit_pd, credit_nph, credit_ch, credit_cd, cfg_requester_id,
    cfg_max_payload, cfg_max_read, cfg_rcb, cfg_extended_tag, cfg_bus_master, cfg_function_reset, cfg_msix_enable, cfg_msix_mask,
    core_reset_done, link_down,
}

/// The endpoint.
pub struct Endpoint {
    dut: Dut,
    ports: Ports,
}

impl Endpoint {
    /// After power-up.
    ///
    /// # Errors
    /// It cannot be compiled.
    pub fn new(seed: u64) -> io::Result<Self> {
        let options =
            Options { clock: "none".into(), optimise: "-O2".into(), ..Options::named("pcie endpoint") };
        let mut dut = Dut::seeded(VERILOG, &options, seed).map_err(io::Error::other)?;
        dut.eval();
        let ports = Ports::of(&dut);
        Ok(Self { dut, ports })
    }

    /// The LTSSM's state, as the LEDs of a board show it.
    pub fn state(&self) -> u64 {
        self.dut.read(self.ports.state)
    }

    fn edge(&mut self, clock: Handle) {
        self.dut.eval();
        self.dut.write(clock, 1);
        self.dut.eval();
        self.dut.write(clock, 0);
        self.dut.eval();
    }

    /// A rising edge of `pclk` with what the port sends; what the endpoint sends in the next cycle.
    pub fn pclk_edge(&mut self, to: &ToEndpoint) -> FromEndpoint {
        let Self { dut, ports } = self;
        for (port, value) in [
            (ports.phy_ready, to.phy_ready.into()),
            (ports.rx_data, to.rx_data.into()),
            (ports.rx_k, to.rx_k.into()),
            (ports.rx_error, to.rx_error.into()),
            (ports.rx_idle, to.rx_idle.into()),
            (ports.detect_done, to.detect_done.into()),
            (ports.detect_present, to.detect_present.into()),
        ] {
            dut.write(port, value);
        }
        let pclk = self.ports.pclk;
        self.edge(pclk);
        let Self { dut, ports } = self;
        FromEndpoint {
            tx_data: dut.read(ports.tx_data) as u16,
            tx_k: dut.read(ports.tx_k) as u8,
            tx_idle: dut.read(ports.tx_idle) != 0,
            detect_request: dut.read(ports.detect_request) != 0,
            rx_invert: dut.read(ports.rx_invert) != 0,
        }
    }

    /// Sets the NIC's inputs for this cycle of the core's clock, but for those of Ethernet and the time base.
    pub fn drive(&self, input: &mut NicIn) {
        let Self { dut, ports } = self;
        let is_high = |port| dut.read(port) != 0;
        input.tlp_rx_valid = is_high(ports.tlp_rx_valid);
        input.tlp_rx_data = dut.read(ports.tlp_rx_data);
        input.tlp_rx_keep = dut.read(ports.tlp_rx_keep) as u8;
        input.tlp_rx_last = is_high(ports.tlp_rx_last);
        input.tlp_rx_bar = dut.read(ports.tlp_rx_bar) as u8;
        input.tlp_tx_ready = is_high(ports.tlp_tx_ready);
        input.credit_ph = dut.read(ports.credit_ph) as u8;
        input.credit_pd = dut.read(ports.credit_pd) as u16;
        input.credit_nph = dut.read(ports.credit_nph) as u8;
        input.credit_ch = dut.read(ports.credit_ch) as u8;
        input.credit_cd = dut.read(ports.credit_cd) as u16;
        input.cfg_requester_id = dut.read(ports.cfg_requester_id) as u16;
        input.cfg_max_payload = dut.read(ports.cfg_max_payload) as u8;
        input.cfg_max_read = dut.read(ports.cfg_max_read) as u8;
        input.cfg_rcb = is_high(ports.cfg_rcb);
        input.cfg_extended_tag = is_high(ports.cfg_extended_tag);
        input.cfg_bus_master = is_high(ports.cfg_bus_master);
        input.cfg_function_reset = is_high(ports.cfg_function_reset);
        input.cfg_msix_enable = is_high(ports.cfg_msix_enable);
        input.cfg_msix_mask = is_high(ports.cfg_msix_mask);
        input.link_down = is_high(ports.link_down);
    }

    /// A rising edge of the core's clock with what the NIC did in this cycle.
    pub fn core_edge(&mut self, output: &NicOut) {
        let Self { dut, ports } = self;
        for (port, value) in [
            (ports.tlp_rx_np_ready, output.tlp_rx_np_ready.into()),
            (ports.tlp_tx_valid, output.tlp_tx_valid.into()),
            (ports.tlp_tx_data, output.tlp_tx_data),
            (ports.tlp_tx_keep, output.tlp_tx_keep.into()),
            (ports.tlp_tx_last, output.tlp_tx_last.into()),
            (ports.tlp_tx_class, output.tlp_tx_class.into()),
            (ports.core_reset_done, output.function_reset_done.into()),
        ] {
            dut.write(port, value);
        }
        let clock = self.ports.clock;
        self.edge(clock);
    }
}
