//! A kernel: one function that is translated to Verilog, place by place.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, Pat};

use super::expression::{carries, casts, inverts, is_bitwise, is_comparison, is_signal, is_variant, wide};
use super::{Finding, Rule};

/// Checks one function marked `#[hdl_gen]`.
pub struct Kernel<'a> {
    pub findings: &'a mut Vec<Finding>,
    pub loops: Vec<String>,
}

impl Kernel<'_> {
    fn refuse(&mut self, rule: Rule, span: Span, note: impl Into<String>) {
        self.findings.push(Finding { rule, line: span.start().line, note: note.into() });
    }

    /// Refuses a wide operator whose surroundings reach into `expr`.
    fn narrow(&mut self, expr: &Expr, place: &str) {
        if let Some(span) = wide(expr) {
            self.refuse(Rule::WideResult, span, format!("{place}: put the result into a Local first"));
        }
    }

    /// An index or a shift's amount: a constant may be computed, a signal may not.
    fn amount(&mut self, expr: &Expr, place: &str) {
        if !self.constant(expr) {
            self.narrow(expr, place);
        }
    }

    /// Literals and loop variables only.
    fn constant(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Lit(_) => true,
            Expr::Path(path) => {
                path.path.get_ident().is_some_and(|name| self.loops.contains(&name.to_string()))
            }
            Expr::Paren(paren) => self.constant(&paren.expr),
            Expr::Binary(binary) => self.constant(&binary.left) && self.constant(&binary.right),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for Kernel<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        if is_comparison(&binary.op) {
            for side in [&binary.left, &binary.right] {
                self.narrow(side, "compared");
                if let Expr::Binary(inner) = &**side {
                    if is_bitwise(&inner.op) {
                        self.refuse(
                            Rule::Precedence,
                            inner.span(),
                            "put parentheses round the `&`, `|` or `^`",
                        );
                    }
                }
            }
        }
        match binary.op {
            BinOp::Shr(_) => {
                self.narrow(&binary.left, "shifted right");
                self.amount(&binary.right, "shift amount");
            }
            BinOp::Shl(_) => self.amount(&binary.right, "shift amount"),
            _ => {}
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        // The function's path and its widths are Rust's; only the arguments are translated.
        for argument in &call.args {
            self.narrow(argument, "cast");
            self.visit_expr(argument);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        match name.as_str() {
            "get_bit" | "get_bits" | "replace_bit" => {
                if !is_signal(&call.receiver) {
                    self.refuse(
                        Rule::SliceOfExpression,
                        call.span(),
                        format!("`{name}` of a plain signal only"),
                    );
                }
                if let Some(index) = call.args.first() {
                    self.amount(index, "index");
                }
            }
            "any" | "all" | "xor" => {
                if carries(&call.receiver) || (inverts(&call.receiver) && casts(&call.receiver)) {
                    self.refuse(
                        Rule::WideResult,
                        call.span(),
                        format!("`{name}`: put what it is of into a Local first"),
                    );
                }
                if name == "all" && casts(&call.receiver) {
                    self.refuse(Rule::AllOfCast, call.span(), "put what it is of into a Local first");
                }
            }
            _ => {}
        }
        // Not the method's type arguments: they are Rust's.
        self.visit_expr(&call.receiver);
        for argument in &call.args {
            self.visit_expr(argument);
        }
    }

    fn visit_expr_match(&mut self, item: &'ast syn::ExprMatch) {
        self.narrow(&item.expr, "matched");
        for arm in &item.arms {
            let refused = match &arm.pat {
                Pat::Ident(_) => true,
                Pat::Path(path) => !is_variant(&path.path),
                _ => false,
            };
            if refused {
                self.refuse(Rule::ConstPath, arm.pat.span(), "match on a literal or an enum's variant");
            }
            self.visit_expr(&arm.body);
        }
        self.visit_expr(&item.expr);
    }

    fn visit_expr_for_loop(&mut self, item: &'ast syn::ExprForLoop) {
        if let Pat::Ident(name) = &*item.pat {
            self.loops.push(name.ident.to_string());
        }
        // The bounds are Rust's.
        self.visit_block(&item.body);
        self.loops.pop();
    }

    fn visit_expr_index(&mut self, item: &'ast syn::ExprIndex) {
        if !self.constant(&item.index) {
            self.refuse(
                Rule::DynamicIndex,
                item.index.span(),
                "an array is a set of instances: loop and compare",
            );
        }
        let mut base = &*item.expr;
        loop {
            base = match base {
                Expr::Field(field) => &field.base,
                Expr::Paren(paren) => &paren.expr,
                Expr::Index(inner) => {
                    self.refuse(Rule::NestedArray, inner.span(), "only one index is translated");
                    break;
                }
                _ => break,
            };
        }
        self.visit_expr(&item.expr);
    }

    fn visit_expr_field(&mut self, item: &'ast syn::ExprField) {
        if let (Expr::Path(base), syn::Member::Named(name)) = (&*item.base, &item.member) {
            if base.path.is_ident("self") && self.loops.contains(&name.to_string()) {
                self.refuse(Rule::LoopVariable, item.span(), format!("`{name}` is the loop's variable too"));
            }
        }
        if let Expr::Field(base) = &*item.base {
            if matches!(&*base.base, Expr::MethodCall(_)) {
                self.refuse(
                    Rule::SliceOfExpression,
                    item.span(),
                    "a field of a field: copy the inner structure first",
                );
            }
        }
        if matches!(&*item.base, Expr::MethodCall(call) if call.method != "val") {
            self.refuse(Rule::SliceOfExpression, item.span(), "a field of a plain signal only");
        }
        visit::visit_expr_field(self, item);
    }

    fn visit_expr_path(&mut self, item: &'ast syn::ExprPath) {
        let known = item.path.get_ident().is_some_and(|name| {
            let name = name.to_string();
            name == "self" || self.loops.contains(&name)
        });
        if !known && !is_variant(&item.path) {
            self.refuse(Rule::ConstPath, item.span(), "use a Constant field: a name is pasted as it is");
        }
    }
}
