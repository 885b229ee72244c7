//! What every byte of type and format is: the specification's table of packets, and nothing for what is not in it.

use viaduct_hdl::edge::PacketSort;
use viaduct_hdl::export::verilog;
use viaduct_spec::tlp::kind;
use viaduct_verilate::Bench;

#[test]
fn every_kind_is_what_the_specification_says() {
    let mut bench = Bench::new("packet_sort", &verilog(PacketSort::default()));
    for byte in 0..=255u8 {
        bench.set("kind", byte.into());
        bench.eval();
        let (format, packet_type) = (byte >> 5, byte & 31);
        let prefix = format >= 4;
        let memory = [kind::READ_3DW, kind::READ_4DW, kind::WRITE_3DW, kind::WRITE_4DW].contains(&byte);
        let read = [kind::READ_3DW, kind::READ_4DW].contains(&byte);
        let others = [1, 2, 4, 5, 12, 13, 14, 27].contains(&packet_type);
        let completion = [kind::COMPLETION, kind::COMPLETION_DATA].contains(&byte);
        let expected = [
            ("memory", memory),
            ("with_data", format & 2 == 2),
            ("long_header", format & 1 == 1),
            ("nonposted", !prefix && (read || others)),
            ("completion", completion),
            ("message", !prefix && packet_type >> 3 == 2),
        ];
        for (port, value) in expected {
            assert_eq!(bench.get(port) == 1, value, "{byte:#04x}: {port}");
        }
    }
}
