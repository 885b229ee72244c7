//! The NIC on a board is the NIC that is simulated.

use viaduct_hdl::board::{all, core_of, Target};
use viaduct_hdl::export::{verilog, with_room};
use viaduct_hdl::nic::Nic;

fn the_core_is_the_same() {
    let simulated = verilog(Nic::default());
    let tops: Vec<Target> = all().into_iter().filter(|target| target.top == "nic").collect();
    assert!(!tops.is_empty());
    for target in tops {
        let top = (target.verilog)(Default::default());
        // Not assert_eq: it would print megabytes.
        assert!(core_of(&top).unwrap() == simulated, "{}", target.board);
        // A module far below, which the board has, too.
        let changed =
            top.replacen("read_data <= memory[read_address];", "read_data <= ~memory[read_address];", 1);
        assert!(changed != top && core_of(&changed).unwrap() != simulated);
    }
    assert!(core_of("module top (\n    input  wire clock\n);\nendmodule\n").is_none());
}

/// Pads of the DCU's own, which have no lines in a file of pins.
const DCU_PADS: [&str; 6] =
    ["reference_p", "reference_n", "lane_rx_p", "lane_rx_n", "lane_tx_p", "lane_tx_n"];

/// The bits of a top's ports, as files of pins name them.
fn pins_of(top: &str) -> Vec<String> {
    let head = top.split_once("module top (").and_then(|(_, rest)| rest.split_once(");")).expect("a top").0;
    let ports = head.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.is_empty());
    let bits = |port: &str| {
        let words: Vec<&str> = port.trim_end_matches(',').split_whitespace().collect();
        let name = words.last().expect("a name").to_string();
        let width =
            words.iter().find_map(|word| word.strip_prefix('[')?.strip_suffix(":0]")?.parse::<u32>().ok());
        match width {
            Some(high) => (0..=high).map(|bit| format!("{name}[{bit}]")).collect(),
            None => vec![name],
        }
    };
    ports.flat_map(bits).collect()
}

fn every_port_has_its_pin() {
    for target in all() {
        let top = (target.verilog)(Default::default());
        let file =
            format!("{}/../constraints/{}/{}.lpf", env!("CARGO_MANIFEST_DIR"), target.board, target.top);
        let pins = std::fs::read_to_string(&file).unwrap();
        let located = |pin: &String| pins.contains(&format!("LOCATE COMP \"{pin}\" SITE "));
        let ports = pins_of(&top);
        let open: Vec<_> = ports.iter().filter(|pin| !located(pin)).collect();
        let pads: Vec<_> = ports.iter().filter(|pin| DCU_PADS.contains(&pin.as_str())).collect();
        assert_eq!(open, pads, "{file}");
        let lines = pins.lines().filter(|line| line.starts_with("LOCATE")).count();
        assert_eq!(lines, ports.len() - pads.len(), "{file} locates what is no port");
    }
}

#[test]
fn every_port_of_a_board_has_its_pin() {
    with_room(every_port_has_its_pin);
}

#[test]
fn the_core_that_is_built_is_the_one_that_is_simulated() {
    with_room(the_core_is_the_same);
}
