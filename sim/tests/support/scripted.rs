//! A NIC that sends the packets that a test gives it, once a doorbell rings, and answers loads
//! behind them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use viaduct_sim::nic::{Nic, NicIn, NicOut};
use viaduct_sim::root_complex::NIC_ID;
use viaduct_sim::tlp::{beat, Completion, Request, Tlp};
use viaduct_spec::tlp::class;

/// What loads read.
pub const LOADED: u32 = 0x600D_600D;

/// What the test and the NIC share.
#[derive(Default)]
pub struct Script {
    /// To be sent.
    pub send: VecDeque<Tlp>,
    /// What has come, without the loads.
    pub got: Vec<Tlp>,
}

pub struct Scripted {
    script: Arc<Mutex<Script>>,
    sending: Option<(Vec<u32>, usize)>,
    answers: VecDeque<Tlp>,
    receiving: Vec<u32>,
    /// What is coming is sunk to its end: a reset has met it.
    sinks: bool,
}

impl Scripted {
    /// The NIC, and what it shares with the test.
    pub fn make() -> (Box<dyn Nic>, Arc<Mutex<Script>>) {
        let script = Arc::new(Mutex::new(Script::default()));
        let nic = Self {
            script: script.clone(),
            sending: None,
            answers: VecDeque::new(),
            receiving: Vec::new(),
            sinks: false,
        };
        (Box::new(nic), script)
    }
}

impl Nic for Scripted {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        *output = NicOut { tlp_rx_np_ready: true, ..NicOut::default() };
        let mut script = self.script.lock().unwrap();
        if input.cfg_function_reset {
            (self.sending, script.send) = (None, VecDeque::new());
            self.answers.clear();
            self.sinks |= input.tlp_rx_valid || !self.receiving.is_empty();
        }
        output.function_reset_done = input.cfg_function_reset;
        if self.sending.is_none() {
            let next = script.send.pop_front().or_else(|| self.answers.pop_front());
            self.sending = next.map(|packet| (packet.encode(), 0));
        }
        if let Some((packet, sent)) = &mut self.sending {
            output.tlp_tx_valid = true;
            (output.tlp_tx_data, output.tlp_tx_keep) = beat(packet, *sent);
            output.tlp_tx_last = *sent * 2 + 2 >= packet.len();
            output.tlp_tx_class = match packet[0] >> 24 {
                0x40 | 0x60 => class::POSTED,
                0x00 | 0x20 => class::NON_POSTED,
                _ => class::COMPLETION,
            };
            if input.tlp_tx_ready {
                *sent += 1;
                if output.tlp_tx_last {
                    self.sending = None;
                }
            }
        }
        output.idle = self.sending.is_none() && script.send.is_empty() && self.answers.is_empty();
        if input.tlp_rx_valid {
            self.receiving.push(input.tlp_rx_data as u32);
            if input.tlp_rx_keep == 0b11 {
                self.receiving.push((input.tlp_rx_data >> 32) as u32);
            }
            if input.tlp_rx_last {
                let packet = Tlp::decode(&std::mem::take(&mut self.receiving)).unwrap();
                match packet {
                    _ if std::mem::take(&mut self.sinks) => {}
                    Tlp::Read(request) => self.answers.push_back(answer(&request)),
                    packet => script.got.push(packet),
                }
            }
        }
    }
}

fn answer(request: &Request) -> Tlp {
    let (lead, byte_count) = request.bytes();
    Tlp::Completion(Completion {
        status: 0,
        byte_count,
        lower_address: (request.address as usize + lead) as u8 & 0x7F,
        tag: request.tag,
        requester: request.requester,
        completer: NIC_ID,
        poisoned: false,
        data: vec![LOADED; request.length],
    })
}
