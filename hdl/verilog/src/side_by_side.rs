//! Puts numbers side by side: RustHDL shifts them and combines them with `|`, Verilog has braces for that.

use crate::expression::Expression::{self, Join, Literal};
use crate::expression::Widths;

/// How wide a part is of which all bits are 0.
fn zeros(part: &Expression) -> Option<usize> {
    match part {
        Literal { value, width } if value.bits() == 0 => Some(*width),
        _ => None,
    }
}

impl Expression {
    /// A number of parts moved up, if only zeros go out at its upper end: `{8'd0, a} << 8` is `{a, 8'd0}`.
    pub fn placed(&self, by: &Self) -> Option<Self> {
        let (Join(parts), Literal { value: by, .. }) = (self, by) else { return None };
        let (above, rest) = parts.split_first()?;
        let (above, by) = (zeros(above)?, usize::try_from(by).ok()?);
        if by == 0 || by > above {
            return None;
        }
        let mut parts = rest.to_vec();
        if by < above {
            parts.insert(0, Self::number(0u8, above - by));
        }
        parts.push(Self::number(0u8, by));
        Some(Self::join(parts))
    }

    /// Two numbers of parts side by side, if each part of one stands at zeros of the other: `{a, 8'd0} | {8'd0, b}` is `{a, b}`.
    pub fn beside(&self, other: &Self, widths: &impl Widths) -> Option<Self> {
        let (Join(left), Join(right)) = (self, other) else { return None };
        let (mut left, mut right) = (left.clone(), right.clone());
        // The lowest parts come first.
        let mut parts = Vec::new();
        while let (Some(one), Some(two)) = (left.pop(), right.pop()) {
            let (kept, below, of_kept, of_below) = match (zeros(&one), zeros(&two)) {
                (_, Some(width)) => (one, width, &mut left, &mut right),
                (Some(width), None) => (two, width, &mut right, &mut left),
                (None, None) => return None,
            };
            let width = kept.width(widths);
            if width <= below {
                parts.push(kept);
                if width < below {
                    of_below.push(Self::number(0u8, below - width));
                }
            } else {
                // What is kept goes on beside the next part, which zeros alone can do.
                zeros(&kept)?;
                parts.push(Self::number(0u8, below));
                of_kept.push(Self::number(0u8, width - below));
            }
        }
        parts.reverse();
        Some(Self::join(parts))
    }
}
