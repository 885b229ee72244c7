//! What is acknowledged, when, and which of two words of a VI is said.

mod last_word;
mod reception;
mod waiting;

use viaduct_hdl::bus::AckRequest;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Ack;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    vi: u64,
    psn: u64,
    msn: u64,
    syndrome: u64,
}

impl Request {
    fn fields(self) -> [(&'static str, u64); 4] {
        [("vi", self.vi), ("psn", self.psn), ("msn", self.msn), ("syndrome", self.syndrome)]
    }
}

fn ready() -> Bench {
    let mut dut = Bench::new("ack", &verilog(Ack::default()));
    for _ in 0..70 {
        dut.tick();
    }
    dut
}

fn offer(dut: &mut Bench, request: Request, mark: u64) {
    Bundle::of::<AckRequest>("request").set(dut, &request.fields());
    dut.set("request_mark", mark);
    dut.set("request_valid", 1);
}

fn shown(dut: &Bench) -> Request {
    let bundle = Bundle::of::<AckRequest>("ack");
    let get = |name| bundle.get(dut, name);
    Request { vi: get("vi"), psn: get("psn"), msn: get("msn"), syndrome: get("syndrome") }
}

/// Makes a request of a kind, and waits until it is merged.
fn ask(dut: &mut Bench, request: Request, kind: u64) {
    offer(dut, request, 0);
    let fields: Vec<_> = request.fields().into_iter().chain([("kind", kind)]).collect();
    Bundle::of::<AckRequest>("request").set(dut, &fields);
    dut.tick();
    dut.set("request_valid", 0);
    for _ in 0..10 {
        dut.tick();
    }
}

/// What is said next, if anything.
fn said(dut: &mut Bench) -> Option<Request> {
    let found = (dut.get("ack_valid") == 1).then(|| shown(dut));
    dut.set("ack_ready", 1);
    dut.eval();
    let not_ready = found.is_some_and(|request| request.syndrome >> 5 == 1);
    assert_eq!(dut.get("count_rnr"), u64::from(not_ready));
    dut.tick();
    dut.set("ack_ready", 0);
    for _ in 0..10 {
        dut.tick();
    }
    found
}
