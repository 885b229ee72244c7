//! The packer against concatenation.

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::Packer;
use viaduct_verilate::Bench;

/// One piece offered.
#[derive(Clone, Copy, Debug)]
struct Piece {
    data: [u8; 8],
    start: u64,
    count: u64,
    flush: bool,
}

/// What the packer does with pieces, in bytes.
#[derive(Default)]
struct Model {
    run: Vec<u8>,
    /// Words expected: bytes and whether last.
    words: std::collections::VecDeque<(Vec<u8>, bool)>,
}

impl Model {
    fn piece(&mut self, piece: &Piece) {
        let start = piece.start as usize;
        self.run.extend(&piece.data[start..start + piece.count as usize]);
        while self.run.len() > 8 || (self.run.len() == 8 && !piece.flush) {
            self.words.push_back((self.run.drain(..8).collect(), false));
        }
        if piece.flush {
            self.words.push_back((std::mem::take(&mut self.run), true));
        }
    }

    /// A word the packer has just shown must be the next one.
    fn word(&mut self, bench: &Bench) {
        let (mut bytes, last) = self.words.pop_front().expect("a word nobody expects");
        assert_eq!(bench.get("out_count"), bytes.len() as u64);
        assert_eq!(bench.get("out_last") == 1, last);
        bytes.resize(8, 0);
        assert_eq!(bench.get("source").to_le_bytes(), bytes[..]);
    }
}

fn offer(bench: &mut Bench, piece: &Piece) {
    bench.set("sink_valid", 1);
    bench.set("sink", u64::from_le_bytes(piece.data));
    bench.set("in_start", piece.start);
    bench.set("in_count", piece.count);
    bench.set("in_flush", piece.flush.into());
}

#[test]
fn appends_pieces_without_gaps() {
    let mut bench = Bench::new("packer", &verilog(Packer::default()));
    let mut rng = super::random(&bench);
    let mut model = Model::default();
    let (mut words, mut second, mut restarts) = (0, 0, 0);
    let mut shown = None;
    for round in 0..40_000 {
        // Long stretches with no back-pressure, no restart, and whole words among them.
        let calm = round / 2000 % 2 == 0;
        let start = rng.random_range(0..8);
        let piece = Piece {
            data: rng.random(),
            start,
            count: if rng.random_bool(0.5) { 8 - start } else { rng.random_range(0..=8 - start) },
            flush: rng.random_bool(0.2),
        };
        let valid = rng.random_bool(if calm { 1.0 } else { 0.7 });
        let ready = rng.random_bool(if calm { 1.0 } else { 0.6 });
        let restart = !calm && rng.random_bool(0.02);
        offer(&mut bench, &piece);
        bench.set("sink_valid", valid.into());
        bench.set("source_ready", ready.into());
        bench.set("restart", restart.into());
        let preset: [u8; 8] = rng.random();
        let fill = rng.random_range(0..8usize);
        bench.set("restart_fill", fill as u64);
        bench.set("restart_data", u64::from_le_bytes(preset));
        bench.eval();

        let out = bench.get("source_valid") == 1;
        let word = (out, bench.get("source"), bench.get("out_count"), bench.get("out_last"));
        if let Some(before) = shown {
            assert_eq!(word, before, "a word on show stays");
        }
        shown = (out && !ready).then_some(word);
        if out && ready {
            model.word(&bench);
            words += 1;
        }
        let taken = valid && bench.get("sink_ready") == 1;
        assert!(!(taken && restart));
        if restart {
            // What is shown stays, unless it was taken just now; the second word of a flush and held bytes go.
            model.words.truncate(usize::from(out && !ready));
            model.run = preset[..fill].to_vec();
            restarts += 1;
        }
        if taken {
            let before = model.words.len();
            model.piece(&piece);
            second += usize::from(model.words.len() == before + 2);
        }
        bench.tick();
    }
    assert!(words > 10_000 && second > 1000 && restarts > 100);
}

#[test]
fn sustains_eight_bytes_a_cycle() {
    let mut bench = Bench::new("packer", &verilog(Packer::default()));
    let mut model = Model::default();
    bench.set("source_ready", 1);
    // Three bytes in front, so that every following word straddles two.
    let first = Piece { data: *b"abcdefgh", start: 5, count: 3, flush: false };
    for cycle in 0..100u8 {
        let piece =
            if cycle == 0 { first } else { Piece { data: [cycle; 8], start: 0, count: 8, flush: false } };
        offer(&mut bench, &piece);
        bench.eval();
        assert_eq!(bench.get("sink_ready"), 1);
        // Latency: the word that piece 1 completes is on show a cycle later.
        assert_eq!(bench.get("source_valid") == 1, cycle >= 2);
        if cycle >= 2 {
            model.word(&bench);
        }
        model.piece(&piece);
        bench.tick();
    }
}

/// A run of 44 bytes in six pieces leaves in six words: the first piece of the next run comes with the last word.
#[test]
fn a_run_takes_as_many_cycles_as_it_has_words() {
    let mut bench = Bench::new("packer", &verilog(Packer::default()));
    let mut rng = super::random(&bench);
    let mut model = Model::default();
    bench.set("source_ready", 1);
    for cycle in 0..600 {
        let (count, flush) = (if cycle % 6 == 1 { 4 } else { 8 }, cycle % 6 == 5);
        let piece = Piece { data: rng.random(), start: 0, count, flush };
        offer(&mut bench, &piece);
        bench.eval();
        assert_eq!(bench.get("sink_ready"), 1, "cycle {cycle}");
        if bench.get("source_valid") == 1 {
            model.word(&bench);
        }
        model.piece(&piece);
        bench.tick();
    }
    assert!(model.words.len() <= 2, "{} words have not left", model.words.len());
}
