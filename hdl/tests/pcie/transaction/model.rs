//! What becomes of a TLP, in plain Rust.

use std::collections::BTreeMap;

use viaduct_spec::config_space::{word, BAR0, BAR2, BAR2_HIGH, COMMAND, DEVICE_CONTROL};
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;

use super::kinds::{kind_of, Kind};
use super::tlp::answer;
use super::world::Given;

/// Words of a TLP after which it is decided.
const DECIDED: usize = 16;

/// Bits of Device Status.
const CORRECTABLE: u32 = 1;
const NON_FATAL: u32 = 2;
const FATAL: u32 = 4;
const UNSUPPORTED: u32 = 8;

/// The model: what the layer holds, and what it has to have done.
#[derive(Debug, Default)]
pub struct Model {
    registers: BTreeMap<u16, u32>,
    id: u16,
    pub given: Vec<Given>,
    /// The number of the TLP that each of them was.
    pub given_by: Vec<usize>,
    pub answers: Vec<Vec<u8>>,
    /// Non-posted requests that are answered or dropped here.
    pub freed: u64,
    /// Device Status.
    pub status: u32,
    /// TLPs until now, and how many of them ended here without an answer.
    pub arrived: usize,
    pub dropped: usize,
}

impl Model {
    pub fn register(&self, offset: u16) -> u32 {
        let reset = word(offset).map_or(0, |row| row.reset);
        self.registers.get(&offset).copied().unwrap_or(reset)
    }

    /// A register's value is known to be this.
    pub fn set(&mut self, offset: u16, value: u32) {
        self.registers.insert(offset, value);
    }

    pub fn set_id(&mut self, id: u16) {
        self.id = id;
    }

    fn bar(&self, address: u64) -> Option<u64> {
        let bar2 = u64::from(self.register(BAR2_HIGH)) << 32 | u64::from(self.register(BAR2) & !0xF);
        if self.register(COMMAND) & 2 == 0 {
            None
        } else if address & !(BAR0_BYTES - 1) == u64::from(self.register(BAR0)) {
            Some(0)
        } else if address & !(BAR2_BYTES - 1) == bar2 {
            Some(2)
        } else {
            None
        }
    }

    /// A TLP arrives.
    pub fn arrive(&mut self, bytes: &[u8]) {
        let number = self.arrived;
        self.arrived += 1;
        let kind = kind_of(bytes[0]);
        let words = bytes.len() / 2;
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let length = match usize::from(byte(2) & 3) << 8 | usize::from(byte(3)) {
            0 => 1024,
            length => length,
        };
        let (long, with_data) = (bytes[0] & 0x20 != 0, bytes[0] & 0x40 != 0);
        let announced = 2 * (3 + usize::from(long) + if with_data { length } else { 0 });
        let whole = announced + if byte(2) & 0x80 != 0 { 2 } else { 0 };
        let right = words == whole;
        // A long one is on its way before its length is known.
        let fits = if words <= DECIDED { right } else { whole > DECIDED };
        let poisoned = with_data && byte(2) & 0x40 != 0;
        let single = !matches!(kind, Some(Kind::Configuration | Kind::Single)) || length == 1;
        if words > DECIDED && !right {
            self.status |= FATAL;
        }
        let posted = matches!(kind, Some(Kind::Write | Kind::Completion | Kind::Message));
        let (Some(kind), true) = (kind, fits && single) else {
            self.status |= FATAL;
            self.freed += u64::from(kind.is_some() && !posted);
            self.dropped += 1;
            return;
        };
        if posted && poisoned {
            self.status |= NON_FATAL;
        }
        let address = match long {
            true => u64::from_be_bytes(bytes[8..16].try_into().unwrap()),
            false => u32::from_be_bytes(bytes[8..12].try_into().unwrap()).into(),
        };
        let bar = self.bar(address).filter(|_| matches!(kind, Kind::Read | Kind::Write));
        if bar.is_some() || kind == Kind::Completion {
            let passed = words.min(announced) / 2 * 4;
            let non_posted = kind == Kind::Read;
            self.given.push(Given { bar: bar.unwrap_or(0), non_posted, bytes: bytes[..passed].to_vec() });
            self.given_by.push(number);
            return;
        }
        match kind {
            Kind::Message => {
                self.dropped += 1;
            }
            Kind::Write => {
                self.status |= NON_FATAL | UNSUPPORTED;
                self.dropped += 1;
            }
            Kind::Configuration if bytes[9] & 7 == 0 && !poisoned => {
                self.freed += 1;
                self.configure(bytes);
            }
            _ => {
                self.freed += 1;
                self.status |= CORRECTABLE | UNSUPPORTED;
                self.answers.push(answer(bytes, self.id, None, true));
            }
        }
    }

    fn configure(&mut self, bytes: &[u8]) {
        let offset = u16::from(bytes[10] & 0xF) << 8 | u16::from(bytes[11] & 0xFC);
        if bytes[0] & 0x40 == 0 {
            self.answers.push(answer(bytes, self.id, Some(self.register(offset)), false));
            return;
        }
        assert_ne!(offset, DEVICE_CONTROL, "its status is not known in time");
        self.id = u16::from_be_bytes([bytes[8], bytes[9]]);
        let data = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
        let enabled = (0..4).filter(|n| bytes[7] >> n & 1 == 1).fold(0, |mask, n| mask | 0xFF << (8 * n));
        if let Some(row) = word(offset) {
            let value = row.written(self.register(offset), data, enabled);
            self.registers.insert(offset, value);
        }
        self.answers.push(answer(bytes, self.id, None, false));
    }
}
