//! What crosses the symbol seam in a cycle of 8 ns: two symbols each way, the low one first.

use crate::symbol::Symbol;

/// Cycles of 8 ns (125 MHz).
pub type Cycle = u64;

/// From the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromEndpoint {
    /// Two symbols, the first in bits 7:0.
    pub tx_data: u16,
    /// Their K flags, the first in bit 0.
    pub tx_k: u8,
    /// Electrical idle; covers both symbols.
    pub tx_idle: bool,
    /// Asks for receiver detection; held until `detect_done`.
    pub detect_request: bool,
    /// Asks that the received lane be inverted below the seam.
    pub rx_invert: bool,
}

/// To the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToEndpoint {
    /// Two symbols, the first in bits 7:0.
    pub rx_data: u16,
    /// Their K flags, the first in bit 0.
    pub rx_k: u8,
    /// Code errors, the first symbol's in bit 0. The symbol's value then means nothing.
    pub rx_error: u8,
    /// Electrical idle: an unfiltered level that may glitch and contradict the data.
    pub rx_idle: bool,
    /// Receiver detection has ended.
    pub detect_done: bool,
    /// A receiver was found; valid with `detect_done`.
    pub detect_present: bool,
    /// The physical part below the seam has locked.
    pub phy_ready: bool,
}

/// What a side sends in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Two symbols, the first one first. They mean nothing in electrical idle.
    pub symbols: [Symbol; 2],
    /// Electrical idle.
    pub idle: bool,
}

/// What a side receives in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Two symbols, the first one first; `None` is a code error.
    pub symbols: [Option<Symbol>; 2],
    /// The level of electrical idle.
    pub idle: bool,
}

impl Sent {
    /// Electrical idle.
    pub const SILENCE: Self = Self { symbols: [Symbol::IDLE; 2], idle: true };
}

impl Heard {
    /// Electrical idle.
    pub const SILENCE: Self = Self { symbols: [None; 2], idle: true };
}

impl Default for FromEndpoint {
    /// An endpoint without power.
    fn default() -> Self {
        Self { tx_data: 0, tx_k: 0, tx_idle: true, detect_request: false, rx_invert: false }
    }
}

impl Default for ToEndpoint {
    /// Nothing on the other side.
    fn default() -> Self {
        Self {
            rx_data: 0,
            rx_k: 0,
            rx_error: 3,
            rx_idle: true,
            detect_done: false,
            detect_present: false,
            phy_ready: true,
        }
    }
}

fn symbol(data: u16, k: u8, index: usize) -> Symbol {
    Symbol { value: data.to_le_bytes()[index], k: k >> index & 1 == 1 }
}

impl FromEndpoint {
    /// What it sends.
    pub fn sent(&self) -> Sent {
        Sent { symbols: [0, 1].map(|index| symbol(self.tx_data, self.tx_k, index)), idle: self.tx_idle }
    }

    /// With these symbols.
    pub fn carry(self, sent: Sent) -> Self {
        let [first, second] = sent.symbols;
        Self {
            tx_data: u16::from_le_bytes([first.value, second.value]),
            tx_k: u8::from(first.k) | u8::from(second.k) << 1,
            tx_idle: sent.idle,
            ..self
        }
    }
}

impl ToEndpoint {
    /// What it receives.
    pub fn heard(&self) -> Heard {
        let symbols = [0, 1]
            .map(|index| (self.rx_error >> index & 1 == 0).then(|| symbol(self.rx_data, self.rx_k, index)));
        Heard { symbols, idle: self.rx_idle }
    }

    /// With these symbols. `wrong` is what stands in the place of one that could not be decoded.
    pub fn carry(self, heard: Heard, wrong: Symbol) -> Self {
        let [first, second] = heard.symbols.map(|symbol| symbol.unwrap_or(wrong));
        let error = heard.symbols.map(|symbol| u8::from(symbol.is_none()));
        Self {
            rx_data: u16::from_le_bytes([first.value, second.value]),
            rx_k: u8::from(first.k) | u8::from(second.k) << 1,
            rx_error: error[0] | error[1] << 1,
            rx_idle: heard.idle,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_keep_what_they_carry() {
        let sent = Sent { symbols: [Symbol::data(0x17), Symbol::COM], idle: false };
        let from = FromEndpoint::default().carry(sent);
        assert_eq!((from.tx_data, from.tx_k), (0xBC17, 2));
        assert_eq!(from.sent(), sent);
        let heard = Heard { symbols: [Some(Symbol::COM), None], idle: true };
        let to = ToEndpoint::default().carry(heard, Symbol::data(0xEE));
        assert_eq!((to.rx_data, to.rx_k, to.rx_error), (0xEEBC, 1, 2));
        assert_eq!(to.heard(), heard);
    }
}
