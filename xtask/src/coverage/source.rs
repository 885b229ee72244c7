//! The Verilog of one model, module by module.

use std::collections::BTreeMap;

/// A module: where it stands, and what it says.
#[derive(Debug)]
pub struct Module {
    /// Number of its first line, from 1.
    pub start: u32,
    /// Its text without its own path: RustHDL names each instance's module by the path to it, and two instances of one
    /// block differ in nothing else.
    pub text: String,
}

/// The modules of a Verilog text that RustHDL has written, by name.
pub fn modules(verilog: &str) -> BTreeMap<String, Module> {
    let mut modules = BTreeMap::new();
    let mut open: Option<(String, Module)> = None;
    for (number, line) in (1..).zip(verilog.lines()) {
        if let Some((name, _)) = line.strip_prefix("module ").and_then(|rest| rest.split_once('(')) {
            open = Some((name.to_owned(), Module { start: number, text: String::new() }));
        }
        if let Some((name, module)) = &mut open {
            module.text.push_str(&without(line, name));
            module.text.push('\n');
        }
        if line.starts_with("endmodule") {
            modules.extend(open.take());
        }
    }
    modules
}

/// The line with `path` taken out where it is a module's name or the start of one: the words that begin with it.
fn without(line: &str, path: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(path) {
        let (before, found) = rest.split_at(at);
        let after = &found[path.len()..];
        let whole = !before.ends_with(part) && !after.starts_with(|c| part(c) && c != '$');
        text.push_str(before);
        text.push_str(if whole { "" } else { path });
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_same_by_itself_and_inside() {
        let alone = "module top(a);\n  top$r r(.q(stop$q), .a(top_a));\nendmodule // top\n";
        let inside = "\nmodule x;\nendmodule\n".to_owned() + &alone.replace("top$r", "top$b$r");
        let inside = inside.replace("module top", "module top$b").replace("// top", "// top$b");
        let (alone, inside) = (modules(alone), modules(&inside));
        assert_eq!(alone["top"].text, inside["top$b"].text);
        assert!(alone["top"].text.contains(" $r r(.q(stop$q), .a(top_a));"), "{alone:?}");
        assert_eq!((alone["top"].start, inside["top$b"].start), (1, 4));
    }
}
