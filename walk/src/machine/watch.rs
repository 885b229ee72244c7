//! What is seen of the NICs: completions, entries of completion queues, events, states, memory.

use std::fs::File;
use std::io::{self, Read};

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::device::Bar;
use viaduct_spec::doorbell;
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{command_op, event, event_code, registers};
use viaduct_spec::tables::{cq_entry, table};

use super::Machine;
use crate::operation::End;
use crate::outcome::{Completion, Event, Outcome};
use crate::rows;

impl Machine<'_> {
    /// Takes what is in a NIC's completion queues and in its error ring.
    pub(super) fn take_entries(&mut self, nic: usize) -> io::Result<()> {
        for queue in self.needed(nic) {
            let before = self.queues[nic][queue].taken;
            while let Some(words) = self.queues[nic][queue].take(queue, &mut self.memories[nic])? {
                self.entry(nic, queue, words);
            }
            if self.queues[nic][queue].taken != before {
                self.tell_index(nic, queue);
            }
        }
        Ok(())
    }

    pub(super) fn tell_index(&mut self, nic: usize, queue: usize) {
        let page = ((VIS + queue) as u64) << DOORBELL_SHIFT;
        let word = self.queues[nic][queue].index();
        self.store(nic, Bar::Doorbells, page + doorbell::cq_page::INDEX, 8, word);
    }

    /// An entry goes to the end that it is of.
    pub(super) fn entry(&mut self, nic: usize, queue: usize, words: [u64; 2]) {
        let token = [cq_entry::TOKEN.get(&words)];
        let events = queue == rows::ERROR_RING;
        let code = event::CODE.get(&token) as u8;
        // Those of a ring that is given up are taken early. All count from the next rest on.
        let number = match events {
            true => event::VI.get(&token) as usize,
            false => cq_entry::VI.get(&words) as usize,
        };
        let end = (0..self.sides.len()).find(|end| match events && code == event_code::CQ_OVERRUN {
            // A queue that may run over is of one work queue.
            true => self.nic(*end) == nic && self.queues_of(*end).contains(&Some(number)),
            false => (self.nic(*end), self.vi(*end)) == (nic, number),
        });
        let Some(end) = end else {
            return self
                .faults
                .push(format!("NIC {nic} has in queue {queue} an entry of nobody: {words:x?}"));
        };
        let receive = match events {
            true => event::RECEIVE.get(&token) != 0,
            false => cq_entry::RECEIVE.get(&words) != 0,
        };
        if events {
            let broke = event::BROKE.get(&token) != 0;
            self.events.push(Event { end, code, receive, broke });
        } else if self.queues_of(end)[usize::from(receive)] != Some(queue) {
            self.faults.push(format!("NIC {nic} has in queue {queue} an entry of another: {words:x?}"));
        }
    }

    /// Gives each end's vector an eventfd.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        let ends = 0..self.sides.len();
        let made = ends.map(|_| eventfd(0, EventfdFlags::NONBLOCK).map(File::from));
        self.interrupts = made.collect::<Result<_, _>>()?;
        for nic in 0..2 {
            let own = |(end, file): (End, &File)| match self.nic(end) == nic {
                true => file.try_clone().map(Some),
                false => Ok(None),
            };
            let eventfds = self.interrupts.iter().enumerate().map(own).collect::<io::Result<_>>()?;
            self.net.set_vectors(nic, 0, eventfds);
        }
        Ok(())
    }

    /// Counts the interrupts since the last look.
    pub(super) fn count_interrupts(&mut self) {
        for (end, mut file) in self.interrupts.iter().enumerate() {
            let mut count = [0; 8];
            // Nothing to read: there were none.
            if file.read(&mut count).is_ok() {
                self.sides[end].armed = false;
            }
        }
    }

    /// Completion queues of a NIC that the program uses.
    pub(super) fn needed(&self, nic: usize) -> Vec<usize> {
        let ends = (0..self.sides.len()).filter(|end| self.nic(*end) == nic);
        let mut needed: Vec<usize> = ends.flat_map(|end| self.queues_of(end)).flatten().collect();
        needed.push(rows::ERROR_RING);
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    pub(super) fn queues_of(&self, end: End) -> [Option<usize>; 2] {
        [0, 1].map(|receive| rows::cq_of(&self.program.connections[end / 2], end, receive))
    }

    /// Looks which descriptors of an end are complete.
    pub(super) fn look(&mut self, end: End) -> io::Result<()> {
        let memory = &self.memories[self.nic(end)];
        for (receive, queue) in self.sides[end].queues.iter_mut().enumerate() {
            let mut gap = false;
            for posted in &mut queue.posted {
                if posted.complete {
                    continue;
                }
                let words = memory.read(end, posted.place + 16, 16)?;
                let word = |at: usize| {
                    words[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
                };
                let (length, status) = (word(8), word(12));
                if u64::from(status) << 32 | u64::from(length) == posted.before {
                    gap = true;
                    continue;
                }
                if gap {
                    self.faults
                        .push(format!("end {end}: operation {} is complete too early", posted.operation));
                }
                posted.complete = true;
                queue.complete += 1;
                let completion =
                    Completion { end, receive: receive == 1, operation: posted.operation, length, status };
                self.completions.push(completion);
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Outcome> {
        if self.faults.is_empty() {
            self.settle()?;
        }
        for end in 0..self.sides.len() {
            if self.sides[end].open && self.faults.is_empty() {
                let nic = self.nic(end);
                self.command(nic, command_op::QUERY, table::VI_STATE, self.vi(end));
                self.load(nic, registers::RESULT, 8);
            }
        }
        for nic in 0..2 {
            let Self { net, faults, .. } = &mut self;
            faults.extend(net.violations(nic).iter().map(|violation| format!("NIC {nic}: {violation:?}")));
            let unsupported = net.counters(nic).0.unsupported;
            if unsupported != 0 {
                faults.push(format!("NIC {nic} reached {unsupported} times for what is not there"));
            }
            // What has not been taken of completion queues is only known when everything has come to rest.
            if self.faults.is_empty() && !self.memories[nic].arena_is_whole()? {
                self.faults.push(format!("NIC {nic} wrote into the arena"));
            }
        }
        self.net.fabric_mut().finish_capture()?;
        let met = self.met.lock().map(|met| met.clone()).unwrap_or_default();
        for (trace, recorder) in self.traces.iter_mut().zip(&self.recorders) {
            trace.moments = recorder.moments();
        }
        Ok(Outcome {
            completions: self.completions,
            events: self.events,
            faults: self.faults,
            cycles: self.net.now(),
            met,
            traces: self.traces,
        })
    }
}
