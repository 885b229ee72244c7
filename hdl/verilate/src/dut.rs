//! A loaded model: the device under test.

use std::ffi::{c_char, c_int, c_void, CString};
use std::path::Path;

use libloading::Library;

use crate::{cache, shim, Direction, Error, Options, Port, Result};

/// The shim's entry points, valid as long as the library they come from is loaded.
struct Calls {
    delete: unsafe extern "C" fn(*mut c_void),
    eval: unsafe extern "C" fn(*mut c_void),
    tick: unsafe extern "C" fn(*mut c_void),
    trace: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
}

/// A Verilated block that can be driven port by port.
///
/// `set` writes an input, `eval` settles what follows combinationally, `tick` runs one clock cycle (falling, then
/// rising edge). So a handshake is seen by `set`, `eval`, `get`, and takes place in the `tick` that follows.
///
/// A wrong port name or a value too wide for its port is a mistake in the test: it panics and names port and block.
pub struct Dut {
    name: String,
    model: *mut c_void,
    ports: Vec<Port>,
    storage: Vec<*mut c_void>,
    clocked: bool,
    cycles: u64,
    calls: Calls,
    // Last, so that the code outlives nothing that needs it.
    _library: Library,
}

/// A port of one [`Dut`], found once by [`Dut::port`] so that a hot loop does not search by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

impl Dut {
    /// The model of `module top` in `verilog`: inputs 0, uninitialised state random from seed 1.
    ///
    /// # Errors
    /// A missing tool, or Verilog that Verilator or g++ refuses.
    pub fn build(verilog: &str, options: &Options) -> Result<Self> {
        Self::seeded(verilog, options, 1)
    }

    /// As [`Dut::build`], with a seed for the uninitialised state.
    ///
    /// # Errors
    /// As [`Dut::build`].
    pub fn seeded(verilog: &str, options: &Options, seed: u64) -> Result<Self> {
        let (path, ports) = cache::model(verilog, options)?;
        let load = |source| Error::Load { block: options.name.clone(), source };
        let p = &options.prefix;
        // SAFETY: the library was built by this crate from its own shim; its initialisers are Verilator's.
        let library = unsafe { Library::new(path) }.map_err(load)?;
        // SAFETY: the shim defines every symbol with exactly these types, and the copied pointers are kept beside
        // the library, in a struct that drops the library last.
        let (new, port, calls) = unsafe {
            let new = *library
                .get::<unsafe extern "C" fn(u64) -> *mut c_void>(format!("{p}_new").as_bytes())
                .map_err(load)?;
            let port = *library
                .get::<unsafe extern "C" fn(*mut c_void, u32) -> *mut c_void>(format!("{p}_port").as_bytes())
                .map_err(load)?;
            let calls = Calls {
                delete: *library.get(format!("{p}_delete").as_bytes()).map_err(load)?,
                eval: *library.get(format!("{p}_eval").as_bytes()).map_err(load)?,
                tick: *library.get(format!("{p}_tick").as_bytes()).map_err(load)?,
                trace: *library.get(format!("{p}_trace").as_bytes()).map_err(load)?,
            };
            (new, port, calls)
        };
        // SAFETY: `new` takes any seed and gives a model that lives until `delete`.
        let model = unsafe { new(seed) };
        let storage = (0..ports.len())
            // SAFETY: the model is live and the shim checks the index.
            .map(|index| unsafe { port(model, index as u32) })
            .collect();
        let mut dut = Self {
            name: options.name.clone(),
            model,
            clocked: shim::has_clock(&ports, options),
            ports,
            storage,
            cycles: 0,
            calls,
            _library: library,
        };
        // Verilator makes inputs random too; a test starts from inputs that are 0.
        for index in 0..dut.ports.len() {
            let Port { name, direction, width } = dut.ports[index].clone();
            match direction {
                Direction::In if width > 64 => dut.set_wide(&name, &[]),
                Direction::In => dut.write(Handle(index), 0),
                Direction::Out => {}
            }
        }
        Ok(dut)
    }

    /// The block's ports, in order.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Whether the block has a port of this name.
    pub fn has(&self, name: &str) -> bool {
        self.ports.iter().any(|port| port.name == name)
    }

    /// The port of this name.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn port(&self, name: &str) -> Handle {
        match self.ports.iter().position(|port| port.name == name) {
            Some(index) => Handle(index),
            None => {
                let known: Vec<_> = self.ports.iter().map(|port| port.name.as_str()).collect();
                panic!("block `{}` has no port `{name}`; it has: {}", self.name, known.join(", "))
            }
        }
    }

    /// Sets an input of at most 64 bits.
    ///
    /// # Panics
    /// No such input, or the value does not fit.
    #[track_caller]
    pub fn set(&mut self, name: &str, value: u64) {
        self.write(self.port(name), value);
    }

    /// Reads a port of at most 64 bits.
    ///
    /// # Panics
    /// No such port, or it is wider.
    #[track_caller]
    pub fn get(&self, name: &str) -> u64 {
        self.read(self.port(name))
    }

    /// Sets an input of any width from 32-bit words, least significant first; words left out are 0.
    ///
    /// # Panics
    /// No such input, or the value does not fit.
    #[track_caller]
    pub fn set_wide(&mut self, name: &str, words: &[u32]) {
        let handle = self.port(name);
        let port = &self.ports[handle.0];
        if port.width <= 64 {
            assert!(words.len() <= 2, "block `{}`: too many words for port `{name}`", self.name);
            let low = u64::from(words.first().copied().unwrap_or(0));
            let high = u64::from(words.get(1).copied().unwrap_or(0));
            return self.write(handle, low | high << 32);
        }
        self.check_input(port);
        let top = port.width - (port.words() - 1) * 32;
        let fits = words.len() <= port.words()
            && words.get(port.words() - 1).is_none_or(|word| top == 32 || *word >> top == 0);
        assert!(fits, "block `{}`: value does not fit port `{name}` of {} bits", self.name, port.width);
        // SAFETY: a port wider than 64 bits is an array of `words()` 32-bit words inside the live model, and
        // nothing else refers to it while `self` is borrowed mutably.
        let storage =
            unsafe { std::slice::from_raw_parts_mut(self.storage[handle.0].cast::<u32>(), port.words()) };
        storage.fill(0);
        storage[..words.len()].copy_from_slice(words);
    }

    /// Reads a port of any width as 32-bit words, least significant first.
    ///
    /// # Panics
    /// No such port.
    #[track_caller]
    pub fn get_wide(&self, name: &str) -> Vec<u32> {
        let handle = self.port(name);
        let port = &self.ports[handle.0];
        if port.width <= 64 {
            let value = self.read(handle);
            return [value as u32, (value >> 32) as u32][..port.words()].to_vec();
        }
        // SAFETY: as in `set_wide`, read only.
        unsafe { std::slice::from_raw_parts(self.storage[handle.0].cast::<u32>(), port.words()).to_vec() }
    }

    #[track_caller]
    fn check_input(&self, port: &Port) {
        assert!(
            port.direction == Direction::In,
            "block `{}`: port `{}` is an output and cannot be set",
            self.name,
            port.name
        );
    }

    /// As [`Dut::set`], by handle.
    ///
    /// # Panics
    /// The port is an output or the value does not fit.
    #[track_caller]
    pub fn write(&mut self, handle: Handle, value: u64) {
        let port = &self.ports[handle.0];
        self.check_input(port);
        assert!(
            port.width >= 64 || value >> port.width == 0,
            "block `{}`: {value:#x} does not fit port `{}` of {} bits",
            self.name,
            port.name,
            port.width
        );
        let storage = self.storage[handle.0];
        // SAFETY: Verilator stores a port in the smallest of these types that holds its width, inside the live
        // model; wider ones are arrays of 32-bit words, of which two are written.
        unsafe {
            match port.width {
                0..=8 => storage.cast::<u8>().write(value as u8),
                9..=16 => storage.cast::<u16>().write(value as u16),
                17..=32 => storage.cast::<u32>().write(value as u32),
                33..=64 => storage.cast::<u64>().write(value),
                _ => panic!(
                    "block `{}`: port `{}` has {} bits: use `set_wide`",
                    self.name, port.name, port.width
                ),
            }
        }
    }

    /// As [`Dut::get`], by handle.
    ///
    /// # Panics
    /// The port is wider than 64 bits.
    #[track_caller]
    pub fn read(&self, handle: Handle) -> u64 {
        let port = &self.ports[handle.0];
        let storage = self.storage[handle.0];
        // SAFETY: as in `write`.
        unsafe {
            match port.width {
                0..=8 => storage.cast::<u8>().read().into(),
                9..=16 => storage.cast::<u16>().read().into(),
                17..=32 => storage.cast::<u32>().read().into(),
                33..=64 => storage.cast::<u64>().read(),
                _ => panic!(
                    "block `{}`: port `{}` has {} bits: use `get_wide`",
                    self.name, port.name, port.width
                ),
            }
        }
    }

    /// Settles the combinational logic after inputs have changed.
    pub fn eval(&mut self) {
        // SAFETY: the model is live.
        unsafe { (self.calls.eval)(self.model) }
    }

    /// One clock cycle: falling edge, then rising edge.
    ///
    /// # Panics
    /// The block has no clock.
    #[track_caller]
    pub fn tick(&mut self) {
        assert!(self.clocked, "block `{}` has no clock to tick", self.name);
        // SAFETY: the model is live.
        unsafe { (self.calls.tick)(self.model) }
        self.cycles += 1;
    }

    /// Clock cycles run so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Writes an FST trace of everything from here on; false if tracing is not compiled in ([`Options::trace`], or
    /// `VIADUCT_TRACE` set in the environment).
    pub fn trace(&mut self, path: &Path) -> bool {
        let Ok(path) = CString::new(path.to_string_lossy().as_bytes()) else {
            return false;
        };
        // SAFETY: the model is live and the shim copies the path.
        unsafe { (self.calls.trace)(self.model, path.as_ptr()) != 0 }
    }
}

impl Drop for Dut {
    fn drop(&mut self) {
        // SAFETY: the model came from `new`, is deleted once, and the library is still loaded.
        unsafe { (self.calls.delete)(self.model) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDER: &str = "module top(clock,a,wide,q,total);\ninput wire clock;\ninput wire [15:0] a;\n\
        input wire [70:0] wide;\noutput reg [70:0] q;\noutput reg [39:0] total;\ninitial total = 0;\n\
        always @(posedge clock) total <= total + a;\nalways @(*) q = ~wide;\nendmodule\n";

    /// As `shim::rust` writes them.
    #[repr(C)]
    struct In {
        a: u16,
        wide: [u32; 3],
    }
    #[repr(C)]
    #[derive(Default)]
    struct Out {
        q: [u32; 3],
        total: u64,
    }

    #[test]
    fn a_cycle_takes_packed_inputs_and_gives_outputs_before_its_edge() {
        let options = Options::named("adder");
        let dut = Dut::build(ADDER, &options).unwrap();
        let rust = shim::rust(&dut.ports, &options);
        for field in ["pub a: u16,", "pub wide: [u32; 3],", "pub q: [u32; 3],", "pub total: u64,"] {
            assert!(rust.contains(field), "{field} not in\n{rust}");
        }
        // SAFETY: the shim defines the symbol with this type, for structs of these fields.
        let cycle = unsafe {
            *dut._library
                .get::<unsafe extern "C" fn(*mut c_void, *const In, *mut Out)>(b"viaduct_cycle")
                .unwrap()
        };
        let mut out = Out::default();
        for n in 0..5u16 {
            let input = In { a: n, wide: [n.into(), 0, 0x40] };
            // SAFETY: the model is live and both structs outlive the call.
            unsafe { cycle(dut.model, &input, &mut out) };
            assert_eq!(out.total, u64::from(n * n.saturating_sub(1) / 2), "the sum before this cycle's edge");
            assert_eq!(out.q, [!u32::from(n), !0, 0x3f]);
        }
    }
}
