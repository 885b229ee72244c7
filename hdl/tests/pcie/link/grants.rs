//! What is granted to the link partner, and when it is told.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::tlp::{Class, Tlp};

use super::world::{read, seed, Alone};

/// A configuration write: it takes a unit of data.
fn configure() -> Tlp {
    vec![0x4400_0001, 0, 0, 7]
}

/// The UpdateFC that were said: when each began, headers and data.
fn updates(alone: &mut Alone) -> Vec<(u64, u16, u16)> {
    let said = alone.dllps.drain(..).filter_map(|(began, _, dllp)| match dllp {
        Dllp::Credit { flow: Flow::Update, class, header, data } => {
            assert_eq!(class, Class::NonPosted, "the others are endless");
            Some((began, header, data))
        }
        _ => None,
    });
    said.collect()
}

#[test]
fn updatefc_comes_every_30_us() {
    let mut alone = Alone::active(seed("updates"), [(0, 0); 3]);
    let begins = alone.device.now;
    alone.run(40_000);
    let all = updates(&mut alone);
    let mut last = begins;
    for (at, header, data) in &all {
        assert!(2 * (at - last) <= 7500, "{} symbols", 2 * (at - last));
        assert_eq!((*header, *data), (8, 8));
        last = *at;
    }
    assert!((10..=12).contains(&all.len()));
}

#[test]
fn a_freed_request_is_granted_again() {
    let mut alone = Alone::active(seed("freed"), [(0, 0); 3]);
    alone.device.frees = None;
    alone.tlp(0, &read(0));
    alone.tlp(1, &configure());
    alone.tlp(2, &read(0));
    alone.settle();
    assert_eq!(updates(&mut alone), []);
    let free = |alone: &mut Alone| {
        alone.device.free_one();
        alone.run(30);
        updates(alone).last().map(|(_, header, data)| (*header, *data))
    };
    // Which of the three it was is not known: the unit of data stays until it must be free.
    assert_eq!(free(&mut alone), Some((9, 8)));
    assert_eq!(free(&mut alone), Some((10, 8)));
    assert_eq!(free(&mut alone), Some((11, 9)));
    // One too many means nothing.
    assert_eq!(free(&mut alone), None);
}

#[test]
fn what_is_granted_is_never_more_than_there_is_and_comes_back() {
    let seed = seed("random grants");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut alone = Alone::active(seed, [(0, 0); 3]);
    alone.device.frees = None;
    let (mut allowed, mut used) = ([8_u64; 2], [0_u64; 2]);
    let (mut waiting, mut number) = (Vec::new(), 0_u16);
    let mut freed = 0_u64;
    while number < 6000 {
        alone.run(random.random_range(1..30));
        for (_, header, data) in updates(&mut alone) {
            let told = [u64::from(header), u64::from(data)];
            for kind in 0..2 {
                let wrap = [256, 4096][kind];
                allowed[kind] += (told[kind] + wrap - allowed[kind] % wrap) % wrap;
                let offered = allowed[kind] - used[kind];
                assert!(offered <= 8, "{offered} of kind {kind} are on offer");
            }
            // Of data there is never less than of headers.
            assert!(allowed[1] - used[1] >= allowed[0] - used[0]);
        }
        assert!(allowed[0] <= 8 + freed);
        if allowed[0] > used[0] && random.random() {
            let with_data = allowed[1] > used[1] && random.random();
            alone.tlp(number % 4096, &if with_data { configure() } else { read(0) });
            used[0] += 1;
            used[1] += u64::from(with_data);
            waiting.push(with_data);
            number += 1;
        }
        if alone.device.arrived.pop_front().is_some() {
            waiting.rotate_left(1);
        }
        if !waiting.is_empty() && alone.device.arrived.is_empty() && random.random_ratio(1, 3) {
            alone.settle();
            alone.device.arrived.clear();
            let at = random.random_range(0..waiting.len());
            waiting.remove(at);
            alone.device.free_one();
            freed += 1;
        }
    }
    alone.settle();
    for _ in waiting {
        alone.device.free_one();
    }
    alone.run(4000);
    let last = updates(&mut alone).last().map(|(_, header, data)| (u64::from(*header), u64::from(*data)));
    assert_eq!(last, Some(((8 + used[0]) % 256, (8 + used[1]) % 4096)));
}
