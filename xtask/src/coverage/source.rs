//! The Verilog of one model, module by module, and where each stands in it.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A module: where it stands, and what it says.
#[derive(Debug)]
pub struct Module {
    /// Number of its first line, from 1.
    pub start: u32,
    /// Its text without its name, and with the texts of the modules in it in place of their names: a block has other names by itself
    /// than in the NIC, and differs in nothing else.
    pub text: String,
}

/// The modules of a Verilog text, by name.
pub fn modules(verilog: &str) -> BTreeMap<String, Module> {
    let raw = raw(verilog);
    let mut texts = BTreeMap::new();
    raw.keys().for_each(|name| canonical(name, &raw, &mut texts));
    let module = |(name, (start, _)): (&&str, &(u32, Vec<&str>))| {
        let text = texts.get(*name).cloned().unwrap_or_default();
        ((*name).to_owned(), Module { start: *start, text })
    };
    raw.iter().map(module).collect()
}

/// Every instance in `module top` and below, by its path: the names of the instances on the way. `top` itself has none.
pub fn instances(verilog: &str) -> BTreeMap<String, String> {
    let raw = raw(verilog);
    let mut all = BTreeMap::new();
    let mut open = vec![(String::new(), "top")];
    while let Some((path, name)) = open.pop() {
        let lines = raw.get(name).map_or(&[][..], |(_, lines)| lines);
        for (module, instance) in lines.iter().filter_map(|line| instance(line, &raw)) {
            let dot = if path.is_empty() { "" } else { "." };
            open.push((format!("{path}{dot}{instance}"), module));
        }
        all.insert(path, name.to_owned());
    }
    all
}

/// First line and lines of each module.
type Raw<'a> = BTreeMap<&'a str, (u32, Vec<&'a str>)>;

fn raw(verilog: &str) -> Raw<'_> {
    let mut modules = Raw::new();
    let mut open: Option<(&str, (u32, Vec<&str>))> = None;
    for (number, line) in (1..).zip(verilog.lines()) {
        if let Some((name, _)) = line.strip_prefix("module ").and_then(|rest| rest.split_once('(')) {
            open = Some((name.trim(), (number, Vec::new())));
        }
        if let Some((_, (_, lines))) = &mut open {
            lines.push(line);
        }
        if line.starts_with("endmodule") {
            modules.extend(open.take());
        }
    }
    modules
}

/// The module and the name of the instance that a line begins: `module instance(`.
fn instance<'a>(line: &'a str, raw: &Raw<'_>) -> Option<(&'a str, &'a str)> {
    let (module, rest) = line.trim_start().split_once(' ')?;
    let (instance, _) = rest.split_once('(')?;
    raw.contains_key(module).then_some((module, instance.trim()))
}

/// The text of a module, with those below it, into `texts`.
fn canonical<'a>(name: &'a str, raw: &Raw<'a>, texts: &mut BTreeMap<&'a str, String>) {
    let Some((_, lines)) = raw.get(name).filter(|_| !texts.contains_key(name)) else { return };
    let mut text = String::new();
    for line in lines {
        if let Some(rest) = line.strip_prefix("module ") {
            text += "module ";
            text += rest.trim_start_matches(name).trim_start();
        } else if line.starts_with("endmodule") {
            text += "endmodule";
        } else if let Some((module, _)) = instance(line, raw) {
            canonical(module, raw, texts);
            let below = Sha256::digest(texts.get(module).map_or("", String::as_str));
            let below: String = below[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            text += &line.replacen(module, &below, 1);
        } else {
            text += line;
        }
        text.push('\n');
    }
    texts.insert(name, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_same_by_itself_and_inside() {
        let alone = "module top(a);\n  top$r r(.q(stop$q), .a(top_a));\nendmodule // top\n\
                     module top$r(q);\n  reg q;\nendmodule // top$r\n";
        let inside = "\nmodule x;\nendmodule\n".to_owned() + &alone.replace("top", "top$b");
        let inside = inside.replace("stop$b", "stop").replace("top$b_a", "top_a");
        let (alone, inside) = (modules(alone), modules(&inside));
        assert_eq!(alone["top"].text, inside["top$b"].text);
        assert_eq!((alone["top"].start, inside["top$b"].start), (1, 4));
    }

    #[test]
    fn a_module_is_known_by_what_it_says_and_not_by_its_name() {
        let text = |fifo: &str, body: &str| {
            format!("module top (\n    input wire a\n);\n    {fifo} words (\n        .a(a)\n    );\nendmodule\nmodule {fifo} (\n    {body}\n);\nendmodule\n")
        };
        let (one, other) = (modules(&text("fifo", "input a")), modules(&text("fifo_2", "input a")));
        assert_eq!(one["top"].text, other["top"].text);
        assert_eq!(one["fifo"].text, other["fifo_2"].text);
        assert_ne!(one["top"].text, modules(&text("fifo", "input b"))["top"].text);
    }

    #[test]
    fn instances_have_their_paths() {
        let text = "module top(a);\n  b one(.a(a));\n  b two (\n  );\nendmodule\nmodule b(a);\n  c in(.a(a));\nendmodule\nmodule c(a);\nendmodule\n";
        let all = instances(text);
        let all: Vec<(&str, &str)> = all.iter().map(|(path, name)| (path.as_str(), name.as_str())).collect();
        assert_eq!(all, [("", "top"), ("one", "b"), ("one.in", "c"), ("two", "b"), ("two.in", "c")]);
    }
}
