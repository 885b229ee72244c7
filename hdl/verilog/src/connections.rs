//! What connects the blocks within a block: for pictures of a design, and for checks of what an input depends on.

use std::collections::BTreeSet;

use rust_hdl::core::ast::Verilog;
use rust_hdl::core::atom::AtomKind;
use rust_hdl::prelude::Block;

use crate::drive::Uses;
use crate::flip_flop::{register, Register};
use crate::lower;
use crate::module::scope;
use crate::tree::Instance;

/// A block, seen from inside.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Its own ports.
    pub ports: Vec<Port>,
    /// The blocks within but for registers, in the order of the fields.
    pub parts: Vec<Part>,
    /// What their inputs and its own outputs depend on.
    pub connections: BTreeSet<Connection>,
}

/// A block within.
#[derive(Clone, Debug)]
pub struct Part {
    /// The field that holds it; `$` stands before an index.
    pub name: String,
    /// Its ports.
    pub ports: Vec<Port>,
    /// The fields of it that hold blocks, registers left out.
    pub parts: Vec<String>,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name; `$` stands between an interface's field and its own.
    pub name: String,
    /// Whether the block drives it.
    pub is_output: bool,
    /// Bits.
    pub width: usize,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The block within, or nothing: the port is of the block around.
    pub block: Option<String>,
    /// The port.
    pub port: String,
}

/// The second port depends on the first one in the same cycle: the two are wired, or logic or a choice of the block around is between
/// them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// An output of a block within, or an input of the block around.
    pub from: End,
    /// An input of a block within, or an output of the block around.
    pub to: End,
}

impl Inside {
    /// The inside of `block`, which is connected.
    ///
    /// # Panics
    /// The block says what has no Verilog; the message names it.
    pub fn of(block: &impl Block) -> Self {
        let instance = Instance::of(block);
        let registers: Vec<Register> = instance.children.iter().filter_map(register).collect();
        let statements = match &instance.code {
            Verilog::Combinatorial(code) => lower::statements(code, &scope(&instance, &registers)),
            _ => Vec::new(),
        };
        let uses = Uses::of(&statements);
        let parts: Vec<Part> = blocks(&instance).map(part).collect();
        let own = ports(&instance);
        let find = |net: &str| end(net, &own, &parts);
        let mut connections = BTreeSet::new();
        for target in uses.targets() {
            let Some((to, to_port)) = find(target) else { continue };
            if to_port.is_output != to.block.is_none() {
                continue;
            }
            let mut seen = BTreeSet::from([target]);
            let mut open = vec![target];
            while let Some(net) = open.pop() {
                for read in uses.read_by(net) {
                    match find(read) {
                        Some((from, port)) if port.is_output == from.block.is_some() => {
                            connections.insert(Connection { from, to: to.clone() });
                        }
                        // A local signal, or one that this block drives itself.
                        _ if seen.insert(read) => open.push(read),
                        _ => {}
                    }
                }
            }
        }
        Self { ports: own, parts, connections }
    }
}

/// The blocks within that are no registers.
fn blocks(instance: &Instance) -> impl Iterator<Item = &Instance> {
    instance.children.iter().filter(|child| register(child).is_none())
}

fn part(instance: &Instance) -> Part {
    let parts = blocks(instance).map(|child| child.name.clone()).collect();
    Part { name: instance.name.clone(), ports: ports(instance), parts }
}

fn ports(instance: &Instance) -> Vec<Port> {
    let port = |wire: &crate::tree::Wire| Port {
        name: wire.name.clone(),
        is_output: wire.kind == AtomKind::OutputParameter,
        width: wire.width,
    };
    instance.wires.iter().filter(|wire| wire.is_port()).map(port).collect()
}

/// The port that `net` is, if it is one of the block's own or of one within.
fn end<'a>(net: &str, own: &'a [Port], parts: &'a [Part]) -> Option<(End, &'a Port)> {
    if let Some(port) = own.iter().find(|port| port.name == net) {
        return Some((End { block: None, port: net.to_owned() }, port));
    }
    parts.iter().find_map(|part| {
        let name = net.strip_prefix(&part.name)?.strip_prefix('$')?;
        let port = part.ports.iter().find(|port| port.name == name)?;
        Some((End { block: Some(part.name.clone()), port: name.to_owned() }, port))
    })
}
