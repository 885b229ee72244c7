//! Whatever comes from the other side, nothing panics, nothing wrong is taken, and the link trains again.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::link::dllp::{Dllp, Flow, Power};
use viaduct_link::link::frame::{frame_dllp, frame_tlp};
use viaduct_link::ordered_set::{Kind, TrainingSet, EIOS, SKP_SET};
use viaduct_link::scrambler::Scrambler;
use viaduct_link::seam::{FromEndpoint, Heard, Sent, ToEndpoint};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::Class;

use crate::bench::{Pair, Traffic};

/// A piece of a stream: its symbols, and whether they are scrambled.
fn piece(random: &mut ChaCha8Rng) -> (Vec<Symbol>, bool) {
    let number = |random: &mut ChaCha8Rng| random.random_bool(0.5).then(|| random.random_range(0..3));
    match random.random_range(0..12) {
        0 => {
            let kind = if random.random() { Kind::Ts1 } else { Kind::Ts2 };
            let set = TrainingSet::new(kind, number(random), number(random));
            (TrainingSet { control: random.random_range(0..16), ..set }.encode().to_vec(), false)
        }
        1 => (SKP_SET.to_vec(), false),
        2 => (EIOS.to_vec(), false),
        3 => (vec![Symbol::CONTROLS[random.random_range(0..Symbol::CONTROLS.len())]], false),
        4 => (vec![Symbol::data(random.random())], false),
        5 => (vec![Symbol::IDLE; random.random_range(1..40)], true),
        6 => {
            let bytes: Vec<u8> = (0..random.random_range(0..300)).map(|_| random.random()).collect();
            (frame_tlp(random.random_range(0..8), &bytes, random.random()), true)
        }
        7 => (frame_dllp(Dllp::Nak(random.random_range(0..4096))), true),
        8 => (frame_dllp(Dllp::Ack(random.random_range(0..4096))), true),
        9 => {
            let flow = [Flow::Init1, Flow::Init2, Flow::Update][random.random_range(0..3)];
            let class = Class::ALL[random.random_range(0..3)];
            let (header, data) = (random.random_range(0..256), random.random_range(0..4096));
            (frame_dllp(Dllp::Credit { flow, class, header, data }), true)
        }
        10 => {
            let power = [Power::EnterL1, Power::EnterL23, Power::ActiveStateRequestL1, Power::RequestAck];
            (frame_dllp(Dllp::Power(power[random.random_range(0..4)])), true)
        }
        _ => (frame_dllp(Dllp::Vendor(random.random())), true),
    }
}

#[test]
fn garbage_in_any_state_is_survived_and_the_link_trains_again() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut pair = Pair::healthy(seed);
        pair.run(random.random_range(0..8000));
        let mut scrambler = Scrambler::default();
        let mut line = vec![];
        for _ in 0..20_000 {
            while line.len() < 2 {
                let (symbols, scrambled) = piece(&mut random);
                line.extend(symbols.into_iter().map(|symbol| scrambler.pass(symbol, !scrambled)));
            }
            let symbols = [line.remove(0), line.remove(0)];
            let idle = random.random_ratio(1, 50);
            pair.port.cycle(FromEndpoint::default().carry(Sent { symbols, idle }));
            let heard = symbols.map(|symbol| random.random_ratio(49, 50).then_some(symbol));
            pair.endpoint.cycle(ToEndpoint::default().carry(Heard { symbols: heard, idle }, Symbol::STP));
            while pair.port.receive().is_some() || pair.endpoint.side.receive().is_some() {}
        }
        pair.port.hot_reset();
        // Both find out that the other one is somewhere else.
        pair.until(30_000_000, |pair| !pair.port.link_up());
        pair.until(30_000_000, |pair| !pair.endpoint.side.link_up());
        pair.train();
        Traffic::new(seed, 50, 128).run(&mut pair, 1_000_000, |_, _| {});
    }
}
