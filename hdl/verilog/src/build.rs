//! Puts a module together: its declarations, what drives each signal, and the connections of the blocks within.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use rust_hdl::core::atom::AtomKind;

use crate::drive::{groups, Around, Group, Uses};
use crate::expression::{Expression, Widths};
use crate::flip_flop::Register;
use crate::lower::Scope;
use crate::module::{Child, Clocked, Inner, Module, Through};
use crate::statement::{expressions, only_value, renamed, restricted, Assignment, Statement};
use crate::tree::Instance;

/// See the module's description.
pub struct Builder<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The blocks within that are modules.
    pub children: &'a [Child<'a>],
    /// Those that are registers.
    pub registers: &'a [Register],
    /// What its names stand for.
    pub scope: &'a Scope,
}

impl Builder<'_> {
    /// The module with these statements.
    pub fn build(self, statements: Vec<Statement>) -> Module {
        let (statements, shared) = self.share_outputs(statements);
        let uses = Uses::of(&statements);
        let mut read: BTreeSet<String> = BTreeSet::new();
        expressions(&statements, &mut |expression| {
            expression.reads(&mut |net| {
                read.insert(net.to_owned());
            });
        });
        let is_coupled: BTreeSet<&str> =
            uses.coupled().into_iter().flat_map(|(one, other)| [one, other]).collect();
        let is_named = |net: &str| read.contains(net) || is_coupled.contains(net);
        // A register whose next value is looked at, or is made in steps, has a signal for it.
        let is_stepped = |register: &Register| is_named(&next(register));
        let mut targets: BTreeSet<String> = uses.targets().map(str::to_owned).collect();
        for register in self.registers {
            targets.remove(&format!("{}$clock", register.name));
            if !is_stepped(register) {
                targets.remove(&next(register));
            }
        }
        let inner = self.inner(&statements, &is_named, &mut targets, &shared);
        let through = self.through_children(&shared);
        let own = self.through(&uses, &through);
        let inputs = self.instance.wires.iter().filter(|wire| wire.kind == AtomKind::InputParameter);
        let inputs = inputs.map(|wire| wire.name.clone()).collect();
        let around = Around { within: &through, own: &own, inputs: &inputs };
        let groups = groups(&statements, &uses, &targets, &around);
        let clocked = self.clocked(&statements, &is_stepped);
        Module {
            ports: self.instance.wires.iter().filter(|wire| wire.is_port()).cloned().collect(),
            numbers: self.numbers(&groups, &clocked, &inner),
            registers: self.registers.to_vec(),
            nets: self.nets(&targets, &inner),
            through: own,
            groups,
            inner,
            clocked,
            custom: None,
        }
    }

    /// An output that is no more than an output of a block within is connected to it. Gives the statements without
    /// these, and the shared outputs by the block's.
    fn share_outputs(&self, statements: Vec<Statement>) -> (Vec<Statement>, BTreeMap<String, String>) {
        let mut shared: BTreeMap<String, String> = BTreeMap::new();
        for port in self.instance.wires.iter().filter(|wire| wire.kind == AtomKind::OutputParameter) {
            if let Some(Expression::Net(net)) = only_value(&statements, &port.name) {
                if self.is_child_output(net) && !shared.contains_key(net) {
                    shared.insert(net.clone(), port.name.clone());
                }
            }
        }
        let outputs: BTreeSet<&String> = shared.values().collect();
        let is_kept = |statement: &Statement| match statement {
            Statement::Assign(assignment) => !outputs.contains(&assignment.target),
            _ => true,
        };
        let kept = statements.into_iter().filter(is_kept).collect();
        let rename = |name: String| shared.get(&name).cloned().unwrap_or(name);
        (renamed(kept, &rename), shared)
    }

    fn is_child_output(&self, net: &str) -> bool {
        self.children.iter().any(|child| {
            let ports = &child.instance.wires;
            ports.iter().any(|port| {
                port.kind == AtomKind::OutputParameter
                    && net == format!("{}${}", child.instance.name, port.name)
            })
        })
    }

    /// Connects the blocks within. An input that is a plain signal or number has no signal of its own, except where `is_named` says that
    /// it is read, or reads what changes behind it.
    fn inner(
        &self,
        statements: &[Statement],
        is_named: &impl Fn(&str) -> bool,
        targets: &mut BTreeSet<String>,
        shared: &BTreeMap<String, String>,
    ) -> Vec<Inner> {
        let mut all = Vec::new();
        for child in self.children {
            let mut connections = Vec::new();
            for port in child.instance.wires.iter().filter(|wire| wire.is_port()) {
                let net = format!("{}${}", child.instance.name, port.name);
                let connection = if port.kind != AtomKind::OutputParameter {
                    match only_value(statements, &net) {
                        Some(value) if is_plain(value) && !is_named(&net) => {
                            targets.remove(&net);
                            Some(value.clone())
                        }
                        _ => Some(Expression::Net(net)),
                    }
                } else if let Some(output) = shared.get(&net) {
                    Some(Expression::Net(output.clone()))
                } else {
                    is_named(&net).then_some(Expression::Net(net))
                };
                connections.push((port.name.clone(), connection));
            }
            let (name, module) = (child.instance.name.clone(), child.module.clone());
            all.push(Inner { name, module, connections });
        }
        all
    }

    /// What the registers become at each clock's edge.
    fn clocked(&self, statements: &[Statement], is_stepped: &impl Fn(&Register) -> bool) -> Vec<Clocked> {
        let mut clocks: Vec<(String, Vec<&Register>)> = Vec::new();
        for register in self.registers {
            let clock = match only_value(statements, &format!("{}$clock", register.name)) {
                Some(Expression::Net(clock)) => clock.clone(),
                other => panic!("the clock of `{}` is no signal: {other:?}", register.name),
            };
            match clocks.iter_mut().find(|(known, _)| *known == clock) {
                Some((_, registers)) => registers.push(register),
                None => clocks.push((clock, vec![register])),
            }
        }
        let one = |(clock, registers): (String, Vec<&Register>)| {
            let plain: BTreeSet<String> = registers
                .iter()
                .filter(|register| !is_stepped(register))
                .map(|register| next(register))
                .collect();
            let becomes = restricted(statements, &plain);
            let name = |name: String| match name.strip_suffix("$d") {
                Some(register) if plain.contains(&name) => register.to_owned(),
                _ => name,
            };
            let mut statements = renamed(becomes, &name);
            // A register keeps its value without a statement.
            statements.retain(|statement| match statement {
                Statement::Assign(Assignment { target, range: None, value }) => {
                    *value != Expression::Net(target.clone())
                }
                _ => true,
            });
            for register in registers.iter().filter(|register| is_stepped(register)) {
                statements.push(Statement::Assign(Assignment {
                    target: register.name.clone(),
                    range: None,
                    value: Expression::Net(next(register)),
                }));
            }
            Clocked { clock, statements }
        };
        clocks.into_iter().map(one).collect()
    }

    /// The constants and states that anything uses, in the order of the fields.
    fn numbers(
        &self,
        groups: &[Group],
        clocked: &[Clocked],
        inner: &[Inner],
    ) -> Vec<(String, BigUint, usize)> {
        let mut used = BTreeSet::new();
        let mut add = |expression: &Expression| {
            expression.names(&mut |name| {
                used.insert(name.to_owned());
            });
        };
        groups.iter().for_each(|group| expressions(&group.statements, &mut add));
        clocked.iter().for_each(|clocked| expressions(&clocked.statements, &mut add));
        inner
            .iter()
            .flat_map(|inner| &inner.connections)
            .filter_map(|(_, to)| to.as_ref())
            .for_each(&mut add);
        let mut names: Vec<String> = self.instance.wires.iter().map(|wire| wire.name.clone()).collect();
        names.retain(|name| used.contains(name));
        let mut others: Vec<&String> = used.iter().filter(|name| !names.contains(name)).collect();
        others.sort_by_key(|name| &self.scope.numbers[*name].0);
        let others: Vec<String> = others.into_iter().cloned().collect();
        names.extend(others);
        let number = |name: String| {
            let (value, width) = self.scope.numbers[&name].clone();
            (name, value, width)
        };
        names.into_iter().map(number).collect()
    }

    /// The signals to declare, in the order of the fields: its own, and those at the blocks within.
    fn nets(&self, targets: &BTreeSet<String>, inner: &[Inner]) -> Vec<(String, usize)> {
        let is_port = |net: &str| self.instance.wires.iter().any(|wire| wire.is_port() && wire.name == net);
        let mut names: Vec<String> = Vec::new();
        for wire in &self.instance.wires {
            if wire.kind == AtomKind::LocalSignal && targets.contains(&wire.name) {
                names.push(wire.name.clone());
            }
        }
        for child in inner {
            for (port, to) in &child.connections {
                let net = format!("{}${port}", child.name);
                if *to == Some(Expression::Net(net.clone())) && !is_port(&net) {
                    names.push(net);
                }
            }
        }
        names.extend(self.registers.iter().map(next).filter(|net| targets.contains(net)));
        let sized = |name: String| {
            let width = self.scope.width(&name);
            (name, width)
        };
        names.into_iter().map(sized).collect()
    }

    /// What the outputs of the blocks within depend on, by the names of this block.
    fn through_children(&self, shared: &BTreeMap<String, String>) -> Through {
        let mut all = Through::new();
        for child in self.children {
            let net = |port: &String| format!("{}${port}", child.instance.name);
            for (output, inputs) in &child.through {
                let output = net(output);
                let output = shared.get(&output).cloned().unwrap_or(output);
                all.insert(output, inputs.iter().map(net).collect());
            }
        }
        all
    }

    /// Which inputs each output depends on.
    fn through(&self, uses: &Uses, children: &Through) -> Through {
        let kind = |kind: AtomKind| self.instance.wires.iter().filter(move |wire| wire.kind == kind);
        let inputs: BTreeSet<&str> = kind(AtomKind::InputParameter).map(|wire| wire.name.as_str()).collect();
        let mut all = Through::new();
        for output in kind(AtomKind::OutputParameter) {
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            let mut open: Vec<&str> = vec![&output.name];
            while let Some(net) = open.pop() {
                if seen.insert(net) {
                    open.extend(uses.read_by(net));
                    open.extend(children.get(net).into_iter().flatten().map(String::as_str));
                }
            }
            let hangs_on = seen.intersection(&inputs).map(|net| (*net).to_owned()).collect();
            all.insert(output.name.clone(), hangs_on);
        }
        all
    }
}

/// The name of what a register becomes.
fn next(register: &Register) -> String {
    format!("{}$d", register.name)
}

/// Whether a port can be connected to this value without a signal of its own.
fn is_plain(value: &Expression) -> bool {
    matches!(
        value,
        Expression::Net(_) | Expression::Slice { .. } | Expression::Literal { .. } | Expression::Named { .. }
    )
}
