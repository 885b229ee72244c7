//! The ports of what is exported are those of docs/bring-up.md and docs/pcie.md, in both directions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use viaduct_hdl::export::{nic, products};

/// Ports by name: whether each is an input, and its bits.
type Ports = BTreeMap<String, (bool, usize)>;

/// The pages, in docs/.
const CORE: &str = "bring-up.md";
const ENDPOINT: &str = "pcie.md";

/// The ports that a module declares, a declaration a line.
fn declared(verilog: &str, module: &str) -> Ports {
    let module =
        verilog.split(&format!("module {module} ")).nth(1).and_then(|text| text.split("endmodule").next());
    let mut ports = Ports::new();
    for line in module.expect("the module is there").lines() {
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

/// The rows of the table of ports in a section of a page, as cells.
fn rows(page: &str, section: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = fs::read_to_string(path).expect("the page is there");
    let (_, section) = text.split_once(section).expect("the page has the section");
    let table =
        section.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|'));
    table.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The ports of a row: names, bits (of each, or one behind the other), and whether they are inputs.
fn ports(names: &str, bits: &str, is_input: bool) -> Ports {
    let names: Vec<&str> = names.split(", ").map(|name| name.trim_matches('`')).collect();
    let bits: Vec<usize> = match bits.strip_suffix(" each") {
        Some(bits) => vec![bits.parse().expect("a number of bits"); names.len()],
        None => bits.split(", ").map(|bits| bits.parse().expect("a number of bits")).collect(),
    };
    assert_eq!(names.len(), bits.len(), "{names:?}");
    names.iter().zip(bits).map(|(name, bits)| ((*name).to_owned(), (is_input, bits))).collect()
}

/// Which of two words a cell is: the first one.
fn is_first(cell: &str, words: [&str; 2]) -> bool {
    assert!(words.contains(&cell), "{cell:?} is none of {words:?}");
    cell == words[0]
}

/// The ports of the core.
fn core() -> Ports {
    let rows = rows(CORE, "## The ports of the top");
    rows.iter().flat_map(|row| ports(&row[0], &row[1], is_first(&row[2], ["in", "out"]))).collect()
}

/// The ports of what somebody else's link partner is put at.
fn product(module: &str) -> Ports {
    let (_, verilog) = products().into_iter().find(|(name, _)| *name == module).expect("it is exported");
    declared(&verilog, module)
}

/// The ports of the symbol seam, and those that a module has beside it.
fn at_the_seam(module: &str) -> Ports {
    let seam = rows(ENDPOINT, "## The symbol seam");
    let seam = seam.iter().flat_map(|row| ports(&row[0], &row[1], is_first(&row[2], ["endpoint", "phy"])));
    let beside = rows(ENDPOINT, "## A link partner of your own");
    let of = format!("`{module}`");
    let its = beside.iter().filter(|row| row[1] == "both" || row[1] == of);
    seam.chain(its.flat_map(|row| ports(&row[0], &row[2], is_first(&row[3], ["in", "out"])))).collect()
}

#[test]
fn the_top_has_the_ports_that_the_page_has() {
    assert_eq!(declared(&nic(), "top"), core());
}

#[test]
fn the_endpoint_has_the_seam_s_ports_and_those_of_the_edge_from_its_other_side() {
    let is_of_the_edge = |name: &str| {
        ["tlp_", "credit_", "cfg_"].iter().any(|start| name.starts_with(start))
            || ["function_reset_done", "link_down"].contains(&name)
    };
    let edge = core().into_iter().filter(|(name, _)| is_of_the_edge(name));
    let mut documented = at_the_seam("pcie_endpoint");
    documented.extend(edge.map(|(name, (is_input, bits))| (name, (!is_input, bits))));
    assert_eq!(product("pcie_endpoint"), documented);
}

#[test]
fn the_card_has_the_seam_s_ports_and_those_of_its_ethernet() {
    assert_eq!(product("card"), at_the_seam("card"));
}
