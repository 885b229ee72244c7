//! The core's side of its TLP edge, as ports of a model.

use std::collections::VecDeque;

use viaduct_verilate::{Dut, Handle};

use crate::packet::Tlp;

/// A beat that the core offers.
#[derive(Debug, Clone, Copy)]
struct Beat {
    data: u64,
    keep: u64,
    last: bool,
    class: u64,
}

/// The ports, and what passes them.
pub struct CoreEdge {
    rx: [Handle; 5],
    tx: [Handle; 5],
    tx_ready: Handle,
    np_ready: Handle,
    link_down: Handle,
    up: VecDeque<Beat>,
    offered: bool,
    leaving: VecDeque<Tlp>,
    hearing: (Vec<u32>, u64),
    /// Packets that the core has heard.
    pub heard: Vec<Tlp>,
    /// Packets of which the last beat has left the core.
    pub left: Vec<Tlp>,
}

impl CoreEdge {
    pub fn of(dut: &Dut) -> Self {
        let ports = |prefix: &str, names: [&str; 5]| names.map(|name| dut.port(&format!("{prefix}_{name}")));
        Self {
            rx: ports("tlp_rx", ["valid", "data", "keep", "last", "bar"]),
            tx: ports("tlp_tx", ["valid", "data", "keep", "last", "class"]),
            tx_ready: dut.port("tlp_tx_ready"),
            np_ready: dut.port("tlp_rx_np_ready"),
            link_down: dut.port("link_down"),
            up: VecDeque::new(),
            offered: false,
            leaving: VecDeque::new(),
            hearing: Default::default(),
            heard: Vec::new(),
            left: Vec::new(),
        }
    }

    /// The core has a packet for the host.
    pub fn offer(&mut self, tlp: &Tlp) {
        let beats = tlp.words.chunks(2);
        let end = beats.len() - 1;
        for (index, beat) in beats.enumerate() {
            let data = u64::from(beat[0]) | u64::from(*beat.get(1).unwrap_or(&0)) << 32;
            let keep = if beat.len() == 2 { 3 } else { 1 };
            self.up.push_back(Beat { data, keep, last: index == end, class: tlp.class() });
        }
        self.leaving.push_back(tlp.clone());
    }

    /// Nothing is to be sent.
    pub fn has_sent(&self) -> bool {
        self.up.is_empty()
    }

    /// Nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.up.is_empty() && self.hearing.0.is_empty()
    }

    /// Before a rising edge of the core's clock: whether the core offers a beat if it has one, and has room for a request.
    pub fn cycle(&mut self, dut: &mut Dut, offers: bool, np_ready: bool) {
        // What is offered stays.
        let beat = self.up.front().copied().filter(|_| self.offered || offers);
        self.offered = beat.is_some();
        dut.write(self.tx[0], self.offered.into());
        if let Some(Beat { data, keep, last, class }) = beat {
            for (port, value) in self.tx[1..].iter().zip([data, keep, last.into(), class]) {
                dut.write(*port, value);
            }
        }
        dut.write(self.np_ready, np_ready.into());
        dut.eval();
        if let Some(beat) = beat.filter(|_| dut.read(self.tx_ready) == 1) {
            self.up.pop_front();
            self.offered = false;
            if beat.last {
                self.left.push(self.leaving.pop_front().expect("it is under way"));
            }
        }
        if dut.read(self.link_down) == 1 {
            self.hearing = Default::default();
        } else if dut.read(self.rx[0]) == 1 {
            self.hear(dut);
        }
    }

    fn hear(&mut self, dut: &Dut) {
        let [_, data, keep, last, bar] = self.rx.map(|port| dut.read(port));
        if self.hearing.0.is_empty() {
            self.hearing.1 = bar;
        }
        assert!(keep == 3 || keep == 1 && last == 1, "keep {keep}, last {last}");
        self.hearing.0.push(data as u32);
        if keep == 3 {
            self.hearing.0.push((data >> 32) as u32);
        }
        if last == 1 {
            let (words, bar) = std::mem::take(&mut self.hearing);
            self.heard.push(Tlp { words, bar });
        }
    }

    /// The link is down.
    pub fn is_down(&self, dut: &Dut) -> bool {
        dut.read(self.link_down) == 1
    }

    /// The core is reset: nothing is offered, and nothing was heard.
    pub fn forget(&mut self, dut: &mut Dut) {
        self.up.clear();
        self.leaving.clear();
        self.offered = false;
        dut.write(self.tx[0], 0);
        self.hearing = Default::default();
        self.heard.clear();
        self.left.clear();
    }
}
