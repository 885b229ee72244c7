//! The rings of a NIC's completion queues: entries stand in their slots one behind the other, with the phase of their lap, in the ring
//! that the queue has; and a resize says how many there are in the old one.

use viaduct_driver::device::Bar;
use viaduct_sim::watch::Seen;
use viaduct_spec::register::{command, command_op, registers, state};
use viaduct_spec::tables::{cq_entry, table};

use crate::rows::{self, CQS};
use crate::trace::{Trace, What};

#[derive(Debug, Clone, Copy, Default)]
struct Ring {
    /// The other of its two.
    other: bool,
    /// Entries in it.
    written: u64,
}

/// See the module's description.
#[derive(Debug)]
pub struct Rings {
    rings: [Ring; CQS],
    /// Resizes that have come: the moment, the queue, and how many entries there are in the old ring, if that was told.
    resizes: Vec<(usize, usize, Option<u64>)>,
}

impl Rings {
    /// Of a NIC's trace from one reset to the next.
    pub fn new(trace: &Trace, moments: std::ops::Range<usize>) -> Self {
        let mut resizes = Vec::new();
        let mut live = [false; CQS];
        for at in moments.clone() {
            let What::Seen(Seen::Store { bar: Bar::Registers, offset: registers::COMMAND, value, .. }) =
                trace.moments[at].what
            else {
                continue;
            };
            let word = [value];
            let queue = command::ROW.get(&word) as usize;
            let commit = command::OP.get(&word) == u64::from(command_op::COMMIT);
            let number = command::TABLE.get(&word) as u8;
            if !commit || number != table::COMPLETION_QUEUE || queue >= CQS {
                continue;
            }
            if std::mem::replace(&mut live[queue], true) {
                resizes.push((at, queue, told(trace, at..moments.end)));
            }
        }
        Self { rings: [Ring::default(); CQS], resizes }
    }

    /// An entry is written.
    pub fn take(
        &mut self,
        at: usize,
        cycle: u64,
        (queue, other, slot): (usize, bool, u64),
        words: [u64; 2],
    ) -> Result<(), String> {
        loop {
            let found = self.resizes.iter().position(|(when, resized, _)| *when < at && *resized == queue);
            // The old ring has all that it was told to have. A queue that is resized twice is in its first ring again.
            let full = |found: &usize| self.resizes[*found].2 == Some(self.rings[queue].written);
            if let Some(found) = found.filter(full) {
                self.resize(found, cycle)?;
                continue;
            }
            let ring = &mut self.rings[queue];
            let log2 = rows::cq_log2(queue, ring.other);
            let (due, lap) = (ring.written & ((1 << log2) - 1), !(ring.written >> log2) & 1);
            if (other, slot, cq_entry::PHASE.get(&words)) == (ring.other, due, lap) {
                ring.written += 1;
                return Ok(());
            }
            let Some(found) = found else {
                let phase = cq_entry::PHASE.get(&words);
                return Err(format!(
                    "cycle {cycle}: an entry of queue {queue} in slot {slot} with phase {phase}, not {due} and {lap}"
                ));
            };
            self.resize(found, cycle)?;
        }
    }

    fn resize(&mut self, found: usize, cycle: u64) -> Result<(), String> {
        let (_, queue, told) = self.resizes.remove(found);
        let ring = &mut self.rings[queue];
        if told.is_some_and(|told| told != ring.written) {
            return Err(format!(
                "cycle {cycle}: queue {queue} was resized with {told:?} entries in its old ring, which has {}",
                ring.written
            ));
        }
        *ring = Ring { other: !ring.other, written: 0 };
        Ok(())
    }

    /// The trace is over: what was told of the last resizes.
    pub fn end(mut self) -> Result<(), String> {
        while !self.resizes.is_empty() {
            self.resize(0, 0)?;
        }
        Ok(())
    }
}

/// What RESULT says of a command, once that has ended.
fn told(trace: &Trace, moments: std::ops::Range<usize>) -> Option<u64> {
    let mut ended = false;
    moments.into_iter().find_map(|at| match trace.moments[at].what {
        What::Seen(Seen::Load { bar: Bar::Registers, offset: registers::STATE, value, .. }) => {
            ended |= state::COMMAND_BUSY.get(&[value]) == 0;
            None
        }
        What::Seen(Seen::Load { bar: Bar::Registers, offset: registers::RESULT, value, .. }) if ended => {
            Some(value)
        }
        _ => None,
    })
}
