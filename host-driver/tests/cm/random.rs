//! Managers and consumers of any kind over a network of any kind: whatever happens, both ends of a connection hear the same of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rand::Rng;
use viaduct_driver::cm::{CmError, ConnectionId, Event};

use super::network::{name, Faults, Network};

/// What a consumer has heard of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing final.
    Open,
    /// Both ends are ready.
    Up,
    /// It is over, or came to nothing.
    Down,
}

/// What the consumers of all hosts know.
#[derive(Default)]
struct Consumers {
    fates: BTreeMap<(usize, ConnectionId), Fate>,
    /// Queue pair numbers: each side's own, and the other one's as it was told.
    pairs: BTreeMap<(usize, ConnectionId), (u32, Option<u32>)>,
    /// Requests that wait for a decision.
    pending: BTreeSet<(usize, ConnectionId)>,
    established: usize,
}

impl Consumers {
    fn hear(&mut self, net: &mut Network, n: usize, event: Event) {
        let key = (n, event.id());
        let down = match event {
            Event::Incoming { id, request, .. } => {
                assert!(self.fates.insert((n, id), Fate::Open).is_none(), "a number of its own");
                self.pairs.insert((n, id), (0, Some(request.peer.info.queue_pair)));
                self.pending.insert((n, id));
                false
            }
            Event::Met { id, peer, .. } => {
                assert_eq!(self.fates[&key], Fate::Open);
                self.pairs.get_mut(&key).expect("it is known").1 = Some(peer.info.queue_pair);
                if net.random.random_range(0..20) == 0 {
                    net.managers[n].reject(id, b"no", net.now).is_ok()
                } else {
                    // Else its end is on the way to us.
                    let _ = net.managers[n].ready(id, net.now);
                    false
                }
            }
            Event::Established { .. } => {
                assert_eq!(self.fates.insert(key, Fate::Up), Some(Fate::Open));
                self.established += 1;
                false
            }
            Event::Refused { .. } | Event::Withdrawn { .. } => {
                assert_eq!(self.fates[&key], Fate::Open, "{event:?}");
                true
            }
            Event::Disconnected { .. } | Event::Lost { .. } => {
                assert_ne!(self.fates[&key], Fate::Down, "{event:?}");
                true
            }
        };
        if down {
            self.fates.insert(key, Fate::Down);
            self.pending.remove(&key);
        }
    }

    /// A consumer with a request decides.
    fn decide(&mut self, net: &mut Network, (n, id): (usize, ConnectionId)) {
        self.pending.remove(&(n, id));
        let data = [7; 20];
        let end = net.end(n);
        if net.random.random_range(0..10) == 0 {
            if net.managers[n].reject(id, &data, net.now).is_ok() {
                self.fates.insert((n, id), Fate::Down);
            }
            return;
        }
        match net.managers[n].accept(id, end, &data, net.now) {
            Ok(()) => self.pairs.get_mut(&(n, id)).expect("it is known").0 = end.info.queue_pair,
            // Its client has gone, and an event that is under way says so.
            Err(CmError::Gone(_)) => net.pump(),
            Err(error) => panic!("{error}"),
        }
    }

    /// The two sides that were told of each other.
    fn couples(&self) -> Vec<[(usize, ConnectionId); 2]> {
        let mut couples = Vec::new();
        for (a, (own, peer)) in &self.pairs {
            for (b, (other, back)) in &self.pairs {
                if a < b && *own != 0 && Some(*own) == *back && Some(*other) == *peer {
                    couples.push([*a, *b]);
                }
            }
        }
        couples
    }
}

/// One network with some requests of all kinds, and what becomes of them.
fn play(seed: u64) -> (usize, usize) {
    let hosts = 2 + seed as usize % 2;
    let mut net = Network::with(seed, hosts, |config| {
        config.timing.probe = Some(Duration::from_secs(5));
        config.limits.pending = 4;
    });
    let random = |net: &mut Network, to: u32| net.random.random_range(0..to);
    net.faults = Faults {
        loss: [0, 5, 20, 40][random(&mut net, 4) as usize],
        doubling: [0, 10, 50][random(&mut net, 3) as usize],
        delay: Duration::from_millis([0, 1, 50, 700][random(&mut net, 4) as usize]),
    };
    println!("seed {seed}: {:?}", net.faults);
    let mut consumers = Consumers::default();
    const NAMES: [&str; 3] = ["a", "b", "a longer name"];
    let begin = net.now;
    while net.now < begin + Duration::from_secs(100) {
        let n = random(&mut net, hosts as u32) as usize;
        let to = random(&mut net, hosts as u32) as usize;
        let names = [0, 1].map(|_| NAMES[random(&mut net, 3) as usize]);
        match random(&mut net, 12) {
            0 | 1 => {
                let once = random(&mut net, 2) == 0;
                net.managers[n].listen(name(names[0]), once);
            }
            kind @ 2..=5 => {
                let mut request = net.request(n, to, names);
                request.timeout = Some(Duration::from_millis(random(&mut net, 20_000).into()));
                let queue_pair = request.own.info.queue_pair;
                let now = net.now;
                let id = match kind {
                    2 | 3 => net.managers[n].connect(request, now),
                    _ => net.managers[n].peer_request(request, now),
                };
                let key = (n, id.expect("a request"));
                consumers.fates.insert(key, Fate::Open);
                consumers.pairs.insert(key, (queue_pair, None));
            }
            6 => {
                // A consumer that has enough of one.
                let all: Vec<(usize, ConnectionId)> = consumers.fates.keys().copied().collect();
                if !all.is_empty() {
                    let key = all[random(&mut net, all.len() as u32) as usize];
                    net.pump();
                    let events = std::mem::take(&mut net.events);
                    events.into_iter().for_each(|(n, event)| consumers.hear(&mut net, n, event));
                    net.managers[key.0].disconnect(key.1, net.now);
                    consumers.fates.insert(key, Fate::Down);
                    consumers.pending.remove(&key);
                }
            }
            _ => {
                if let Some(key) = consumers.pending.first().copied() {
                    consumers.decide(&mut net, key);
                }
            }
        }
        // Now and then nothing comes through for longer than anybody's patience.
        let outage = random(&mut net, 30) == 0;
        let loss = net.faults.loss;
        if outage {
            net.faults.loss = 100;
        }
        let until =
            net.now + Duration::from_millis(random(&mut net, if outage { 60_000 } else { 800 }).into());
        loop {
            let more = net.step(until);
            let events = std::mem::take(&mut net.events);
            events.into_iter().for_each(|(n, event)| consumers.hear(&mut net, n, event));
            if !more {
                break;
            }
        }
        net.faults.loss = loss;
    }
    // Until all that is under way has ended. Whoever waits for a decision gets one.
    let until = net.now + Duration::from_secs(200);
    loop {
        while let Some(key) = consumers.pending.first().copied() {
            consumers.decide(&mut net, key);
        }
        let more = net.step(until);
        let events = std::mem::take(&mut net.events);
        events.into_iter().for_each(|(n, event)| consumers.hear(&mut net, n, event));
        if !more {
            break;
        }
    }
    // In a bad network some are lost just now: the other side hears of it a little later.
    net.faults = super::network::FAULTLESS;
    let until = net.now + Duration::from_secs(60);
    loop {
        let more = net.step(until);
        let events = std::mem::take(&mut net.events);
        events.into_iter().for_each(|(n, event)| consumers.hear(&mut net, n, event));
        if !more {
            break;
        }
    }
    for (key, fate) in &consumers.fates {
        assert_ne!(*fate, Fate::Open, "{key:?} heard nothing");
        let established = net.managers[key.0].is_established(key.1);
        assert_eq!(established, *fate == Fate::Up, "{key:?}");
    }
    let couples = consumers.couples();
    let up = |key: &(usize, ConnectionId)| consumers.fates[key] == Fate::Up;
    for [a, b] in &couples {
        assert_eq!(up(a), up(b), "{a:?} and {b:?}");
    }
    for key in consumers.fates.keys().filter(|key| up(key)) {
        let partners = couples.iter().filter(|couple| couple.contains(key)).count();
        assert_eq!(partners, 1, "{key:?} is connected to one");
    }
    (consumers.established, net.frames)
}

/// VIADUCT_RUNS says how many, if these are not enough; VIADUCT_SEED where they begin.
fn play_all() {
    let runs = std::env::var("VIADUCT_RUNS").map_or(80, |runs| runs.parse().expect("a number"));
    let base: u64 = match std::env::var("VIADUCT_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => rand::rng().random_range(0..1 << 40),
    };
    let (mut established, mut frames) = (0, 0);
    for seed in 0..runs {
        let (more, sent) = play(base + seed);
        established += more;
        frames += sent;
    }
    println!("{established} times an end was established, {frames} frames");
    assert!(established > 0);
}

#[test]
fn both_ends_hear_the_same_1() {
    play_all();
}

#[test]
fn both_ends_hear_the_same_2() {
    play_all();
}
