//! What an opcode says, beside the names that `spec/` gives to opcodes.

use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::{Kind, PacketKind};
use viaduct_spec::wire::opcode;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

#[test]
fn every_opcode_is_what_its_name_says() {
    let mut bench = Bench::new("packet_kind", &verilog(PacketKind::default()));
    let connected = opcode::CODES.codes.iter().filter(|code| matches!(&code.name[..3], "RC_" | "UC_"));
    let mut seen = 0;
    for code in connected {
        let name = &code.name[3..];
        let is = |part: &str| name.contains(part);
        let expected = [
            ("unreliable", code.name.starts_with("UC_")),
            ("known", true),
            ("sends", is("SEND")),
            ("writes", is("WRITE")),
            ("reads", name == "READ_REQUEST"),
            ("responds", is("READ_RESPONSE")),
            ("acknowledges", name == "ACKNOWLEDGE"),
            ("first", is("FIRST") || is("ONLY") || is("REQUEST")),
            ("last", is("LAST") || is("ONLY") || is("REQUEST")),
            ("extended", is("IMMEDIATE") || is("ACKNOWLEDGE") || is("RESPONSE") && !is("MIDDLE")),
            ("reth", is("WRITE") && (is("FIRST") || is("ONLY")) || is("REQUEST")),
        ];
        bench.set("opcode", code.value);
        bench.eval();
        let kind = Bundle::of::<Kind>("kind");
        for (field, expected) in expected {
            assert_eq!(kind.get(&bench, field) == 1, expected, "{}: {field}", code.name);
        }
        seen += 1;
    }
    assert_eq!(seen, 18 + 12);
    for unknown in 18..32 {
        bench.set("opcode", unknown);
        bench.eval();
        assert_eq!(Bundle::of::<Kind>("kind").get(&bench, "known"), 0, "opcode {unknown}");
    }
}
