//! What the simulator drives: the ports of the NIC's top (docs/architecture.md, "The top's ports").

use viaduct_link::link::Counters;

/// The inputs of one clock cycle. `clock` is driven by whoever implements [`Nic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // The names are the ports'; docs/bring-up.md has their meaning.
pub struct NicIn {
    pub reset: bool,
    pub tlp_rx_valid: bool,
    pub tlp_rx_data: u64,
    pub tlp_rx_keep: u8,
    pub tlp_rx_last: bool,
    pub tlp_rx_bar: u8,
    pub tlp_tx_ready: bool,
    pub credit_ph: u8,
    pub credit_pd: u16,
    pub credit_nph: u8,
    pub credit_ch: u8,
    pub credit_cd: u16,
    pub cfg_requester_id: u16,
    pub cfg_max_payload: u8,
    pub cfg_max_read: u8,
    pub cfg_rcb: bool,
    pub cfg_extended_tag: bool,
    pub cfg_bus_master: bool,
    pub cfg_function_reset: bool,
    pub link_down: bool,
    pub cfg_msix_enable: bool,
    pub cfg_msix_mask: bool,
    pub eth_rx_valid: bool,
    pub eth_rx_data: u64,
    pub eth_rx_keep: u8,
    pub eth_rx_last: bool,
    pub eth_rx_bad: bool,
    pub eth_tx_ready: bool,
    pub time_now: u32,
}

/// The outputs of one clock cycle, as they are at the clock edge that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // The names are the ports'; docs/bring-up.md has their meaning.
pub struct NicOut {
    pub tlp_rx_np_ready: bool,
    pub tlp_tx_valid: bool,
    pub tlp_tx_data: u64,
    pub tlp_tx_keep: u8,
    pub tlp_tx_last: bool,
    pub tlp_tx_class: u8,
    pub function_reset_done: bool,
    pub eth_rx_pause: bool,
    pub eth_tx_valid: bool,
    pub eth_tx_data: u64,
    pub eth_tx_keep: u8,
    pub eth_tx_last: bool,
    pub loopback_valid: bool,
    pub loopback_ready: bool,
    pub loopback_data: u64,
    pub loopback_keep: u8,
    pub loopback_last: bool,
    pub idle: bool,
    pub read_deadline_valid: bool,
    pub read_deadline: u32,
    pub interrupt_deadline_valid: bool,
    pub interrupt_deadline: u32,
    pub send_deadline_valid: bool,
    pub send_deadline: u32,
}

impl NicOut {
    /// When its timers end, in ticks: those that run.
    pub fn deadlines(&self) -> impl Iterator<Item = u32> {
        [
            (self.read_deadline_valid, self.read_deadline),
            (self.interrupt_deadline_valid, self.interrupt_deadline),
            (self.send_deadline_valid, self.send_deadline),
        ]
        .into_iter()
        .filter_map(|(runs, end)| runs.then_some(end))
    }
}

/// A NIC that is stepped one clock cycle at a time.
pub trait Nic: Send {
    /// One cycle: the outputs that go with these inputs, then the clock edge.
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut);

    /// Cycles that a packet takes at most from the NIC's edge to where it is seen here: more than none behind a link.
    fn latency(&self) -> u64 {
        0
    }

    /// Packets of the host's that it has been given, and that have not come to the NIC's edge.
    fn under_way(&self) -> usize {
        0
    }

    /// Its root port retrains its link, if it is behind one.
    fn retrain(&mut self) {}

    /// What its root port has seen and done, if it is behind a link.
    fn link_counters(&self) -> Option<Counters> {
        None
    }

    /// Rules that were broken inside of it since the last look.
    fn broken(&mut self) -> Vec<String> {
        Vec::new()
    }
}
