//! What an expression is: a signal, a cast, something whose result can leave its width.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, UnOp};

/// `Enum::Variant`: at least two segments, the last not all capitals.
pub fn is_variant(path: &syn::Path) -> bool {
    path.segments.len() >= 2
        && path.segments.last().is_some_and(|last| last.ident.to_string().chars().any(char::is_lowercase))
}

pub fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

pub fn is_bitwise(op: &BinOp) -> bool {
    matches!(op, BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_))
}

/// `self.a.b[i].val()`.
pub fn is_signal(expr: &Expr) -> bool {
    let Expr::MethodCall(call) = expr else {
        return false;
    };
    let mut base = &*call.receiver;
    loop {
        base = match base {
            Expr::Field(field) => &field.base,
            Expr::Index(index) => &index.expr,
            Expr::Path(path) => return call.method == "val" && path.path.is_ident("self"),
            _ => return false,
        };
    }
}

/// The first operator that can leave its width and that Verilog works out in the width of what is around `expr`.
pub fn wide(expr: &Expr) -> Option<Span> {
    match expr {
        Expr::Paren(paren) => wide(&paren.expr),
        Expr::Unary(unary) => Some(unary.span()),
        Expr::Binary(binary) => match binary.op {
            BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Shl(_) => Some(binary.span()),
            BinOp::Shr(_) => wide(&binary.left),
            op if is_bitwise(&op) => wide(&binary.left).or_else(|| wide(&binary.right)),
            // The result is one bit, and its operands are a place of their own.
            _ => None,
        },
        Expr::Call(call) => call.args.first().and_then(wide),
        Expr::MethodCall(call) => match call.method.to_string().as_str() {
            "replace_bit" => Some(call.span()),
            "any" | "all" | "xor" | "get_bit" | "get_bits" => None,
            _ => wide(&call.receiver),
        },
        _ => None,
    }
}

/// Whether a carry can leave `expr`.
pub fn carries(expr: &Expr) -> bool {
    struct Carries(bool);
    impl<'ast> Visit<'ast> for Carries {
        fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
            self.0 |= matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Shl(_));
            if !is_comparison(&binary.op) {
                visit::visit_expr_binary(self, binary);
            }
        }
    }
    let mut found = Carries(false);
    found.visit_expr(expr);
    found.0
}

/// Whether `expr` inverts something.
pub fn inverts(expr: &Expr) -> bool {
    struct Inverts(bool);
    impl<'ast> Visit<'ast> for Inverts {
        fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
            self.0 |= matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_));
        }
    }
    let mut found = Inverts(false);
    found.visit_expr(expr);
    found.0
}

/// Whether `expr` holds a literal or a cast outside an index.
pub fn casts(expr: &Expr) -> bool {
    struct Casts(bool);
    impl<'ast> Visit<'ast> for Casts {
        fn visit_expr_call(&mut self, _: &'ast syn::ExprCall) {
            self.0 = true;
        }
        fn visit_expr_lit(&mut self, _: &'ast syn::ExprLit) {
            self.0 = true;
        }
        fn visit_expr_index(&mut self, _: &'ast syn::ExprIndex) {}
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            // The arguments of a slice are not part of the value.
            self.visit_expr(&call.receiver);
        }
    }
    let mut found = Casts(false);
    found.visit_expr(expr);
    found.0
}
