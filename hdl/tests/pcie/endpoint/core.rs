//! A core at the endpoint's edge: it sinks what comes, answers reads, and sends what it is told to when it has the credits.

use std::collections::{BTreeMap, VecDeque};

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::{Dut, Handle};

use super::host::{data_at, requester};
use crate::core_edge::CoreEdge;
use crate::packet::Tlp;

/// A read of the core's, of which some has come.
#[derive(Debug)]
struct Read {
    address: u64,
    length: usize,
    got: Vec<u32>,
}

struct Ports {
    id: Handle,
    bus_master: Handle,
    max_payload: Handle,
    function_reset: Handle,
    done: Handle,
    /// Headers and data that may be sent: posted, non-posted (headers alone), completions.
    credits: [Handle; 5],
}

/// See the module's description.
pub struct Core {
    edge: CoreEdge,
    ports: Ports,
    wants: VecDeque<Tlp>,
    reads: BTreeMap<u8, Read>,
    /// What stores have left, by BAR and address.
    pub memory: BTreeMap<(u64, u64), u32>,
    /// How often in percent it offers a beat, and has room for a request.
    pub eager: [u32; 2],
    /// What it has begun to send, and what it has heard, since the last look.
    pub begun: Vec<Tlp>,
    pub heard: Vec<Tlp>,
    /// Reads that were answered in full.
    pub answered: u64,
    /// Function-level resets.
    pub resets: u64,
    resetting: bool,
    down: bool,
}

impl Core {
    pub fn of(dut: &Dut) -> Self {
        let ports = Ports {
            id: dut.port("cfg_requester_id"),
            bus_master: dut.port("cfg_bus_master"),
            max_payload: dut.port("cfg_max_payload"),
            function_reset: dut.port("cfg_function_reset"),
            done: dut.port("function_reset_done"),
            credits: ["ph", "pd", "nph", "ch", "cd"].map(|name| dut.port(&format!("credit_{name}"))),
        };
        Self {
            edge: CoreEdge::of(dut),
            ports,
            wants: VecDeque::new(),
            reads: BTreeMap::new(),
            memory: BTreeMap::new(),
            eager: [100, 100],
            begun: Vec::new(),
            heard: Vec::new(),
            answered: 0,
            resets: 0,
            resetting: false,
            down: true,
        }
    }

    /// The link is down, as the core sees it.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Packets that wait, and reads that are not answered.
    pub fn backlog(&self) -> usize {
        self.wants.len() + self.reads.len() + usize::from(!self.edge.is_empty())
    }

    /// It may send requests of its own.
    pub fn may_ask(&self, dut: &Dut) -> bool {
        !self.down && !self.resetting && dut.read(self.ports.bus_master) == 1
    }

    /// Most double words of a payload.
    pub fn most(&self, dut: &Dut) -> u32 {
        32 << dut.read(self.ports.max_payload)
    }

    /// A store to the host's memory.
    pub fn store(&mut self, address: u64, data: impl IntoIterator<Item = u32>) {
        let data: Vec<u32> = data.into_iter().collect();
        let mut words = vec![0x6000_0000 | data.len() as u32, enables(data.len()), (address >> 32) as u32];
        words.push(address as u32);
        words.extend(data);
        self.wants.push_back(Tlp { words, bar: 0 });
    }

    /// A read of the host's memory, if a tag is free.
    pub fn load(&mut self, dut: &Dut, address: u64, length: usize) -> bool {
        let Some(tag) = (0..32).find(|tag| !self.reads.contains_key(tag)) else { return false };
        let id = dut.read(self.ports.id) as u32;
        let second = id << 16 | u32::from(tag) << 8 | enables(length);
        let words = vec![0x2000_0000 | length as u32, second, (address >> 32) as u32, address as u32];
        self.wants.push_back(Tlp { words, bar: 0 });
        self.reads.insert(tag, Read { address, length, got: Vec::new() });
        true
    }

    /// Before a rising edge of its clock.
    pub fn cycle(&mut self, dut: &mut Dut, random: &mut ChaCha8Rng) {
        self.down = self.edge.is_down(dut);
        if self.down {
            self.forget();
            self.edge.forget(dut);
            self.memory.clear();
        }
        let resets = dut.read(self.ports.function_reset) == 1 && !self.down;
        if resets && !self.resetting {
            self.forget();
            self.memory.clear();
            self.resets += 1;
        }
        self.resetting = resets;
        // What has begun goes out whole.
        dut.write(self.ports.done, u64::from(resets && self.edge.has_sent()));
        if self.edge.has_sent() && !self.down {
            if let Some(tlp) = self.next(dut) {
                self.edge.offer(&tlp);
                self.begun.push(tlp);
            }
        }
        let [offers, room] = self.eager.map(|percent| random.random_ratio(percent, 100));
        self.edge.cycle(dut, offers, room);
        self.edge.left.clear();
        for tlp in std::mem::take(&mut self.edge.heard) {
            self.hear(dut, &tlp);
            self.heard.push(tlp);
        }
    }

    fn forget(&mut self) {
        self.wants.clear();
        self.reads.clear();
    }

    /// The first packet that has credits; nothing passes a store, nor one of its own class.
    fn next(&mut self, dut: &Dut) -> Option<Tlp> {
        let [ph, pd, nph, ch, cd] = self.ports.credits.map(|port| dut.read(port));
        let mut blocked = [false; 3];
        let index = self.wants.iter().position(|tlp| {
            let class = tlp.class() as usize;
            let (headers, data) = [(ph, pd), (nph, 1), (ch, cd)][class];
            let goes = !blocked[0] && !blocked[class] && headers > 0 && data >= tlp.cost();
            blocked[class] |= !goes;
            goes
        })?;
        self.wants.remove(index)
    }

    fn hear(&mut self, dut: &Dut, tlp: &Tlp) {
        match tlp.class() {
            0 => {
                let (header, address) = target(&tlp.words);
                for (place, word) in tlp.words[header..].iter().enumerate() {
                    self.memory.insert((tlp.bar, address + 4 * place as u64), *word);
                }
            }
            1 => {
                let (_, address) = target(&tlp.words);
                let length = tlp.words[0] & 0x3FF;
                let place = |at: u32| (tlp.bar, address + 4 * u64::from(at));
                let data = (0..length).map(|at| self.memory.get(&place(at)).copied().unwrap_or(0));
                let id = dut.read(self.ports.id) as u32;
                let mut words = vec![
                    0x4A00_0000 | length,
                    id << 16 | (4 * length),
                    tlp.words[1] & 0xFFFF_FF00 | address as u32 & 0x7C,
                ];
                words.extend(data);
                self.wants.push_back(Tlp { words, bar: 0 });
            }
            _ => self.complete(&tlp.words),
        }
    }

    /// A completion has come. One for a read of before a reset belongs to nothing.
    fn complete(&mut self, words: &[u32]) {
        let (requester, tag) = requester(words[2]);
        let Some(read) = self.reads.get_mut(&tag) else { return };
        assert_ne!(requester, 0, "a completion for nobody");
        read.got.extend(&words[3..]);
        let left = read.length - read.got.len().min(read.length) + words.len() - 3;
        assert_eq!(words[1] & 0xFFF, (4 * left as u32) & 0xFFF, "the bytes that are left");
        if read.got.len() == read.length {
            let expected: Vec<u32> =
                (0..read.length).map(|at| data_at(read.address + 4 * at as u64)).collect();
            assert_eq!(read.got, expected, "what the host has at {:#x}", read.address);
            self.reads.remove(&tag);
            self.answered += 1;
        }
    }
}

/// Byte enables of whole double words.
pub fn enables(length: usize) -> u32 {
    if length == 1 {
        0x0F
    } else {
        0xFF
    }
}

/// How long the header of a memory request is, and its address.
pub fn target(words: &[u32]) -> (usize, u64) {
    match words[0] >> 29 & 1 {
        0 => (3, u64::from(words[2])),
        _ => (4, u64::from(words[2]) << 32 | u64::from(words[3])),
    }
}
