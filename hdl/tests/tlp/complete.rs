//! The answers to loads.

use rand::Rng;
use viaduct_hdl::bus::MmioRead;
use viaduct_hdl::edge::TlpComplete;
use viaduct_hdl::export::verilog;
use viaduct_spec::tlp::{completion_dw1, completion_dw2, completion_status, dw0, kind};
use viaduct_verilate::Bench;

use crate::beat::{header, Beat, Collector};
use crate::bundle::Bundle;

#[test]
fn every_load_is_answered_once_and_as_it_asks() {
    let mut bench = Bench::new("complete", &verilog(TlpComplete::default()));
    let mut rng = crate::random(&bench);
    let read = Bundle::of::<MmioRead>("read");
    let (mut registers, mut refused) = (0, 0);
    for round in 0..3000 {
        let doorbell = rng.random_bool(0.2);
        let unsupported = rng.random_bool(0.2);
        let pair = !unsupported && rng.random_bool(0.4);
        let address: u64 = (rng.random_range(0..0x4_0000) * 4) & if pair { !7 } else { !3 };
        let (lower, count): (u64, u64) = (rng.random_range(0..128), rng.random_range(1..=8));
        let (tag, requester): (u64, u64) = (rng.random_range(0..256), rng.random_range(0..0x10000));
        let attributes: u64 = rng.random_range(0..32);
        let completer = rng.random_range(0..0x10000);
        bench.set("cfg_requester_id", completer);
        let answer: u64 = rng.random();
        let delay = rng.random_range(0..5);
        let tx_rate = if round % 2 == 0 { 1.0 } else { 0.4 };
        let fields = [
            ("doorbell", doorbell.into()),
            ("address", address),
            ("pair", pair.into()),
            ("unsupported", unsupported.into()),
            ("lower_address", lower),
            ("byte_count", count),
            ("tag", tag),
            ("requester", requester),
            ("traffic_class", attributes >> 2),
            ("attr", attributes & 3),
        ];
        read.set(&mut bench, &fields);
        let words = match (unsupported, pair) {
            (true, _) => vec![],
            _ if doorbell => vec![0; 1 + usize::from(pair)],
            (_, true) => vec![answer as u32, (answer >> 32) as u32],
            _ if address & 4 != 0 => vec![(answer >> 32) as u32],
            _ => vec![answer as u32],
        };
        let code = if unsupported { kind::COMPLETION } else { kind::COMPLETION_DATA };
        let status = if unsupported { completion_status::UNSUPPORTED } else { completion_status::SUCCESS };
        let mut want = vec![
            header(&[
                (dw0::KIND, code.into()),
                (dw0::LENGTH, words.len() as u64),
                (dw0::TRAFFIC_CLASS, attributes >> 2),
                (dw0::ATTR, attributes & 3),
            ]),
            header(&[
                (completion_dw1::BYTE_COUNT, count),
                (completion_dw1::STATUS, status.into()),
                (completion_dw1::COMPLETER, completer),
            ]),
            header(&[
                (completion_dw2::LOWER_ADDRESS, lower),
                (completion_dw2::TAG, tag),
                (completion_dw2::REQUESTER, requester),
            ]),
        ];
        want.extend(words);

        let mut collector = Collector::default();
        let (mut asked, mut got, mut taken) = (None, None, false);
        for cycle in 0..60 {
            bench.set("read_valid", (!taken).into());
            let answers = asked.is_some_and(|at| cycle == at + 1 + delay);
            bench.set("answer_valid", answers.into());
            bench.set("answer", if answers { answer } else { rng.random() });
            let ready = rng.random_bool(tx_rate);
            bench.set("tx_ready", ready.into());
            bench.eval();
            if bench.get("load_valid") == 1 {
                assert!(asked.is_none() && !doorbell && !unsupported, "asked for what needs no asking");
                assert_eq!(bench.get("load"), address);
                asked = Some(cycle);
                registers += 1;
            }
            if ready && bench.get("tx_valid") == 1 {
                assert!(got.is_none(), "a second completion");
                got = collector.push(Beat::get(&bench, "tx"));
            }
            if bench.get("read_ready") == 1 && !taken {
                taken = true;
            }
            bench.tick();
            if got.is_some() && taken && rng.random_bool(0.5) {
                break;
            }
        }
        assert_eq!(got, Some(want));
        assert!(taken && collector.is_empty());
        refused += u32::from(unsupported);
    }
    assert!(registers > 1000 && refused > 300);
}

#[test]
fn a_reset_forgets_the_load_in_hand() {
    let mut bench = Bench::new("complete", &verilog(TlpComplete::default()));
    let read = Bundle::of::<MmioRead>("read");
    for cycles in 0..8 {
        read.set(&mut bench, &[("address", 8), ("pair", 1), ("byte_count", 8)]);
        bench.set("read_valid", 1);
        bench.set("answer_valid", 1);
        bench.set("tx_ready", (cycles > 4).into());
        (0..cycles).for_each(|_| bench.tick());
        bench.set("read_valid", 0);
        bench.set("answer_valid", 0);
        bench.reset();
        bench.set("tx_ready", 1);
        for cycle in 0..8 {
            bench.eval();
            let shown = (bench.get("tx_valid"), bench.get("load_valid"));
            assert_eq!(shown, (0, 0), "reset after {cycles} cycles of a load, {cycle} cycles behind it");
            bench.tick();
        }
    }
}
