//! Management of a PHY, against a PHY as clause 22 of the standard has it: it knows nothing but its two pins.

use viaduct_hdl::export::verilog;
use viaduct_hdl::mac::Mdio;
use viaduct_verilate::Bench;

/// A PHY at one address.
pub struct Phy {
    address: u16,
    pub registers: [u16; 32],
    /// Bits seen at rising edges of mdc, newest in bit 0.
    bits: u64,
    ones: u32,
    /// Bits of the frame so far, 0 in the preamble.
    at: u32,
    header: u16,
    drive: Option<bool>,
    mdc: bool,
    /// Cycles of 8 ns since mdc rose.
    since: u64,
}

impl Phy {
    pub fn new(address: u16, registers: [u16; 32]) -> Self {
        let (bits, ones, at, header) = (0, 0, 0, 0);
        Self { address, registers, bits, ones, at, header, drive: None, mdc: false, since: 1000 }
    }

    /// What is on the line, whether the other side drives it or not.
    pub fn line(&self, enable: bool, out: bool) -> bool {
        assert!(!enable || self.drive.is_none(), "both drive the line");
        match self.drive {
            Some(level) => level,
            None if enable => out,
            None => true,
        }
    }

    /// 8 ns later.
    pub fn clock(&mut self, mdc: bool, line: bool) {
        self.since += 1;
        if mdc && !self.mdc {
            assert!(self.since >= 50, "mdc is faster than 2.5 MHz: {} cycles", self.since);
            self.since = 0;
            self.rise(line);
        }
        self.mdc = mdc;
    }

    /// A rising edge of mdc; `line` is what is on the wire.
    fn rise(&mut self, line: bool) {
        self.bits = self.bits << 1 | u64::from(line);
        if self.at == 0 {
            if line {
                self.ones += 1;
            } else if self.ones >= 32 {
                self.at = 1;
            } else {
                self.ones = 0;
            }
            return;
        }
        self.at += 1;
        if self.at == 14 {
            self.header = self.bits as u16 & 0x3fff;
        }
        let (operation, phy, register) =
            (self.header >> 10 & 3, self.header >> 5 & 31, usize::from(self.header & 31));
        let ours = self.at >= 14 && self.header >> 12 == 1 && phy == self.address;
        if ours && operation == 2 {
            self.drive = match self.at {
                // Shown behind this edge, taken at the next: a zero, then the register.
                15 => Some(false),
                16..=31 => Some(self.registers[register] >> (31 - self.at) & 1 == 1),
                _ => None,
            };
        }
        if self.at == 32 {
            if ours && operation == 1 {
                assert_eq!(self.bits >> 16 & 3, 2, "turn-around of a write");
                self.registers[register] = self.bits as u16;
            }
            (self.at, self.ones, self.drive, self.header) = (0, 0, None, 0);
        }
    }
}

struct Rig {
    bench: Bench,
    phy: Phy,
}

impl Rig {
    fn step(&mut self) {
        let bench = &mut self.bench;
        let line = self.phy.line(bench.get("mdio_enable") == 1, bench.get("mdio_out") == 1);
        self.phy.clock(bench.get("mdc") == 1, line);
        bench.set("mdio_in", line.into());
        bench.tick();
    }

    fn command(&mut self, write: bool, phy: u64, register: u64, data: u64) -> (u64, bool) {
        while self.bench.get("command_ready") == 0 {
            self.step();
        }
        for (port, value) in [
            ("command_valid", 1),
            ("write", write.into()),
            ("phy", phy),
            ("phy_register", register),
            ("data", data),
        ] {
            self.bench.set(port, value);
        }
        self.bench.eval();
        self.step();
        for port in ["command_valid", "write", "phy", "phy_register", "data"] {
            self.bench.set(port, 0);
        }
        self.bench.eval();
        for _ in 0..65 * 64 {
            if self.bench.get("done") == 1 {
                return (self.bench.get("value"), self.bench.get("answered") == 1);
            }
            self.step();
        }
        panic!("no end");
    }
}

#[test]
fn registers_are_read_and_written() {
    let bench = Bench::new("mdio", &verilog(Mdio::default()));
    let registers = std::array::from_fn(|n| 0x1234u16.wrapping_mul(n as u16 + 3) ^ 0x8001);
    let mut rig = Rig { bench, phy: Phy::new(5, registers) };
    for (n, value) in registers.into_iter().enumerate() {
        assert_eq!(rig.command(false, 5, n as u64, 0xffff), (value.into(), true), "register {n}");
    }
    for n in [0u64, 4, 31] {
        rig.command(true, 5, n, 0xa500 + n);
        assert_eq!(rig.phy.registers[n as usize], 0xa500 + n as u16);
        assert_eq!(rig.command(false, 5, n, 0), (0xa500 + n, true));
    }
    // Nobody there: the line is pulled up.
    assert_eq!(rig.command(false, 6, 2, 0), (0xffff, false));
    let before = rig.phy.registers;
    rig.command(true, 4, 2, 0x5555);
    assert_eq!(rig.phy.registers, before);
}
