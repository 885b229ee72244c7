//! Egress: tags and sides.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::bus::FrameBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Egress;
use viaduct_verilate::Bench;

use crate::bundle;

#[test]
fn tags_and_routes_whole_frames() {
    let mut bench = Bench::new("egress", &verilog(Egress::default()));
    let mut rng = super::random(&bench);
    let mut input: VecDeque<(Vec<u8>, u64, u64)> = VecDeque::new();
    let mut expected: [VecDeque<Vec<u8>>; 2] = Default::default();
    for _ in 0..600 {
        let bytes: Vec<u8> = (0..rng.random_range(17..200)).map(|_| rng.random()).collect();
        let vlan = if rng.random() { 0 } else { rng.random_range(1..1 << 32) };
        let side = rng.random_range(0..2);
        let mut out = bytes.clone();
        if vlan != 0 {
            out.splice(12..12, (vlan as u32).to_le_bytes());
        }
        expected[side as usize].push_back(out);
        input.push_back((bytes, vlan, side));
    }
    let (mut done, mut frames, mut beats) = (0, 0, [vec![], vec![]]);
    let mut open: Option<usize> = None;
    while expected.iter().any(|side| !side.is_empty()) {
        bench.set("frame_valid", 0);
        if let Some((bytes, vlan, side)) = input.front() {
            let rest = &bytes[done..];
            let count = rest.len().min(8);
            let mut lanes: [u8; 8] = rng.random();
            lanes[..count].copy_from_slice(&rest[..count]);
            let beat = [
                ("data", u64::from_le_bytes(lanes)),
                ("count", count as u64),
                ("last", (rest.len() <= 8).into()),
            ];
            bundle::set::<FrameBeat>(&mut bench, "frame", &beat);
            bench.set("frame_vlan", *vlan);
            bench.set("frame_loopback", *side);
            bench.set("frame_valid", rng.random_bool(0.9).into());
        }
        bench.set("tx_ready", rng.random_bool(0.7).into());
        bench.set("loopback_ready", rng.random_bool(0.7).into());
        bench.eval();
        for (side, port) in ["tx", "loopback"].into_iter().enumerate() {
            if bench.get(&format!("{port}_valid")) == 1 && bench.get(&format!("{port}_ready")) == 1 {
                assert!(open.is_none_or(|open| open == side), "frames mixed");
                let beat = bundle::get::<FrameBeat>(&bench, port);
                let count = beat["count"] as usize;
                assert!(count == 8 || (beat["last"] == 1 && count > 0));
                beats[side].extend(&beat["data"].to_le_bytes()[..count]);
                open = (beat["last"] == 0).then_some(side);
                if beat["last"] == 1 {
                    assert_eq!(Some(std::mem::take(&mut beats[side])), expected[side].pop_front());
                    assert_eq!(bench.get("count_frame"), 1);
                } else {
                    assert_eq!(bench.get("count_frame"), 0);
                }
            }
        }
        frames += bench.get("count_frame");
        if bench.get("frame_valid") == 1 && bench.get("frame_ready") == 1 {
            done += 8;
            if done >= input[0].0.len() {
                input.pop_front();
                done = 0;
            }
        }
        bench.tick();
        assert!(bench.cycles() < 100_000);
    }
    assert_eq!(frames, 600);
}
