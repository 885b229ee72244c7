//! Managers on a network that loses, doubles and delays frames, and what their owners do with events.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    time::Duration,
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::{ConnectionInfo, Mac, Mtu, Service, ACK_TIME},
    cm::{
        config::Config, datagram::Datagram, mad::Mad, message::Message, CmError, ConnectionId, Discriminator,
        End, Event, Host, Manager, Request, Target,
    },
};

/// How bad the network is.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// Of 100 frames so many are lost.
    pub loss: u32,
    /// Of 100 frames so many come twice.
    pub doubling: u32,
    /// The longest that one takes.
    pub delay: Duration,
}

/// Nothing is lost, and everything takes a millisecond.
pub const FAULTLESS: Faults = Faults { loss: 0, doubling: 0, delay: Duration::ZERO };

/// One frame's fate: whether it is lost.
type Fate = Box<dyn FnMut(usize, &Frame) -> bool>;

/// A frame on the wire.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The message in it; None: ARP.
    pub message: Option<Message>,
}

/// The network.
pub struct Network {
    pub managers: Vec<Manager>,
    pub now: Duration,
    pub random: ChaCha8Rng,
    pub faults: Faults,
    /// Events that nobody has taken.
    pub events: Vec<(usize, Event)>,
    /// Who is asked whether a frame is lost.
    pub fate: Fate,
    /// How many frames were sent.
    pub frames: usize,
    /// The first thousands of them, by sender.
    pub sent: Vec<(usize, Frame)>,
    flying: BTreeMap<(Duration, u64), (usize, Vec<u8>)>,
    flights: u64,
    next_queue_pair: u32,
    /// Managers that are switched off.
    pub dead: BTreeSet<usize>,
}

pub fn host(n: usize) -> Host {
    Host { mac: Mac([2, 0, 0, 0, 0, n as u8 + 1]), ip: Ipv4Addr::new(10, 0, 0, n as u8 + 1) }
}

pub fn name(text: &str) -> Discriminator {
    Discriminator::try_from(text.as_bytes()).expect("a short one")
}

impl Network {
    pub fn new(seed: u64, count: usize) -> Self {
        Self::with(seed, count, |_| {})
    }

    pub fn with(seed: u64, count: usize, change: impl Fn(&mut Config)) -> Self {
        let managers = (0..count).map(|n| {
            let mut config = Config::new(host(n), seed * 7 + n as u64);
            change(&mut config);
            Manager::new(config)
        });
        Self {
            managers: managers.collect(),
            now: Duration::from_secs(1),
            random: ChaCha8Rng::seed_from_u64(seed),
            faults: FAULTLESS,
            events: Vec::new(),
            fate: Box::new(|_, _| false),
            frames: 0,
            sent: Vec::new(),
            flying: BTreeMap::new(),
            flights: 0,
            next_queue_pair: 1 << 10,
            dead: BTreeSet::new(),
        }
    }

    /// A new VI's end on a host.
    pub fn end(&mut self, n: usize) -> End {
        self.next_queue_pair += 1 << 10;
        let Host { mac, ip } = host(n);
        End::new(
            ConnectionInfo {
                mac,
                ip,
                queue_pair: self.next_queue_pair | n as u32,
                starting_psn: self.random.random_range(0..1 << 24),
                first_psn: None,
                mtu: Mtu::DEFAULT,
                service: Service::ReliableDelivery,
                max_transfer: 1 << 20,
                ack_time: ACK_TIME,
            },
            4,
        )
    }

    /// A request to another host, known by its MAC address as VIA has it.
    pub fn request(&mut self, from: usize, to: usize, names: [&str; 2]) -> Request {
        Request {
            party: 0,
            own: self.end(from),
            target: Target::Mac(host(to).mac),
            from: name(names[0]),
            to: name(names[1]),
            data: Vec::new(),
            timeout: Some(Duration::from_secs(60)),
        }
    }

    pub fn connect(&mut self, from: usize, to: usize, names: [&str; 2]) -> ConnectionId {
        let request = self.request(from, to, names);
        self.managers[from].connect(request, self.now).expect("a request")
    }

    pub fn peer(&mut self, from: usize, to: usize, names: [&str; 2]) -> ConnectionId {
        let request = self.request(from, to, names);
        self.managers[from].peer_request(request, self.now).expect("a request")
    }

    /// Sends what the managers have, and takes their events.
    pub fn pump(&mut self) {
        for n in 0..self.managers.len() {
            while let Some(bytes) = self.managers[n].next_frame() {
                if !self.dead.contains(&n) {
                    self.launch(n, bytes);
                }
            }
            while let Some(event) = self.managers[n].next_event() {
                self.events.push((n, event));
            }
        }
    }

    fn launch(&mut self, from: usize, bytes: Vec<u8>) {
        let datagram = Datagram::decode(&bytes).expect("what we send is right");
        let message = datagram.map(|datagram| Mad::decode(&datagram.mad).expect("as well").message);
        let frame = Frame { bytes, message };
        self.frames += 1;
        if self.frames < 5000 {
            self.sent.push((from, frame.clone()));
        }
        let Faults { loss, doubling, delay } = self.faults;
        if (self.fate)(from, &frame) || self.random.random_range(0..100) < loss {
            return;
        }
        let copies = if self.random.random_range(0..100) < doubling { 2 } else { 1 };
        for _ in 0..copies {
            let extra = Duration::from_micros(self.random.random_range(0..=delay.as_micros() as u64));
            self.flights += 1;
            let arrival = self.now + Duration::from_millis(1) + extra;
            self.flying.insert((arrival, self.flights), (from, frame.bytes.clone()));
        }
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Duration> {
        let alive = (0..self.managers.len()).filter(|n| !self.dead.contains(n));
        let timers = alive.filter_map(|n| self.managers[n].deadline());
        let flights = self.flying.first_key_value().map(|((at, _), _)| *at);
        timers.chain(flights).min()
    }

    /// Lets the next thing happen. False: nothing will any more, or not before `until`.
    pub fn step(&mut self, until: Duration) -> bool {
        self.pump();
        let Some(next) = self.next().filter(|next| *next <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (from, bytes) = entry.remove();
            for n in (0..self.managers.len()).filter(|n| *n != from) {
                let to_it = bytes[..6] == host(n).mac.0 || bytes[0] & 1 != 0;
                if to_it && !self.dead.contains(&n) {
                    self.managers[n].frame(&bytes, self.now);
                }
            }
        }
        for n in 0..self.managers.len() {
            if !self.dead.contains(&n) {
                self.managers[n].tick(self.now);
            }
        }
        self.pump();
        true
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    /// The next event of a host; runs until there is one, for five minutes at most.
    pub fn event(&mut self, n: usize) -> Event {
        let until = self.now + Duration::from_secs(300);
        loop {
            self.pump();
            if let Some(at) = self.events.iter().position(|(of, _)| *of == n) {
                return self.events.remove(at).1;
            }
            assert!(self.step(until), "host {n}: nothing happens");
        }
    }

    /// Accepts a request with a new end.
    pub fn say_yes(&mut self, n: usize, id: ConnectionId) -> Result<(), CmError> {
        let own = self.end(n);
        self.managers[n].accept(id, own, &[], self.now)
    }

    /// Accepts the next request with a new end.
    pub fn accept(&mut self, n: usize) -> ConnectionId {
        let event = self.event(n);
        let Event::Incoming { id, .. } = event else { panic!("{event:?}") };
        self.say_yes(n, id).expect("it fits");
        id
    }

    /// Answers the next meeting; who was met.
    pub fn meet(&mut self, n: usize) -> End {
        let event = self.event(n);
        let Event::Met { id, peer, .. } = event else { panic!("{event:?}") };
        self.managers[n].ready(id, self.now).expect("it waits for us");
        peer
    }

    /// An established connection: both ids.
    pub fn connected(&mut self) -> [ConnectionId; 2] {
        self.managers[1].listen(name("there"), true);
        let client = self.connect(0, 1, ["here", "there"]);
        let server = self.accept(1);
        self.meet(0);
        assert_eq!(self.event(0), Event::Established { id: client });
        assert_eq!(self.event(1), Event::Established { id: server });
        [client, server]
    }

    /// How many messages that `is` holds of were sent by a host.
    pub fn count(&self, n: usize, is: impl Fn(&Message) -> bool) -> usize {
        let of =
            self.sent.iter().filter(|(from, frame)| *from == n && frame.message.as_ref().is_some_and(&is));
        of.count()
    }

    /// Loses the first `count` frames whose message `is` holds of.
    pub fn lose(&mut self, mut count: usize, is: impl Fn(&Message) -> bool + 'static) {
        self.fate = Box::new(move |_, frame| {
            let hit = count > 0 && frame.message.as_ref().is_some_and(&is);
            count -= usize::from(hit);
            hit
        });
    }
}
