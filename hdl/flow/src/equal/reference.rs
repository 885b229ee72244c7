//! What RustHDL's own writer gives, without two faults of it.
//!
//! - A link of an interface that is one signal has names that end in `$`, which nothing declares: `all$ = part$;`.
//! - A port of a block inside that is linked to one of the block's own ports is joined to that port, and has no wire of its own name.
//!   A statement that reads the inner port's name reads a wire that nothing drives.
//!
//! In either case RustHDL's tree says what is meant: the name without the mark, and the port that the link joins.

use std::collections::BTreeMap;

use viaduct_verilog::with_other_words;

/// The text with these names mended.
pub fn mended(verilog: &str) -> String {
    verilog.split_inclusive("endmodule").map(|module| renamed(module, &linked(module))).collect()
}

/// Of each port of a block inside that is joined to a wire of another name: its own name, and that wire's.
fn linked(module: &str) -> BTreeMap<String, &str> {
    let mut found = BTreeMap::new();
    let mut inside = None;
    for line in module.lines().map(str::trim) {
        if let Some((port, wire)) = line.strip_prefix('.').and_then(|line| line.split_once('(')) {
            let (Some(block), Some((wire, _))) = (inside, wire.split_once(')')) else { continue };
            let own = format!("{block}${port}");
            if own != wire {
                found.insert(own, wire);
            }
        } else {
            inside = line.strip_suffix('(').and_then(|line| line.split_whitespace().nth(1));
        }
    }
    found
}

/// The module with other names for these, and without marks at the ends of names.
fn renamed(module: &str, names: &BTreeMap<String, &str>) -> String {
    with_other_words(module, |word| {
        let name = word.trim_end_matches('$');
        Some((*names.get(name).unwrap_or(&name)).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nothing_declares_are_those_that_are_meant() {
        let module = "module top(out$valid,lost);\n    top$inner inner(\n        .a(inner$a),\n        \
                      .all$valid(out$valid)\n    );\n    always @(*) lost$ = inner$lost$;\n    \
                      always @(*) seen = inner$all$valid & inner$a;\nendmodule";
        let mended = mended(module);
        assert!(mended.contains("lost = inner$lost;"), "{mended}");
        assert!(mended.contains("seen = out$valid & inner$a;"), "{mended}");
        assert!(mended.contains(".all$valid(out$valid)"), "{mended}");
        assert!(mended.contains("module top(out$valid,lost);"), "{mended}");
    }

    #[test]
    fn a_name_of_another_module_is_left_alone() {
        let other = "module a();\n    b x(\n        .p(q)\n    );\nendmodule\nmodule c();\nassign y = x$p;\nendmodule\n";
        assert_eq!(mended(other), other);
    }
}
