//! The platform of a function behind a link: firmware and operating system, as far as the function hears of them.
//!
//! It enumerates the function when the link comes up, as Linux does: under a temporary bus number first, with BARs sized while decoding is
//! off. It holds every register that it reads against the one table of the configuration space. From then on it writes by configuration
//! requests what the root complex shows as side band, and resets the function when the root complex asks for it.

use std::collections::VecDeque;

use viaduct_link::tlp::Tlp;
use viaduct_spec::config_space::{
    device_control, pci_command, BAR0, BAR2, BAR2_HIGH, COMMAND, DEVICE_CONTROL, TABLE,
};
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;

use super::request::{Answer, Request, SLOT_POWER};
use super::settings::{max_payload, Settings};
use crate::nic::{NicIn, NicOut};
use crate::root_complex::{BAR0_BASE, BAR2_BASE, NIC_ID};

/// The bus number under which firmware finds the function first.
const TEMPORARY: u16 = 0x0500;
/// Cycles of the link from a function-level reset's end to the first request. Software does not see the end, and waits 100 ms in all.
const AFTER_RESET: u32 = 500;
/// Max_Payload_Size after a reset.
const SMALLEST: u32 = 128;

/// How far a function-level reset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reset {
    /// None is asked for.
    None,
    /// The request is on its way, or the NIC is not done.
    Asked,
    /// The NIC is done; the answer to the request is on its way.
    Ended,
    /// The NIC is done; so many cycles of the link are left.
    Waits(u32),
    /// BARs are being restored.
    Restores,
    /// It is done.
    Done,
}

/// The platform.
#[derive(Debug)]
pub struct Platform {
    /// Configuration requests to be sent, one at a time.
    requests: VecDeque<Request>,
    asked: Option<Request>,
    /// The number under which the function was last written: it answers under that.
    function: u16,
    tag: u8,
    /// Messages that go first.
    messages: VecDeque<Tlp>,
    begun: bool,
    enumerated: bool,
    wished: Settings,
    /// What the function has been given; `None`: nothing since it was reset.
    written: Option<Settings>,
    payload: u32,
    reset: Reset,
    /// Requests that were answered otherwise than they must be.
    wrong: Vec<String>,
}

impl Platform {
    /// Before the link comes up, of a root complex that shows this.
    pub fn new(input: &NicIn) -> Self {
        Self {
            requests: VecDeque::new(),
            asked: None,
            function: 0,
            tag: 0,
            messages: VecDeque::new(),
            begun: false,
            enumerated: false,
            wished: Settings::of(input),
            written: None,
            payload: SMALLEST,
            reset: Reset::None,
            wrong: Vec::new(),
        }
    }

    /// The function is as the root complex shows it, and nothing is asked of it: the host's requests may go.
    pub fn is_settled(&self) -> bool {
        let resets = !matches!(self.reset, Reset::None | Reset::Done);
        self.enumerated && !resets && self.is_silent() && self.written == Some(self.wished)
    }

    fn is_silent(&self) -> bool {
        self.requests.is_empty() && self.asked.is_none() && self.messages.is_empty()
    }

    /// The function is being reset: completions for it go on.
    pub fn is_resetting(&self) -> bool {
        matches!(self.reset, Reset::Asked | Reset::Ended | Reset::Waits(_))
    }

    /// Max_Payload_Size in bytes that the function may have taken up.
    pub fn max_payload(&self) -> u32 {
        self.payload
    }

    /// What was wrong since the last look.
    pub fn take_wrong(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wrong)
    }

    fn enumerate(&mut self) {
        self.begun = true;
        self.messages.push_back(SLOT_POWER.to_vec());
        for id in [TEMPORARY, NIC_ID] {
            self.requests.push_back(Request::read(id, 0, TABLE[0].reset, u32::MAX));
            self.requests.push_back(Request::write(id, COMMAND, 0));
        }
        for (offset, size) in
            [(BAR0, !(BAR0_BYTES as u32 - 1)), (BAR2, !(BAR2_BYTES as u32 - 1) | 4), (BAR2_HIGH, u32::MAX)]
        {
            self.requests.push_back(Request::write(NIC_ID, offset, u32::MAX));
            self.requests.push_back(Request::read(NIC_ID, offset, size, u32::MAX));
        }
        for word in &TABLE {
            let bars = [BAR0, BAR2, BAR2_HIGH].contains(&word.offset);
            let sure = if bars { 0 } else { !word.clearable };
            self.requests.push_back(Request::read(NIC_ID, word.offset, word.reset, sure));
        }
        self.map();
    }

    /// Gives the BARs their addresses.
    fn map(&mut self) {
        let rows = [
            (BAR0, BAR0_BASE as u32),
            (BAR2, BAR2_BASE as u32),
            (BAR2_HIGH, (BAR2_BASE >> 32) as u32),
            (COMMAND, pci_command::MEMORY.ones()),
        ];
        self.requests.extend(rows.map(|(offset, value)| Request::write(NIC_ID, offset, value)));
        self.written = None;
    }

    /// Writes what is not as it is wished.
    fn settle(&mut self) {
        let changes = self.wished.changes(self.written.as_ref());
        self.requests.extend(changes.map(|(offset, value)| Request::write(NIC_ID, offset, value)));
        self.written = Some(self.wished);
    }

    /// What the root complex shows in this cycle.
    pub fn wish(&mut self, input: &NicIn) {
        self.wished = Settings::of(input);
        match (input.cfg_function_reset, self.reset) {
            (true, Reset::None) if self.enumerated => {
                self.reset = Reset::Asked;
                let device =
                    self.written.unwrap_or(self.wished).device | device_control::FUNCTION_RESET.ones();
                self.requests.push_back(Request::write(NIC_ID, DEVICE_CONTROL, device));
            }
            (false, Reset::Done) => self.reset = Reset::None,
            _ => {}
        }
    }

    /// What the NIC does in this cycle.
    pub fn observe(&mut self, output: &NicOut) {
        if output.function_reset_done && self.reset == Reset::Asked {
            self.reset = Reset::Ended;
        }
        if self.reset == Reset::Ended && self.is_silent() {
            self.reset = Reset::Waits(AFTER_RESET);
        }
    }

    /// The function's reset is done.
    pub fn function_reset_done(&self) -> bool {
        self.reset == Reset::Done
    }

    /// The link is down: everything of before is forgotten.
    pub fn link_is_down(&mut self) {
        self.requests.clear();
        self.messages.clear();
        (self.asked, self.written, self.reset) = (None, None, Reset::None);
        (self.begun, self.enumerated, self.payload) = (false, false, SMALLEST);
        self.function = 0;
    }

    /// A cycle of the link passes, which is up. The next packet to send.
    pub fn next(&mut self) -> Option<Tlp> {
        if !self.begun {
            self.enumerate();
        }
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        if self.asked.is_some() {
            return None;
        }
        if self.requests.is_empty() {
            self.enumerated = true;
            match self.reset {
                Reset::Waits(0) => {
                    self.reset = Reset::Restores;
                    self.map();
                }
                Reset::Waits(cycles) => self.reset = Reset::Waits(cycles - 1),
                Reset::Restores => self.reset = Reset::Done,
                Reset::Asked | Reset::Ended => {}
                Reset::None | Reset::Done => self.settle(),
            }
        }
        let request = self.requests.pop_front()?;
        if let (DEVICE_CONTROL, Some(device)) = (request.offset, request.write) {
            self.payload = max_payload(device);
        }
        if request.write.is_some() {
            self.function = request.id;
        }
        self.tag = self.tag.wrapping_add(1) & 0x1F;
        self.asked = Some(request);
        Some(request.tlp(self.tag))
    }

    /// A packet of the endpoint's; given back if it is not for the platform.
    pub fn hear(&mut self, tlp: Tlp) -> Option<Tlp> {
        let Some(answer) = Answer::of(&tlp) else { return Some(tlp) };
        match self.asked.filter(|_| answer.tag == self.tag) {
            Some(request) => {
                self.asked = None;
                self.wrong.extend(request.answered(&answer, self.function).err());
            }
            None => self.wrong.push(format!("an answer to no configuration request: {answer:x?}")),
        }
        None
    }
}
