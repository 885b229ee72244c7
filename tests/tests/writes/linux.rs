//! Writes of Linux.

use std::path::Path;

use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::{capture, is_roce, Frame, Reading};

use super::target::Target;
use super::{fill, AT, BYTES, RELIABLE, UNRELIABLE, WRITTEN};

/// RDMA writes that Linux sent, in runs of PSNs without a hole: their queue pair, address and handle are ours, and
/// whatever else is in them is theirs. What we answer to the last packet of a run is what Linux answered.
#[test]
fn writes_of_linux() {
    let names = [
        "rc_mtu256",
        "rc_mtu4096",
        "rc_psn_wrap",
        "rc_dscp26_ect",
        "rc_ops",
        "rc_pipelined",
        "uc_drop_middle",
    ];
    let (mut messages, mut compared, mut carried) = (0, 0, 0);
    for (name, mtu) in names.into_iter().zip([256, 4096, 1024, 1024, 1024, 1024, 1024]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/roce");
        let frames: Vec<Vec<u8>> =
            capture(&folder.join(name).with_extension("pcap")).into_iter().filter(|f| is_roce(f)).collect();
        let readings: Vec<Reading> = frames.iter().map(|frame| Reading::of(frame)).collect();
        let is_write = |r: &&Reading| matches!(r.opcode, 0x06..=0x0B | 0x26..=0x2B);
        let Some(client) = readings.iter().find(is_write).map(|r| r.source) else {
            panic!("{name} has no write")
        };
        let writes = readings.iter().filter(is_write).filter(|r| r.source == client);
        let mut runs: Vec<Vec<&Reading>> = Vec::new();
        for write in writes {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|r| (r.psn + 1) & 0xFF_FFFF == write.psn) => {
                    run.push(write)
                }
                _ => runs.push(vec![write]),
            }
        }
        // A run begins where a message does, and its last message is whole.
        runs.retain_mut(|run| {
            let start = run.iter().position(|r| matches!(r.opcode & 0x1F, 6 | 10 | 11)).unwrap_or(run.len());
            run.drain(..start);
            let end = run.iter().rposition(|r| r.opcode & 0x1F >= 8).map_or(0, |n| n + 1);
            run.truncate(end);
            !run.is_empty()
        });
        for run in runs {
            let service = if run[0].opcode & 0x20 == 0 { RELIABLE } else { UNRELIABLE };
            let mut target = Target::at(service, mtu, Some(run[0].psn), &[]);
            let receives: Vec<usize> = (0..4).map(|_| target.post(0)).collect();
            let (mut expected, mut to, mut count, mut immediates) = (fill(BYTES, 0), 0, 0, Vec::new());
            target.scene.hosts[1].memory.write(AT, &expected);
            for reading in &run {
                let mut body = reading.body.clone();
                let op = reading.opcode & 0x1F;
                let mut at = 0;
                if matches!(op, 6 | 10 | 11) {
                    body[..8].copy_from_slice(&(target.region.address + 64).to_be_bytes());
                    body[8..12].copy_from_slice(&target.region.handle.to_be_bytes());
                    (at, to) = (16, 64);
                }
                if matches!(op, 9 | 11) {
                    immediates.push(u32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes")));
                    at += 4;
                }
                let payload = &body[at..];
                expected[to..to + payload.len()].copy_from_slice(payload);
                to += payload.len();
                count += u32::from(op >= 8);
                let frame = Frame { psn: reading.psn, ..target.packet(op, &body) };
                target.inject(&[frame]);
            }
            assert_eq!(target.memory(0, BYTES), expected, "{name}");
            for (receive, immediate) in receives.iter().zip(&immediates) {
                let completion = target.completion(*receive);
                assert_eq!(
                    (completion.status, completion.immediate),
                    (WRITTEN | status::IMMEDIATE, *immediate)
                );
            }
            assert_eq!(target.vis[1].state(), ViState::Connected, "{name}");
            messages += count;
            carried += immediates.len();
            let last = run[run.len() - 1].psn;
            let of_last =
                |r: &&Reading| r.opcode == opcode::RC_ACKNOWLEDGE && r.psn == last && r.source != client;
            if let Some(theirs) = readings.iter().find(of_last) {
                let ours = *target.answers().last().expect("an answer");
                assert_eq!((ours.0, ours.1, ours.2), (last, theirs.body[0], count), "{name}");
                compared += 1;
            }
        }
    }
    println!("{messages} messages, {carried} with immediate data, {compared} answers compared");
    assert!(messages >= 15 && carried >= 2 && compared >= 5);
}
