//! Requests, one rule at a time: what is answered, in which packets, and whose turn it is.

mod again;
mod failures;
mod waits;

use viaduct_hdl::bus::{Admission, Commit, ReadRequest, Reply};
use viaduct_hdl::export::verilog;
use viaduct_hdl::reply::Requests;
use viaduct_spec::tables::{receive, table};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub vi: u64,
    pub again: bool,
    pub address: u64,
    pub rkey: u64,
    pub length: u64,
    pub psn: u64,
    pub msn: u64,
}

impl Read {
    /// As the block is given it.
    pub fn fields(&self) -> [(&'static str, u64); 7] {
        [
            ("vi", self.vi),
            ("again", self.again.into()),
            ("address", self.address),
            ("rkey", self.rkey),
            ("length", self.length),
            ("psn", self.psn),
            ("msn", self.msn),
        ]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub vi: u64,
    pub address: u64,
    pub rkey: u64,
    pub span: u64,
    pub length: u64,
    pub first: bool,
    pub last: bool,
    pub psn: u64,
    pub msn: u64,
}

pub struct World {
    pub dut: Bench,
    pub request: Bundle,
    reply: Bundle,
    pub freed: Vec<u64>,
}

impl World {
    pub fn new() -> Self {
        let mut dut = Bench::new("requests", &verilog(Requests::default()));
        dut.set("free_ready", 1);
        dut.set("word_ready", 1);
        for _ in 0..70 {
            dut.tick();
        }
        let (request, reply) = (Bundle::of::<ReadRequest>("request"), Bundle::of::<Reply>("reply"));
        Self { dut, request, reply, freed: Vec::new() }
    }

    fn tick(&mut self) {
        self.dut.eval();
        if self.dut.get("free_valid") == 1 {
            self.freed.push(self.dut.get("free"));
        }
        self.dut.tick();
    }

    fn open(&mut self, vi: u64, mtu: u64, depth: u64) {
        let commit = Bundle::of::<Commit>("commit");
        let word1 = depth << (receive::READ_DEPTH.lo - 64) | 1 << (receive::RDMA_READ.lo - 64);
        commit.set(
            &mut self.dut,
            &[
                ("target", table::RECEIVE.into()),
                ("row", vi),
                ("word0", mtu << receive::MTU.lo),
                ("word1", word1),
            ],
        );
        self.dut.set("commit_valid", 1);
        self.until("commit_ready");
        self.tick();
        self.dut.set("commit_valid", 0);
    }

    #[track_caller]
    fn until(&mut self, port: &str) {
        for _ in 0..200 {
            self.dut.eval();
            if self.dut.get(port) == 1 {
                return;
            }
            self.tick();
        }
        panic!("no {port}");
    }

    #[track_caller]
    fn has_no_answer_for(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.dut.eval();
            assert_eq!(self.dut.get("answer_valid"), 0);
            self.tick();
        }
    }

    /// What the block answers: packets, if it keeps the request.
    #[track_caller]
    pub fn ask(&mut self, read: Read) -> Option<u64> {
        self.request.set(&mut self.dut, &read.fields());
        self.dut.set("request_valid", 1);
        self.until("answer_valid");
        let answer = Bundle::of::<Admission>("answer").all(&self.dut);
        let answer = (answer["ok"] == 1).then(|| answer["packets"]);
        self.dut.set("request_valid", 0);
        self.tick();
        answer
    }

    /// The next packet that is given out within a while.
    fn take(&mut self) -> Option<Piece> {
        for _ in 0..60 {
            self.dut.eval();
            if self.dut.get("reply_valid") == 1 {
                let piece = self.shown();
                self.dut.set("reply_ready", 1);
                self.tick();
                self.dut.set("reply_ready", 0);
                return Some(piece);
            }
            self.tick();
        }
        None
    }

    /// The packet on show.
    pub fn shown(&self) -> Piece {
        let get = |name| self.reply.get(&self.dut, name);
        Piece {
            vi: get("vi"),
            address: get("address"),
            rkey: get("rkey"),
            span: get("span"),
            length: get("length"),
            first: get("first") == 1,
            last: get("last") == 1,
            psn: get("psn"),
            msn: get("msn"),
        }
    }

    fn gone(&mut self) {
        self.dut.set("gone", 1);
        self.tick();
        self.dut.set("gone", 0);
        for _ in 0..8 {
            self.tick();
        }
    }

    pub fn held(&mut self, vi: u64) -> bool {
        self.dut.set("held_index", vi);
        self.dut.eval();
        self.dut.get("held_row") == 1
    }
}

pub fn read(vi: u64, psn: u64, length: u64) -> Read {
    Read { vi, again: false, address: 0x7fff_0123_4567, rkey: 0xabcd_0011, length, psn, msn: 7 }
}

/// What a request is answered with, from its own fields.
pub fn pieces(read: Read, mtu: u64) -> Vec<Piece> {
    let count = read.length.div_ceil(mtu).max(1);
    (0..count)
        .map(|n| Piece {
            vi: read.vi,
            address: read.address + n * mtu,
            rkey: read.rkey,
            span: read.length - n * mtu,
            length: (read.length - n * mtu).min(mtu),
            first: n == 0,
            last: n + 1 == count,
            psn: (read.psn + n) & 0xff_ffff,
            msn: read.msn,
        })
        .collect()
}

/// Rule WIRE-4.
#[test]
fn an_answer_has_the_packets_that_its_bytes_need() {
    let mut world = World::new();
    for (code, mtu) in [256, 512, 1024, 2048, 4096].into_iter().enumerate() {
        world.open(5, code as u64, 4);
        for length in [0, 1, 255, mtu - 1, mtu, mtu + 1, 2 * mtu, 5 * mtu + 3] {
            let read = read(5, 0xff_fffe, length);
            let expected = pieces(read, mtu);
            assert_eq!(world.ask(read), Some(expected.len() as u64), "{length} of {mtu}");
            assert!(world.held(5));
            for piece in expected {
                assert_eq!(world.take(), Some(piece));
                assert!(world.held(5) && world.freed.is_empty());
            }
            assert_eq!(world.take(), None);
            for _ in 1..pieces(read, mtu).len() {
                world.gone();
                assert!(world.held(5));
            }
            world.gone();
            assert!(!world.held(5));
            assert_eq!(std::mem::take(&mut world.freed), [5]);
        }
    }
    // The largest: 2^31 bytes in the smallest packets.
    world.open(5, 0, 4);
    assert_eq!(world.ask(read(5, 0, 1 << 31)), Some(1 << 23));
}

#[test]
fn vis_take_turns_and_each_answers_in_order() {
    let mut world = World::new();
    let mut expected = [Vec::new(), Vec::new(), Vec::new()];
    for vi in 0..3 {
        world.open(vi, 0, 4);
    }
    let mut psn = [0, 1000, 2000];
    for round in 0..4 {
        for vi in 0..3usize {
            let read = Read { msn: round + 1, ..read(vi as u64, psn[vi], 300 * round + 77) };
            psn[vi] += world.ask(read).expect("room for four");
            expected[vi].extend(pieces(read, 256));
        }
    }
    let mut seen = [const { Vec::new() }; 3];
    let mut order = Vec::new();
    while let Some(piece) = world.take() {
        order.push(piece.vi);
        seen[piece.vi as usize].push(piece);
        world.gone();
    }
    assert_eq!(seen, expected);
    // All have as much to give, so nobody gives two packets in a row.
    assert!(order.windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
    world.freed.sort_unstable();
    assert_eq!(world.freed, [0, 1, 2]);
}

/// Rule RSP-6.
#[test]
fn one_more_than_agreed_is_not_kept() {
    let mut world = World::new();
    for depth in 1..=4 {
        world.open(9, 0, depth);
        // Of three packets each: at most one is on show, so all wait.
        for n in 0..depth {
            assert_eq!(world.ask(read(9, 3 * n, 600)), Some(3), "{n} of {depth}");
        }
        assert_eq!(world.ask(read(9, 3 * depth, 600)), None);
        for n in 0..4 {
            assert_eq!(world.take().map(|piece| piece.psn), (n < 3 * depth).then_some(n));
        }
        // One answer given makes room for one request.
        assert_eq!(world.ask(read(9, 3 * depth, 1)), Some(1));
        let rest: Vec<_> = std::iter::from_fn(|| world.take()).map(|piece| piece.psn).collect();
        assert_eq!(rest, (4.min(3 * depth)..=3 * depth).collect::<Vec<_>>());
        for _ in 0..3 * depth + 1 {
            world.gone();
        }
    }
}
