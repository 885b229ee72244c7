//! Every proof: the block, its wrapper in `formal/`, how deep, and the mutants that must fail. A file has those of one kind.

mod access_intake;
mod arithmetic;
mod commands;
mod pcie_credits;
mod pcie_link;
mod pcie_mac;
mod primitives;
mod protect;
mod range;

/// The proof of one block.
pub struct Proof {
    /// Name of the block.
    pub name: &'static str,
    /// Exports the instance that is proved: of a primitive one small enough for the solver, since nothing in it depends on its widths.
    pub verilog: fn() -> String,
    /// The wrapper's text.
    pub wrapper: &'static str,
    /// Cycles of the search for mutants and covers: more than filling and emptying twice.
    pub depth: u32,
    /// Cycles of the bounded check that the induction stands on. One step needs no more than the first state.
    pub base: u32,
    /// Steps of the induction.
    pub steps: u32,
    /// How the solver is asked.
    pub engine: Engine,
    /// Mutants that each property which a user sees has at least.
    pub kills: usize,
    /// They are judged by their one property.
    pub mutants: &'static [Mutant],
    /// Numbers of block and wrapper that are smaller where mutants and covers are sought, since that starts at reset: what is there, and what
    /// takes its place. What is proved for ever is proved without, and of the smaller block, too.
    pub smaller: &'static [(&'static str, &'static str)],
}

/// How the solver is asked for the step of induction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// All assertions together.
    Whole,
    /// Each assertion alone, for wide sums; one step.
    Single,
}

impl Engine {
    /// What the table says.
    pub fn text(self) -> &'static str {
        match self {
            Self::Whole => "z3, together",
            Self::Single => "z3, one by one",
        }
    }
}

/// A wrong block, made from the exported Verilog.
pub struct Mutant {
    /// The fault that the block has.
    pub what: &'static str,
    /// The property that must fail.
    pub property: &'static str,
    /// Text that is in the Verilog exactly once.
    pub from: &'static str,
    /// The text that takes its place.
    pub to: &'static str,
}

const fn mutant(what: &'static str, property: &'static str, from: &'static str, to: &'static str) -> Mutant {
    Mutant { what, property, from, to }
}

/// The proof of a block without registers: one cycle says all.
const fn combinational(
    name: &'static str,
    verilog: fn() -> String,
    wrapper: &'static str,
    mutants: &'static [Mutant],
) -> Proof {
    Proof {
        name,
        verilog,
        wrapper,
        depth: 1,
        base: 1,
        steps: 1,
        engine: Engine::Whole,
        kills: 1,
        mutants,
        smaller: &[],
    }
}

/// The proof of a block with registers, whose invariants say all of its state.
const fn registered(
    name: &'static str,
    verilog: fn() -> String,
    wrapper: &'static str,
    depth: u32,
    mutants: &'static [Mutant],
) -> Proof {
    Proof {
        name,
        verilog,
        wrapper,
        depth,
        base: depth,
        steps: 2,
        engine: Engine::Whole,
        kills: 1,
        mutants,
        smaller: &[],
    }
}

/// The proof of a block of the protection checker or of the PCI Express endpoint: three mutants for each property.
const fn checker(
    name: &'static str,
    verilog: fn() -> String,
    wrapper: &'static str,
    depth: u32,
    engine: Engine,
    mutants: &'static [Mutant],
) -> Proof {
    Proof { name, verilog, wrapper, depth, base: 1, steps: 1, engine, kills: 3, mutants, smaller: &[] }
}

/// All proofs.
pub fn all() -> Vec<Proof> {
    [
        primitives::all(),
        arithmetic::all(),
        range::all(),
        access_intake::all(),
        commands::all(),
        protect::all(),
        pcie_credits::all(),
        pcie_link::all(),
        pcie_mac::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
