//! An expression whose width is known in each place, and its text.
//!
//! Verilog widens an operand to the width of the expression around it; RustHDL does not. Here each operand has the width that
//! RustHDL gives it, and each widening or cut is explicit, so that both languages mean the same.

use num_bigint::BigUint;

use crate::name::identifier;

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+ - *`: as wide as the operands.
    Arithmetic(&'static str),
    /// `& | ^`: as wide as the operands.
    Bitwise(&'static str),
    /// `<< >>`: as wide as the left operand.
    Shift(&'static str),
    /// `== != < <= > >=`: one bit.
    Comparison(&'static str),
    /// `&& ||`: one bit.
    Logical(&'static str),
}

impl Operator {
    fn text(self) -> &'static str {
        match self {
            Self::Arithmetic(text)
            | Self::Bitwise(text)
            | Self::Shift(text)
            | Self::Comparison(text)
            | Self::Logical(text) => text,
        }
    }

    /// Whether `a op (b op c)` is `(a op b) op c`.
    fn is_associative(self) -> bool {
        matches!(self.text(), "+" | "&" | "|" | "^" | "&&" | "||")
    }
}

/// An expression. Nets are named as RustHDL names them, with `$`.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A signal.
    Net(String),
    /// Some bits of a signal.
    Slice {
        /// The signal.
        net: String,
        /// The lowest bit.
        low: usize,
        /// How many.
        width: usize,
    },
    /// Some bits of a signal, from a place that another signal says.
    Select {
        /// The signal.
        net: String,
        /// The lowest bit.
        offset: Box<Expression>,
        /// How many.
        width: usize,
    },
    /// A number.
    Literal {
        /// Its value.
        value: BigUint,
        /// Its bits.
        width: usize,
    },
    /// A number that has a name.
    Named {
        /// The name.
        name: String,
        /// Its value.
        value: BigUint,
        /// Its bits.
        width: usize,
    },
    /// `~ - & | ^` in front of an operand; the last three give one bit.
    Unary(&'static str, Box<Expression>),
    /// Two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Parts, the highest first.
    Join(Vec<Expression>),
}

use Expression::{Binary, Join, Literal, Named, Net, Select, Slice, Unary};

/// How wide a signal is.
pub trait Widths {
    /// Bits of the signal `net`.
    ///
    /// # Panics
    /// The block has no such signal.
    fn width(&self, net: &str) -> usize;
}

impl Expression {
    /// The number `value` in `width` bits.
    pub fn number(value: impl Into<BigUint>, width: usize) -> Self {
        let value: BigUint = value.into();
        let value = if value.bits() as usize > width { value & mask(width) } else { value };
        Literal { value, width }
    }

    /// The bits of the expression.
    pub fn width(&self, widths: &impl Widths) -> usize {
        match self {
            Net(net) => widths.width(net),
            Slice { width, .. } | Select { width, .. } | Literal { width, .. } | Named { width, .. } => {
                *width
            }
            Unary("~" | "-", operand) => operand.width(widths),
            Unary(..) => 1,
            Binary(Operator::Comparison(_) | Operator::Logical(_), ..) => 1,
            Binary(_, left, _) => left.width(widths),
            Join(parts) => parts.iter().map(|part| part.width(widths)).sum(),
        }
    }

    /// The bits from `low` on.
    ///
    /// # Panics
    /// Verilog cannot cut this expression: its bits want a signal of their own.
    pub fn slice(self, low: usize, width: usize, widths: &impl Widths) -> Self {
        let whole = self.width(widths);
        if low == 0 && width == whole {
            return self;
        }
        if low >= whole {
            return Self::number(0u8, width);
        }
        if low + width > whole {
            return self.slice(low, whole - low, widths).extend(width, widths);
        }
        match self {
            Net(net) => Slice { net, low, width },
            Slice { net, low: base, .. } => Slice { net, low: base + low, width },
            Literal { value, .. } | Named { value, .. } => Self::number(value >> low, width),
            Unary("~", operand) => Unary("~", Box::new(operand.slice(low, width, widths))),
            Binary(operator @ Operator::Bitwise(_), left, right) => {
                let part = |side: Box<Self>| Box::new(side.slice(low, width, widths));
                Binary(operator, part(left), part(right))
            }
            // The lowest bits of a sum depend on the lowest bits of its parts alone.
            Binary(operator @ Operator::Arithmetic(_), left, right) if low == 0 => {
                let part = |side: Box<Self>| Box::new(side.slice(0, width, widths));
                Binary(operator, part(left), part(right))
            }
            Binary(Operator::Shift("<<"), left, right) if low == 0 => {
                Binary(Operator::Shift("<<"), Box::new(left.slice(0, width, widths)), right)
            }
            Binary(Operator::Shift(direction), left, right)
                if matches!(*right, Literal { .. } | Named { .. }) =>
            {
                let (Literal { value, .. } | Named { value, .. }) = &*right else {
                    unreachable!("matched above")
                };
                let by = usize::try_from(value).expect("a shift is no longer than memory");
                if direction == ">>" {
                    left.slice(low + by, width, widths)
                } else if by <= low {
                    left.slice(low - by, width, widths)
                } else if by >= low + width {
                    Self::number(0u8, width)
                } else {
                    let kept = left.slice(0, low + width - by, widths);
                    Join(vec![kept, Self::number(0u8, by - low)])
                }
            }
            Join(parts) => {
                let mut kept = Vec::new();
                let mut end = whole;
                for part in parts {
                    let bits = part.width(widths);
                    let start = end - bits;
                    let (from, to) = (low.max(start), (low + width).min(end));
                    if from < to {
                        kept.push(part.slice(from - start, to - from, widths));
                    }
                    end = start;
                }
                Self::join(kept)
            }
            other => {
                panic!("bits {low} to {} of `{}` want a signal of their own", low + width - 1, other.text())
            }
        }
    }

    /// The expression with zeros above it, or cut, to be `width` bits.
    pub fn extend(self, width: usize, widths: &impl Widths) -> Self {
        let own = self.width(widths);
        match self {
            Literal { value, .. } if width >= own => Self::number(value, width),
            _ if width > own => Self::join(vec![Self::number(0u8, width - own), self]),
            other => other.slice(0, width, widths),
        }
    }

    /// Parts one behind the other, the highest first: nested ones are opened, neighbours that are one slice become one.
    pub fn join(parts: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        let opened = parts.into_iter().flat_map(|part| match part {
            Join(inner) => inner,
            other => vec![other],
        });
        for part in opened {
            match (flat.last_mut(), part) {
                (
                    Some(Slice { net, low, width }),
                    Slice { net: below, low: low_below, width: width_below },
                ) if *net == below && *low == low_below + width_below => {
                    *low = low_below;
                    *width += width_below;
                }
                (Some(Literal { value, width }), Literal { value: value_below, width: width_below }) => {
                    *value = (value.clone() << width_below) | value_below;
                    *width += width_below;
                }
                (_, part) => flat.push(part),
            }
        }
        if flat.len() == 1 {
            flat.remove(0)
        } else {
            Join(flat)
        }
    }

    /// Calls `visit` for each signal that is read.
    pub fn reads(&self, visit: &mut impl FnMut(&str)) {
        match self {
            Net(net) | Slice { net, .. } => visit(net),
            Select { net, offset, .. } => {
                visit(net);
                offset.reads(visit);
            }
            Literal { .. } | Named { .. } => {}
            Unary(_, operand) => operand.reads(visit),
            Binary(_, left, right) => {
                left.reads(visit);
                right.reads(visit);
            }
            Join(parts) => parts.iter().for_each(|part| part.reads(visit)),
        }
    }

    /// Calls `visit` for each number that has a name.
    pub fn names(&self, visit: &mut impl FnMut(&str)) {
        match self {
            Named { name, .. } => visit(name),
            Net(_) | Slice { .. } | Literal { .. } => {}
            Select { offset, .. } => offset.names(visit),
            Unary(_, operand) => operand.names(visit),
            Binary(_, left, right) => {
                left.names(visit);
                right.names(visit);
            }
            Join(parts) => parts.iter().for_each(|part| part.names(visit)),
        }
    }

    /// The expression with other names for its signals.
    pub fn renamed(self, rename: &impl Fn(String) -> String) -> Self {
        let inside = |operand: Box<Self>| Box::new(operand.renamed(rename));
        match self {
            Net(net) => Net(rename(net)),
            Slice { net, low, width } => Slice { net: rename(net), low, width },
            Select { net, offset, width } => Select { net: rename(net), offset: inside(offset), width },
            Unary(operator, operand) => Unary(operator, inside(operand)),
            Binary(operator, left, right) => Binary(operator, inside(left), inside(right)),
            Join(parts) => Join(parts.into_iter().map(|part| part.renamed(rename)).collect()),
            number @ (Literal { .. } | Named { .. }) => number,
        }
    }

    /// The Verilog of the expression.
    pub fn text(&self) -> String {
        match self {
            Net(net) => identifier(net),
            Slice { net, low, width: 1 } => format!("{}[{low}]", identifier(net)),
            Slice { net, low, width } => format!("{}[{}:{low}]", identifier(net), low + width - 1),
            Select { net, offset, width: 1 } => format!("{}[{}]", identifier(net), offset.text()),
            Select { net, offset, width } => format!("{}[{} +: {width}]", identifier(net), offset.text()),
            Literal { value, width: 1 } => format!("1'b{value}"),
            Literal { value, width } if value.bits() <= 10 => format!("{width}'d{value}"),
            Literal { value, width } => format!("{width}'h{value:x}"),
            Named { name, .. } => identifier(name),
            Unary(operator, operand) => match **operand {
                Binary(..) | Unary(..) => format!("{operator}({})", operand.text()),
                _ => format!("{operator}{}", operand.text()),
            },
            Binary(operator, left, right) => {
                let right = match (&**right, operator) {
                    // The distance of a shift is a plain number, without a width.
                    (Literal { value, .. }, Operator::Shift(_)) => value.to_string(),
                    _ => operand(right, *operator),
                };
                format!("{} {} {right}", operand(left, *operator), operator.text())
            }
            Join(parts) => {
                let texts: Vec<_> = parts.iter().map(Self::text).collect();
                format!("{{{}}}", texts.join(", "))
            }
        }
    }
}

/// An operand of `around`, in parentheses unless there is only one way to read it.
fn operand(expression: &Expression, around: Operator) -> String {
    match expression {
        Binary(operator, ..) if *operator == around && around.is_associative() => expression.text(),
        Binary(..) => format!("({})", expression.text()),
        // `a & &b` is right, and reads as `a && b`.
        Unary("&" | "|" | "^", _) => format!("({})", expression.text()),
        _ => expression.text(),
    }
}

fn mask(width: usize) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}
