//! The text of a module.

use std::collections::BTreeSet;
use std::fmt::Write;

use num_bigint::BigUint;
use rust_hdl::core::atom::AtomKind;

use crate::expression::Expression;
use crate::module::{wants_process, Clocked, Inner, Module};
use crate::name::identifier;
use crate::source::Described;
use crate::statement::{assignments, Assignment, Statement};

/// One step to the right.
const STEP: &str = "    ";

/// The longest line that a condition and what it decides share.
const LINE: usize = 100;

/// The text of `module` under the name `name`, with what its source says of it.
pub fn text(module: &Module, name: &str, described: Option<&Described>) -> String {
    let mut printer = Printer { text: String::new(), described };
    printer.head(name);
    printer.ports(module);
    match &module.custom {
        Some(custom) => printer.custom(&custom.text),
        None => printer.body(module),
    }
    printer.text += "endmodule\n";
    printer.text
}

struct Printer<'a> {
    text: String,
    described: Option<&'a Described>,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        if line.is_empty() {
            self.text.push('\n');
        } else {
            let _ = writeln!(self.text, "{}{line}", STEP.repeat(depth));
        }
    }

    fn head(&mut self, name: &str) {
        if let Some(described) = self.described {
            for line in &described.documentation {
                let line = format!("// {line}");
                self.line(0, line.trim_end());
            }
            self.line(0, "//");
            self.line(0, &format!("// Made from {}.", described.file));
        }
        self.line(0, &format!("module {name} ("));
    }

    /// What the source says of a field, as comments; once for signals of one field that stand together: the signals of a stream, or the
    /// elements of an array.
    fn comments<'n>(&mut self, said: &mut Option<&'n str>, name: &'n str) {
        let own = field(name);
        if said.replace(own) == Some(own) {
            return;
        }
        let known = self.described.and_then(|described| described.fields.get(own));
        for line in known.map(|field| field.documentation.as_slice()).unwrap_or_default() {
            let line = format!("// {line}");
            self.line(1, line.trim_end());
        }
    }

    fn ports(&mut self, module: &Module) {
        let procedural = procedural(module);
        let mut said = None;
        for (number, port) in module.ports.iter().enumerate() {
            self.comments(&mut said, &port.name);
            let direction = match port.kind {
                AtomKind::InputParameter => "input  wire",
                AtomKind::InOutParameter => "inout  wire",
                _ if procedural.contains(port.name.as_str()) => "output reg ",
                _ => "output wire",
            };
            let comma = if number + 1 < module.ports.len() { "," } else { "" };
            let is_indexed = |text: &str| text.contains(&format!("{}[", port.name));
            let range = match &module.custom {
                Some(custom) if port.width == 1 && is_indexed(&custom.text) => "[0:0] ".to_owned(),
                _ => range(port.width),
            };
            self.line(1, &format!("{direction} {range}{}{comma}", identifier(&port.name)));
        }
        self.line(0, ");");
    }

    fn custom(&mut self, text: &str) {
        for line in text.trim_end().lines() {
            // Lines for the preprocessor stand at the margin.
            let depth = usize::from(!line.starts_with('`'));
            self.line(depth, line);
        }
    }

    fn body(&mut self, module: &Module) {
        self.numbers(&module.numbers);
        self.declarations(module);
        let mut was_process = true;
        for group in &module.groups {
            // Wires that follow each other stand together.
            let is_process = wants_process(group);
            if is_process || was_process {
                self.line(0, "");
            }
            was_process = is_process;
            if is_process {
                self.line(1, "always @(*) begin");
                self.statements(2, &group.statements, "=");
                self.line(1, "end");
            } else {
                assignments(&group.statements, &mut |assignment| {
                    let (target, value) = (identifier(&assignment.target), assignment.value.text());
                    self.line(1, &format!("assign {target} = {value};"));
                });
            }
        }
        let mut said = None;
        module.inner.iter().for_each(|inner| self.inner(&mut said, inner));
        module.clocked.iter().for_each(|clocked| self.clocked(clocked));
    }

    fn numbers(&mut self, numbers: &[(String, BigUint, usize)]) {
        if !numbers.is_empty() {
            self.line(0, "");
        }
        let mut said = None;
        for (name, value, width) in numbers {
            self.comments(&mut said, name);
            let value = Expression::number(value.clone(), *width).text();
            self.line(1, &format!("localparam {}{} = {value};", range(*width), identifier(name)));
        }
    }

    fn declarations(&mut self, module: &Module) {
        if !module.registers.is_empty() {
            self.line(0, "");
        }
        let mut said = None;
        for register in &module.registers {
            self.comments(&mut said, &register.name);
            let initial = Expression::number(register.initial.clone(), register.width).text();
            let name = identifier(&register.name);
            self.line(1, &format!("reg  {}{name} = {initial};", range(register.width)));
        }
        if !module.nets.is_empty() {
            self.line(0, "");
        }
        let procedural = procedural(module);
        let blocks = module.inner.iter().map(|inner| &inner.name);
        let others: BTreeSet<&str> = blocks
            .chain(module.registers.iter().map(|register| &register.name))
            .map(|name| field(name))
            .collect();
        let mut said = None;
        for (name, width) in &module.nets {
            if !others.contains(field(name)) {
                self.comments(&mut said, name);
            }
            let kind = if procedural.contains(name.as_str()) { "reg " } else { "wire" };
            self.line(1, &format!("{kind} {}{};", range(*width), identifier(name)));
        }
    }

    fn inner<'n>(&mut self, said: &mut Option<&'n str>, inner: &'n Inner) {
        self.line(0, "");
        self.comments(said, &inner.name);
        self.line(1, &format!("{} {} (", inner.module, identifier(&inner.name)));
        for (number, (port, to)) in inner.connections.iter().enumerate() {
            let comma = if number + 1 < inner.connections.len() { "," } else { "" };
            let to = to.as_ref().map(Expression::text).unwrap_or_default();
            self.line(2, &format!(".{}({to}){comma}", identifier(port)));
        }
        self.line(1, ");");
    }

    fn clocked(&mut self, clocked: &Clocked) {
        if clocked.statements.is_empty() {
            return;
        }
        self.line(0, "");
        self.line(1, &format!("always @(posedge {}) begin", identifier(&clocked.clock)));
        self.statements(2, &clocked.statements, "<=");
        self.line(1, "end");
    }

    fn statements(&mut self, depth: usize, statements: &[Statement], becomes: &str) {
        for statement in statements {
            match statement {
                Statement::Assign(assignment) => self.line(depth, &assignment_text(assignment, becomes)),
                Statement::If { test, then, otherwise } => {
                    self.conditional(depth, "", test, then, otherwise, becomes);
                }
                Statement::Case { test, arms } => self.case(depth, test, arms, becomes),
            }
        }
    }

    fn conditional(
        &mut self,
        depth: usize,
        before: &str,
        test: &Expression,
        then: &[Statement],
        otherwise: &[Statement],
        becomes: &str,
    ) {
        if then.is_empty() {
            let opposite = Expression::Unary("~", Box::new(test.clone()));
            return self.conditional(depth, before, &opposite, otherwise, &[], becomes);
        }
        let head = format!("{before}if ({})", test.text());
        if let ([Statement::Assign(assignment)], []) = (then, otherwise) {
            let line = format!("{head} {}", assignment_text(assignment, becomes));
            if before.is_empty() && line.len() + depth * STEP.len() <= LINE {
                return self.line(depth, &line);
            }
        }
        self.line(depth, &format!("{head} begin"));
        self.statements(depth + 1, then, becomes);
        match otherwise {
            [] => self.line(depth, "end"),
            [Statement::If { test, then, otherwise }] if !then.is_empty() => {
                self.conditional(depth, "end else ", test, then, otherwise, becomes);
            }
            _ => {
                self.line(depth, "end else begin");
                self.statements(depth + 1, otherwise, becomes);
                self.line(depth, "end");
            }
        }
    }

    fn case(
        &mut self,
        depth: usize,
        test: &Expression,
        arms: &[(Option<Expression>, Vec<Statement>)],
        becomes: &str,
    ) {
        self.line(depth, &format!("case ({})", test.text()));
        for (label, inner) in arms {
            let label = label.as_ref().map_or("default".to_owned(), Expression::text);
            match &inner[..] {
                [] => self.line(depth + 1, &format!("{label}: ;")),
                [Statement::Assign(assignment)] => {
                    self.line(depth + 1, &format!("{label}: {}", assignment_text(assignment, becomes)));
                }
                _ => {
                    self.line(depth + 1, &format!("{label}: begin"));
                    self.statements(depth + 2, inner, becomes);
                    self.line(depth + 1, "end");
                }
            }
        }
        if !is_full(arms) {
            // The type has no other state: nothing changes.
            self.line(depth + 1, "default: ;");
        }
        self.line(depth, "endcase");
    }
}

/// The field of the block that a signal is of: `keeps` of `keeps$0$data`.
pub fn field(name: &str) -> &str {
    name.split('$').next().unwrap_or(name)
}

/// Whether there is an arm for each value.
fn is_full(arms: &[(Option<Expression>, Vec<Statement>)]) -> bool {
    let bits = |label: &Expression| match label {
        Expression::Literal { width, .. } | Expression::Named { width, .. } => *width,
        _ => usize::MAX,
    };
    let labels: Option<Vec<usize>> = arms.iter().map(|(label, _)| label.as_ref().map(bits)).collect();
    // Without a label for all others there is one for each.
    labels.is_none_or(|bits| bits.first().is_some_and(|bits| *bits < 32 && arms.len() >= 1 << bits))
}

/// The signals that processes drive.
fn procedural(module: &Module) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    for group in module.groups.iter().filter(|group| wants_process(group)) {
        all.extend(group.targets.iter().map(String::as_str));
    }
    if module.custom.as_ref().is_some_and(|custom| custom.outputs_are_variables) {
        all.extend(module.ports.iter().map(|port| port.name.as_str()));
    }
    all
}

fn assignment_text(assignment: &Assignment, becomes: &str) -> String {
    let name = identifier(&assignment.target);
    let target = match assignment.range {
        None => name,
        Some((low, 1)) => format!("{name}[{low}]"),
        Some((low, width)) => format!("{name}[{}:{low}]", low + width - 1),
    };
    format!("{target} {becomes} {};", assignment.value.text())
}

/// `[7:0] ` of eight bits, nothing of one.
fn range(width: usize) -> String {
    if width == 1 {
        String::new()
    } else {
        format!("[{}:0] ", width - 1)
    }
}
