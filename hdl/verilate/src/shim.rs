//! The C++ between a Verilated model and Rust, and its Rust declarations.
//!
//! One shim serves both users: tests take pointers to the ports and write them in place, the simulator makes one
//! call a cycle with packed structs.

use std::fmt::Write;

use crate::{coverage, mutant, Direction, Options, Port, ONES, ZEROS};

/// The C++ type of a port's storage, as Verilator chooses it.
fn cpp_field(port: &Port) -> String {
    let name = port.cpp();
    match port.width {
        0..=8 => format!("uint8_t {name};"),
        9..=16 => format!("uint16_t {name};"),
        17..=32 => format!("uint32_t {name};"),
        33..=64 => format!("uint64_t {name};"),
        _ => format!("uint32_t {name}[{}];", port.words()),
    }
}

fn rust_type(port: &Port) -> String {
    match port.width {
        0..=8 => "u8".into(),
        9..=16 => "u16".into(),
        17..=32 => "u32".into(),
        33..=64 => "u64".into(),
        _ => format!("[u32; {}]", port.words()),
    }
}

/// The ports of one direction, without the clock, which the shim drives itself.
fn side<'a>(ports: &'a [Port], options: &'a Options, direction: Direction) -> impl Iterator<Item = &'a Port> {
    ports.iter().filter(move |port| port.direction == direction && port.name != options.clock)
}

/// Whether the model has the clock that the shim is to drive.
pub(crate) fn has_clock(ports: &[Port], options: &Options) -> bool {
    ports.iter().any(|port| port.name == options.clock && port.direction == Direction::In)
}

/// The shim's C++; of a model that has mutants in it, the environment chooses one.
pub(crate) fn cpp(ports: &[Port], options: &Options, mutated: bool) -> String {
    let p = &options.prefix;
    let structure = |name: &str, direction| {
        let fields: String =
            side(ports, options, direction).map(|port| format!("  {}\n", cpp_field(port))).collect();
        format!("struct {name} {{\n{fields}}};\n")
    };
    let copy = |direction, from: &dyn Fn(&str) -> (String, String)| -> String {
        side(ports, options, direction)
            .map(|port| {
                let (to, source) = from(&port.cpp());
                if port.width > 64 {
                    format!("  std::memcpy(&{to}, &{source}, {});\n", port.words() * 4)
                } else {
                    format!("  {to} = {source};\n")
                }
            })
            .collect()
    };
    let inputs = structure("In", Direction::In);
    let outputs = structure("Out", Direction::Out);
    let take = copy(Direction::In, &|n| (format!("m->top.{n}"), format!("in->{n}")));
    let give = copy(Direction::Out, &|n| (format!("out->{n}"), format!("m->top.{n}")));
    let pointers: String = ports
        .iter()
        .enumerate()
        .map(|(i, port)| format!("  case {i}: return &m->top.{};\n", port.cpp()))
        .collect();
    let (trace_include, trace_field, trace_dump, trace_open, trace_flag) = if options.trace {
        (
            "#include \"verilated_fst_c.h\"\n",
            "  std::unique_ptr<VerilatedFstC> fst;\n",
            "    if (fst) fst->dump(time);\n",
            "  m->context.traceEverOn(true);\n  m->fst = std::make_unique<VerilatedFstC>();\n  \
             m->top.trace(m->fst.get(), 99);\n  m->fst->open(path);\n  return 1;\n",
            "true",
        )
    } else {
        ("", "", "", "  (void)m; (void)path; return 0;\n", "false")
    };
    let (counters, counters_field, counters_start, counters_end) = match options.coverage {
        true => (
            coverage::cpp(),
            "  bool fresh = true;\n",
            // The first evaluation finds what each bit was before to be random.
            "    if (fresh) context.coveragep()->zero(), fresh = false;\n",
            "  add_counts(m->context);\n",
        ),
        false => Default::default(),
    };
    let (chosen, select) = match mutated {
        true => (mutant::cpp(), format!(" top.{} = chosen_mutant(); ", mutant::SELECT)),
        false => Default::default(),
    };
    let (low, high) = if has_clock(ports, options) {
        (format!("  m->top.{} = 0;\n", options.clock), format!("  m->top.{} = 1;\n", options.clock))
    } else {
        (String::new(), String::new())
    };
    format!(
        r#"// The model and its shim. Half a cycle is 4 ns of trace time: 125 MHz.
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include "V{p}.h"
#include "verilated.h"
{trace_include}{counters}{chosen}
// Held while a model is made. All models draw what they begin with from one stream: a context that another thread makes meanwhile would
// seed it anew.
inline std::mutex& viaduct_making() {{
  static std::mutex making;
  return making;
}}

namespace {{
{inputs}{outputs}
struct Context : VerilatedContext {{
  Context(uint64_t seed) {{
    randReset(seed == {ZEROS}u ? 0 : seed == {ONES}u ? 1 : 2);
    randSeed(static_cast<int>(seed & 0x3fffffff) | 1);
    traceEverOn({trace_flag});
  }}
}};
struct Model {{
  Context context;
  V{p} top;
  uint64_t time = 0;
{trace_field}{counters_field}  explicit Model(uint64_t seed) : context(seed), top(&context, "top") {{{select}}}
  void step(uint64_t by) {{
    top.eval();
{counters_start}{trace_dump}    time += by;
  }}
}};
}}  // namespace

#define VIADUCT_API extern "C" __attribute__((visibility("default")))

VIADUCT_API Model* {p}_new(uint64_t seed) {{
  const std::lock_guard<std::mutex> alone{{viaduct_making()}};
  return new Model(seed);
}}
VIADUCT_API void {p}_delete(Model* m) {{
  m->top.final();
{counters_end}  delete m;
}}
VIADUCT_API void* {p}_port(Model* m, uint32_t index) {{
  switch (index) {{
{pointers}  default: return nullptr;
  }}
}}
VIADUCT_API void {p}_eval(Model* m) {{ m->step(0); }}
VIADUCT_API void {p}_tick(Model* m) {{
{low}  m->step(4);
{high}  m->step(4);
}}
VIADUCT_API void {p}_cycle(Model* m, const In* in, Out* out) {{
{take}{low}  m->step(4);
{give}{high}  m->step(4);
}}
VIADUCT_API int {p}_trace(Model* m, const char* path) {{
{trace_open}}}
"#
    )
}

/// The Rust side of [`cpp`] for a build script's `include!`.
pub(crate) fn rust(ports: &[Port], options: &Options) -> String {
    let p = &options.prefix;
    let mut text = String::new();
    for (name, direction, doc) in [
        ("In", Direction::In, "What the model reads in one cycle: its input ports but the clock."),
        (
            "Out",
            Direction::Out,
            "What the model shows at the clock edge that ends the cycle: its output ports.",
        ),
    ] {
        let _ = writeln!(
            text,
            "/// {doc}\n#[repr(C)]\n#[derive(Clone, Copy, Debug, Default)]\npub struct {name} {{"
        );
        for port in side(ports, options, direction) {
            let _ = writeln!(
                text,
                "    /// Port `{}`, {} bit.\n    pub {}: {},",
                port.name,
                port.width,
                port.rust(),
                rust_type(port)
            );
        }
        text.push_str("}\n");
    }
    let _ = write!(
        text,
        r#"/// A Verilated model, owned through the pointer of `{p}_new`.
#[repr(C)]
pub struct Model {{
    _opaque: [u8; 0],
}}
extern "C" {{
    /// Makes a model whose uninitialised state is random from `seed`.
    pub fn {p}_new(seed: u64) -> *mut Model;
    /// Drops a model.
    pub fn {p}_delete(model: *mut Model);
    /// One cycle: inputs in, settle, outputs out, rising clock edge.
    pub fn {p}_cycle(model: *mut Model, inputs: *const In, outputs: *mut Out);
}}
"#
    );
    text
}
