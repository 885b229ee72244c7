//! Management of a PHY, against a PHY as clause 22 of the standard has it: it knows nothing but its two pins.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::mac::{Mdio, MdioCommand, MdioResult};
use viaduct_verilate::Bench;

use super::fields::Bundle;

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

/// Cycles of a period of mdc, and periods of a command.
const PERIOD: u64 = 64;
const BITS: u64 = 64;

/// A command.
#[derive(Clone, Copy)]
struct Command {
    write: bool,
    phy: u64,
    register: u64,
    data: u64,
}

impl Command {
    /// The bits that go out, of a read those up to the turn-around: 32 ones, start, operation, addresses, turn-around, data.
    fn bits(&self) -> Vec<bool> {
        let operation = if self.write { 1 } else { 2 };
        let head = 1 << 12 | operation << 10 | self.phy << 5 | self.register;
        let mut bits = vec![true; 32];
        bits.extend((0..14).rev().map(|bit| head >> bit & 1 == 1));
        if self.write {
            let tail = 2 << 16 | self.data;
            bits.extend((0..18).rev().map(|bit| tail >> bit & 1 == 1));
        }
        bits
    }
}

struct Rig {
    bench: Bench,
    command: Bundle,
    done: Bundle,
    phy: Phy,
    random: ChaCha8Rng,
}

impl Rig {
    fn new(phy: Phy) -> Self {
        let bench = Bench::new("mdio", &verilog(Mdio::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let (command, done) = (Bundle::of::<MdioCommand>("command"), Bundle::of::<MdioResult>("done"));
        Self { bench, command, done, phy, random }
    }

    fn step(&mut self) {
        let bench = &mut self.bench;
        let line = self.phy.line(bench.get("bus_enable") == 1, bench.get("bus_out_data") == 1);
        self.phy.clock(bench.get("bus_mdc") == 1, line);
        bench.set("bus_in_data", line.into());
        bench.tick();
        bench.eval();
    }

    fn show(&mut self, valid: bool, command: Command) {
        self.bench.set("command_valid", valid.into());
        let fields = [
            ("write", command.write.into()),
            ("phy", command.phy),
            ("number", command.register),
            ("data", command.data),
        ];
        self.command.set(&mut self.bench, &fields);
        self.bench.eval();
    }

    fn any(&mut self) -> Command {
        let random = &mut self.random;
        Command {
            write: random.random(),
            phy: random.random_range(0..32),
            register: random.random_range(0..32),
            data: random.random_range(0..1 << 16),
        }
    }

    /// Nothing is under way: the clock rests, and nobody is spoken to.
    fn rests(&mut self, cycles: u64) {
        for _ in 0..cycles {
            let outputs = ["command_ready", "done_valid", "bus_mdc", "bus_enable"];
            assert_eq!(outputs.map(|port| self.bench.get(port)), [1, 0, 0, 0], "{outputs:?}");
            self.step();
        }
    }

    /// Begins a command.
    fn begin(&mut self, command: Command) {
        self.rests(1);
        self.show(true, command);
        assert_eq!(self.bench.get("command_ready"), 1);
        self.step();
    }

    /// A command, cycle by cycle; what is shown behind its first cycle is another.
    fn command(&mut self, write: bool, phy: u64, register: u64, data: u64) -> (u64, bool) {
        let command = Command { write, phy, register, data };
        self.begin(command);
        let bits = command.bits();
        for cycle in 0..BITS * PERIOD {
            let (other, valid) = (self.any(), self.random.random());
            self.show(valid, other);
            let (bit, phase) = ((cycle / PERIOD) as usize, cycle % PERIOD);
            let outputs = ["command_ready", "done_valid", "bus_mdc"].map(|port| self.bench.get(port));
            assert_eq!(outputs, [0, 0, u64::from(phase >= PERIOD / 2)], "bit {bit}, cycle {phase} of it");
            let driven = (self.bench.get("bus_enable") == 1).then(|| self.bench.get("bus_out_data") == 1);
            assert_eq!(driven, bits.get(bit).copied(), "bit {bit}, cycle {phase} of it");
            self.step();
        }
        let outputs =
            ["command_ready", "done_valid", "bus_mdc", "bus_enable"].map(|port| self.bench.get(port));
        assert_eq!(outputs, [0, 1, 0, 0]);
        let found = (self.done.get(&self.bench, "value"), self.done.get(&self.bench, "answered") == 1);
        let nothing = self.any();
        self.show(false, nothing);
        self.step();
        self.rests(3);
        found
    }
}

#[test]
fn registers_are_read_and_written() {
    let registers = std::array::from_fn(|n| 0x1234u16.wrapping_mul(n as u16 + 3) ^ 0x8001);
    let mut rig = Rig::new(Phy::new(5, registers));
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

#[test]
fn any_command_leaves_as_it_is_and_the_port_rests_behind_it() {
    let mut rig = Rig::new(Phy::new(0x15, [0; 32]));
    for _ in 0..24 {
        let command = rig.any();
        let register = command.register as usize;
        if rig.random.random() {
            rig.phy.registers[register] = rig.random.random();
            let expected = (rig.phy.registers[register].into(), true);
            assert_eq!(rig.command(false, 0x15, command.register, command.data), expected);
        } else {
            rig.command(true, 0x15, command.register, command.data);
            assert_eq!(rig.phy.registers[register], command.data as u16);
        }
        let cycles = rig.random.random_range(1..200);
        rig.rests(cycles);
        rig.command(command.write, command.phy, command.register, command.data);
    }
}

#[test]
fn a_reset_ends_a_command() {
    let mut rig = Rig::new(Phy::new(1, [0; 32]));
    for cycles in (0..70).step_by(9).chain([1000, 3000, BITS * PERIOD - 1, BITS * PERIOD]) {
        let command = rig.any();
        rig.begin(command);
        rig.show(false, command);
        (0..cycles).for_each(|_| rig.step());
        rig.bench.set("reset", 1);
        rig.bench.tick();
        rig.bench.set("reset", 0);
        rig.bench.eval();
        // A PHY that lost its clock waits for a preamble.
        rig.phy = Phy::new(1, [0; 32]);
        rig.rests(2 * PERIOD);
        rig.command(true, 1, 3, 0x1234);
        assert_eq!(rig.phy.registers[3], 0x1234);
    }
}
