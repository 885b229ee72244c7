//! Verilated models, by the shims that `viaduct_verilate` writes for them: the one that is linked in, and others of the same Verilog that are
//! compiled while the simulator runs.

use std::ffi::{c_char, c_int, CString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use libloading::Library;
// Verilator's runtime; the models are linked against it.
use verilated as _;
use viaduct_verilate::{library, Options, MUTANT};

/// What `viaduct_verilate::archive` has written for one piece of Verilog.
///
/// # Safety
/// The types and the functions are those that were written for [`Shim::VERILOG`] with [`Shim::options`], but for tracing and the optimisation.
pub unsafe trait Shim {
    /// The model, opaque.
    type Model;
    /// The model's input ports, but a clock that the shim drives.
    type In: fmt::Debug + Default;
    /// The model's output ports.
    type Out: fmt::Debug + Default;
    /// The Verilog.
    const VERILOG: &'static str;
    /// The functions of the model that is linked in.
    const LINKED: Calls<Self>;
    /// How it was compiled.
    fn options() -> Options;
}

/// The functions of a compiled model.
pub struct Calls<S: Shim + ?Sized> {
    /// Makes a model; what the design does not initialise is random from the seed.
    pub new: unsafe extern "C" fn(u64) -> *mut S::Model,
    /// Destroys a model.
    pub delete: unsafe extern "C" fn(*mut S::Model),
    /// Gives it its inputs, runs a cycle of the clock that the shim drives, if there is one, and looks at the outputs.
    pub cycle: unsafe extern "C" fn(*mut S::Model, *const S::In, *mut S::Out),
}

/// A Verilated model.
pub struct Verilated<S: Shim> {
    model: NonNull<S::Model>,
    calls: Calls<S>,
    /// Where the functions are, if they are not linked in. Behind what needs them.
    library: Option<Library>,
}

// SAFETY: the model is one heap object with a simulation context of its own; it is reached through
// `&mut self` only, and holds nothing that belongs to a thread.
unsafe impl<S: Shim> Send for Verilated<S> {}

impl<S: Shim> Verilated<S> {
    /// A model after power-up. What the design does not initialise is random from the seed. While the environment chooses a mutant
    /// ([`MUTANT`]), it is that.
    ///
    /// # Errors
    /// The mutant cannot be compiled.
    pub fn new(seed: u64) -> io::Result<Self> {
        match std::env::var_os(MUTANT) {
            None => Ok(Self::of(S::LINKED, seed, None)),
            Some(_) => Self::compiled(seed, &Options { trace: false, ..S::options() }),
        }
    }

    /// A model that records every signal from now on in an FST file.
    ///
    /// # Errors
    /// The file cannot be written, or the model cannot be compiled.
    pub fn traced(seed: u64, path: &Path) -> io::Result<Self> {
        // The model would only say on its own output that it cannot write.
        std::fs::File::create(path)?;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let options = S::options();
        let name = format!("{}, traced", options.name);
        let options = Options { name, trace: true, optimise: "-O0".into(), ..options };
        let this = Self::compiled(seed, &options)?;
        let library = this.library.as_ref().ok_or_else(|| io::Error::other("the model is linked in"))?;
        // SAFETY: a model that was made with tracing has this function beside the others, and `this` keeps the library.
        let trace: unsafe extern "C" fn(*mut S::Model, *const c_char) -> c_int =
            unsafe { function(library, &options, "trace") }?;
        // SAFETY: the model lives, and the name is a C string that outlives the call.
        match unsafe { trace(this.model.as_ptr(), path.as_ptr()) } {
            0 => Err(io::Error::other("the model does not trace")),
            _ => Ok(this),
        }
    }

    /// A model beside the one that is linked in.
    fn compiled(seed: u64, options: &Options) -> io::Result<Self> {
        let file = library(S::VERILOG, options).map_err(io::Error::other)?;
        // SAFETY: Verilator's initialisers ask for nothing.
        let library = unsafe { Library::new(file) }.map_err(io::Error::other)?;
        // SAFETY: made for the same ports as the model that is linked in, the library has the same functions on the same
        // structs; they are kept beside it, and go before it.
        let calls = unsafe {
            Calls {
                new: function(&library, options, "new")?,
                delete: function(&library, options, "delete")?,
                cycle: function(&library, options, "cycle")?,
            }
        };
        Ok(Self::of(calls, seed, Some(library)))
    }

    fn of(calls: Calls<S>, seed: u64, library: Option<Library>) -> Self {
        // SAFETY: any seed will do; the function has no other precondition.
        let model = unsafe { (calls.new)(seed) };
        // C++'s `new` ends the program or gives an object.
        let model = NonNull::new(model).expect("operator new gives an object");
        Self { model, calls, library }
    }

    /// Gives the model its inputs, runs a cycle of the clock that the shim drives, if there is one, and looks at the outputs.
    pub fn cycle(&mut self, input: &S::In, output: &mut S::Out) {
        // SAFETY: the model lives, and both structs are the ones its shim was generated with.
        unsafe { (self.calls.cycle)(self.model.as_ptr(), input, output) };
    }
}

/// A function of a library's shim.
///
/// # Safety
/// The function is of this type.
unsafe fn function<F: Copy>(library: &Library, options: &Options, name: &str) -> io::Result<F> {
    let symbol = format!("{}_{name}", options.prefix);
    // SAFETY: the caller answers for the type.
    unsafe { library.get::<F>(symbol.as_bytes()) }.map(|function| *function).map_err(io::Error::other)
}

impl<S: Shim> fmt::Debug for Verilated<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verilated").field("model", &self.model).finish_non_exhaustive()
    }
}

impl<S: Shim> Drop for Verilated<S> {
    fn drop(&mut self) {
        // SAFETY: the model lives until here, and nobody else has the pointer.
        unsafe { (self.calls.delete)(self.model.as_ptr()) }
    }
}
