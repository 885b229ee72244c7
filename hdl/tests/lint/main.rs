//! Refuses, in all of the HDL source, what RustHDL is known to translate wrongly without a word.

mod names;
mod ports;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use rules::{check, Rule};

/// The only places where Verilog is written by hand: memories, whose inference and attributes RustHDL cannot say, and
/// cells of the FPGA that it cannot infer, and the crossing, which is random in Verilator.
const BY_HAND: [&str; 9] = [
    "board/pad.rs",
    "board/pll.rs",
    "clocks/crossing.rs",
    "mac/ddr.rs",
    "mac/pad_delay.rs",
    "pcie/phy/dcu.rs",
    "prims/bit_ram.rs",
    "prims/lut_ram.rs",
    "prims/ram.rs",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn all_hardware_is_clean() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 10, "the source was not found");
    let mut refused = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let findings = check(&fs::read_to_string(&path).unwrap()).unwrap();
        refused.extend(
            findings
                .iter()
                .filter(|f| f.rule != Rule::CustomVerilog || !BY_HAND.contains(&name.as_str()))
                .map(|finding| format!("src/{name}:{finding}")),
        );
    }
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

/// The rules that a body of `update` breaks.
fn broken(body: &str) -> Vec<Rule> {
    let source = format!("impl Logic for X {{ #[hdl_gen] fn update(&mut self) {{ {body} }} }}");
    check(&source).unwrap().iter().map(|f| f.rule).collect()
}

#[test]
fn refuses_what_is_translated_wrongly() {
    use Rule::*;
    let cases = [
        // The six silent mismatches that were measured.
        (Precedence, "self.x.next = self.a.val() & 3 == 1;"),
        (WideResult, "self.x.next = bit_cast::<16, 8>(self.a.val() + self.b.val());"),
        (WideResult, "self.x.next = !self.a.val() == bits::<8>(0xF0);"),
        (WideResult, "self.x.next = self.a.val() + self.b.val() == bits::<8>(4);"),
        (WideResult, "self.x.next = self.a.val() + 1 == self.b.val();"),
        (WideResult, "self.x.next = self.a.val() - self.b.val() < bits::<8>(4);"),
        // The same through parentheses, other operators and other surroundings.
        (WideResult, "if (self.a.val() | !self.b.val()) == bits::<8>(4) { }"),
        (WideResult, "self.x.next = bit_cast::<16, 8>(!self.a.val());"),
        (WideResult, "self.x.next = bit_cast::<16, 8>((self.a.val() << 1) | self.b.val());"),
        (WideResult, "self.x.next = (self.a.val() + 1) >> 1;"),
        (WideResult, "self.x.next = self.a.val() >> (self.b.val() + 1);"),
        (WideResult, "self.x.next = self.a.val().get_bit(self.b.val() + 1);"),
        (WideResult, "self.x.next = (self.a.val() + 1).any();"),
        (WideResult, "self.x.next = (!self.a.val() | bits::<8>(1)).any();"),
        (WideResult, "match (self.a.val() + 1).index() { 0 => { } _ => { } }"),
        (WideResult, "self.x.next = self.a.val().replace_bit(0, true) == self.b.val();"),
        (Precedence, "if self.a.val() == self.b.val() | self.c.val() { }"),
        (Precedence, "if self.a.val() ^ self.b.val() < self.c.val() { }"),
        (AllOfCast, "self.x.next = bit_cast::<4, 8>(self.a.val()).all();"),
        (AllOfCast, "self.x.next = (self.a.val() | bits::<8>(1)).all();"),
        (SliceOfExpression, "self.x.next = self.a.val().get_bits::<8>(16).get_bit(2);"),
        (SliceOfExpression, "self.x.next = (self.a.val() & self.b.val()).get_bits::<2>(0);"),
        (SliceOfExpression, "self.x.next = self.a.val().outer.inner;"),
        (SliceOfExpression, "self.x.next = self.a.val().field.get_bit(0);"),
        (NestedArray, "self.x.next = self.v[0][1].val();"),
        (NestedArray, "for i in 0..4 { self.x.next = self.v[i].w[1].val(); }"),
        (DynamicIndex, "self.x.next = self.v[self.a.val().index()].val();"),
        (ConstPath, "self.x.next = self.a.val() + FOO;"),
        (ConstPath, "self.x.next = bits::<8>(layout::FOO);"),
        (ConstPath, "self.x.next = self.a.val().get_bits::<8>(OFFSET);"),
        (ConstPath, "self.x.next = self.a.val().get_bit(N);"),
        (ConstPath, "match self.a.val().index() { FOO => { } _ => { } }"),
        (ConstPath, "match self.a.val().index() { layout::FOO => { } _ => { } }"),
        (LoopVariable, "for i in 0..4 { self.x[i].next = self.i.val(); }"),
    ];
    for (rule, body) in cases {
        assert_eq!(broken(body), [rule], "{body}");
    }
}

#[test]
fn refuses_keywords_and_verilog_by_hand() {
    for name in ["begin", "table", "output", "priority", "edge", "reg", "bit"] {
        let source = format!("#[derive(LogicBlock, Default)] struct X {{ {name}: u8 }}");
        let findings = check(&source).unwrap();
        assert_eq!(findings.len(), 1, "{name}");
        assert_eq!(findings[0].rule, Rule::Keyword, "{name}");
    }
    let by_hand = "fn hdl() -> Verilog { Verilog::Custom(String::new()) }";
    assert_eq!(check(by_hand).unwrap()[0].rule, Rule::CustomVerilog);
}

#[test]
fn accepts_what_is_translated_rightly() {
    for body in [
        "self.x.next = self.a.val() + 1;",
        "self.sum.next = self.a.val() + self.b.val(); self.x.next = self.sum.val() == self.c.val();",
        "self.x.next = (self.a.val() & 3) == 1;",
        "if self.a.val() & !self.b.val() & (self.c.val() != self.d.val()) { }",
        "if !(self.a.val() == self.b.val()) { }",
        "self.x.next = !(self.a.val() & self.mask.val()).any();",
        "self.x.next = (self.a.val() & !self.b.val()).any();",
        "self.x.next = (self.a.val() & self.b.val()).all();",
        "self.x.next = (bit_cast::<64, 32>(self.hi.val()) << 32) | bit_cast::<64, 32>(self.lo.val());",
        "self.x.next = (self.a.val() << 8) | (self.a.val() >> 56);",
        "self.x.next = self.a.val().get_bits::<{ layout::WIDTH }>(8);",
        "for i in 0..N { self.x[i].next = self.v[i + 1].q.val().get_bits::<8>(8 * i); }",
        "match self.s.q.val() { State::Idle => { self.x.next = true; } _ => { } }",
        "self.s.d.next = State::Idle; if self.s.q.val() == State::Busy { }",
        "self.x.next = self.a.val().field; self.y.next.field = self.b.val();",
        "match self.a.val().index() { 0 => { } 7 => { } _ => { } }",
        "dff_setup!(self, clock, a, b);",
        "self.x.next = self.a.val() >> self.b.val();",
        "self.x.next = bit_cast::<8, 16>(self.a.val() >> 3);",
    ] {
        assert_eq!(broken(body), [], "{body}");
    }
    let plain = "#[derive(LogicBlock)] struct X { pub read_data: u8, begin_: u8 } struct Y { table: u8 }";
    assert!(check(plain).unwrap().is_empty());
}
