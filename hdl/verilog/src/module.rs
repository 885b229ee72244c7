//! One module: its declarations, what drives its signals, and the blocks within it.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use rust_hdl::core::ast::Verilog;
use rust_hdl::core::atom::AtomKind;

use crate::build::Builder;
use crate::drive::Group;
use crate::expression::Expression;
use crate::flip_flop::{register, Register};
use crate::lower::{self, Scope};
use crate::name::{identifier, is_keyword};
use crate::statement::{assignments, renamed, Statement};
use crate::tree::{Instance, Wire};

/// For each output of a module, the inputs that it depends on in the same cycle.
pub type Through = BTreeMap<String, BTreeSet<String>>;

/// A block within, that is a module of its own.
#[derive(Debug)]
pub struct Inner {
    /// Its field.
    pub name: String,
    /// The module.
    pub module: String,
    /// Its ports, and what they are connected to; nothing for an output that is not read.
    pub connections: Vec<(String, Option<Expression>)>,
}

/// What happens at the rising edge of one clock.
#[derive(Debug)]
pub struct Clocked {
    /// The clock.
    pub clock: String,
    /// What the registers become.
    pub statements: Vec<Statement>,
}

/// A module.
#[derive(Debug)]
pub struct Module {
    /// Its ports.
    pub ports: Vec<Wire>,
    /// The constants and states that it uses: name, value and bits.
    pub numbers: Vec<(String, BigUint, usize)>,
    /// Its registers.
    pub registers: Vec<Register>,
    /// The signals between its parts: name and bits.
    pub nets: Vec<(String, usize)>,
    /// What drives outputs and signals, in an order in which nothing is read before it is driven.
    pub groups: Vec<Group>,
    /// The blocks within.
    pub inner: Vec<Inner>,
    /// What happens at clock edges.
    pub clocked: Vec<Clocked>,
    /// Verilog that the block's author wrote.
    pub custom: Option<Custom>,
    /// Which inputs outputs depend on.
    pub through: Through,
}

/// Verilog that a block's author wrote.
#[derive(Debug)]
pub struct Custom {
    /// The text.
    pub text: String,
    /// Whether it assigns to its outputs in processes; otherwise cells or `assign` drive them.
    pub outputs_are_variables: bool,
}

/// A block within, before it is connected.
pub struct Child<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The module that it is.
    pub module: String,
    /// Of that module.
    pub through: Through,
}

impl Module {
    /// A module with text of its author's own.
    pub fn custom(instance: &Instance, custom: Custom) -> Self {
        let ports: Vec<Wire> = instance.wires.iter().filter(|wire| wire.is_port()).cloned().collect();
        let through = through_text(&ports, &custom.text);
        let module = Self {
            ports,
            numbers: Vec::new(),
            registers: Vec::new(),
            nets: Vec::new(),
            groups: Vec::new(),
            inner: Vec::new(),
            clocked: Vec::new(),
            custom: Some(custom),
            through,
        };
        module.check_names();
        module
    }

    /// The module of `instance`, whose blocks within, but for the registers, are `children`.
    pub fn of(instance: &Instance, children: &[Child]) -> Self {
        let registers: Vec<Register> = instance.children.iter().filter_map(register).collect();
        let scope = scope(instance, &registers);
        let statements = match &instance.code {
            Verilog::Combinatorial(code) => lower::statements(code, &scope),
            Verilog::Empty => Vec::new(),
            other => panic!("a block with text of its own has blocks within: {other:?}"),
        };
        let held = |name: String| match name.strip_suffix("$q") {
            Some(register) if registers.iter().any(|known| known.name == register) => register.to_owned(),
            _ => name,
        };
        let builder = Builder { instance, children, registers: &registers, scope: &scope };
        let module = builder.build(renamed(statements, &held));
        module.check_names();
        module
    }

    /// Two names that differ in RustHDL may not be one in Verilog, and none may be a word of Verilog.
    ///
    /// # Panics
    /// One is; the message names it.
    fn check_names(&self) {
        let ports = self.ports.iter().map(|port| &port.name);
        let numbers = self.numbers.iter().map(|(name, ..)| name);
        let registers = self.registers.iter().map(|register| &register.name);
        let nets = self.nets.iter().map(|(name, _)| name);
        let inner = self.inner.iter().map(|inner| &inner.name);
        let mut seen: BTreeMap<String, &String> = BTreeMap::new();
        for name in ports.chain(numbers).chain(registers).chain(nets).chain(inner) {
            assert!(!is_keyword(&identifier(name)), "`{name}` is a word of Verilog");
            if let Some(other) = seen.insert(identifier(name), name) {
                panic!("`{other}` and `{name}` have one name in Verilog");
            }
        }
    }
}

/// What the names of a block stand for.
pub fn scope(instance: &Instance, registers: &[Register]) -> Scope {
    let mut scope = Scope::default();
    for register in registers {
        scope.nets.insert(register.name.clone(), register.width);
    }
    let children = instance.children.iter().flat_map(|child| {
        let ports = child.wires.iter().filter(|wire| wire.is_port());
        ports.map(move |wire| (format!("{}$", child.name), wire))
    });
    let own = instance.wires.iter().map(|wire| (String::new(), wire));
    let is_both_ways = |wire: &&Wire| wire.kind == AtomKind::InOutParameter;
    scope.both_ways = instance.wires.iter().filter(is_both_ways).map(|wire| wire.name.clone()).collect();
    // The block's own come last: its states are meant where a block within has states of the same name.
    for (block, wire) in children.chain(own) {
        let name = format!("{block}{}", wire.name);
        if wire.path != wire.name {
            scope.short.insert(format!("{block}{}", wire.path), name.clone());
        }
        match &wire.value {
            Some(value) => drop(scope.numbers.insert(name, (value.clone(), wire.width))),
            None => drop(scope.nets.insert(name, wire.width)),
        }
        for state in &wire.states {
            scope.numbers.insert(state.name.clone(), (BigUint::from(state.value), state.width));
        }
    }
    scope
}

/// Which inputs the outputs depend on in text of the author's own: what `assign` names, and nothing for a register.
fn through_text(ports: &[Wire], text: &str) -> Through {
    let kind = |kind: AtomKind| ports.iter().filter(move |port| port.kind == kind);
    let words = |line: &str| -> BTreeSet<String> {
        line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').map(str::to_owned).collect()
    };
    let mut all = Through::new();
    for output in kind(AtomKind::OutputParameter) {
        let is_assigned = |line: &&str| line.trim_start().starts_with(&format!("assign {} ", output.name));
        let named: BTreeSet<String> = text.lines().filter(is_assigned).flat_map(words).collect();
        let hangs_on = kind(AtomKind::InputParameter).map(|port| port.name.clone());
        all.insert(output.name.clone(), hangs_on.filter(|input| named.contains(input)).collect());
    }
    all
}

/// Whether the group is more than one signal with one value, which `assign` says.
pub fn wants_process(group: &Group) -> bool {
    let mut count = 0;
    assignments(&group.statements, &mut |_| count += 1);
    let is_whole =
        matches!(&group.statements[..], [Statement::Assign(assignment)] if assignment.range.is_none());
    count != 1 || !is_whole
}
