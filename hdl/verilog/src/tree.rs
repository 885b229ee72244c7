//! A block as a tree of instances: its signals, its blocks within and its code, as RustHDL hands them to a probe.

use num_bigint::BigUint;
use rust_hdl::core::ast::{Verilog, VerilogLiteral};
use rust_hdl::core::atom::AtomKind;
use rust_hdl::core::type_descriptor::{TypeDescriptor, TypeKind};
use rust_hdl::prelude::{Atom, Block, Probe};

use crate::name::{is_of_stream, short};

/// One signal or constant of an instance.
#[derive(Clone, Debug)]
pub struct Wire {
    /// As the block's field; `$` stands between the fields of an interface and before an index. The data of a stream have the stream's
    /// own name.
    pub name: String,
    /// As RustHDL calls it in the block's code: the field `data` of an interface has its whole path.
    pub path: String,
    /// What it is.
    pub kind: AtomKind,
    /// Bits.
    pub width: usize,
    /// A constant's value; nothing of a signal.
    pub value: Option<BigUint>,
    /// Names of the states of its type.
    pub states: Vec<State>,
}

impl Wire {
    /// Whether it is a port.
    pub fn is_port(&self) -> bool {
        self.kind.is_parameter()
    }
}

/// One name of a state: `State::Idle`.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// `State$Idle`.
    pub name: String,
    /// Its number.
    pub value: usize,
    /// Bits of its type.
    pub width: usize,
}

/// One instance of a block.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The field of the block that holds it; `$` stands before an index.
    pub name: String,
    /// Ports, constants and local signals, in the order of the fields.
    pub wires: Vec<Wire>,
    /// The blocks within.
    pub children: Vec<Instance>,
    /// What it does.
    pub code: Verilog,
}

impl Instance {
    /// The tree of `block`.
    pub fn of(block: &impl Block) -> Self {
        let mut builder = Builder::default();
        block.accept("top", &mut builder);
        builder.root.expect("a block has a scope of its own")
    }
}

/// The value of RustHDL's literal, which shows it only as text: `<bits>'h<digits>`.
pub fn value(literal: &VerilogLiteral) -> BigUint {
    let text = format!("{literal:x}");
    let (_, digits) = text.split_once("'h").expect("a literal is <bits>'h<digits>");
    BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_else(|| panic!("{text}: a negative literal"))
}

/// Builds the tree while RustHDL walks over the block.
#[derive(Default)]
struct Builder {
    open: Vec<Instance>,
    namespace: Vec<String>,
    root: Option<Instance>,
}

/// Names of the states of a type and of its fields.
fn states(descriptor: &TypeDescriptor) -> Vec<State> {
    match &descriptor.kind {
        TypeKind::Enum(names) => {
            let width = names.len().next_power_of_two().trailing_zeros() as usize;
            let state =
                |(value, name): (usize, &String)| State { name: name.replace("::", "$"), value, width };
            names.iter().enumerate().map(state).collect()
        }
        TypeKind::Composite(fields) => fields.iter().flat_map(|field| states(&field.kind)).collect(),
        TypeKind::Bits(_) | TypeKind::Signed(_) => Vec::new(),
    }
}

impl Probe for Builder {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        self.namespace.clear();
        let name = name.to_owned();
        self.open.push(Instance { name, wires: Vec::new(), children: Vec::new(), code: node.hdl() });
    }

    fn visit_start_namespace(&mut self, name: &str, _: &dyn Block) {
        self.namespace.push(name.to_owned());
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let path = [&self.namespace[..], &[name.to_owned()]].concat().join("$");
        let kind = signal.kind();
        let value = (kind == AtomKind::Constant).then(|| value(&signal.verilog()));
        let states = states(&signal.descriptor());
        let wire = Wire { name: path.clone(), path, kind, width: signal.bits(), value, states };
        self.open.last_mut().expect("a signal has a block").wires.push(wire);
    }

    fn visit_end_namespace(&mut self, _: &str, _: &dyn Block) {
        let namespace = self.namespace.join("$");
        self.namespace.pop();
        let wires = &mut self.open.last_mut().expect("an interface has a block").wires;
        let field = |wire: &Wire| Some(wire.path.strip_prefix(&namespace)?.strip_prefix('$')?.to_owned());
        let is_stream = wires.iter().filter_map(field).all(|field| is_of_stream(&field));
        if is_stream {
            let data = format!("{namespace}$data");
            let data = wires.iter_mut().filter(|wire| wire.path == data);
            data.for_each(|wire| wire.name = short(&wire.path).to_owned());
        }
    }

    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        let closed = self.open.pop().expect("each scope was opened");
        match self.open.last_mut() {
            Some(parent) => parent.children.push(closed),
            None => self.root = Some(closed),
        }
    }
}
