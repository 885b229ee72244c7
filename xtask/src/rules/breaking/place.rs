//! What a comment in the source of the hardware stands at: statements of an `update`.
//!
//! | the comment | what it cites |
//! |---|---|
//! | `//` on a line of its own | the statements behind it, up to a blank line or the next comment, the nearest first; and the block, if it heads one |
//! | `//` behind code | that statement |
//! | `///` at a field | the assignments to that field |
//! | `//!`, `///` at anything else | all statements of the file |

use anyhow::{Context, Result};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, ExprIf, ImplItemFn, Item, Stmt};

/// A statement, or what heads the block that the comment does.
#[derive(Clone, Copy)]
pub enum Code<'a> {
    /// A statement.
    Statement(&'a Expr),
    /// The comment heads the first block of this `if`.
    Then(&'a ExprIf),
    /// The comment heads the block behind this `else`.
    Otherwise(&'a ExprIf),
    /// The comment heads what this arm of a `match` does.
    Arm(&'a Arm),
}

/// A statement, and how far it is from the comment: 0 is the next one.
pub type Cited<'a> = (Code<'a>, usize);

/// A file of hardware.
pub struct Source<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its syntax.
    pub syntax: syn::File,
}

/// The functions that RustHDL translates.
#[derive(Default)]
struct Kernels<'a>(Vec<&'a Block>);

impl<'a> Visit<'a> for Kernels<'a> {
    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        if function.attrs.iter().any(|attribute| attribute.path().is_ident("hdl_gen")) {
            self.0.push(&function.block);
        }
    }
}

/// Where something stands in its file.
pub fn range(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

impl<'a> Source<'a> {
    /// Reads the text.
    ///
    /// # Errors
    /// It is no Rust.
    pub fn new(text: &'a str) -> Result<Self> {
        Ok(Self { text, syntax: syn::parse_file(text).context("this is no Rust")? })
    }

    /// The functions that RustHDL translates.
    pub fn kernels(&self) -> Vec<&Block> {
        let mut kernels = Kernels::default();
        kernels.visit_file(&self.syntax);
        kernels.0
    }

    /// What the comment in this line (from 1) cites.
    pub fn cited(&self, line: usize) -> Vec<Cited<'_>> {
        let start: usize = self.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let this = self.text[start..].lines().next().unwrap_or_default();
        let at = start + this.find("//").unwrap_or_default();
        let kernels = self.kernels();
        if let Some(kernel) = kernels.iter().find(|kernel| range(*kernel).contains(&at)) {
            return self.in_block(kernel, at, None);
        }
        let field = self.field(at);
        let mut all = Assignments { field, found: Vec::new() };
        kernels.iter().for_each(|kernel| all.visit_block(kernel));
        all.found.into_iter().map(|assignment| (Code::Statement(assignment), 0)).collect()
    }

    /// The field that a comment is at.
    fn field(&self, at: usize) -> Option<String> {
        let fields = self.syntax.items.iter().filter_map(|item| match item {
            Item::Struct(item) => Some(&item.fields),
            _ => None,
        });
        let field = fields.flatten().find(|field| range(*field).contains(&at))?;
        Some(field.ident.as_ref()?.to_string())
    }

    /// What a comment inside this block cites; `head`: what the block belongs to.
    fn in_block<'b>(&self, block: &'b Block, at: usize, head: Option<Code<'b>>) -> Vec<Cited<'b>> {
        if let Some(around) = block.stmts.iter().find(|statement| range(*statement).contains(&at)) {
            let inner = expression(around).and_then(|statement| self.inside(statement, at));
            return inner.unwrap_or_else(|| alone(around));
        }
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        if !self.text[line..at].trim().is_empty() {
            let before = block.stmts.iter().rev().find(|statement| range(*statement).end <= at);
            return before.map(alone).unwrap_or_default();
        }
        let mut found: Vec<Cited> = Vec::new();
        let mut end = at;
        for statement in block.stmts.iter().filter(|statement| range(*statement).start > at) {
            let between = &self.text[end..range(statement).start];
            if !found.is_empty() && (between.contains("//") || between.matches('\n').count() > 1) {
                break;
            }
            end = range(statement).end;
            let distance = found.len();
            found.extend(expression(statement).map(|statement| (Code::Statement(statement), distance)));
        }
        let heads = block.stmts.first().is_none_or(|first| range(first).start > at);
        found.extend(head.filter(|_| heads).map(|head| (head, 1)));
        found
    }

    /// The same of a comment inside a statement, if it is in one of its blocks.
    fn inside<'b>(&self, statement: &'b Expr, at: usize) -> Option<Vec<Cited<'b>>> {
        match statement {
            Expr::If(item) => {
                if range(&item.then_branch).contains(&at) {
                    return Some(self.in_block(&item.then_branch, at, Some(Code::Then(item))));
                }
                match item.else_branch.as_ref().map(|(_, branch)| &**branch) {
                    Some(Expr::Block(branch)) if range(branch).contains(&at) => {
                        Some(self.in_block(&branch.block, at, Some(Code::Otherwise(item))))
                    }
                    Some(other) => self.inside(other, at),
                    None => None,
                }
            }
            Expr::Match(item) => {
                // Between two arms it is at the one behind it.
                let arm = item.arms.iter().find(|arm| range(*arm).end > at)?;
                match &*arm.body {
                    Expr::Block(body) if range(body).contains(&at) => {
                        Some(self.in_block(&body.block, at, Some(Code::Arm(arm))))
                    }
                    _ => Some(vec![(Code::Arm(arm), 0)]),
                }
            }
            Expr::ForLoop(item) if range(&item.body).contains(&at) => {
                Some(self.in_block(&item.body, at, None))
            }
            Expr::Block(item) => Some(self.in_block(&item.block, at, None)),
            _ => None,
        }
    }
}

fn alone(statement: &Stmt) -> Vec<Cited<'_>> {
    expression(statement).map(|statement| (Code::Statement(statement), 0)).into_iter().collect()
}

/// A statement that says what the hardware does.
pub fn expression(statement: &Stmt) -> Option<&Expr> {
    match statement {
        Stmt::Expr(expression, _) => Some(expression),
        _ => None,
    }
}

/// All assignments, or those to one field.
struct Assignments<'a> {
    field: Option<String>,
    found: Vec<&'a Expr>,
}

impl<'a> Visit<'a> for Assignments<'a> {
    fn visit_expr(&mut self, item: &'a Expr) {
        if let Expr::Assign(assignment) = item {
            let target = super::known::target(&assignment.left);
            let meant = |field: &String| target.first() == Some(field);
            if self.field.as_ref().is_none_or(meant) {
                self.found.push(item);
            }
        }
        visit::visit_expr(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = r#"//! Contract: AB-9.
/// A block.
struct X {
    /// Which, by AB-8.
    pub which: Signal<Out, bool>,
    pub other: Signal<Out, bool>,
}
impl Logic for X {
    #[hdl_gen]
    fn update(&mut self) {
        self.which.next = false;
        // AB-1: two of them.
        // And more words.
        self.a.next = true;
        self.b.next = true;
        // Not this.
        self.c.next = true;
        // AB-2: one.
        self.d.next = true;

        self.e.next = true; // AB-3
        if self.f.val() {
            // AB-4: when.
            self.g.next = true;
        } else if self.h.val() {
            self.i.next = true;
            // AB-5: in the middle.
            self.j.next = true;
        } else {
            // AB-6: otherwise.
            self.other.next = true;
        }
        match self.k.val() {
            // AB-7: an arm.
            State::One => {
                self.l.next = true;
            }
            _ => {
                // AB-10: another.
                self.which.next = true;
            }
        }
    }
    fn not_hardware() {
        let x = 1;
    }
}
"#;

    /// What the comment with these words cites: each with its distance.
    fn cited(words: &str) -> Vec<(String, usize)> {
        let source = Source::new(BLOCK).unwrap();
        let line = 1 + BLOCK.lines().position(|line| line.contains(words)).unwrap();
        let first = |range: Range<usize>| BLOCK[range].lines().next().unwrap().to_owned();
        let text = |code: &Code| match code {
            Code::Statement(statement) => first(range(*statement)),
            Code::Then(item) => format!("then of {}", first(range(&*item.cond))),
            Code::Otherwise(item) => format!("else of {}", first(range(&*item.cond))),
            Code::Arm(arm) => first(range(*arm)),
        };
        source.cited(line).iter().map(|(code, distance)| (text(code), *distance)).collect()
    }

    #[test]
    fn a_comment_stands_at_the_statements_behind_it() {
        let at = |text: &str, distance| (text.to_owned(), distance);
        assert_eq!(cited("AB-1:"), [at("self.a.next = true", 0), at("self.b.next = true", 1)]);
        assert_eq!(cited("AB-2:"), [at("self.d.next = true", 0)]);
        assert_eq!(cited("AB-3"), [at("self.e.next = true", 0)]);
        assert_eq!(cited("AB-5:"), [at("self.j.next = true", 0)]);
    }

    #[test]
    fn a_comment_that_heads_a_block_cites_when_it_is_done() {
        let at = |text: &str, distance| (text.to_owned(), distance);
        assert_eq!(cited("AB-4:"), [at("self.g.next = true", 0), at("then of self.f.val()", 1)]);
        assert_eq!(cited("AB-6:"), [at("self.other.next = true", 0), at("else of self.h.val()", 1)]);
        assert_eq!(cited("AB-7:"), [at("State::One => {", 0)]);
        assert_eq!(cited("AB-10:"), [at("self.which.next = true", 0), at("_ => {", 1)]);
    }

    #[test]
    fn documentation_cites_the_block_or_a_field() {
        assert_eq!(cited("AB-9").len(), 12);
        let which = ["self.which.next = false", "self.which.next = true"];
        assert_eq!(cited("AB-8").iter().map(|it| it.0.as_str()).collect::<Vec<_>>(), which);
    }
}
