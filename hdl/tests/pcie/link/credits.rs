//! What the link partner allows is kept to.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::link::credit::{Advertised, Cost};
use viaduct_link::link::dllp::Dllp;
use viaduct_link::tlp::Class;

use super::world::{options, random_tlp, read, seed, write, Alone, Pair, Traffic};

#[test]
fn a_class_without_headers_or_data_stalls_until_updatefc() {
    // Posted: headers, then data; non-posted; completions.
    let completion = vec![0x4a00_0004, 1, 2, 3, 4, 5, 6];
    let cases = [
        (Class::Posted, [(2, 100), (9, 9), (9, 9)], write(0, 4), 2, (3, 100)),
        (Class::Posted, [(50, 8), (9, 9), (9, 9)], write(0, 13), 2, (50, 12)),
        (Class::Posted, [(0, 8), (9, 9), (9, 9)], write(0, 16), 2, (0, 12)),
        (Class::NonPosted, [(9, 9), (3, 0), (9, 9)], read(0), 3, (4, 0)),
        (Class::NonPosted, [(9, 9), (0, 3), (9, 9)], vec![0x4400_0001, 0, 0, 0], 3, (0, 4)),
        (Class::Completion, [(9, 9), (9, 9), (5, 5)], completion, 5, (6, 6)),
    ];
    for (class, credits, tlp, count, (header, data)) in cases {
        let mut alone = Alone::active(seed("stall"), credits);
        // The replay timer is not to end meanwhile.
        alone.device.max_payload = 2;
        for _ in 0..10 {
            alone.device.send(&tlp);
        }
        alone.run(400);
        assert_eq!(alone.numbers().len(), count, "{class:?} {credits:?}");
        // The next one has given two words, and no more.
        let taken = count as u64 * tlp.len() as u64 * 2 + 2;
        assert_eq!((alone.device.accepted, alone.device.words_taken), (count as u64, taken));
        // UpdateFC of another class, and one that is late.
        let other = Class::ALL[(class.index() + 1) % 3];
        alone.update(other, 60, 60);
        alone.update(class, credits[class.index()].0, credits[class.index()].1);
        alone.dllp(Dllp::Ack(count as u16 - 1));
        alone.run(200);
        assert_eq!(alone.numbers().len(), 0);
        alone.update(class, header, data);
        alone.run(200);
        assert_eq!(alone.numbers(), [count as u16]);
    }
}

#[test]
fn endless_credits_never_end() {
    let mut alone = Alone::active(seed("endless"), [(0, 0); 3]);
    for round in 0..400_u16 {
        alone.device.send(&write(0, 64));
        alone.run(300);
        alone.dllp(Dllp::Ack(round));
        if round % 50 == 7 {
            // Of what is endless an UpdateFC means nothing.
            alone.update(Class::Posted, round, round);
        }
        alone.run(10);
        assert_eq!(alone.numbers(), [round]);
    }
}

#[test]
fn random_updates_are_never_exceeded_and_always_used() {
    let seed = seed("random credits");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..4 {
        let initial = [0; 3].map(|_| (random.random_range(1..4), random.random_range(8..12)));
        let mut alone = Alone::active(seed, initial);
        let mut limits = initial.map(|(header, data)| [u64::from(header), u64::from(data)]);
        let mut used = [[0_u64; 2]; 3];
        let mut costs = Vec::new();
        for number in 0..600 {
            let tlp = random_tlp(&mut random, number, 128);
            costs.push(Cost::of(tlp[0]));
            alone.device.send(&tlp);
        }
        let mut at = 0;
        let mut answered = 0;
        while at < costs.len() {
            alone.step();
            while let Some((_, _, (number, _))) = alone.tlps.pop_front() {
                if usize::from(number) != at {
                    // Nothing is acknowledged for long: the timer has replayed it.
                    assert!(usize::from(number) < at);
                    continue;
                }
                let Cost { class, data } = costs[at];
                used[class.index()][0] += 1;
                used[class.index()][1] += u64::from(data);
                for kind in 0..2 {
                    let (used, limit) = (used[class.index()][kind], limits[class.index()][kind]);
                    assert!(used <= limit, "TLP {at}: {used} of {limit}");
                }
                at += 1;
                alone.dllp(Dllp::Ack(number));
                answered = alone.device.now;
            }
            if random.random_ratio(1, 30) {
                let class = random.random_range(0..3);
                // No more than may be on offer.
                for kind in 0..2 {
                    let most = [3, 11][kind];
                    let left = limits[class][kind] - used[class][kind];
                    limits[class][kind] += random.random_range(0..=most) * u64::from(left <= most);
                }
                let [header, data] = limits[class];
                alone.update(Class::ALL[class], (header % 256) as u16, (data % 4096) as u16);
            }
            assert!(alone.device.now < answered + 100_000, "TLP {at} waits: {limits:?} {used:?}");
        }
    }
}

#[test]
fn a_root_port_with_few_credits_is_never_flooded() {
    let seed = seed("few credits");
    let mut options = options(seed);
    options.side.link.advertised =
        [Advertised::finite(1, 8), Advertised::finite(1, 1), Advertised::finite(1, 8)];
    let mut pair = Pair::new(options, true);
    pair.train();
    Traffic::new(seed, 600, 128).run(&mut pair, 4_000_000, |_, _| {});
    pair.run(3000);
    pair.assert_silent();
    assert_eq!(pair.port.counters().overflows, 0);
}
