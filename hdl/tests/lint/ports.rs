//! The ports of the exported top are those of docs/bring-up.md, in both directions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use viaduct_hdl::export::nic;

/// Ports by name: whether each is an input, and its bits.
type Ports = BTreeMap<String, (bool, usize)>;

/// The ports that a module `top` declares, a declaration a line.
fn declared(verilog: &str) -> Ports {
    let top = verilog.split("module top").nth(1).and_then(|text| text.split("endmodule").next());
    let mut ports = Ports::new();
    for line in top.expect("there is a module top").lines() {
        let line = line.split("//").next().unwrap_or_default();
        let mut words = line
            .trim()
            .split(|c: char| c.is_whitespace() || ";,)".contains(c))
            .filter(|word| !word.is_empty());
        let is_input = match words.next() {
            Some("input") => true,
            Some("output") => false,
            _ => continue,
        };
        let (mut bits, mut name) = (1, "");
        for word in words {
            if let Some(high) = word.strip_prefix('[').and_then(|word| word.strip_suffix(":0]")) {
                bits = 1 + high.parse::<usize>().expect("a number of bits");
            }
            name = word;
        }
        ports.insert(name.to_owned(), (is_input, bits));
    }
    ports
}

/// The ports that the page's table has: `name`s, bits (of each, or one behind the other), way.
fn documented(page: &str) -> Ports {
    let (_, section) = page.split_once("## The ports of the top").expect("the page has the section");
    let mut ports = Ports::new();
    for row in
        section.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|'))
    {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let names: Vec<&str> = cells[1].split(", ").map(|name| name.trim_matches('`')).collect();
        let bits: Vec<usize> = match cells[2].strip_suffix(" each") {
            Some(bits) => vec![bits.parse().expect("a number of bits"); names.len()],
            None => cells[2].split(", ").map(|bits| bits.parse().expect("a number of bits")).collect(),
        };
        assert_eq!(names.len(), bits.len(), "{row}");
        assert!(["in", "out"].contains(&cells[3]), "{row}");
        ports.extend(
            names.iter().zip(bits).map(|(name, bits)| ((*name).to_owned(), (cells[3] == "in", bits))),
        );
    }
    ports
}

#[test]
fn the_top_has_the_ports_that_the_page_has() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bring-up.md");
    let documented = documented(&fs::read_to_string(page).unwrap());
    let exported = declared(&nic());
    assert_eq!(exported, documented);
}
