//! The endpoint's side of the symbol seam, as ports of a model.

use viaduct_link::seam::{FromEndpoint, ToEndpoint};
use viaduct_verilate::{Dut, Handle};

/// The ports.
pub struct Seam {
    phy_ready: Handle,
    rx: [Handle; 4],
    rx_invert: Handle,
    tx: [Handle; 3],
    detect_request: Handle,
    detect: [Handle; 2],
}

impl Seam {
    /// Those whose names begin so.
    pub fn of(dut: &Dut, prefix: &str) -> Self {
        let port = |name: &str| dut.port(&format!("{prefix}{name}"));
        Self {
            phy_ready: port("phy_ready"),
            rx: ["rx_data", "rx_k", "rx_error", "rx_idle"].map(port),
            rx_invert: port("rx_invert"),
            tx: ["tx_data", "tx_k", "tx_idle"].map(port),
            detect_request: port("detect_request"),
            detect: ["detect_done", "detect_present"].map(port),
        }
    }

    /// What the endpoint receives.
    pub fn write(&self, dut: &mut Dut, to: &ToEndpoint) {
        let values = [to.rx_data.into(), to.rx_k.into(), to.rx_error.into(), to.rx_idle.into()];
        for (port, value) in self.rx.into_iter().zip(values) {
            dut.write(port, value);
        }
        dut.write(self.detect[0], to.detect_done.into());
        dut.write(self.detect[1], to.detect_present.into());
        dut.write(self.phy_ready, to.phy_ready.into());
    }

    /// What it sends.
    pub fn read(&self, dut: &Dut) -> FromEndpoint {
        let [tx_data, tx_k, tx_idle] = self.tx.map(|port| dut.read(port));
        FromEndpoint {
            tx_data: tx_data as u16,
            tx_k: tx_k as u8,
            tx_idle: tx_idle == 1,
            detect_request: dut.read(self.detect_request) == 1,
            rx_invert: dut.read(self.rx_invert) == 1,
        }
    }
}
