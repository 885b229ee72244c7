//! The PHY: it takes what is on the pads, and shows what is on the line.

use super::World;
use crate::frames::{fcs, whole};

/// A byte time on the way to the MAC.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    pub byte: u8,
    pub valid: bool,
    pub error: bool,
}

/// A frame that the MAC has sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Between delimiter and gap, without the last four bytes.
    pub frame: Vec<u8>,
    /// With them.
    pub wire: Vec<u8>,
    /// Those are the right ones.
    pub good: bool,
    /// An error was marked in it.
    pub error: bool,
    /// Byte times without a frame in front of it.
    pub gap: u64,
    /// When its preamble began, in femtoseconds.
    pub time: u64,
}

impl World {
    /// The PHY takes what is on the pads between two edges.
    pub fn tx_edge(&mut self) {
        let risen = self.tx.turn(&mut self.dut);
        let read = |port| self.dut.read(port);
        assert_eq!(read(self.ports.out_clock), u64::from(risen), "the clock to the PHY");
        let pads = (read(self.ports.out_data), read(self.ports.out_control));
        if risen {
            self.rise = pads;
            return;
        }
        let byte = (self.rise.0 | pads.0 << 4) as u8;
        let (enable, error) = (self.rise.1 == 1, self.rise.1 != pads.1);
        assert!(enable || !error, "an error beside a frame");
        match &mut self.leaving {
            Some((bytes, errors, _)) if enable => {
                bytes.push(byte);
                *errors |= error;
            }
            None if enable => self.leaving = Some((vec![byte], error, self.now)),
            Some(_) => {
                if let Some((bytes, error, time)) = self.leaving.take() {
                    self.sent_whole(bytes, error, time);
                }
                self.gap = 1;
            }
            None => self.gap += 1,
        }
    }

    fn sent_whole(&mut self, bytes: Vec<u8>, error: bool, time: u64) {
        let (preamble, rest) = bytes.split_at(8);
        assert_eq!(preamble, [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5], "the preamble");
        let (frame, sum) = rest.split_at(rest.len() - 4);
        let good = fcs(frame) == sum;
        self.sent.push(Sent { frame: frame.to_vec(), wire: rest.to_vec(), good, error, gap: self.gap, time });
    }

    /// The PHY shows half a symbol before each edge.
    pub fn rx_edge(&mut self) {
        let rising = !self.rx.level;
        if rising {
            let idle = Symbol { byte: self.status, valid: false, error: false };
            self.symbol = self.line.pop_front().unwrap_or(idle);
        }
        let Symbol { byte, valid, error } = self.symbol;
        let (data, control) = if rising { (byte & 15, valid) } else { (byte >> 4, valid != error) };
        self.dut.write(self.ports.in_data, data.into());
        self.dut.write(self.ports.in_control, control.into());
        self.dut.eval();
        self.rx.turn(&mut self.dut);
    }

    /// Puts bytes on the line behind a whole preamble, and a gap behind them.
    pub fn put(&mut self, bytes: &[u8], gap: usize) {
        self.put_raw(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5]);
        self.put_raw(bytes);
        self.put_gap(gap);
    }

    /// Puts bytes on the line.
    pub fn put_raw(&mut self, bytes: &[u8]) {
        self.line.extend(bytes.iter().map(|byte| Symbol { byte: *byte, valid: true, error: false }));
    }

    /// Puts nothing on the line for so many byte times.
    pub fn put_gap(&mut self, gap: usize) {
        let idle = Symbol { byte: self.status, valid: false, error: false };
        self.line.extend(std::iter::repeat_n(idle, gap));
    }

    /// Puts a good frame on the line, with FCS, padding and gap.
    pub fn put_frame(&mut self, frame: &[u8]) {
        self.put(&whole(frame), 12);
    }
}
