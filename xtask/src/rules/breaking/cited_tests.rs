//! The tests that cite a rule, by their programs: those that run the RTL.

use crate::project;
use crate::rules::{Citation, Id, Who};
use anyhow::{ensure, Context, Result};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::path::Path;
use syn::spanned::Spanned;
use syn::{Item, ItemFn};

/// Programs that run the RTL of a block, or of the NIC.
const BLOCKS: &str = "viaduct-hdl::";
const STACK: &str = "viaduct-tests::suite";

/// A test: its program as nextest names it, and its own name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The program.
    pub program: String,
    /// The name.
    pub name: String,
}

impl std::fmt::Display for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.program, self.name)
    }
}

impl Test {
    /// It runs the RTL of a block alone.
    pub fn is_of_a_block(&self) -> bool {
        self.program.starts_with(BLOCKS)
    }
}

/// The tests that these citations are at, by rule, those of blocks first.
///
/// # Errors
/// A citation is at no test.
pub fn tests(root: &Path, cited: &[&Citation]) -> Result<BTreeMap<Id, Vec<Test>>> {
    let mut files = BTreeMap::<&str, Vec<&Citation>>::new();
    for citation in cited.iter().filter(|citation| citation.who == Who::Test) {
        files.entry(&citation.file).or_default().push(citation);
    }
    let mut found = BTreeMap::<Id, Vec<Test>>::new();
    for (file, cited) in files {
        let Some((program, module)) = program(file) else { continue };
        let text = project::read(&root.join(file))?;
        let syntax = syn::parse_file(&text).with_context(|| file.to_owned())?;
        for Citation { id, line, .. } in cited {
            let names = names(&text, &syntax, *line);
            ensure!(!names.is_empty(), "{file}:{line}: {id} is cited at no test");
            let name = |name: String| [module.as_str(), &name].join("::").trim_start_matches("::").to_owned();
            let tests = names.into_iter().map(|it| Test { program: program.clone(), name: name(it) });
            found.entry(id.clone()).or_default().extend(tests);
        }
    }
    for tests in found.values_mut() {
        tests.sort_by_key(|test| (!test.is_of_a_block(), test.clone()));
        tests.dedup();
    }
    Ok(found)
}

/// The program that a file is part of, and its module there; none if that is no program that runs the RTL.
fn program(file: &str) -> Option<(String, String)> {
    let (program, path) = match file.strip_prefix("hdl/tests/") {
        Some(rest) => rest.split_once('/').map(|(name, path)| (format!("{BLOCKS}{name}"), path))?,
        None => (STACK.to_owned(), file.strip_prefix("tests/tests/")?),
    };
    let module = Path::new(path).with_extension("");
    let mut parts: Vec<String> = module.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "main") {
        parts.pop();
    }
    Some((program, parts.join("::")))
}

/// The tests of a file that what stands in this line is about, by their names inside it.
fn names(text: &str, file: &syn::File, line: usize) -> Vec<String> {
    let whole = text.lines().nth(line - 1).is_some_and(|words| words.trim_start().starts_with("//!"));
    if whole {
        all(&file.items, "")
    } else {
        at(&file.items, line, "")
    }
}

/// The tests of the item in this line, or of the next one; of what is no test, those that name it.
fn at(items: &[Item], line: usize, module: &str) -> Vec<String> {
    let Some(item) = items.iter().find(|item| item.span().end().line >= line) else { return Vec::new() };
    match item {
        Item::Mod(inner) if inner.span().start().line < line => {
            let items = inner.content.as_ref().map_or(&[][..], |(_, items)| items);
            at(items, line, &format!("{module}{}::", inner.ident))
        }
        Item::Fn(function) if is_test(function) => vec![format!("{module}{}", function.sig.ident)],
        Item::Fn(helper) => {
            let name = helper.sig.ident.to_string();
            let mentions = |function: &&ItemFn| {
                let words = function.block.to_token_stream().to_string();
                words.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
            };
            tests_in(items).filter(mentions).map(|test| format!("{module}{}", test.sig.ident)).collect()
        }
        _ => all(items, module),
    }
}

/// All tests, those of modules in this file included.
fn all(items: &[Item], module: &str) -> Vec<String> {
    let mut found: Vec<String> = tests_in(items).map(|test| format!("{module}{}", test.sig.ident)).collect();
    for item in items {
        if let Item::Mod(inner) = item {
            let items = inner.content.as_ref().map_or(&[][..], |(_, items)| items);
            found.extend(all(items, &format!("{module}{}::", inner.ident)));
        }
    }
    found
}

fn tests_in(items: &[Item]) -> impl Iterator<Item = &ItemFn> {
    items.iter().filter_map(|item| match item {
        Item::Fn(function) if is_test(function) => Some(function),
        _ => None,
    })
}

fn is_test(function: &ItemFn) -> bool {
    function.attrs.iter().any(|attribute| attribute.path().is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_module_of_its_program() {
        let program = |file: &str| program(file).unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(program("hdl/tests/receive/path/mod.rs"), pair("viaduct-hdl::receive", "path"));
        assert_eq!(program("hdl/tests/mac/main.rs"), pair("viaduct-hdl::mac", ""));
        assert_eq!(program("tests/tests/reads/lost.rs"), pair("viaduct-tests::suite", "reads::lost"));
        assert_eq!(super::program("sim/src/model/tests/cq.rs"), None);
    }

    #[test]
    fn what_cites_a_rule_is_a_test_or_helps_some() {
        let text = "//! AB-1\n/// AB-2\n#[test]\nfn one() { helper(); }\n// AB-3\nfn helper() {}\n\
                    #[test]\nfn two() {\n    // AB-4\n    no_helper();\n}\nmod inner {\n    /// AB-5\n    #[test]\n    fn three() {}\n}\n";
        let at = |words: &str| {
            let line = 1 + text.lines().position(|line| line.contains(words)).unwrap();
            names(text, &syn::parse_file(text).unwrap(), line)
        };
        assert_eq!(at("AB-1"), ["one", "two", "inner::three"]);
        assert_eq!(at("AB-2"), ["one"]);
        assert_eq!(at("AB-3"), ["one"]);
        assert_eq!(at("AB-4"), ["two"]);
        assert_eq!(at("AB-5"), ["inner::three"]);
    }
}
