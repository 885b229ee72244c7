//! Anything on the wire, against the link partner's own deframer.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::link::frame::{frame_dllp, frame_tlp, Deframer, Frame};
use viaduct_link::link::inbound::{Inbound, Verdict};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{from_bytes, to_bytes, Class, Tlp};

use super::world::{read, seed, write, Alone};

/// What a receiver by the book makes of the symbols.
#[derive(Default)]
struct Book {
    deframer: Deframer,
    inbound: Inbound,
    taken: Vec<Tlp>,
    bad: u64,
}

impl Book {
    fn push(&mut self, symbol: Option<Symbol>) {
        match self.deframer.push(symbol) {
            // The device keeps 69 double words at most.
            Some(Frame::Tlp(number, bytes)) if bytes.len() <= 276 => {
                let verdict = self.inbound.tlp(number, 0, 0);
                self.taken.extend((verdict == Verdict::Taken).then(|| from_bytes(&bytes)).flatten());
            }
            Some(Frame::Tlp(..) | Frame::BadTlp) => {
                self.inbound.bad();
                self.bad += 1;
            }
            _ => {}
        }
    }
}

#[test]
fn random_damage_is_judged_as_the_book_says() {
    let seed = seed("garbage");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for pauses in [false, true] {
        let mut alone = Alone::active(seed, [(0, 0); 3]);
        alone.pauses = pauses;
        let mut book = Book::default();
        for round in 0..4000_u32 {
            let next = book.taken.len() as u16;
            let mut symbols: Vec<Option<Symbol>> = match random.random_range(0..8) {
                0 => frame_dllp(Dllp::Vendor([1, 2, 3])),
                1 => frame_tlp(next, &to_bytes(&read(round)), true),
                2 => vec![Symbol::IDLE; random.random_range(0..9)],
                3 => vec![Symbol::COM, Symbol::SKP, Symbol::SKP, Symbol::SKP],
                _ => {
                    let tlp = write(round, random.random_range(1..12));
                    frame_tlp(next % 4096, &to_bytes(&tlp), false)
                }
            }
            .into_iter()
            .map(Some)
            .collect();
            if random.random_ratio(1, 4) && !symbols.is_empty() {
                let at = random.random_range(0..symbols.len());
                match random.random_range(0..5) {
                    0 => symbols[at] = None,
                    1 => symbols.truncate(at),
                    2 => symbols[at] = Some(Symbol::CONTROLS[random.random_range(0..Symbol::CONTROLS.len())]),
                    3 => symbols.insert(at, Some(Symbol::data(random.random()))),
                    _ => drop(symbols.remove(at)),
                }
            }
            for symbol in symbols {
                book.push(symbol);
                match symbol {
                    Some(symbol) => alone.symbols([symbol]),
                    None => alone.error(),
                }
            }
            if round % 40 == 0 {
                // A packet that was begun ends here for both.
                book.push(Some(Symbol::COM));
                alone.symbols([Symbol::COM]);
                settle(&mut alone);
                assert_eq!(alone.device.arrived.len(), book.taken.len(), "round {round}");
            }
        }
        settle(&mut alone);
        assert!(alone.device.arrived == book.taken);
        println!("{} taken, {} bad", book.taken.len(), book.bad);
        assert!(book.taken.len() > 1000 && book.bad > 200);
    }
}

fn settle(alone: &mut Alone) {
    alone.idle(2);
    while alone.is_coming() {
        alone.step();
    }
    alone.run(200);
}

#[test]
fn noise_does_nothing_that_lasts() {
    let seed = seed("noise");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut alone = Alone::active(seed, [(0, 0); 3]);
    for round in 0..20_u16 {
        for _ in 0..3000 {
            match random.random_range(0..10) {
                0 => alone.error(),
                1..=3 => alone.symbols([Symbol::CONTROLS[random.random_range(0..Symbol::CONTROLS.len())]]),
                _ => alone.symbols([Symbol::data(random.random())]),
            }
        }
        settle(&mut alone);
        assert!(alone.device.arrived.is_empty());
        alone.dllps.clear();
        // A TLP in each direction.
        alone.tlp(round, &read(round.into()));
        alone.device.send(&write(3, 3));
        settle(&mut alone);
        assert_eq!(alone.device.arrived.pop_front(), Some(read(round.into())));
        assert_eq!(alone.numbers(), [round]);
        alone.dllp(Dllp::Ack(round));
        settle(&mut alone);
    }
}

#[test]
fn dllps_begin_in_either_byte_and_any_damage_is_seen() {
    let mut alone = Alone::active(seed("dllps"), [(1, 1), (1, 1), (0, 0)]);
    let good = frame_dllp(Dllp::Credit { flow: Flow::Update, class: Class::Posted, header: 55, data: 66 });
    let headers = |alone: &Alone| alone.device.limits()["posted.headers"];
    for odd in [0, 1] {
        for at in 0..8 {
            for damage in 0..4 {
                let mut symbols: Vec<_> = good.iter().copied().map(Some).collect();
                match damage {
                    0 => symbols[at] = None,
                    1 => symbols[at] = Some(Symbol::PAD),
                    2 => symbols.insert(at, Some(Symbol::data(0))),
                    _ => drop(symbols.remove(at)),
                }
                if at == 0 && damage == 2 {
                    continue;
                }
                alone.idle(odd);
                for symbol in symbols {
                    match symbol {
                        Some(symbol) => alone.symbols([symbol]),
                        None => alone.error(),
                    }
                }
                settle(&mut alone);
                assert_eq!(headers(&alone), 1, "{odd} {at} {damage}");
            }
        }
    }
    for (odd, header) in [(0, 2), (1, 3)] {
        alone.idle(odd);
        alone.update(Class::Posted, header, 66);
        settle(&mut alone);
        assert_eq!(headers(&alone), u64::from(header));
    }
}
