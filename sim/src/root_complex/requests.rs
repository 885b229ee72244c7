//! The NIC's requests at the root complex: to memory through files or by message, or interrupts.
//!
//! They are served in the order in which they came. What the host may see only after the writes
//! before it (a load's answer, an interrupt, an access through a file) waits while one of these is
//! at the client, and everything behind it too; messages need not wait, for the client takes them
//! in order.
//!
//! QEMU holds its big lock while it waits for a load, and needs it to answer us. So the answer of a
//! load overtakes the writes when it has waited for [`LOAD_PATIENCE`]; that is counted.

use std::time::{Duration, Instant};

use viaduct_spec::tlp::completion_status;

use super::credit::Cost;
use super::interrupts::{is_interrupt, vector};
use super::messages::{Client, DmaAnswer, Done, MessageId};
use super::{Dma, Kind, LoadId, ReadFault, RootComplex, HOST_ID};
use crate::clock::Cycle;
use crate::tlp::{Request, Tlp};

/// How long a load's answer waits for the client, in wall time.
pub const LOAD_PATIENCE: Duration = Duration::from_millis(10);

/// What has come from the NIC and is not served yet.
#[derive(Debug)]
pub enum Arrival {
    /// A read of host memory.
    Read(Request),
    /// A write to host memory, or an interrupt; and what it holds of the credits.
    Write(Request, Vec<u32>, Cost),
    /// The answer to a load of the host's.
    Answer(LoadId, u64),
}

impl RootComplex {
    /// The client's memory is reached by messages from now on, where it has to be.
    pub fn attach(&mut self, client: Box<dyn Client>) {
        self.messages.attach(client);
    }

    /// The client is gone: its memory cannot be reached by message any more.
    pub fn detach(&mut self, now: Cycle) {
        for done in self.messages.detach() {
            self.done(now, done);
        }
    }

    /// The client has answered a message.
    pub fn dma_answer(&mut self, now: Cycle, id: MessageId, answer: DmaAnswer) {
        if let Some(done) = self.messages.answer(id, answer) {
            self.done(now, done);
        }
    }

    /// When [`RootComplex::look_at_wall`] has something to do.
    pub fn wall_deadline(&self) -> Option<Instant> {
        let load = self.held_since.map(|since| since + LOAD_PATIENCE);
        [load, self.messages.deadline()].into_iter().flatten().min()
    }

    /// Ends what has waited too long for the client.
    pub fn look_at_wall(&mut self, now: Cycle, wall: Instant) {
        let (count, done) = self.messages.expire(wall);
        if count != 0 {
            tracing::error!(count, "DMA messages were not answered by the client: refused");
            self.counters.unanswered += count;
        }
        for done in done {
            self.done(now, done);
        }
        self.serve_arrivals(now);
        if self.held_since.is_some_and(|since| since + LOAD_PATIENCE <= wall) {
            let before = self.arrivals.len();
            self.give_answers();
            self.counters.overtaken += (before - self.arrivals.len()) as u64;
        }
    }

    /// Takes a load's answer even if it waits for the client: for what the simulator itself looks at
    /// between the client's accesses, and the client cannot answer meanwhile.
    pub fn answer_now(&mut self, id: LoadId) -> Option<u64> {
        let waits = |arrival: &Arrival| matches!(arrival, Arrival::Answer(held, _) if *held == id);
        let held = self.arrivals.iter().position(waits).and_then(|at| self.arrivals.remove(at));
        self.note_held();
        match held {
            Some(Arrival::Answer(_, value)) => Some(value),
            _ => self.answer(id),
        }
    }

    /// Lets the host have the loads' answers that have come, whatever they wait for.
    pub(super) fn give_answers(&mut self) {
        let loads = &mut self.loads;
        self.arrivals.retain(|arrival| match *arrival {
            Arrival::Answer(id, value) => {
                loads.give(id, value);
                false
            }
            _ => true,
        });
        self.held_since = None;
    }

    /// A packet from the NIC has come.
    pub(super) fn arrive(&mut self, now: Cycle, packet: Tlp) {
        let cost = Cost::of(&packet);
        match packet {
            Tlp::Write(request, data) => self.arrivals.push_back(Arrival::Write(request, data, cost)),
            Tlp::Read(request) => self.arrive_read(now, request),
            Tlp::Completion(completion) => {
                self.credits.release(cost, self.back(now));
                if completion.requester != HOST_ID {
                    // Somebody else's: what was injected.
                    return;
                }
                let (answer, right) = self.loads.complete(&completion);
                if let Some((id, value)) = answer {
                    self.arrivals.push_back(Arrival::Answer(id, value));
                }
                if let Err(wrong) = right {
                    self.rules.check(now, false, || format!("{wrong}: {completion:x?}"));
                }
            }
        }
    }

    /// Serves what has come, as far as the order allows.
    pub(super) fn serve_arrivals(&mut self, now: Cycle) {
        while let Some(arrival) = self.arrivals.front() {
            let passes = match arrival {
                Arrival::Read(request) => self.goes_by_message(request, false),
                Arrival::Write(request, ..) => self.goes_by_message(request, true),
                Arrival::Answer(..) => false,
            };
            if self.messages.writing() && !passes {
                break;
            }
            match self.arrivals.pop_front() {
                Some(Arrival::Read(request)) => self.read(now, request),
                Some(Arrival::Write(request, data, cost)) => self.write(now, request, &data, cost),
                Some(Arrival::Answer(id, value)) => self.loads.give(id, value),
                None => {}
            }
        }
        self.note_held();
    }

    fn note_held(&mut self) {
        let held = self.arrivals.iter().any(|arrival| matches!(arrival, Arrival::Answer(..)));
        self.held_since = held.then(|| self.held_since.unwrap_or_else(Instant::now));
    }

    fn goes_by_message(&self, request: &Request, write: bool) -> bool {
        let (lead, count) = request.bytes();
        let there = request.address + lead as u64;
        !is_interrupt(request)
            && (self.options.dma == Dma::Messages || self.memory.lacks_file(there, count, write))
    }

    /// Half a round trip from now, at the NIC.
    pub(super) fn back(&self, now: Cycle) -> Cycle {
        let round_trip = self.options.conditions.round_trip;
        now + (round_trip - round_trip / 2)
    }

    fn write(&mut self, now: Cycle, request: Request, data: &[u32], cost: Cost) {
        if is_interrupt(&request) {
            self.credits.release(cost, self.back(now));
            match vector(&request, data) {
                Some(vector) => {
                    self.counters.interrupts += 1;
                    self.interrupts.raise(vector);
                }
                None => {
                    self.counters.unsupported += 1;
                    tracing::warn!(?request, ?data, "a write of the NIC's is no interrupt that we know");
                }
            }
            return;
        }
        let bytes: Vec<u8> = data.iter().flat_map(|dw| dw.to_le_bytes()).collect();
        let runs = runs(&request, &bytes);
        self.counters.count_write(runs.iter().map(|(_, run)| run.len()).sum());
        if self.goes_by_message(&request, true) {
            if let Some(done) = self.messages.write(cost, &runs) {
                self.done(now, done);
            }
            return;
        }
        self.credits.release(cost, self.back(now));
        if let Err(error) = runs.iter().try_for_each(|&(address, run)| self.memory.write(address, run)) {
            self.counters.unsupported += 1;
            tracing::warn!(%error, "a write of the NIC's reached no memory");
        }
    }

    fn read(&mut self, now: Cycle, request: Request) {
        self.credits.release(Cost::of(&Tlp::Read(request)), self.back(now));
        if is_interrupt(&request) {
            self.counters.unsupported += 1;
            tracing::warn!(?request, "a read of the NIC's at the addresses of interrupts");
            return self.complete(now, &request, None, None);
        }
        let fault = self.options.faults.get(&self.counters.reads).copied();
        self.counters.reads += 1;
        // Only the bytes that are asked for: the rest of their double words may not be mapped.
        let (lead, count) = request.bytes();
        let address = request.address + lead as u64;
        self.counters.read_bytes += count as u64;
        if self.goes_by_message(&request, false) {
            if self.resetting.is_of_function() {
                // The client may be waiting for the reset, so it is not asked.
                return self.complete(now, &request, None, None);
            }
            if let Some(done) = self.messages.read(request, fault, address, count) {
                self.done(now, done);
            }
            return;
        }
        let mut data = vec![0; count];
        let found = self.memory.read(address, &mut data);
        if let Err(error) = &found {
            self.counters.unsupported += 1;
            tracing::warn!(%error, "a read of the NIC's reached no memory");
        }
        if found.is_ok() && fault.is_none() && self.options.conditions.torn != 0 {
            return self.tear(now, &request);
        }
        self.complete(now, &request, fault, found.is_ok().then_some(&data));
    }

    /// A request that went by message is done.
    fn done(&mut self, now: Cycle, done: Done) {
        match done {
            Done::Read { request, fault, data } => {
                if data.is_err() {
                    self.counters.unsupported += 1;
                    tracing::warn!(?request, "a read of the NIC's was refused by the client");
                }
                self.complete(now, &request, fault, data.as_ref().ok());
            }
            Done::Write { cost, refused } => {
                if let Some(cost) = cost {
                    self.credits.release(cost, self.back(now));
                }
                if refused {
                    self.counters.unsupported += 1;
                    tracing::warn!("a write of the NIC's was refused by the client");
                }
            }
        }
    }

    /// Answers a read with the bytes that it asked for, or refuses it.
    pub(super) fn complete(
        &mut self,
        now: Cycle,
        request: &Request,
        fault: Option<ReadFault>,
        data: Option<&Vec<u8>>,
    ) {
        let mut when = self.back(now);
        when += match fault {
            Some(ReadFault::Late(cycles)) => cycles,
            _ => self.jitter(self.options.conditions.reorder),
        };
        let status = match (fault, data) {
            (Some(ReadFault::Missing), _) => return,
            (Some(ReadFault::Aborted), _) => completion_status::ABORT,
            (Some(ReadFault::Unsupported), _) | (_, None) => completion_status::UNSUPPORTED,
            _ => completion_status::SUCCESS,
        };
        let Some(found) = data.filter(|_| status == completion_status::SUCCESS) else {
            let refusal = Tlp::refusal(request, status, HOST_ID).encode();
            return self.send(when, refusal, 0, Kind::Completion { frees: Some(request.tag) });
        };
        let (lead, count) = request.bytes();
        let mut data = vec![0; request.length * 4];
        data[lead..lead + count].copy_from_slice(found);
        let mut completions = self.cutter().cut(request, &data, HOST_ID, &mut self.random);
        let last = completions.len() - 1;
        if fault == Some(ReadFault::Poisoned) {
            completions[0].poisoned = true;
        }
        if fault == Some(ReadFault::Cut) {
            completions.truncate(1);
        }
        for (n, completion) in completions.into_iter().enumerate() {
            let frees = (n == last).then_some(request.tag);
            self.send(when, Tlp::Completion(completion).encode(), 0, Kind::Completion { frees });
            when += self.jitter(self.options.conditions.reorder / 4);
        }
    }
}

/// The bytes that a write enables, with their addresses: one run, or byte for byte when there are
/// holes.
fn runs<'a>(request: &Request, bytes: &'a [u8]) -> Vec<(u64, &'a [u8])> {
    let (lead, count) = request.bytes();
    let enables = u32::from(request.first_be | request.last_be << 4);
    let one_run = request.length > 2 || enables == ((1 << count) - 1) << lead;
    if request.first_be != 0 && one_run {
        return vec![(request.address + lead as u64, &bytes[lead..lead + count])];
    }
    let enabled = (0..bytes.len().min(8)).filter(|n| enables >> n & 1 != 0);
    enabled.map(|n| (request.address + n as u64, &bytes[n..=n])).collect()
}
