//! How far the model has come with a trace, and how what it lets out is matched with what the NIC let out.

use std::hash::{Hash, Hasher};

use viaduct_sim::model::{Choices, Driven};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;

use super::end_trace::EndTrace;
use super::host::{Done, Host};
use super::inputs::{Given, Said};
use super::outputs::{entry, event, Event};
use super::places::Place;
use super::reached::{Owed, Reached};
use crate::operation::End;
use crate::rows;

/// Behind every moment: what a reset has cut off.
pub const NEVER: usize = usize::MAX;

/// Cycles of Bus Master in which an interrupt that waits for it need not leave.
const SHORT: u64 = 256;

/// Cycles that a break's event may be ahead of the event of a packet that was refused before.
const OVERTAKES: u64 = 256;

/// See the module's description.
#[derive(Debug, Clone)]
pub struct State {
    /// The model.
    pub nic: Driven<Host>,
    /// What the host has said, as far as it is heard.
    pub host: usize,
    /// How far it has come.
    pub reached: Reached,
    /// Bytes that are matched, a bit each.
    matched: Vec<u64>,
    /// The first write that is not matched whole.
    pub written: usize,
    /// The last moment of what has come.
    pub clock: usize,
    /// The last moment of the frames that the VI hears before it breaks by the step at hand (`break_behind`): its event is behind them.
    pub breaks_behind: usize,
    /// The last moment of what was let out.
    high: usize,
    /// The half of an entry.
    half: Option<u64>,
    /// How much is matched.
    pub score: usize,
}

impl State {
    /// Before the first moment.
    pub fn new(trace: &EndTrace<'_>) -> Self {
        Self {
            nic: Driven::new(Choices::led(), Host::new(trace.history.clone())),
            host: 0,
            reached: Reached::default(),
            matched: vec![0; trace.bytes.div_ceil(64)],
            written: 0,
            clock: 0,
            breaks_behind: 0,
            high: 0,
            half: None,
            score: 0,
        }
    }

    fn is_matched(&self, byte: usize) -> bool {
        self.matched[byte / 64] >> (byte % 64) & 1 != 0
    }

    /// The moment of an output of the model's, which must not lie before what has come.
    fn due(&mut self, trace: &EndTrace<'_>, at: usize, what: &dyn Fn() -> String) -> Result<usize, String> {
        if at != NEVER && at < self.clock {
            return Err(trace.too_early(at, &what(), "what it comes of", self.clock));
        }
        if at != NEVER {
            self.score += 1;
            self.high = self.high.max(at);
        }
        Ok(at)
    }

    /// Hashes how far it has come, and with what.
    pub fn hash_progress(&self, hasher: &mut impl Hasher) {
        (self.host, &self.reached, &self.matched, self.clock, self.half).hash(hasher);
    }

    /// What the NIC has let out last of what the model has let out.
    pub fn high(&self) -> usize {
        self.high
    }

    /// Matches what the model has let out in a step. `answers`: the step was an answer's coming.
    pub fn absorb(&mut self, trace: &EndTrace<'_>, answers: bool) -> Result<(), String> {
        let done = std::mem::take(&mut self.nic.host().done);
        let mut last = 0;
        for done in done {
            match done {
                Done::Write(address, data) => match trace.places.place(address) {
                    Place::Entry { queue, within, .. } => {
                        let word = data.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                        match (within, self.half.take()) {
                            (0, None) => self.half = Some(word),
                            (8, Some(token)) => {
                                let at = self.entry(trace, queue, [token, word])?;
                                // Who waits at a work queue is told of its status, who waits at a completion queue of an entry.
                                if trace.places.owner(queue).is_some() {
                                    last = at;
                                }
                            }
                            _ => return Err("the model writes half an entry".into()),
                        }
                    }
                    place => last = self.write(trace, place, address, &data, answers)?.unwrap_or(last),
                },
                Done::Passed(receive) => {
                    let receive = usize::from(receive);
                    last = self.reached.status[receive];
                    self.reached.done[receive].push(last);
                }
                Done::Interrupt(vector) => self.interrupt(trace, vector as usize, last)?,
            }
        }
        self.note_answers(trace);
        self.reached.brought.resize(self.reached.taken[1], self.reached.data[0]);
        let broken = self.nic.is_broken(trace.vi);
        self.reached.broke = self.reached.broke.or(Some(self.reached.taken[0])).filter(|_| broken);
        Ok(())
    }

    /// What the model does, it does for the end that is followed.
    fn is_for(&self, trace: &EndTrace<'_>, end: End) -> Result<(), String> {
        match end == trace.end {
            true => Ok(()),
            false => Err(format!("the model does something for end {end}")),
        }
    }

    /// A write into an end's memory; the moment of a status.
    fn write(
        &mut self,
        trace: &EndTrace<'_>,
        place: Place,
        address: u64,
        data: &[u8],
        answers: bool,
    ) -> Result<Option<usize>, String> {
        let (end, descriptor) = match place {
            Place::Data(end) => (end, false),
            Place::Descriptor(end) => (end, true),
            _ => return Err(format!("the model writes {} bytes at {address:#x}", data.len())),
        };
        self.is_for(trace, end)?;
        let name = if descriptor { "status or immediate data" } else { "data" };
        let (first, last) = self.match_bytes(trace, address, data, name)?;
        if !descriptor {
            let reached = &mut self.reached;
            let kind = usize::from(!answers);
            reached.data[kind] = reached.data[kind].max(last);
            return Ok(None);
        }
        let reached = &mut self.reached;
        if data.len() != 8 {
            reached.immediate = last;
            return Ok(None);
        }
        let word = u32::from_le_bytes([data[4], data[5], data[6], data[7]]);
        let operation = word & status::OP_MASK;
        let receive = usize::from(matches!(operation, status::OP_RECEIVE | status::OP_REMOTE_RDMA_WRITE));
        if first != last {
            return Err(format!("a status at {address:#x} is written in pieces"));
        }
        // Data that answers bring is a read's: a send before it may complete when that has come.
        let data = match operation {
            status::OP_RDMA_READ => reached.data[0].max(reached.late),
            _ => reached.data[1].max(reached.immediate) * receive,
        };
        if data > last {
            let name = format!("DONE at {address:#x}");
            return Err(trace.too_early(last, &name, "its data or immediate data", data));
        }
        if reached.status[receive] > last {
            let (name, before) = (format!("status at {address:#x}"), reached.status[receive]);
            return Err(trace.too_early(last, &name, "the one before it on its queue", before));
        }
        reached.status[receive] = last;
        if receive == 1 && word & status::ERROR_MASK == 0 {
            reached.received = last;
        }
        reached.done[receive].push(last);
        Ok(Some(last))
    }

    /// Finds the bytes among those that the NIC wrote: the first moment and the last.
    fn match_bytes(
        &mut self,
        trace: &EndTrace<'_>,
        address: u64,
        data: &[u8],
        name: &str,
    ) -> Result<(usize, usize), String> {
        let (mut first, mut last) = (NEVER, 0);
        for (at, byte) in (address..).zip(data) {
            let found = trace.touching(at).find_map(|written| {
                let within = at.checked_sub(written.address)? as usize;
                let value = written.data.get(within)?;
                (!self.is_matched(written.first + within)).then_some((written, within, *value))
            });
            let Some((written, within, value)) = found else {
                if !trace.cut {
                    return Err(format!("{name} at {at:#x} missing: {} bytes from {address:#x}", data.len()));
                }
                last = NEVER;
                continue;
            };
            if value != *byte {
                return Err(format!("{name} at {at:#x} is {value:#04x}, not {byte:#04x}"));
            }
            let number = written.first + within;
            self.matched[number / 64] |= 1 << (number % 64);
            let when = self.due(trace, written.at, &|| format!("{name} at {at:#x}"))?;
            (first, last) = (first.min(when), last.max(when));
        }
        while let Some(written) = trace.written.get(self.written) {
            let mut bytes = written.first..written.first + written.data.len();
            if !bytes.all(|byte| self.is_matched(byte)) {
                break;
            }
            self.written += 1;
        }
        Ok((if last == NEVER { NEVER } else { first }, last))
    }

    fn entry(&mut self, trace: &EndTrace<'_>, queue: usize, words: [u64; 2]) -> Result<usize, String> {
        if queue == rows::ERROR_RING {
            return self.event(trace, words[0]);
        }
        let (token, vi, receive) = entry(words);
        let end = trace.places.end_of(vi).ok_or("the model writes an entry of nobody's")?;
        self.is_for(trace, end)?;
        let kind = usize::from(receive);
        let number = self.reached.entries[kind];
        let name = || format!("entry {number} of VI {vi}'s queue {kind}");
        let at = match trace.outputs.entries[kind].get(number) {
            Some((at, found)) if *found == token => *at,
            Some((_, found)) => return Err(format!("{} is {found:#x}, not {token:#x}", name())),
            None if trace.cut => NEVER,
            None => return Err(format!("{} missing: {token:#x}", name())),
        };
        let at = self.due(trace, at, &name)?;
        self.reached.entries[kind] += 1;
        let status = self.reached.status[kind];
        if at < status {
            return Err(trace.too_early(at, &name(), "its status", status));
        }
        Ok(at)
    }

    fn event(&mut self, trace: &EndTrace<'_>, token: u64) -> Result<usize, String> {
        let (end, kind, event) = event(&trace.places, token).ok_or("the model has an event of nobody's")?;
        self.is_for(trace, end)?;
        let number = self.reached.events[kind];
        let name = || {
            let code = event_code::CODES.codes.iter().find(|code| code.value == u64::from(event.code));
            format!("event {number} of end {end}, {}", code.map_or("unknown", |code| code.name))
        };
        let events = &trace.outputs.events[kind];
        if !self.reached.overtaken && is_overtaken(trace, events.get(number..).unwrap_or_default(), event) {
            self.reached.overtaken = true;
            self.due(trace, events[number + 1].0, &name)?;
            return Ok(0);
        }
        let at = match events.get(number) {
            Some((at, found)) if *found == event => *at,
            Some((_, found)) => return Err(format!("{}: is {found:?}, not {event:?}", name())),
            None if trace.cut => NEVER,
            None => return Err(format!("{} missing", name())),
        };
        self.reached.events[kind] += 1;
        if kind == 0 {
            self.reached.events[kind] += usize::from(std::mem::take(&mut self.reached.overtaken));
        }
        if at < self.breaks_behind {
            let answer = "an answer that the VI heard before it broke";
            return Err(trace.too_early(at, &name(), answer, self.breaks_behind));
        }
        self.due(trace, at, &name)?;
        // No completion: what follows it in a step says nothing of it.
        Ok(0)
    }

    /// Bus Master is taken away for good, so soon that an interrupt which waited for it may not have left.
    fn is_muted(&self, trace: &EndTrace<'_>) -> bool {
        let now = self.host.checked_sub(1).map_or(0, |last| trace.host[last].cycle);
        let master = |given: &Given| match given.said {
            Said::Master(master) => Some((given.cycle, master)),
            _ => None,
        };
        let mut later = trace.host[self.host..].iter().filter_map(master);
        matches!(later.next(), Some((cycle, false)) if cycle <= now + SHORT)
            && later.all(|(_, master)| !master)
    }

    /// An interrupt leaves: it tells of a status or an entry that the host has asked for, or of the last one of this step.
    fn interrupt(&mut self, trace: &EndTrace<'_>, vector: usize, last: usize) -> Result<(), String> {
        self.is_for(trace, vector)?;
        let number = self.reached.interrupts;
        let name = || format!("interrupt {number} of vector {vector}");
        let at = match trace.outputs.interrupts.get(number) {
            Some(at) => *at,
            None if trace.cut => NEVER,
            None if self.is_muted(trace) => return Ok(()),
            None => return Err(format!("{} missing", name())),
        };
        let at = self.due(trace, at, &name)?;
        let reached = &mut self.reached;
        reached.interrupts += 1;
        let mut first = None;
        for kind in 0..2 {
            let status = reached.status_asked[kind].and_then(|place| reached.done[kind].get(place).copied());
            let entry = reached.entry_asked[kind].filter(|place| *place < reached.entries[kind]);
            let entry =
                entry.map(|place| trace.outputs.entries[kind].get(place).map_or(NEVER, |(at, _)| *at));
            first = [first, status, entry].into_iter().flatten().min();
            // It tells of all that is there.
            reached.status_asked[kind] =
                reached.status_asked[kind].filter(|_| status.is_none_or(|told| told > at));
            reached.entry_asked[kind] =
                reached.entry_asked[kind].filter(|_| entry.is_none_or(|told| told > at));
        }
        let behind = first.unwrap_or(last);
        match at < behind {
            true => Err(trace.too_early(at, &name(), "the status or entry that it tells of", behind)),
            false => Ok(()),
        }
    }

    /// Answers that have come to wait: none may leave before what it acknowledges is written.
    fn note_answers(&mut self, trace: &EndTrace<'_>) {
        let waiting = self.nic.answers(trace.vi).len();
        let reached = &mut self.reached;
        let came = reached.taken[0].checked_sub(1).and_then(|last| trace.frames[0].get(last));
        let came = came.map_or(0, |frame| frame.at);
        if waiting < reached.owes.len() {
            reached.owes = vec![Owed { came, ..Owed::default() }; waiting].into();
            reached.passed = reached.passed.min(waiting);
        }
        let owed = Owed { data: reached.data[1], received: reached.received, came };
        reached.owes.resize(waiting, owed);
    }
}

/// Whether this event of a refused packet, which broke nothing, stands behind the event by which the VI broke (WQ-4): `events` are those that
/// are not explained yet.
fn is_overtaken(trace: &EndTrace<'_>, events: &[(usize, Event)], event: Event) -> bool {
    match events {
        [(first, broke), (second, found), ..] if broke.broke && !event.broke && event.receive => {
            *found == event && trace.cycles[*second] <= trace.cycles[*first] + OVERTAKES
        }
        _ => false,
    }
}
