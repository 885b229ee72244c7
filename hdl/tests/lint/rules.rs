//! What RustHDL translates to something else than it says, found in the source before it is translated.
//!
//! RustHDL writes an expression to Verilog without its widths. Verilog then works out each operator in the width of
//! its surroundings, in which every literal and every cast counts as wide: a carry or an inverted high bit that
//! Rust has cut off is there again. So the result of an operator that can leave its width must go into a `Local`
//! before anything looks at more than its low bits.

use std::fmt;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, Pat, UnOp};

use crate::keywords::is_keyword;

/// Why a place is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `+ - * << !` compared, cast, shifted right, reduced or used as an index without a `Local`.
    WideResult,
    /// `& | ^` beside a comparison without parentheses: they bind the other way round in Verilog.
    Precedence,
    /// `.all()` of something with a literal or a cast in it: its width in Verilog is not its width in Rust.
    AllOfCast,
    /// A bit, slice or field of something that is not a plain signal.
    SliceOfExpression,
    /// More than one array index in a path: only the first is translated.
    NestedArray,
    /// An array index that is not a constant.
    DynamicIndex,
    /// A constant's name used as a value: it is pasted as it is.
    ConstPath,
    /// A signal with the name of a loop variable: it becomes the number.
    LoopVariable,
    /// A signal with the name of a Verilog or SystemVerilog keyword.
    Keyword,
    /// Hand-written Verilog outside the memories.
    CustomVerilog,
}

/// One refused place.
#[derive(Debug)]
pub struct Finding {
    /// Why.
    pub rule: Rule,
    /// Line in the source.
    pub line: usize,
    /// More about it.
    pub note: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: {}", self.line, self.rule, self.note)
    }
}

/// Everything refused in one source file.
pub fn check(source: &str) -> syn::Result<Vec<Finding>> {
    let mut file = File::default();
    file.visit_file(&syn::parse_file(source)?);
    Ok(file.findings)
}

/// Looks for hardware in a file: structs that become modules, and functions that become Verilog.
#[derive(Default)]
struct File {
    findings: Vec<Finding>,
}

impl<'ast> Visit<'ast> for File {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let hardware = item.attrs.iter().any(|attribute| {
            let mut found = false;
            if attribute.path().is_ident("derive") {
                let _ = attribute.parse_nested_meta(|meta| {
                    found |= meta.path.is_ident("LogicBlock") || meta.path.is_ident("LogicInterface");
                    Ok(())
                });
            }
            found
        });
        for name in item.fields.iter().filter_map(|field| field.ident.as_ref()) {
            if hardware && is_keyword(&name.to_string()) {
                self.findings.push(Finding {
                    rule: Rule::Keyword,
                    line: name.span().start().line,
                    note: format!("`{name}` is a keyword"),
                });
            }
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.attrs.iter().any(|a| a.path().is_ident("hdl_gen")) {
            let mut kernel = Kernel { findings: &mut self.findings, loops: Vec::new() };
            kernel.visit_block(&item.block);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if names.len() >= 2
            && names[names.len() - 2] == "Verilog"
            && matches!(names[names.len() - 1].as_str(), "Custom" | "Wrapper" | "Blackbox")
        {
            self.findings.push(Finding {
                rule: Rule::CustomVerilog,
                line: path.span().start().line,
                note: "Verilog by hand".into(),
            });
        }
        visit::visit_path(self, path);
    }
}

/// Checks one function marked `#[hdl_gen]`.
struct Kernel<'a> {
    findings: &'a mut Vec<Finding>,
    loops: Vec<String>,
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

/// `Enum::Variant`: at least two segments, the last not all capitals.
fn is_variant(path: &syn::Path) -> bool {
    path.segments.len() >= 2
        && path.segments.last().is_some_and(|last| last.ident.to_string().chars().any(char::is_lowercase))
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

fn is_bitwise(op: &BinOp) -> bool {
    matches!(op, BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_))
}

/// `self.a.b[i].val()`.
fn is_signal(expr: &Expr) -> bool {
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
fn wide(expr: &Expr) -> Option<Span> {
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
fn carries(expr: &Expr) -> bool {
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
fn inverts(expr: &Expr) -> bool {
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
fn casts(expr: &Expr) -> bool {
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
