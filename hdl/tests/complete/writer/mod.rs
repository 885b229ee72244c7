//! The completion writer: statuses and entries written in their place, in order, and then acknowledged.

mod deed;
mod entry;
mod item;

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{
    client, word, Access, AckRequest, Closed, Commit, Completion, CqEntry, Fault, WriteBeat, WriteVerdict,
};
use viaduct_hdl::complete::Writer;
use viaduct_hdl::export::verilog;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::table;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
use deed::{deeds, Deed};
use entry::Entry;
use item::Item;

const REFUSED_REGION: u64 = 0xBAD;
const ERRORS: u64 = status::ERROR_MASK as u64;
/// The end of a descriptor, told beside the deeds: its queue, its place, whether its status is written.
type End = (u64, u64, u64, u64);

/// Rules WQ-1; WQ-7 where memory is refused; and LIFE-2: what a connection said last.
#[test]
fn completions_are_written_in_place_in_order_and_then_acknowledged() {
    let mut dut = Bench::new("writer", &verilog(Writer::default()));
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let [receive, send] = ["receive", "send"].map(Bundle::of::<Completion>);
    let (access, write) = (Bundle::of::<Access>("access"), Bundle::of::<WriteBeat>("write"));
    let (request, fault) = (Bundle::of::<AckRequest>("request"), Bundle::of::<Fault>("fault"));
    let commit = Bundle::of::<Commit>("commit");
    let (entry_port, closed) = (Bundle::of::<CqEntry>("entry"), Bundle::of::<Closed>("closed"));

    let tags: Vec<u64> = (0..64).map(|_| random.random_range(1..1 << 16)).collect();
    for (vi, &tag) in tags.iter().enumerate() {
        commit.set(
            &mut dut,
            &[("target", table::RECEIVE.into()), ("row", vi as u64), ("word0", u64::MAX), ("word1", tag)],
        );
        dut.set("commit_valid", 1);
        dut.eval();
        assert_eq!(dut.get("commit_ready"), 1);
        dut.tick();
        // A new connection: what the one before said last is forgotten.
        dut.set("commit_valid", 0);
        dut.set("request_ready", 1);
        dut.eval();
        assert_eq!((dut.get("request_valid"), request.get(&dut, "vi")), (1, vi as u64));
        assert_eq!(request.get(&dut, "kind"), word::FORGET);
        dut.tick();
        dut.set("request_ready", 0);
    }

    let mut queues: [VecDeque<Item>; 2] =
        [0, 1].map(|_| (0..300).map(|_| Item::random(&mut random)).collect::<VecDeque<_>>());
    let mut expected: VecDeque<Deed> = VecDeque::new();
    let mut promised = 0;
    let mut issued = 0u64;
    let mut verdict: Option<(u64, bool, Deed)> = None;
    let mut granted: Option<Deed> = None;
    let mut turns = [0; 2];
    // What was taken last is of a receive.
    let mut is_receive = false;
    let mut ends: VecDeque<End> = VecDeque::new();
    let mut closes: VecDeque<End> = VecDeque::new();
    let mut entry: Option<Entry> = None;
    let mut entries = [0; 2];
    let (mut errors, mut counted) = (0, 0);
    for cycle in 0..100_000 {
        for (queue, (name, bundle)) in queues.iter().zip([("receive", &receive), ("send", &send)]) {
            dut.set(&format!("{name}_valid"), u64::from(!queue.is_empty()));
            if let Some(item) = queue.front() {
                bundle.set(&mut dut, &item.fields(name == "receive"));
            }
        }
        let random_bit = |random: &mut ChaCha8Rng| u64::from(random.random_bool(0.6));
        let access_ready = random_bit(&mut random) & u64::from(verdict.is_none() && granted.is_none());
        dut.set("access_ready", access_ready);
        let (write_ready, request_ready, fault_ready) =
            (random_bit(&mut random), random_bit(&mut random), random_bit(&mut random));
        dut.set("write_ready", write_ready);
        dut.set("request_ready", request_ready);
        dut.set("fault_ready", fault_ready);
        dut.set("issued", issued % 256);
        let ended_ready = u64::from(random.random_bool(0.2));
        dut.set("ended_ready", ended_ready);
        let closed_ready = u64::from(random.random_bool(0.2));
        dut.set("closed_ready", closed_ready);
        if entry.is_none() && random.random_bool(0.05) {
            entry = Some(Entry::random(&mut random));
        }
        dut.set("entry_valid", entry.is_some().into());
        if let Some(entry) = entry {
            let fields = [
                ("region", entry.region),
                ("tag", entry.tag),
                ("address", entry.address),
                ("token", entry.token),
                ("vi", entry.vi),
                ("receive", entry.receive),
                ("phase", entry.phase),
            ];
            entry_port.set(&mut dut, &fields);
        }
        dut.set("verdict_valid", 0);
        if let Some((wait, ok, deed)) = verdict.take() {
            if wait == 0 {
                dut.set("verdict_valid", 1);
                Bundle::of::<WriteVerdict>("verdict")
                    .set(&mut dut, &[("client", client::COMPLETE), ("ok", ok.into())]);
                if ok {
                    granted = Some(deed);
                } else if !matches!(deed, Deed::Entry { .. }) {
                    assert_eq!(expected.pop_front(), Some(deed));
                }
            } else {
                verdict = Some((wait - 1, ok, deed));
                // Somebody else's verdict must not be taken for ours.
                dut.set("verdict_valid", 1);
                Bundle::of::<WriteVerdict>("verdict")
                    .set(&mut dut, &[("client", client::SCATTER), ("ok", random_bit(&mut random))]);
            }
        }
        dut.eval();
        if !expected.is_empty() {
            assert_eq!(dut.get("receiving"), u64::from(is_receive));
        }
        let offered = queues.iter().any(|queue| !queue.is_empty()) || entry.is_some();
        if offered || !expected.is_empty() || !ends.is_empty() || !closes.is_empty() {
            assert_eq!(dut.get("busy"), 1, "something is left to do");
        }
        counted += dut.get("count_error");
        for (side, name) in ["receive", "send"].into_iter().enumerate() {
            if dut.get(&format!("{name}_valid")) == 1 && dut.get(&format!("{name}_ready")) == 1 {
                let item = queues[side].pop_front().expect("offered");
                expected.extend(deeds(&item, tags[item.vi as usize], &mut promised));
                errors += u64::from(item.write && item.region != REFUSED_REGION && item.status & ERRORS != 0);
                if item.ends {
                    let queue = 2 * item.vi + u64::from(name == "receive");
                    let written = item.write && item.region != REFUSED_REGION;
                    ends.push_back((queue, item.region, item.offset, written.into()));
                    closes.push_back(ends[ends.len() - 1]);
                }
                turns[side] += 1;
                is_receive = name == "receive";
            }
        }
        if dut.get("access_valid") == 1 && access_ready == 1 {
            let get = |name| access.get(&dut, name);
            assert_eq!((get("by_offset"), get("write"), get("clip")), (1, 1, 0));
            assert_eq!(get("span"), get("length"));
            let (region, address) = (get("region"), get("address"));
            let ok = region != REFUSED_REGION;
            let deed = if get("system") == 1 {
                let entry = entry.expect("an entry is offered");
                assert!(expected.is_empty(), "in the middle of a completion: {expected:?}");
                assert_eq!((region, address, get("length")), (entry.region, entry.address, 16));
                issued += u64::from(ok);
                promised += u64::from(ok);
                Deed::Entry { tag: get("tag"), words: entry.words(), written: 0 }
            } else if ok {
                issued += 1;
                let bytes = vec![0; get("length") as usize];
                Deed::Write { region, address, tag: get("tag"), bytes }
            } else {
                Deed::Refused { region, address }
            };
            verdict = Some((random.random_range(1..6), ok, deed));
        }
        if dut.get("write_valid") == 1 && write_ready == 1 {
            let (start, count) = (write.get(&dut, "start") as usize, write.get(&dut, "count") as usize);
            let written = write.get(&dut, "data").to_le_bytes()[start..start + count].to_vec();
            match granted.take() {
                Some(Deed::Write { region, address, tag, bytes }) => {
                    assert_eq!(count, bytes.len());
                    assert_eq!(
                        expected.pop_front(),
                        Some(Deed::Write { region, address, tag, bytes: written })
                    );
                }
                Some(Deed::Entry { tag, words, written: n }) => {
                    assert_eq!(tag, entry.expect("an entry is offered").tag);
                    assert_eq!(written, words[n].to_le_bytes());
                    if n == 0 {
                        granted = Some(Deed::Entry { tag, words, written: 1 });
                    }
                }
                deed => panic!("data without a grant: {deed:?}"),
            }
        }
        if dut.get("fault_valid") == 1 && fault_ready == 1 {
            assert_eq!(fault.get(&dut, "breaks"), 1);
            let deed = Deed::Fault { vi: fault.get(&dut, "vi"), code: fault.get(&dut, "code") };
            assert_eq!(expected.pop_front(), Some(deed));
        }
        if dut.get("request_valid") == 1 && request_ready == 1 {
            let get = |name| request.get(&dut, name);
            assert_eq!(get("msn"), get("psn") ^ 1);
            let deed = Deed::Acknowledge {
                vi: get("vi"),
                psn: get("psn"),
                syndrome: get("syndrome"),
                writes: dut.get("request_mark"),
            };
            assert_eq!(expected.pop_front(), Some(deed));
        }
        if dut.get("ended_valid") == 1 && ended_ready == 1 {
            assert_eq!(Some(dut.get("ended")), ends.pop_front().map(|end| end.0));
        }
        if dut.get("closed_valid") == 1 && closed_ready == 1 {
            let get = |name| closed.get(&dut, name);
            let end = (2 * get("vi") + get("receive"), get("region"), get("offset"), get("written"));
            assert_eq!(Some(end), closes.pop_front());
        }
        if dut.get("entry_end_valid") == 1 {
            let entry = entry.take().expect("an entry is offered");
            let ok = dut.get("entry_end");
            assert_eq!(ok, u64::from(entry.region != REFUSED_REGION));
            assert!(granted.is_none() && verdict.is_none());
            entries[ok as usize] += 1;
        }
        if turns == [300, 300]
            && ends.is_empty()
            && closes.is_empty()
            && expected.is_empty()
            && dut.get("busy") == 0
        {
            assert_eq!(counted, errors, "statuses with an error bit");
            assert!((100..500).contains(&errors), "{errors}");
            assert!(entries.iter().all(|&count| count > 10), "{entries:?} refused, written");
            return;
        }
        if turns.iter().sum::<i32>() == 200 {
            assert!(turns[0] >= 95 && turns[1] >= 95, "in turn: {turns:?}");
        }
        dut.tick();
        assert!(cycle < 99_999, "not done: {turns:?}, {expected:?}");
    }
}
