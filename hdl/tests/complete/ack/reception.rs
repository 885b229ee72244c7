//! Requests of Reliable Reception: each waits for a read that went behind its writes.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{client, word, Access, AckRequest, ReadBeat};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use super::{ready, said, Request};
use crate::bundle::Bundle;
use crate::ring::Ring;

/// A request of Reliable Reception is released behind a read of the ring opened last, wherever that lies.
/// Rule RSP-7.
#[test]
fn reception_is_acknowledged_behind_a_read() {
    let mut dut = ready();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let access = Bundle::of::<Access>("access");
    for round in 0..200 {
        let Ring { region, offset, tag } = Ring::open(&mut dut, &mut random);

        let request = Request {
            vi: random.random_range(0..64),
            psn: random.random_range(0..1 << 24),
            msn: random.random_range(0..1 << 24),
            syndrome: syndrome::ACK.into(),
        };
        offer(&mut dut, request);
        dut.tick();
        dut.set("request_valid", 0);
        // It is asked for, and shown until it is taken.
        let wait = random.random_range(0..4);
        for cycle in 0..30 {
            dut.eval();
            if dut.get("access_valid") == 1 && cycle >= wait {
                break;
            }
            assert_eq!((dut.get("ack_valid"), dut.get("busy")), (0, 1), "round {round}");
            dut.tick();
        }
        assert_eq!(dut.get("access_valid"), 1, "round {round}");
        let expected = [
            ("address", offset * 64),
            ("span", 8),
            ("length", 8),
            ("region", region),
            ("tag", tag),
            ("by_offset", 1),
            ("system", 1),
            ("write", 0),
            ("clip", 0),
            ("remote", 0),
        ];
        for (name, value) in expected {
            assert_eq!(access.get(&dut, name), value, "round {round}: {name}");
        }
        let user = access.get(&dut, "user");
        dut.set("access_ready", 1);
        dut.tick();
        dut.set("access_ready", 0);
        for _ in 0..random.random_range(0..20) {
            dut.eval();
            let outputs = ["ack_valid", "access_valid", "busy"].map(|port| dut.get(port));
            assert_eq!(outputs, [0, 0, 1], "round {round}");
            dut.tick();
        }
        let beat = [("client", client::COMPLETE), ("user", user), ("last", 1), ("count", 8)];
        Bundle::of::<ReadBeat>("beat").set(&mut dut, &beat);
        dut.set("beat_valid", 1);
        dut.tick();
        dut.set("beat_valid", 0);
        for _ in 0..10 {
            dut.tick();
        }
        assert_eq!(said(&mut dut), Some(request), "round {round}");
        assert_eq!(dut.get("busy"), 0);
    }
}

/// Puts a request of Reliable Reception on the port.
fn offer(dut: &mut Bench, request: Request) {
    let fields = [
        ("vi", request.vi),
        ("psn", request.psn),
        ("msn", request.msn),
        ("syndrome", request.syndrome),
        ("reception", 1),
    ];
    Bundle::of::<AckRequest>("request").set(dut, &fields);
    dut.set("request_valid", 1);
}

/// Asks for an acknowledgement of Reliable Reception; it must be taken at once.
fn ask(dut: &mut Bench, request: Request) {
    offer(dut, request);
    dut.eval();
    assert_eq!(dut.get("request_ready"), 1);
    dut.tick();
    dut.set("request_valid", 0);
    for _ in 0..3 {
        dut.tick();
    }
}

/// A read is asked for and taken, and later it is back.
fn read(dut: &mut Bench, between: impl FnOnce(&mut Bench)) {
    for _ in 0..10 {
        dut.eval();
        if dut.get("access_valid") == 1 {
            break;
        }
        dut.tick();
    }
    assert_eq!(dut.get("access_valid"), 1);
    dut.set("access_ready", 1);
    dut.tick();
    dut.set("access_ready", 0);
    between(dut);
    Bundle::of::<ReadBeat>("beat").set(dut, &[("client", client::COMPLETE), ("last", 1), ("count", 8)]);
    dut.set("beat_valid", 1);
    dut.tick();
    dut.set("beat_valid", 0);
    for _ in 0..10 {
        dut.tick();
    }
}

/// What comes in while a read is out is covered by the next one, however much it is.
#[test]
fn one_read_is_enough_for_all_that_came_before_it() {
    let mut dut = ready();
    for round in 0..12 {
        let request =
            |n| Request { vi: (round + 5 * n) % 64, psn: n, msn: round, syndrome: syndrome::ACK.into() };
        for many in [1, 7, 8, 9, 14] {
            ask(&mut dut, request(0));
            read(&mut dut, |dut| (1..=many).for_each(|n| ask(dut, request(n))));
            assert_eq!(said(&mut dut), Some(request(0)), "round {round}");
            assert_eq!(said(&mut dut), None, "round {round}: what came behind the first read");
            read(&mut dut, |_| ());
            for n in 1..=many {
                assert_eq!(dut.get("access_valid"), 0, "round {round}: a read more for {n} of {many}");
                assert_eq!(said(&mut dut), Some(request(n)), "round {round}, {n} of {many}");
            }
            assert_eq!(dut.get("busy"), 0, "round {round}");
        }
    }
}

/// A request that needs no read leaves without one, and the next that needs one has its own.
#[test]
fn what_was_said_without_a_read_covers_nothing_behind_it() {
    let mut dut = ready();
    for n in 0..70 {
        let request = |psn| Request { vi: n % 64, psn, msn: n, syndrome: syndrome::ACK.into() };
        super::ask(&mut dut, request(2 * n), word::SAY);
        assert_eq!(said(&mut dut), Some(request(2 * n)));
        ask(&mut dut, request(2 * n + 1));
        for _ in 0..12 {
            dut.tick();
        }
        assert_eq!((dut.get("ack_valid"), dut.get("access_valid")), (0, 1), "behind {n} of each");
        read(&mut dut, |_| ());
        assert_eq!(said(&mut dut), Some(request(2 * n + 1)));
        assert_eq!(dut.get("busy"), 0);
    }
}
