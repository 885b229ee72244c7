//! A part of a design as a design of its own.

use std::collections::BTreeMap;

/// The text that [`verilog`](crate::verilog) gives for the block at `path`, the names of the instances from `module top` on, taken out of
/// the text that it gave for a block around it; none if there is no such instance.
///
/// A module that both texts have is the same in both, except for the number behind its name where several modules have one name: then
/// the texts differ although the blocks do not.
pub fn part(verilog: &str, path: &[&str]) -> Option<String> {
    let modules = modules(verilog);
    let mut root = "top";
    for step in path {
        let mut inner = instances(modules.get(root)?, &modules);
        root = inner.find(|(_, instance)| instance == step)?.0;
    }
    let inner = modules
        .iter()
        .map(|(name, text)| (*name, instances(text, &modules).map(|(module, _)| module).collect()))
        .collect();
    let head = format!("module {root} (");
    let text = |name: &&str| match *name == root {
        true => modules[name].replacen(&head, "module top (", 1),
        false => modules[name].to_owned(),
    };
    Some(below(root, &inner).iter().map(text).collect::<Vec<_>>().join("\n"))
}

/// `root` and the modules below it, each where it is first used.
pub fn below<'a>(root: &'a str, inner: &BTreeMap<&'a str, Vec<&'a str>>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    let mut open = vec![root];
    while let Some(name) = open.pop() {
        if !all.contains(&name) {
            all.push(name);
            open.extend(inner.get(name).into_iter().flatten().rev());
        }
    }
    all
}

/// The modules by name, each with the comments before it.
fn modules(verilog: &str) -> BTreeMap<&str, &str> {
    let end = "\nendmodule\n";
    let mut all = BTreeMap::new();
    for part in verilog.split_inclusive(end) {
        let text = part.trim_start_matches("`default_nettype none").trim_start_matches('\n');
        let head = text.lines().find_map(|line| line.strip_prefix("module "));
        if let Some(name) = head.and_then(|head| head.strip_suffix(" (")) {
            all.insert(name, text);
        }
    }
    all
}

/// Module and name of each instance in a module's text.
fn instances<'a>(
    text: &'a str,
    modules: &BTreeMap<&'a str, &'a str>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let instance = |line: &'a str| line.strip_prefix("    ")?.strip_suffix(" (")?.split_once(' ');
    let known: Vec<&str> = modules.keys().copied().collect();
    text.lines().filter_map(instance).filter(move |(module, _)| known.contains(module))
}
