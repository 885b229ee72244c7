//! Framing: packets between STP or SDP and END or EDB, and back (section 4.2.2).

use super::crc::lcrc;
use super::dllp::{Dllp, DLLP_BYTES};
use crate::symbol::Symbol;
use crate::tlp::{MAX_DW, MIN_DW};

/// Bytes around a TLP: two of sequence number, four of LCRC.
const AROUND: usize = 2 + 4;
/// Symbols around a TLP: STP, sequence number, LCRC, END.
pub const TLP_OVERHEAD: usize = AROUND + 2;

/// Frames a DLLP.
pub fn frame_dllp(dllp: Dllp) -> Vec<Symbol> {
    frame(Symbol::SDP, &dllp.encode(), Symbol::END)
}

/// Frames a TLP. A nullified one has its LCRC complemented and ends with EDB (section 3.5.2.1).
pub fn frame_tlp(sequence: u16, tlp: &[u8], nullified: bool) -> Vec<Symbol> {
    let mut bytes = Vec::with_capacity(AROUND + tlp.len());
    bytes.extend_from_slice(&(sequence & 0xFFF).to_be_bytes());
    bytes.extend_from_slice(tlp);
    let crc = lcrc(&bytes);
    let (crc, end) = if nullified { (!crc, Symbol::EDB) } else { (crc, Symbol::END) };
    bytes.extend_from_slice(&crc.to_le_bytes());
    frame(Symbol::STP, &bytes, end)
}

fn frame(start: Symbol, bytes: &[u8], end: Symbol) -> Vec<Symbol> {
    let data = bytes.iter().map(|byte| Symbol::data(*byte));
    std::iter::once(start).chain(data).chain([end]).collect()
}

/// A frame that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Six bytes between SDP and END.
    Dllp([u8; DLLP_BYTES]),
    /// A TLP with a good LCRC: its sequence number and its bytes.
    Tlp(u16, Vec<u8>),
    /// A nullified TLP: nothing has come.
    Nullified,
    /// A DLLP that was cut, too long or damaged.
    BadDllp,
    /// A TLP that was cut, too long or damaged.
    BadTlp,
}

/// What is being received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Dllp,
    Tlp,
}

/// Finds the frames in a lane's descrambled symbols.
#[derive(Debug, Clone)]
pub struct Deframer {
    place: Place,
    bytes: Vec<u8>,
}

impl Default for Deframer {
    fn default() -> Self {
        Self { place: Place::Outside, bytes: Vec::new() }
    }
}

impl Deframer {
    /// A frame is being received.
    pub fn inside(&self) -> bool {
        self.place != Place::Outside
    }

    /// Takes a symbol outside ordered sets; `None` is a code error.
    pub fn push(&mut self, symbol: Option<Symbol>) -> Option<Frame> {
        match symbol {
            Some(Symbol::STP) => self.go(Place::Tlp),
            Some(Symbol::SDP) => self.go(Place::Dllp),
            _ if !self.inside() => None,
            Some(Symbol { value, k: false }) if self.bytes.len() < AROUND + 4 * MAX_DW => {
                self.bytes.push(value);
                None
            }
            Some(end @ (Symbol::END | Symbol::EDB)) => {
                let frame = match std::mem::replace(&mut self.place, Place::Outside) {
                    Place::Dllp => self.dllp(end),
                    _ => self.tlp(end),
                };
                Some(frame)
            }
            _ => self.interrupt(),
        }
    }

    /// An ordered set begins, or packets may not come any more.
    pub fn interrupt(&mut self) -> Option<Frame> {
        self.go(Place::Outside)
    }

    /// Begins anew; what was under way is bad.
    fn go(&mut self, place: Place) -> Option<Frame> {
        self.bytes.clear();
        match std::mem::replace(&mut self.place, place) {
            Place::Outside => None,
            Place::Dllp => Some(Frame::BadDllp),
            Place::Tlp => Some(Frame::BadTlp),
        }
    }

    fn dllp(&self, end: Symbol) -> Frame {
        match self.bytes[..].try_into() {
            Ok(bytes) if end == Symbol::END => Frame::Dllp(bytes),
            _ => Frame::BadDllp,
        }
    }

    fn tlp(&self, end: Symbol) -> Frame {
        let bytes = &self.bytes;
        if bytes.len() < AROUND + 4 * MIN_DW || (bytes.len() - AROUND) % 4 != 0 {
            return Frame::BadTlp;
        }
        let (checked, crc) = bytes.split_at(bytes.len() - 4);
        let expected = lcrc(checked);
        if end == Symbol::EDB {
            return if crc == (!expected).to_le_bytes() { Frame::Nullified } else { Frame::BadTlp };
        }
        if crc != expected.to_le_bytes() {
            return Frame::BadTlp;
        }
        // The four bits above the sequence number are reserved.
        Frame::Tlp(u16::from_be_bytes([checked[0], checked[1]]) & 0xFFF, checked[2..].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: [u8; 12] = [0, 0, 0, 1, 1, 0, 0, 0x0F, 0, 0, 1, 0];

    fn frames(symbols: &[Symbol]) -> Vec<Frame> {
        let mut deframer = Deframer::default();
        symbols.iter().filter_map(|symbol| deframer.push(Some(*symbol))).collect()
    }

    #[test]
    fn packets_come_back_even_without_a_gap() {
        let mut symbols = frame_tlp(0xABC, &READ, false);
        symbols.extend(frame_dllp(Dllp::Ack(5)));
        symbols.extend(frame_tlp(0xABD, &READ, true));
        let expected =
            [Frame::Tlp(0xABC, READ.to_vec()), Frame::Dllp(Dllp::Ack(5).encode()), Frame::Nullified];
        assert_eq!(frames(&symbols), expected);
    }

    #[test]
    fn any_single_damage_is_found() {
        let good = frame_tlp(7, &READ, false);
        for at in 0..good.len() {
            let mut symbols = good.clone();
            symbols[at].value ^= 1;
            symbols.push(Symbol::SDP);
            let found = frames(&symbols);
            assert!(found.iter().all(|frame| *frame == Frame::BadTlp), "{at}: {found:?}");
            symbols[at] = Symbol::SKP;
            assert!(!frames(&symbols).iter().any(|frame| matches!(frame, Frame::Tlp(..))), "{at}");
        }
    }

    #[test]
    fn edb_and_the_complemented_lcrc_belong_together() {
        for nullified in [false, true] {
            let mut symbols = frame_tlp(7, &READ, nullified);
            let last = symbols.len() - 1;
            symbols[last] = if nullified { Symbol::END } else { Symbol::EDB };
            assert_eq!(frames(&symbols), [Frame::BadTlp]);
        }
        let mut dllp = frame_dllp(Dllp::Ack(1));
        dllp[7] = Symbol::EDB;
        assert_eq!(frames(&dllp), [Frame::BadDllp]);
    }

    #[test]
    fn nothing_grows_without_end() {
        let mut deframer = Deframer::default();
        deframer.push(Some(Symbol::STP));
        let bad = (0..100_000).filter_map(|_| deframer.push(Some(Symbol::IDLE))).collect::<Vec<_>>();
        assert_eq!(bad, [Frame::BadTlp]);
    }
}
