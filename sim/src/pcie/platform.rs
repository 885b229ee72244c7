//! The platform of a function behind a link: firmware and operating system, as far as the function hears of them.
//!
//! It enumerates the function when the link comes up, as Linux does: under a temporary bus number first, with BARs sized while decoding is
//! off. Every register it reads is held against the one table of the configuration space. From then on it writes by configuration requests
//! what the root complex shows as side band, and resets the function when it is asked to.

use std::collections::VecDeque;

use viaduct_link::tlp::Tlp;
use viaduct_spec::config_space::{
    command, device_control, link_control, msix_control, BAR0, BAR2, BAR2_HIGH, COMMAND, DEVICE_CONTROL,
    LINK_CONTROL, MSIX, TABLE,
};
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;

use crate::nic::{NicIn, NicOut};
use crate::root_complex::{BAR0_BASE, BAR2_BASE, NIC_ID};

/// The root port, which asks in the platform's name.
const ROOT_PORT: u16 = 0x0008;
/// The bus number under which firmware finds the function first.
const TEMPORARY: u16 = 0x0500;
const READ: u32 = 0x0400_0001;
const WRITE: u32 = 0x4400_0001;
const COMPLETION: u32 = 0x0A;
/// Set_Slot_Power_Limit, with 25 W.
const SLOT_POWER: [u32; 5] = [0x7400_0001, 0x0008_0050, 0, 0, 0xFA];
/// Cycles of the link that the platform waits after a function-level reset before it looks at the function again. Software waits 100 ms.
const AFTER_RESET: u32 = 2000;

/// A configuration request.
#[derive(Debug, Clone, Copy)]
struct Request {
    id: u16,
    offset: u16,
    /// What is written; `None` reads.
    write: Option<u32>,
    /// What a read must give, and which of its bits count.
    expected: Option<(u32, u32)>,
}

impl Request {
    fn tlp(&self, tag: u8) -> Tlp {
        let header = [
            if self.write.is_some() { WRITE } else { READ },
            u32::from(ROOT_PORT) << 16 | u32::from(tag) << 8 | 0xF,
            u32::from(self.id) << 16 | u32::from(self.offset),
        ];
        header.into_iter().chain(self.write).collect()
    }
}

/// What the root complex shows of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Settings {
    command: u32,
    device: u32,
    link: u32,
    msix: u32,
}

impl Settings {
    fn of(input: &NicIn) -> Self {
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        Self {
            command: command::MEMORY | bit(input.cfg_bus_master, command::MASTER),
            device: u32::from(input.cfg_max_payload) << device_control::MAX_PAYLOAD
                | u32::from(input.cfg_max_read) << device_control::MAX_READ
                | bit(input.cfg_extended_tag, device_control::EXTENDED_TAG),
            link: bit(input.cfg_rcb, link_control::RCB),
            msix: bit(input.cfg_msix_enable, msix_control::ENABLE)
                | bit(input.cfg_msix_mask, msix_control::FUNCTION_MASK),
        }
    }

    fn rows(&self) -> [(u16, u32); 4] {
        [(COMMAND, self.command), (DEVICE_CONTROL, self.device), (LINK_CONTROL, self.link), (MSIX, self.msix)]
    }
}

/// How far a function-level reset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reset {
    /// None is asked for.
    None,
    /// The request is on its way, or the NIC is not done.
    Asked,
    /// The NIC is done; so many cycles of the link are left.
    Waits(u32),
    /// BARs and settings are being restored.
    Restores,
    /// It is done.
    Done,
}

/// The platform.
#[derive(Debug)]
pub struct Platform {
    requests: VecDeque<Request>,
    asked: Option<Request>,
    tag: u8,
    /// Messages that go first.
    messages: VecDeque<Tlp>,
    enumerated: bool,
    begun: bool,
    wished: Option<Settings>,
    written: Settings,
    reset: Reset,
    down: bool,
    /// Requests that were answered otherwise than they must be.
    wrong: Vec<String>,
}

impl Platform {
    /// Before the link comes up.
    pub fn new() -> Self {
        Self {
            requests: VecDeque::new(),
            asked: None,
            tag: 0,
            messages: VecDeque::new(),
            enumerated: false,
            begun: false,
            wished: None,
            written: Settings::default(),
            reset: Reset::None,
            down: false,
            wrong: Vec::new(),
        }
    }

    /// The function is enumerated, and configured as the root complex shows it.
    pub fn is_ready(&self) -> bool {
        self.enumerated && self.is_idle()
    }

    /// It asks for nothing.
    pub fn is_idle(&self) -> bool {
        let resets = !matches!(self.reset, Reset::None | Reset::Done);
        self.requests.is_empty() && self.asked.is_none() && self.messages.is_empty() && !resets
    }

    /// Requests that were answered otherwise than they must be.
    pub fn wrong(&self) -> &[String] {
        &self.wrong
    }

    fn read(&mut self, id: u16, offset: u16, expected: Option<(u32, u32)>) {
        self.requests.push_back(Request { id, offset, write: None, expected });
    }

    fn write(&mut self, offset: u16, value: u32) {
        self.requests.push_back(Request { id: NIC_ID, offset, write: Some(value), expected: None });
    }

    fn enumerate(&mut self) {
        self.begun = true;
        self.messages.push_back(SLOT_POWER.to_vec());
        for id in [TEMPORARY, NIC_ID] {
            self.read(id, 0, Some((TABLE[0].reset, u32::MAX)));
            let (offset, write) = (COMMAND, Some(0));
            self.requests.push_back(Request { id, offset, write, expected: None });
        }
        for (offset, size) in
            [(BAR0, !(BAR0_BYTES as u32 - 1)), (BAR2, !(BAR2_BYTES as u32 - 1) | 4), (BAR2_HIGH, u32::MAX)]
        {
            self.write(offset, u32::MAX);
            self.read(NIC_ID, offset, Some((size, u32::MAX)));
        }
        for word in &TABLE {
            let bars = [BAR0, BAR2, BAR2_HIGH].contains(&word.offset);
            let sure = if bars || word.offset == COMMAND { 0 } else { !word.clearable };
            self.read(NIC_ID, word.offset, Some((word.reset, sure)));
        }
        self.map();
        self.written = Settings::default();
    }

    /// Gives the BARs their addresses.
    fn map(&mut self) {
        self.write(BAR0, BAR0_BASE as u32);
        self.write(BAR2, BAR2_BASE as u32);
        self.write(BAR2_HIGH, (BAR2_BASE >> 32) as u32);
        self.write(COMMAND, command::MEMORY);
    }

    /// Writes what is not as it is wished.
    fn settle(&mut self) {
        let Some(wished) = self.wished.filter(|wished| *wished != self.written) else { return };
        for ((offset, value), (_, before)) in wished.rows().into_iter().zip(self.written.rows()) {
            if value != before {
                self.write(offset, value);
                let mask = command::MEMORY | command::MASTER;
                let sure = if offset == COMMAND { mask } else { value };
                self.read(NIC_ID, offset, Some((value, sure)));
            }
        }
        self.written = wished;
    }

    /// What the root complex shows in this cycle; whether the link is to be reset now.
    pub fn wish(&mut self, input: &NicIn) -> bool {
        self.wished = Some(Settings::of(input));
        let falls = input.link_down && !self.down;
        self.down = input.link_down;
        match (input.cfg_function_reset, self.reset) {
            (true, Reset::None) if self.enumerated => {
                self.reset = Reset::Asked;
                self.write(DEVICE_CONTROL, self.written.device | device_control::FUNCTION_RESET);
            }
            (false, Reset::Done) => self.reset = Reset::None,
            _ => {}
        }
        falls
    }

    /// What the NIC does in this cycle.
    pub fn observe(&mut self, output: &NicOut) {
        if output.function_reset_done && self.reset == Reset::Asked {
            self.reset = Reset::Waits(AFTER_RESET);
        }
    }

    /// To the root complex: the function's reset is done.
    pub fn function_reset_done(&self) -> bool {
        self.reset == Reset::Done
    }

    /// The link is down: everything of before is forgotten.
    pub fn link_is_down(&mut self) {
        if !self.begun {
            return;
        }
        let wrong = std::mem::take(&mut self.wrong);
        let done = self.reset != Reset::None;
        *self = Self { wished: self.wished, down: self.down, wrong, ..Self::new() };
        if done {
            self.reset = Reset::Done;
        }
    }

    /// The next packet to send, while the link is up: one cycle of it passes.
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
                    self.written = Settings::default();
                    self.map();
                }
                Reset::Waits(cycles) => self.reset = Reset::Waits(cycles - 1),
                Reset::Restores => self.reset = Reset::Done,
                Reset::Asked => {}
                Reset::None | Reset::Done => self.settle(),
            }
        }
        let request = self.requests.pop_front()?;
        self.tag = self.tag.wrapping_add(1) & 0x1F;
        self.asked = Some(request);
        Some(request.tlp(self.tag))
    }

    /// A packet of the endpoint's; given back if it is not for the platform.
    pub fn hear(&mut self, tlp: Tlp) -> Option<Tlp> {
        let ours = tlp.len() >= 3
            && tlp[0] >> 24 & 0x1F == COMPLETION
            && tlp[2] >> 16 == u32::from(ROOT_PORT);
        if !ours {
            return Some(tlp);
        }
        let (status, tag) = (tlp[1] >> 13 & 7, (tlp[2] >> 8) as u8);
        match self.asked.take() {
            Some(request) if tag == self.tag => {
                let data = tlp.get(3).copied();
                let right = status == 0
                    && data.is_some() == request.write.is_none()
                    && request.expected.is_none_or(|(value, sure)| data.is_some_and(|data| (data ^ value) & sure == 0));
                if !right {
                    self.wrong.push(format!("{request:x?} was answered with status {status} and {data:x?}"));
                }
            }
            other => {
                self.asked = other;
                self.wrong.push(format!("a completion for no request: {tlp:08x?}"));
            }
        }
        None
    }
}
