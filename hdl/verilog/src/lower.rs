//! Translates RustHDL's statements to ours: loops are unrolled, names are whole, each expression has its width.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use rust_hdl::core::ast::{
    VerilogBlock, VerilogBlockOrConditional, VerilogConditional, VerilogExpression, VerilogLink,
    VerilogLinkDetails, VerilogLoop, VerilogMatch, VerilogOp, VerilogOpUnary, VerilogStatement,
};

use crate::expression::{Expression, Operator, Widths};
use crate::loops::Loops;
use crate::statement::{Assignment, Statement};
use crate::tree;

/// What the names of a block stand for.
#[derive(Default)]
pub struct Scope {
    /// Signals and their bits.
    pub nets: BTreeMap<String, usize>,
    /// Constants and states: value and bits.
    pub numbers: BTreeMap<String, (BigUint, usize)>,
    /// The block's own ports that go both ways.
    pub both_ways: BTreeSet<String>,
    /// The signals that have another name than their whole path, by that path: the data of streams.
    pub short: BTreeMap<String, String>,
}

impl Widths for Scope {
    fn width(&self, net: &str) -> usize {
        *self.nets.get(net).unwrap_or_else(|| panic!("the block has no signal `{net}`"))
    }
}

/// An expression, or a number without a width of its own, which takes the width of the other operand.
enum Value {
    Sized(Expression),
    Free(BigUint),
}

/// The statements of `code`.
pub fn statements(code: &VerilogBlock, scope: &Scope) -> Vec<Statement> {
    Lower { scope, loops: Loops::default() }.block(code)
}

struct Lower<'a> {
    scope: &'a Scope,
    loops: Loops,
}

impl Lower<'_> {
    fn block(&mut self, code: &VerilogBlock) -> Vec<Statement> {
        code.iter().flat_map(|statement| self.statement(statement)).collect()
    }

    fn statement(&mut self, statement: &VerilogStatement) -> Vec<Statement> {
        match statement {
            VerilogStatement::Assignment(target, value) => vec![self.assignment(target, value)],
            VerilogStatement::SliceAssignment { base, width, offset, replacement } => {
                let target = self.target(base);
                let low = self.constant(offset).expect("a field has a fixed place");
                let value = self.sized(replacement, *width);
                vec![Statement::Assign(Assignment { target, range: Some((low, *width)), value })]
            }
            VerilogStatement::If(conditional) => vec![self.conditional(conditional)],
            VerilogStatement::Match(choice) => vec![self.choice(choice)],
            VerilogStatement::Loop(repeated) => self.repeated(repeated),
            VerilogStatement::Comment(_) => Vec::new(),
            VerilogStatement::Link(links) => links.iter().map(|link| self.link(link)).collect(),
            VerilogStatement::Macro(inner) => self.block(inner),
        }
    }

    fn assignment(&mut self, target: &VerilogExpression, value: &VerilogExpression) -> Statement {
        let target = self.target(target);
        // One bit of a signal is set: no need to write the others.
        if let VerilogExpression::IndexReplace(base, index, bit) = strip(value) {
            if let (VerilogExpression::Signal(base), Some(low)) = (strip(base), self.constant(index)) {
                if self.name(base) == target {
                    let value = self.sized(bit, 1);
                    return Statement::Assign(Assignment { target, range: Some((low, 1)), value });
                }
            }
        }
        let width = self.scope.width(&target);
        let value = self.sized(value, width);
        Statement::Assign(Assignment { target, range: None, value })
    }

    fn conditional(&mut self, conditional: &VerilogConditional) -> Statement {
        let otherwise = match &conditional.otherwise {
            VerilogBlockOrConditional::Block(block) => self.block(block),
            VerilogBlockOrConditional::Conditional(inner) => self.statement(inner),
            VerilogBlockOrConditional::None => Vec::new(),
        };
        Statement::If {
            test: self.sized(&conditional.test, 1),
            then: self.block(&conditional.then),
            otherwise,
        }
    }

    fn choice(&mut self, choice: &VerilogMatch) -> Statement {
        let Value::Sized(test) = self.value(&choice.test) else { panic!("a match over a number") };
        let width = test.width(self.scope);
        let mut arms = Vec::new();
        for case in &choice.cases {
            let label = (case.condition != "default").then(|| match number(&case.condition) {
                Some(value) => Expression::number(value, width),
                None => match self.signal(&case.condition) {
                    Value::Sized(label) => label,
                    Value::Free(value) => Expression::number(value, width),
                },
            });
            arms.push((label, self.block(&case.block)));
        }
        Statement::Case { test, arms }
    }

    fn repeated(&mut self, repeated: &VerilogLoop) -> Vec<Statement> {
        let mut all = Vec::new();
        for index in repeated.from.as_usize()..repeated.to.as_usize() {
            self.loops.enter(&repeated.index, index);
            all.extend(self.block(&repeated.block));
            self.loops.leave();
        }
        all
    }

    fn link(&mut self, link: &VerilogLink) -> Statement {
        let names = |details: &VerilogLinkDetails| {
            let field = details.my_name.trim_start_matches('.');
            let whole = |side: &str| match field {
                "" => self.name(side),
                field => self.name(&format!("{side}.{field}")),
            };
            (whole(&details.owner_name), whole(&details.other_name))
        };
        let (target, from) = match link {
            VerilogLink::Forward(details) => {
                let (owner, other) = names(details);
                (other, owner)
            }
            VerilogLink::Backward(details) => names(details),
            // One wire: the port of a block within is connected to the block's own.
            VerilogLink::Bidirectional(details) => match names(details) {
                (owner, other) if self.scope.both_ways.contains(&owner) => (other, owner),
                (owner, other) if self.scope.both_ways.contains(&other) => (owner, other),
                (owner, other) => {
                    panic!("`{owner}` and `{other}` are linked, and neither is a port of the block")
                }
            },
        };
        Statement::Assign(Assignment { target, range: None, value: Expression::Net(from) })
    }

    fn target(&self, target: &VerilogExpression) -> String {
        match strip(target) {
            VerilogExpression::Signal(name) => self.name(name),
            other => panic!("an assignment to {other:?}"),
        }
    }

    /// The expression, which is `width` bits wide.
    fn sized(&self, expression: &VerilogExpression, width: usize) -> Expression {
        match self.value(expression) {
            Value::Sized(sized) => {
                assert_eq!(sized.width(self.scope), width, "`{}` is to be {width} bits wide", sized.text());
                sized
            }
            Value::Free(value) => Expression::number(value, width),
        }
    }

    /// The number that the expression is, if it is one.
    fn constant(&self, expression: &VerilogExpression) -> Option<usize> {
        let value = match self.value(expression) {
            Value::Free(value) => value,
            Value::Sized(Expression::Literal { value, .. } | Expression::Named { value, .. }) => value,
            Value::Sized(_) => return None,
        };
        Some(usize::try_from(value).expect("a place in a signal"))
    }

    fn value(&self, expression: &VerilogExpression) -> Value {
        match expression {
            VerilogExpression::Signal(name) => self.signal(name),
            VerilogExpression::Literal(literal) => Value::Free(tree::value(literal)),
            VerilogExpression::Paren(inner) => self.value(inner),
            VerilogExpression::Cast(inner, width) => Value::Sized(match self.value(inner) {
                Value::Sized(inner) => inner.extend(*width, self.scope),
                Value::Free(value) => Expression::number(value, *width),
            }),
            VerilogExpression::Signed(_) | VerilogExpression::Unsigned(_) => panic!("signed numbers"),
            VerilogExpression::Binary(left, operator, right) => self.binary(left, operator, right),
            VerilogExpression::Unary(operator, operand) => {
                let Value::Sized(operand) = self.value(operand) else { panic!("an operator on a number") };
                let text = match operator {
                    VerilogOpUnary::Not => "~",
                    VerilogOpUnary::Neg => "-",
                    VerilogOpUnary::All => "&",
                    VerilogOpUnary::Any => "|",
                    VerilogOpUnary::Xor => "^",
                };
                Value::Sized(Expression::Unary(text, Box::new(operand)))
            }
            VerilogExpression::Index(base, index) => Value::Sized(self.part(base, 1, index)),
            VerilogExpression::Slice(base, width, offset) => Value::Sized(self.part(base, *width, offset)),
            VerilogExpression::IndexReplace(base, index, bit) => {
                Value::Sized(self.replaced(base, index, bit))
            }
        }
    }

    fn binary(&self, left: &VerilogExpression, operator: &VerilogOp, right: &VerilogExpression) -> Value {
        let operator = match operator {
            VerilogOp::Add => Operator::Arithmetic("+"),
            VerilogOp::Sub => Operator::Arithmetic("-"),
            VerilogOp::Mul => Operator::Arithmetic("*"),
            VerilogOp::LogicalAnd => Operator::Logical("&&"),
            VerilogOp::LogicalOr => Operator::Logical("||"),
            VerilogOp::BitXor => Operator::Bitwise("^"),
            VerilogOp::BitAnd => Operator::Bitwise("&"),
            VerilogOp::BitOr => Operator::Bitwise("|"),
            VerilogOp::Shl => Operator::Shift("<<"),
            VerilogOp::Shr => Operator::Shift(">>"),
            VerilogOp::Eq => Operator::Comparison("=="),
            VerilogOp::Lt => Operator::Comparison("<"),
            VerilogOp::Le => Operator::Comparison("<="),
            VerilogOp::Ne => Operator::Comparison("!="),
            VerilogOp::Ge => Operator::Comparison(">="),
            VerilogOp::Gt => Operator::Comparison(">"),
        };
        let (left, right) = match (self.value(left), self.value(right)) {
            (Value::Sized(left), Value::Sized(right)) => (left, right),
            (Value::Sized(left), Value::Free(value)) => {
                let width = match operator {
                    Operator::Shift(_) => 32,
                    _ => left.width(self.scope),
                };
                (left, Expression::number(value, width))
            }
            (Value::Free(value), Value::Sized(right)) => {
                let width = right.width(self.scope);
                (Expression::number(value, width), right)
            }
            (Value::Free(left), Value::Free(right)) => {
                return Value::Free(match operator {
                    Operator::Arithmetic("+") => left + right,
                    Operator::Arithmetic("-") => left - right,
                    Operator::Arithmetic(_) => left * right,
                    other => panic!("{other:?} of two numbers"),
                })
            }
        };
        assert!(operator != Operator::Arithmetic("*"), "a product of signals");
        if !matches!(operator, Operator::Shift(_)) {
            let widths = (left.width(self.scope), right.width(self.scope));
            assert_eq!(widths.0, widths.1, "the sides of `{}` and `{}`", left.text(), right.text());
        }
        let placed = match operator {
            Operator::Bitwise("|") => left.beside(&right, self.scope),
            Operator::Shift("<<") => left.placed(&right),
            _ => None,
        };
        Value::Sized(placed.unwrap_or_else(|| Expression::Binary(operator, Box::new(left), Box::new(right))))
    }

    /// `width` bits of `base` from `offset` on.
    fn part(&self, base: &VerilogExpression, width: usize, offset: &VerilogExpression) -> Expression {
        let Value::Sized(base) = self.value(base) else { panic!("bits of a number") };
        if let Some(low) = self.constant(offset) {
            return base.slice(low, width, self.scope);
        }
        let Value::Sized(offset) = self.value(offset) else { unreachable!("no constant") };
        match base {
            Expression::Net(net) => Expression::Select { net, offset: Box::new(offset), width },
            other => panic!("bits of `{}` at a place that moves want a signal of their own", other.text()),
        }
    }

    /// `base` with another bit at `index`.
    fn replaced(
        &self,
        base: &VerilogExpression,
        index: &VerilogExpression,
        bit: &VerilogExpression,
    ) -> Expression {
        let Value::Sized(base) = self.value(base) else { panic!("a bit of a number") };
        let width = base.width(self.scope);
        let bit = self.sized(bit, 1);
        if let Some(low) = self.constant(index) {
            let mut parts = Vec::new();
            if low + 1 < width {
                parts.push(base.clone().slice(low + 1, width - low - 1, self.scope));
            }
            parts.push(bit);
            if low > 0 {
                parts.push(base.slice(0, low, self.scope));
            }
            return Expression::join(parts);
        }
        let Value::Sized(index) = self.value(index) else { unreachable!("no constant") };
        let binary = |operator, left, right| Expression::Binary(operator, Box::new(left), Box::new(right));
        let at = |value| binary(Operator::Shift("<<"), value, index.clone());
        let hole = Expression::Unary("~", Box::new(at(Expression::number(1u8, width))));
        let kept = binary(Operator::Bitwise("&"), base, hole);
        binary(Operator::Bitwise("|"), kept, at(bit.extend(width, self.scope)))
    }

    /// The name of a signal or number in the tree.
    fn name(&self, raw: &str) -> String {
        let path = self.loops.name(raw);
        self.scope.short.get(&path).cloned().unwrap_or(path)
    }

    fn signal(&self, raw: &str) -> Value {
        if let Some(value) = self.loops.value(raw) {
            return Value::Free(BigUint::from(value));
        }
        let name = self.name(raw);
        if let Some((value, width)) = self.scope.numbers.get(&name) {
            return Value::Sized(Expression::Named { name, value: value.clone(), width: *width });
        }
        self.scope.width(&name);
        Value::Sized(Expression::Net(name))
    }
}

/// The expression without parentheses around it.
fn strip(expression: &VerilogExpression) -> &VerilogExpression {
    match expression {
        VerilogExpression::Paren(inner) => strip(inner),
        other => other,
    }
}

/// A Rust integer: `3`, `0x1f`, `1_000u32`.
fn number(text: &str) -> Option<BigUint> {
    let literal: syn::LitInt = syn::parse_str(text).ok()?;
    BigUint::parse_bytes(literal.base10_digits().as_bytes(), 10)
}
