//! The scrambler of a lane; the same one descrambles (section 4.2.3).

use crate::symbol::Symbol;

/// What eight steps of the shift register feed back, by its high byte.
const FEEDBACK: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut register = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            // x^16 + x^5 + x^4 + x^3 + 1.
            register = register << 1 ^ if register >> 15 == 1 { 0x0039 } else { 0 };
            bit += 1;
        }
        table[byte] = register;
        byte += 1;
    }
    table
};

/// One for transmit, one for receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrambler {
    register: u16,
    /// The data is changed. Off after both sides agreed on Disable Scrambling.
    pub enabled: bool,
}

impl Default for Scrambler {
    fn default() -> Self {
        Self { register: 0xFFFF, enabled: true }
    }
}

impl Scrambler {
    /// Passes a symbol through. COM resets the register, SKP holds it, all others advance it by
    /// eight bits. Control symbols and the data of training sets (`training`) stay as they are.
    pub fn pass(&mut self, symbol: Symbol, training: bool) -> Symbol {
        match symbol {
            Symbol::COM => self.register = 0xFFFF,
            Symbol::SKP => {}
            _ => {
                let key = self.advance();
                if !symbol.k && !training && self.enabled {
                    return Symbol::data(symbol.value ^ key);
                }
            }
        }
        symbol
    }

    /// A symbol came that could not be decoded: the register advances as for data.
    pub fn skip(&mut self) {
        self.advance();
    }

    /// The next eight bits, the first one in bit 0.
    fn advance(&mut self) -> u8 {
        let high = (self.register >> 8) as u8;
        self.register = self.register << 8 ^ FEEDBACK[usize::from(high)];
        high.reverse_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_after_com_is_the_known_sequence() {
        const SEQUENCE: [u8; 23] = [
            0xFF, 0x17, 0xC0, 0x14, 0xB2, 0xE7, 0x02, 0x82, 0x72, 0x6E, 0x28, 0xA6, 0xBE, 0x6D, 0xBF, 0x8D,
            0xBE, 0x40, 0xA7, 0xE6, 0x2C, 0xD3, 0xE2,
        ];
        let mut scrambler = Scrambler::default();
        for _ in 0..2 {
            assert_eq!(scrambler.pass(Symbol::COM, false), Symbol::COM);
            for value in SEQUENCE {
                assert_eq!(scrambler.pass(Symbol::IDLE, false), Symbol::data(value));
            }
            assert_eq!(scrambler.pass(Symbol::SKP, false), Symbol::SKP);
            assert_eq!(scrambler.pass(Symbol::IDLE, false), Symbol::data(0xB2));
        }
    }

    #[test]
    fn control_symbols_and_training_data_pass_but_advance_the_register() {
        let mut scrambler = Scrambler::default();
        assert_eq!(scrambler.pass(Symbol::data(0x4A), true), Symbol::data(0x4A));
        assert_eq!(scrambler.pass(Symbol::END, false), Symbol::END);
        scrambler.skip();
        assert_eq!(scrambler.pass(Symbol::IDLE, false), Symbol::data(0x14));
    }

    #[test]
    fn it_undoes_itself() {
        let (mut there, mut back) = (Scrambler::default(), Scrambler::default());
        for value in 0..=255 {
            let symbol = Symbol::data(value);
            assert_eq!(back.pass(there.pass(symbol, false), false), symbol);
        }
        there.enabled = false;
        assert_eq!(there.pass(Symbol::IDLE, false), Symbol::IDLE);
    }
}
