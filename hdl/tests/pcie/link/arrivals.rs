//! TLPs that come: lengths, duplicates, gaps, nullified ones, and when they are acknowledged.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::link::dllp::Dllp;
use viaduct_link::link::frame::frame_tlp;
use viaduct_link::tlp::{to_bytes, Tlp};

use super::world::{read, seed, write, Alone};

const ENDLESS: [(u16, u16); 3] = [(0, 0); 3];

/// A write whose payload begins with its number.
fn numbered(number: u32) -> Tlp {
    write(number, 3)
}

#[test]
fn every_length_comes_from_either_byte() {
    for odd in [0, 1] {
        let mut alone = Alone::active(seed("lengths"), ENDLESS);
        alone.idle(odd);
        let mut expected = Vec::new();
        for length in 0..=64 {
            let tlp = if length == 0 { read(0) } else { write(length, length) };
            alone.tlp(length as u16, &tlp);
            expected.push(tlp);
        }
        // The longest: a header of four double words, and a digest.
        let mut longest = write(9, 64);
        longest[0] |= 0x2000_8000;
        longest.extend([1, 2]);
        alone.tlp(65, &longest);
        expected.push(longest);
        alone.settle();
        assert!(alone.device.arrived == expected, "{} of {}", alone.device.arrived.len(), expected.len());
    }
}

#[test]
fn what_is_too_short_or_too_long_is_bad() {
    let mut alone = Alone::active(seed("bad lengths"), ENDLESS);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for (round, length) in [0, 1, 2, 4, 8, 10, 11, 13, 14, 278, 280, 500, 1024].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        // A right LCRC does not help.
        alone.symbols(frame_tlp(round as u16, &bytes, false));
        alone.settle();
        let last = (round as u16).wrapping_sub(1) % 4096;
        assert_eq!(alone.next_dllp(), Some(Dllp::Nak(last)), "{length}");
        assert_eq!(alone.device.arrived.len(), round);
        alone.tlp(round as u16, &numbered(round as u32));
        alone.settle();
        assert_eq!(alone.device.arrived.back(), Some(&numbered(round as u32)));
        alone.run(200);
        assert_eq!(alone.next_dllp(), Some(Dllp::Ack(round as u16)));
    }
}

#[test]
fn a_duplicate_is_dropped_and_acknowledged_at_once() {
    let mut alone = Alone::active(seed("duplicates"), ENDLESS);
    for number in 0..3000_u32 {
        alone.tlp(number as u16 % 4096, &read(number));
        alone.run(20);
    }
    alone.run(300);
    assert_eq!(alone.device.arrived.len(), 3000);
    alone.device.arrived.clear();
    alone.dllps.clear();
    for behind in [1, 2, 500, 2047, 2048] {
        alone.tlp(3000 - behind, &read(7));
        alone.settle();
        assert_eq!(alone.next_dllp(), Some(Dllp::Ack(2999)), "{behind}");
    }
    // Further behind is further ahead: one Nak for both.
    alone.tlp(3000 - 2049, &read(7));
    alone.tlp(3001, &read(7));
    alone.settle();
    assert_eq!(alone.next_dllp(), Some(Dllp::Nak(2999)));
    assert_eq!(alone.next_dllp(), None);
    assert!(alone.device.arrived.is_empty());
}

#[test]
fn there_is_one_nak_until_a_good_tlp() {
    let mut alone = Alone::active(seed("one nak"), ENDLESS);
    for round in 0..40_u16 {
        let good = frame_tlp(round, &to_bytes(&numbered(round.into())), false);
        for at in [2, 5, 9, 20] {
            let mut bad = good.clone();
            bad[at].value ^= 0x10;
            alone.symbols(bad);
            // Missing, too.
            alone.tlp(round + 1, &read(0));
        }
        alone.settle();
        assert_eq!(alone.next_dllp(), Some(Dllp::Nak(round.wrapping_sub(1) % 4096)));
        assert_eq!(alone.next_dllp(), None, "one is enough");
        alone.symbols(good);
        alone.settle();
        assert_eq!(alone.device.arrived.pop_front(), Some(numbered(round.into())));
        assert!(alone.device.arrived.is_empty());
        alone.run(200);
        assert_eq!(alone.next_dllp(), Some(Dllp::Ack(round)));
    }
}

#[test]
fn nullified_tlps_are_nothing() {
    let mut alone = Alone::active(seed("nullified"), ENDLESS);
    for number in 0..10 {
        alone.symbols(frame_tlp(number, &to_bytes(&read(99)), true));
        alone.tlp(number, &numbered(number.into()));
    }
    alone.settle();
    alone.run(300);
    assert!(alone.device.arrived.iter().enumerate().all(|(at, tlp)| *tlp == numbered(at as u32)));
    assert_eq!(alone.device.arrived.len(), 10);
    let dllps: Vec<_> = std::iter::from_fn(|| alone.next_dllp()).collect();
    assert!(dllps.iter().all(|dllp| matches!(dllp, Dllp::Ack(_))), "{dllps:?}");
    // Only EDB and the complement together are: each alone is damage.
    for nullified in [false, true] {
        let mut symbols = frame_tlp(10, &to_bytes(&read(99)), nullified);
        let last = symbols.len() - 1;
        symbols[last].value ^= 0xfd ^ 0xfe;
        alone.symbols(symbols);
        alone.settle();
        alone.tlp(10 + u16::from(nullified), &read(1));
        alone.settle();
        assert!(matches!(alone.next_dllp(), Some(Dllp::Nak(_))));
        alone.run(200);
        assert!(matches!(alone.next_dllp(), Some(Dllp::Ack(_))));
    }
}

#[test]
fn an_ack_comes_within_the_limit_and_one_is_for_many() {
    for (max_payload, limit) in [(0, 237), (1, 416), (2, 559)] {
        let mut alone = Alone::active(seed("ack limit"), ENDLESS);
        alone.device.max_payload = max_payload;
        alone.run(10);
        for number in 0..50_u16 {
            alone.tlp(number, &read(number.into()));
        }
        let mut taken = 0;
        let mut acks = 0;
        // When each TLP had come: a read takes 20 symbols.
        let begins = alone.device.now;
        alone.run(800);
        let mut named = -1;
        for (_, ended, dllp) in std::mem::take(&mut alone.dllps) {
            let Dllp::Ack(number) = dllp else { continue };
            acks += 1;
            for tlp in named + 1..=i64::from(number) {
                let came = begins + 10 * (tlp as u64 + 1);
                assert!(2 * (ended - came) <= limit, "TLP {tlp} waits for {} symbols", 2 * (ended - came));
                taken += 1;
            }
            named = i64::from(number);
        }
        assert_eq!(taken, 50);
        assert!(acks <= 1 + 50 * 20 / (limit - 70), "{acks} Acks");
    }
}

#[test]
fn random_numbers_are_judged_as_they_should_be() {
    let seed = seed("random numbers");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut alone = Alone::active(seed, ENDLESS);
    let mut next = 0_u16;
    let mut expected = Vec::new();
    for round in 0..3000 {
        let number = match random.random_range(0..4) {
            0 => next.wrapping_add(random.random_range(0..4096)) % 4096,
            1 => next.wrapping_add(4095 - random.random_range(0..3)) % 4096,
            _ => next,
        };
        let tlp = write(round, random.random_range(1..6));
        alone.tlp(number, &tlp);
        if random.random() {
            alone.idle(random.random_range(0..20));
        }
        if number == next {
            expected.push(tlp);
            next = (next + 1) % 4096;
        }
        if round % 50 == 0 {
            alone.settle();
        }
    }
    alone.settle();
    alone.run(300);
    assert!(alone.device.arrived == expected, "{} of {}", alone.device.arrived.len(), expected.len());
    let last = std::iter::from_fn(|| alone.next_dllp()).last();
    let before = next.wrapping_sub(1) % 4096;
    assert!(last == Some(Dllp::Ack(before)) || last == Some(Dllp::Nak(before)), "{last:?} {before}");
}

#[test]
fn nothing_is_taken_before_the_limits_are_known() {
    let mut alone = Alone::new(seed("early tlp"));
    alone.tlp(0, &read(5));
    alone.tlp(3, &read(5));
    alone.settle();
    assert!(alone.device.arrived.is_empty());
    alone.initialise(ENDLESS);
    alone.tlp(0, &read(6));
    alone.settle();
    assert_eq!(alone.device.arrived, [read(6)]);
    alone.run(200);
    assert_eq!(alone.next_dllp(), Some(Dllp::Ack(0)));
}
