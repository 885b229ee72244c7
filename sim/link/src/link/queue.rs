//! TLPs that wait to be sent, and who may pass whom (section 2.4.1).
//!
//! Nothing passes a posted TLP. Posted TLPs pass the others when these have no credits; so do
//! completions pass requests that are not posted, and these pass completions. Order within a class
//! stays.

use std::collections::VecDeque;

use super::credit::{Allowance, Cost};
use crate::tlp::{Class, Tlp};

/// The queue.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// By class, each with its number in the order of arrival.
    classes: [VecDeque<(u64, Tlp)>; 3],
    arrived: u64,
}

impl Queue {
    /// A TLP comes to the end of it. It has a first double word.
    pub fn push(&mut self, tlp: Tlp) {
        let class = Class::of(tlp.first().copied().unwrap_or(0));
        self.arrived += 1;
        self.classes[class.index()].push_back((self.arrived, tlp));
    }

    /// TLPs in it.
    pub fn len(&self) -> usize {
        self.classes.iter().map(VecDeque::len).sum()
    }

    /// Nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(VecDeque::is_empty)
    }

    /// Takes the first TLP that has credits and may go.
    pub fn pop(&mut self, allowance: &Allowance) -> Option<(Cost, Tlp)> {
        let posted = self.classes[Class::Posted.index()].front().map_or(u64::MAX, |(number, _)| *number);
        let next = self.classes.iter().enumerate().filter_map(|(class, queue)| {
            let (number, tlp) = queue.front()?;
            let cost = Cost::of(*tlp.first()?);
            (*number <= posted && allowance.allows(cost)).then_some((*number, class, cost))
        });
        let (_, class, cost) = next.min_by_key(|(number, ..)| *number)?;
        self.classes[class].pop_front().map(|(_, tlp)| (cost, tlp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: u32 = 0x0000_0001;
    const WRITE: u32 = 0x4000_0001;
    const COMPLETION: u32 = 0x4A00_0001;

    #[test]
    fn a_blocked_read_is_passed_and_nothing_passes_a_write() {
        let mut allowance = Allowance::default();
        allowance.init(Class::Posted, 1, 1);
        allowance.init(Class::NonPosted, 1, 1);
        allowance.init(Class::Completion, 0, 0);
        let mut queue = Queue::default();
        for first in [READ, READ, WRITE, COMPLETION, WRITE, COMPLETION] {
            queue.push(vec![first, 0, 0]);
        }
        let mut order = vec![];
        while let Some((cost, tlp)) = queue.pop(&allowance) {
            allowance.take(cost);
            order.push(tlp[0]);
        }
        assert_eq!(order, [READ, WRITE, COMPLETION], "the second write has no credit, the last waits for it");
        allowance.update(Class::Posted, 2, 2);
        assert_eq!(queue.pop(&allowance).map(|(_, tlp)| tlp[0]), Some(WRITE));
        assert_eq!(queue.pop(&allowance).map(|(_, tlp)| tlp[0]), Some(COMPLETION));
        assert_eq!(queue.pop(&allowance), None);
        assert_eq!(queue.len(), 1);
        allowance.update(Class::NonPosted, 2, 1);
        assert_eq!(queue.pop(&allowance).map(|(_, tlp)| tlp[0]), Some(READ));
    }
}
