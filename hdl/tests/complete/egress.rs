use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::FrameBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Egress;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

struct Frame {
    bytes: Vec<u8>,
    loopback: bool,
    vlan: u32,
    /// Its last beat says so; no frame of the NIC's own is bad.
    bad: bool,
}

impl Frame {
    /// What must come out, and whether it must be called bad.
    fn expected(&self) -> (Vec<u8>, bool) {
        let mut bytes = self.bytes.clone();
        if self.vlan != 0 && !self.loopback {
            bytes.splice(12..12, self.vlan.to_le_bytes());
        }
        (bytes, self.bad)
    }
}

fn beat(Frame { bytes, bad, .. }: &Frame, index: usize) -> [(&'static str, u64); 4] {
    let part = &bytes[8 * index..bytes.len().min(8 * index + 8)];
    let data = part.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let last = 8 * index + 8 >= bytes.len();
    [("data", data), ("count", part.len() as u64), ("last", last.into()), ("bad", (last && *bad).into())]
}

#[test]
fn frames_of_every_length_go_where_they_belong_with_their_tag() {
    let mut dut = Bench::new("egress", &verilog(Egress::default()));
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let frame = Bundle::of::<FrameBeat>("frame");
    let outputs = [("tx", Bundle::of::<FrameBeat>("tx")), ("loopback", Bundle::of::<FrameBeat>("loopback"))];
    let mut frames: Vec<Frame> = (58..200)
        .flat_map(|length| [(length, 0, false), (length, 0x0100_0081, false), (length, 0x0200_0081, true)])
        .map(|(length, vlan, loopback)| Frame {
            bytes: (0..length).map(|_| random.random()).collect(),
            loopback,
            vlan,
            bad: random.random(),
        })
        .collect();
    for at in (1..frames.len()).rev() {
        frames.swap(at, random.random_range(0..=at));
    }

    let (mut at, mut index) = (0, 0);
    let mut seen: [Vec<(Vec<u8>, bool)>; 2] = [vec![], vec![]];
    let mut open: [Vec<u8>; 2] = [vec![], vec![]];
    let mut counted = 0;
    for cycle in 0..200_000 {
        let offering = at < frames.len() && random.random_bool(0.9);
        dut.set("frame_valid", offering.into());
        if offering {
            frame.set(&mut dut, &beat(&frames[at], index));
            dut.set("frame_loopback", frames[at].loopback.into());
            dut.set("frame_vlan", frames[at].vlan.into());
        }
        let ready = [random.random_bool(0.7), random.random_bool(0.7)];
        dut.set("tx_ready", ready[0].into());
        dut.set("loopback_ready", ready[1].into());
        dut.eval();
        for (way, (name, bundle)) in outputs.iter().enumerate() {
            if dut.get(&format!("{name}_valid")) == 1 && ready[way] {
                let count = bundle.get(&dut, "count") as usize;
                open[way].extend(&bundle.get(&dut, "data").to_le_bytes()[..count]);
                if bundle.get(&dut, "last") == 1 {
                    seen[way].push((std::mem::take(&mut open[way]), bundle.get(&dut, "bad") == 1));
                } else {
                    assert_eq!(count, 8, "only the last beat may be short");
                }
            }
        }
        counted += dut.get("count_frame");
        if offering && dut.get("frame_ready") == 1 {
            index += 1;
            if 8 * index >= frames[at].bytes.len() {
                (at, index) = (at + 1, 0);
            }
        }
        dut.tick();
        if seen[0].len() + seen[1].len() == frames.len() {
            break;
        }
        assert!(cycle < 199_999, "frames are missing");
    }
    for (way, seen) in seen.iter().enumerate() {
        let expected: Vec<_> =
            frames.iter().filter(|f| f.loopback == (way == 1)).map(Frame::expected).collect();
        assert!(*seen == expected, "way {way}");
    }
    assert_eq!(counted, frames.len() as u64);
}
