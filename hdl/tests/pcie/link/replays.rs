//! TLPs that go: numbers, Acks and Naks, the replay timer, and how many may be on their way.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::link::dllp::Dllp;
use viaduct_link::tlp::to_bytes;

use super::world::{read, seed, write, Alone};

const ENDLESS: [(u16, u16); 3] = [(0, 0); 3];

fn sent(name: &str, count: u32) -> Alone {
    let mut alone = Alone::active(seed(name), ENDLESS);
    for number in 0..count {
        alone.device.send(&write(number, 1));
    }
    alone.run(30 + 12 * u64::from(count));
    assert_eq!(alone.numbers(), (0..count as u16).collect::<Vec<_>>());
    alone
}

#[test]
fn a_nak_replays_what_follows_it() {
    let mut alone = sent("nak", 5);
    alone.dllp(Dllp::Nak(1));
    alone.run(80);
    assert_eq!(alone.numbers(), [2, 3, 4]);
    // One that acknowledges nothing.
    alone.dllp(Dllp::Nak(1));
    alone.run(80);
    let bytes: Vec<_> = alone.tlps.iter().map(|(_, _, (_, bytes))| bytes.clone()).collect();
    assert_eq!(bytes, [2, 3, 4].map(|number| to_bytes(&write(number, 1))));
    assert_eq!(alone.numbers(), [2, 3, 4]);
    // And one that acknowledges all: nothing is left to send.
    alone.dllp(Dllp::Nak(4));
    alone.run(3000);
    assert_eq!(alone.numbers(), []);
    assert_eq!(alone.device.retrains, 0);
}

#[test]
fn acks_and_naks_of_what_was_not_sent_mean_nothing() {
    let mut alone = sent("impossible", 3);
    for number in [3, 4, 67, 500, 2046, 2047, 2048, 3000, 4094] {
        alone.dllp(Dllp::Ack(number));
        alone.dllp(Dllp::Nak(number));
    }
    alone.run(150);
    assert_eq!(alone.numbers(), []);
    alone.dllp(Dllp::Ack(0));
    alone.run(20);
    // An Ack that is older than that.
    alone.dllp(Dllp::Ack(4095));
    alone.run(20);
    alone.dllp(Dllp::Nak(0));
    alone.run(60);
    assert_eq!(alone.numbers(), [1, 2]);
}

#[test]
fn the_timer_replays_and_the_fourth_time_asks_for_recovery() {
    for (max_payload, least) in [(0, 711), (1, 1248), (2, 1677)] {
        let mut alone = Alone::active(seed("timer"), ENDLESS);
        alone.device.max_payload = max_payload;
        alone.run(10);
        alone.device.send(&read(1));
        alone.device.send(&read(2));
        alone.until(100, |alone| alone.tlps.len() == 2);
        let mut since = alone.tlps[0].1;
        for round in 1..=3 {
            alone.tlps.clear();
            alone.until(2000, |alone| alone.tlps.len() == 2);
            let waited = 2 * (alone.tlps[0].0 - since);
            assert!((least..2 * least).contains(&waited), "{max_payload} {round}: {waited} symbols");
            assert_eq!(alone.tlps.iter().map(|(_, _, (number, _))| *number).collect::<Vec<_>>(), [0, 1]);
            assert_eq!(alone.device.retrains, 0);
            since = alone.tlps[0].1;
        }
        alone.tlps.clear();
        alone.run(least);
        assert_eq!(alone.device.retrains, 1);
        assert!(alone.device.retrains());
        alone.run(5000);
        assert!(alone.device.retrains() && alone.tlps.is_empty(), "it waits for Recovery");
        alone.in_l0 = false;
        alone.run(200);
        assert!(!alone.device.retrains() && alone.tlps.is_empty());
        alone.in_l0 = true;
        alone.run(50);
        assert_eq!(alone.numbers(), [0, 1]);
        // The count begins anew.
        alone.run(2 * least - 100);
        assert_eq!(alone.device.retrains, 1);
        alone.dllp(Dllp::Ack(1));
        alone.run(50);
        alone.numbers();
        alone.run(10_000);
        assert_eq!((alone.numbers(), alone.device.retrains), (vec![], 1));
    }
}

#[test]
fn progress_forgets_the_replays_before_and_starts_the_timer_anew() {
    let mut alone = sent("progress", 20);
    for round in 0..20_u16 {
        for _ in 0..3 {
            alone.dllp(Dllp::Nak(round.wrapping_sub(1) % 4096));
            alone.run(300);
            assert_eq!(alone.numbers(), (round..20).collect::<Vec<_>>());
        }
        alone.dllp(Dllp::Ack(round));
        alone.run(20);
    }
    assert_eq!(alone.device.retrains, 0);
    alone.run(5000);
    assert_eq!(alone.numbers(), []);
    // Acks that come slowly, but come.
    let mut alone = sent("slow acks", 10);
    for round in 0..10 {
        alone.dllp(Dllp::Ack(round));
        alone.run(350);
        assert_eq!(alone.numbers(), []);
    }
}

#[test]
fn an_ack_in_the_middle_of_a_replay_shortens_it() {
    let mut alone = Alone::active(seed("shortened"), ENDLESS);
    // The timer is not to end meanwhile.
    alone.device.max_payload = 2;
    for number in 0..8 {
        alone.device.send(&write(number, 30));
    }
    alone.run(700);
    assert_eq!(alone.numbers().len(), 8);
    alone.dllp(Dllp::Nak(4095));
    // 0 is under way again.
    alone.run(40);
    alone.dllp(Dllp::Ack(4));
    alone.run(700);
    assert_eq!(alone.numbers(), [0, 5, 6, 7]);
    alone.dllp(Dllp::Nak(4));
    alone.run(100);
    // 6 is under way: it is finished, and 7 goes on.
    alone.dllp(Dllp::Ack(5));
    alone.run(700);
    assert_eq!(alone.numbers(), [5, 6, 7]);
    // All are acknowledged while the first is under way, and a new one waits.
    alone.dllp(Dllp::Nak(5));
    alone.run(40);
    alone.device.send(&write(8, 1));
    alone.dllp(Dllp::Ack(7));
    alone.run(700);
    assert_eq!(alone.numbers(), [6, 8]);
}

#[test]
fn at_most_64_tlps_and_4_kib_wait_for_an_ack() {
    let mut alone = Alone::active(seed("many"), ENDLESS);
    alone.device.max_payload = 2;
    for number in 0..100 {
        alone.device.send(&read(number));
    }
    alone.run(500);
    alone.run(200);
    let numbers = alone.numbers();
    assert_eq!(numbers, (0..64).collect::<Vec<_>>());
    alone.dllp(Dllp::Ack(9));
    alone.run(300);
    assert_eq!(alone.numbers(), (64..74).collect::<Vec<_>>());
    alone.dllp(Dllp::Nak(9));
    alone.run(1000);
    assert!(alone.numbers().starts_with(&(10..74).collect::<Vec<_>>()));

    let mut alone = Alone::active(seed("much"), ENDLESS);
    for number in 0..40 {
        alone.device.send(&write(number, 64));
    }
    alone.run(4000);
    // A TLP has 268 bytes: 15 of them are 4020.
    assert_eq!(alone.device.accepted, 15);
    assert!(alone.device.words_taken <= 2048 + 2);
    // The timer has replayed some; none of them was overwritten.
    assert!(alone.tlps.len() > 15);
    for (_, _, (number, bytes)) in alone.tlps.drain(..) {
        assert_eq!(bytes, to_bytes(&write(number.into(), 64)));
    }
    alone.dllp(Dllp::Ack(3));
    alone.run(2000);
    assert_eq!(alone.device.accepted, 19);
}

#[test]
fn random_acks_and_naks_lose_nothing() {
    let seed = seed("random answers");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut alone = Alone::active(seed, ENDLESS);
    alone.device.rate = 60;
    let total = 5000_u16;
    for number in 0..total {
        alone.device.send(&write(number.into(), random.random_range(1..20)));
    }
    // A receiver that takes what is next, and answers as it likes within the rules.
    let (mut next, mut wrong) = (0_u16, 0);
    while next < total {
        alone.step();
        let Some((_, _, (number, bytes))) = alone.tlps.pop_front() else {
            if random.random_ratio(1, 300) {
                alone.dllp(Dllp::Nak(next.wrapping_sub(1) % 4096));
            }
            continue;
        };
        let lost = random.random_ratio(1, 50);
        if number == next % 4096 && !lost {
            let first = u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
            assert_eq!(first, u32::from(next));
            next += 1;
            if random.random_ratio(1, 3) {
                alone.dllp(Dllp::Ack(next.wrapping_sub(1) % 4096));
            }
        } else if lost || random.random_ratio(1, 10) {
            wrong += 1;
            alone.dllp(Dllp::Nak(next.wrapping_sub(1) % 4096));
        } else {
            let behind = next.wrapping_sub(number) % 4096;
            assert!(behind <= 64 || behind >= 4096 - 64, "{number} instead of {next}");
        }
        if alone.device.retrains() {
            alone.in_l0 = false;
            alone.run(30);
            alone.in_l0 = true;
        }
    }
    println!("{wrong} times Nak, {} times Recovery", alone.device.retrains);
    assert!(wrong > 100);
}
