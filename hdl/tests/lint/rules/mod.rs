//! What RustHDL translates to something else than it says, found in the source before it is translated.
//!
//! RustHDL writes an expression to Verilog without its widths. Verilog then works out each operator in the width of
//! its surroundings, in which every literal and every cast counts as wide: a carry or an inverted high bit that
//! Rust has cut off is there again. So the result of an operator that can leave its width must go into a `Local`
//! before anything looks at more than its low bits.

mod expression;
mod kernel;

use std::fmt;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use viaduct_verilog::is_keyword;

use kernel::Kernel;

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
        // The fields of an interface have the port's name before their own.
        let hardware = item.attrs.iter().any(|attribute| {
            let mut found = false;
            if attribute.path().is_ident("derive") {
                let _ = attribute.parse_nested_meta(|meta| {
                    found |= meta.path.is_ident("LogicBlock");
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
