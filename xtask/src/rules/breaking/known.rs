//! What a file of hardware says of its functions: what has a value before, and what is true or false.

use super::place::{range, Source};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprAssign, Fields, Item, Lit, Member, UnOp};

/// What is assigned to, without `self` and `next`: `self.a.d.next.f` is `a`, `d`, `f`.
pub fn target(left: &Expr) -> Vec<String> {
    match left {
        Expr::Field(field) => {
            let mut path = target(&field.base);
            match &field.member {
                Member::Named(name) if name == "next" => {}
                member => path.push(member.to_token_stream().to_string()),
            }
            path
        }
        Expr::Index(index) => {
            let mut path = target(&index.expr);
            if let Some(last) = path.last_mut() {
                *last += &format!("[{}]", index.index.to_token_stream());
            }
            path
        }
        _ => Vec::new(),
    }
}

/// An assignment in a kernel: what to, and where it stands in which block.
struct Assigned {
    target: Vec<String>,
    at: usize,
    block: Range<usize>,
}

/// What is known of a file.
pub struct Known {
    /// Of each kernel: where it is, and its assignments. Registers keep their value by default.
    kernels: Vec<(Range<usize>, Vec<Assigned>)>,
    /// Type of each field, as tokens.
    fields: BTreeMap<String, String>,
}

impl Known {
    /// Of this file.
    pub fn of(source: &Source) -> Self {
        let kernels = source.kernels();
        let kernels = kernels.iter().map(|kernel| (range(*kernel), assigned(kernel))).collect();
        Self { kernels, fields: fields(source) }
    }

    /// Whether the same is assigned before, so that it has a value without this.
    pub fn has_default(&self, item: &ExprAssign) -> bool {
        let (target, at) = (target(&item.left), range(item).start);
        let kernel = self.kernels.iter().find(|(kernel, _)| kernel.contains(&at));
        kernel.is_some_and(|(_, assigned)| {
            assigned
                .iter()
                .any(|other| other.at < at && other.block.contains(&at) && target.starts_with(&other.target))
        })
    }

    /// A signal or register that is true or false.
    pub fn is_bool_field(&self, name: &str) -> bool {
        let name = name.split('[').next().unwrap_or_default();
        let kind = self.fields.get(name).map_or("", String::as_str);
        kind.ends_with(",bool>") || kind == "DFF<bool>"
    }

    /// What is true or false for sure, as far as this file says.
    pub fn is_bool(&self, item: &Expr) -> bool {
        match item {
            Expr::Paren(item) => self.is_bool(&item.expr),
            Expr::Unary(item) => matches!(item.op, UnOp::Not(_)) && self.is_bool(&item.expr),
            Expr::Lit(item) => matches!(item.lit, Lit::Bool(_)),
            Expr::Binary(item) => {
                compared(&item.op).is_some() || self.is_bool(&item.left) || self.is_bool(&item.right)
            }
            Expr::MethodCall(call) => match call.method.to_string().as_str() {
                "any" | "all" | "xor" | "get_bit" => true,
                "val" => {
                    let path = target(&call.receiver);
                    let plain = path.len() == 1 || path.get(1).is_some_and(|part| part == "q");
                    plain && path.len() <= 2 && self.is_bool_field(&path[0])
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// The constants that are as wide as this one, and others.
    pub fn others(&self, constant: &str) -> Vec<&str> {
        let kind = self.fields.get(constant).map_or("", String::as_str);
        let width = kind.strip_prefix("Number<").and_then(|kind| kind.split_once(','));
        let Some((width, _)) = width else { return Vec::new() };
        let alike = format!("Number<{width},");
        let others = self.fields.iter().filter(|(_, other)| other.starts_with(&alike) && *other != kind);
        others.map(|(other, _)| other.as_str()).collect()
    }
}

fn fields(source: &Source) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in &source.syntax.items {
        if let Item::Struct(item) = item {
            if let Fields::Named(fields) = &item.fields {
                let field = |field: &syn::Field| {
                    let words = field.ty.to_token_stream().to_string();
                    Some((field.ident.as_ref()?.to_string(), words.replace(' ', "")))
                };
                found.extend(fields.named.iter().filter_map(field));
            }
        }
    }
    found
}

/// What `drive!` or `fill!` of `hdl/dialect` assigns: the words behind each arrow, and before those the bundle of `fill!`.
fn wired(item: &syn::Macro) -> Vec<Vec<String>> {
    let words = item.tokens.to_string().replace(' ', "");
    let Some((_, groups)) = words.split_once(',') else { return Vec::new() };
    let path = |words: &str| words.split('.').map(str::to_owned).collect::<Vec<_>>();
    let (head, groups) = match item.path.is_ident("fill") {
        true => groups.split_once(',').map_or((Vec::new(), ""), |(head, groups)| (path(head), groups)),
        false => (Vec::new(), groups),
    };
    let targets =
        groups.split(';').filter_map(|group| group.split_once("=>")).flat_map(|(_, to)| to.split(','));
    targets.map(|target| [head.clone(), path(target)].concat()).collect()
}

/// The assignments of a kernel; `dff_setup!` has one to each of its registers.
fn assigned(kernel: &Block) -> Vec<Assigned> {
    struct Finder {
        blocks: Vec<Range<usize>>,
        found: Vec<Assigned>,
    }
    impl Finder {
        fn add(&mut self, target: Vec<String>, at: usize) {
            let block = self.blocks.last().cloned().unwrap_or_default();
            self.found.push(Assigned { target, at, block });
        }
    }
    impl Visit<'_> for Finder {
        fn visit_block(&mut self, block: &Block) {
            self.blocks.push(range(block));
            visit::visit_block(self, block);
            self.blocks.pop();
        }
        fn visit_expr_assign(&mut self, item: &ExprAssign) {
            self.add(target(&item.left), range(item).start);
        }
        fn visit_macro(&mut self, item: &syn::Macro) {
            if item.path.is_ident("dff_setup") {
                let words = item.tokens.to_string();
                let names = words.split(',').skip(2).map(|name| name.trim().to_owned());
                names.for_each(|name| self.add(vec![name, "d".into()], range(item).start));
            }
            if item.path.is_ident("drive") || item.path.is_ident("fill") {
                wired(item).into_iter().for_each(|target| self.add(target, range(item).start));
            }
        }
    }
    let mut finder = Finder { blocks: Vec::new(), found: Vec::new() };
    finder.visit_block(kernel);
    finder.found
}

/// The comparison that tells the opposite.
pub fn compared(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => ">=",
        BinOp::Ge(_) => "<",
        BinOp::Gt(_) => "<=",
        BinOp::Le(_) => ">",
        _ => return None,
    })
}
