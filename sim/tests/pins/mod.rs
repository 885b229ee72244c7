//! A NIC whose pins are those of a model that is built when the test runs.

use viaduct_sim::nic::{NicIn, NicOut};
use viaduct_verilate::{Dut, Handle};

type Input = (&'static str, fn(&NicIn) -> u64);
type Output = (&'static str, fn(&mut NicOut, u64));

/// The inputs but the clock, by their names.
const INPUTS: [Input; 29] = [
    ("reset", |pins| pins.reset.into()),
    ("tlp_rx_valid", |pins| pins.tlp_rx_valid.into()),
    ("tlp_rx_data", |pins| pins.tlp_rx_data),
    ("tlp_rx_keep", |pins| pins.tlp_rx_keep.into()),
    ("tlp_rx_last", |pins| pins.tlp_rx_last.into()),
    ("tlp_rx_bar", |pins| pins.tlp_rx_bar.into()),
    ("tlp_tx_ready", |pins| pins.tlp_tx_ready.into()),
    ("credit_ph", |pins| pins.credit_ph.into()),
    ("credit_pd", |pins| pins.credit_pd.into()),
    ("credit_nph", |pins| pins.credit_nph.into()),
    ("credit_ch", |pins| pins.credit_ch.into()),
    ("credit_cd", |pins| pins.credit_cd.into()),
    ("cfg_requester_id", |pins| pins.cfg_requester_id.into()),
    ("cfg_max_payload", |pins| pins.cfg_max_payload.into()),
    ("cfg_max_read", |pins| pins.cfg_max_read.into()),
    ("cfg_rcb", |pins| pins.cfg_rcb.into()),
    ("cfg_extended_tag", |pins| pins.cfg_extended_tag.into()),
    ("cfg_bus_master", |pins| pins.cfg_bus_master.into()),
    ("cfg_function_reset", |pins| pins.cfg_function_reset.into()),
    ("link_down", |pins| pins.link_down.into()),
    ("cfg_msix_enable", |pins| pins.cfg_msix_enable.into()),
    ("cfg_msix_mask", |pins| pins.cfg_msix_mask.into()),
    ("eth_rx_valid", |pins| pins.eth_rx_valid.into()),
    ("eth_rx_data", |pins| pins.eth_rx_data),
    ("eth_rx_keep", |pins| pins.eth_rx_keep.into()),
    ("eth_rx_last", |pins| pins.eth_rx_last.into()),
    ("eth_rx_bad", |pins| pins.eth_rx_bad.into()),
    ("eth_tx_ready", |pins| pins.eth_tx_ready.into()),
    ("time_now", |pins| pins.time_now.into()),
];

/// The outputs.
const OUTPUTS: [Output; 24] = [
    ("tlp_rx_np_ready", |pins, value| pins.tlp_rx_np_ready = value != 0),
    ("tlp_tx_valid", |pins, value| pins.tlp_tx_valid = value != 0),
    ("tlp_tx_data", |pins, value| pins.tlp_tx_data = value),
    ("tlp_tx_keep", |pins, value| pins.tlp_tx_keep = value as u8),
    ("tlp_tx_last", |pins, value| pins.tlp_tx_last = value != 0),
    ("tlp_tx_class", |pins, value| pins.tlp_tx_class = value as u8),
    ("function_reset_done", |pins, value| pins.function_reset_done = value != 0),
    ("eth_rx_pause", |pins, value| pins.eth_rx_pause = value != 0),
    ("eth_tx_valid", |pins, value| pins.eth_tx_valid = value != 0),
    ("eth_tx_data", |pins, value| pins.eth_tx_data = value),
    ("eth_tx_keep", |pins, value| pins.eth_tx_keep = value as u8),
    ("eth_tx_last", |pins, value| pins.eth_tx_last = value != 0),
    ("loopback_valid", |pins, value| pins.loopback_valid = value != 0),
    ("loopback_ready", |pins, value| pins.loopback_ready = value != 0),
    ("loopback_data", |pins, value| pins.loopback_data = value),
    ("loopback_keep", |pins, value| pins.loopback_keep = value as u8),
    ("loopback_last", |pins, value| pins.loopback_last = value != 0),
    ("idle", |pins, value| pins.idle = value != 0),
    ("read_deadline_valid", |pins, value| pins.read_deadline_valid = value != 0),
    ("read_deadline", |pins, value| pins.read_deadline = value as u32),
    ("interrupt_deadline_valid", |pins, value| pins.interrupt_deadline_valid = value != 0),
    ("interrupt_deadline", |pins, value| pins.interrupt_deadline = value as u32),
    ("send_deadline_valid", |pins, value| pins.send_deadline_valid = value != 0),
    ("send_deadline", |pins, value| pins.send_deadline = value as u32),
];

/// A model that its network's thread may take along.
pub struct Model(pub Dut);

// SAFETY: the model is one heap object with a simulation context of its own; it is reached through `&mut self` only, and holds nothing that
// belongs to a thread.
unsafe impl Send for Model {}

/// What goes into a pin.
type Give = fn(&NicIn) -> u64;

/// Where what comes out of one goes.
type Take = fn(&mut NicOut, u64);

/// The pins of the NIC's top that a model has.
pub struct Pins {
    inputs: Vec<(Handle, Give)>,
    outputs: Vec<(Handle, Take)>,
}

impl Pins {
    /// Finds them.
    pub fn of(dut: &Dut) -> Self {
        Self {
            inputs: INPUTS.iter().filter(|pin| dut.has(pin.0)).map(|pin| (dut.port(pin.0), pin.1)).collect(),
            outputs: OUTPUTS
                .iter()
                .filter(|pin| dut.has(pin.0))
                .map(|pin| (dut.port(pin.0), pin.1))
                .collect(),
        }
    }

    /// Drives the inputs, and shows what goes with them at the outputs.
    pub fn exchange(&self, dut: &mut Dut, input: &NicIn, output: &mut NicOut) {
        for (pin, value) in &self.inputs {
            dut.write(*pin, value(input));
        }
        dut.eval();
        for (pin, set) in &self.outputs {
            set(output, dut.read(*pin));
        }
    }
}
