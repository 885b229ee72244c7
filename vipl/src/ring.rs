//! A fixed ring of what is posted: it never grows, and what is at its head is taken first.

use std::iter::from_fn;

/// Room for a power of two of things.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[Option<T>]>,
    /// One less than there are slots.
    mask: usize,
    /// How many were ever taken, and put, modulo 2^64: the low bits are slots.
    head: usize,
    tail: usize,
}

/// What came of taking the oldest.
#[derive(Debug, PartialEq)]
pub(crate) enum Popped<T> {
    /// The oldest, which is off the ring.
    Thing(T),
    /// The oldest may not be taken, and stays.
    Stays,
    /// The ring is empty.
    Empty,
}

impl<T> Ring<T> {
    /// An empty ring with `slots` slots, rounded up to a power of two.
    pub(crate) fn new(slots: usize) -> Self {
        let slots: Box<[Option<T>]> = from_fn(|| Some(None)).take(slots.next_power_of_two()).collect();
        Self { mask: slots.len() - 1, slots, head: 0, tail: 0 }
    }

    /// How many are in it.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Nothing is in it.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// No more than this was ever taken: numbers things across takes.
    #[inline]
    pub(crate) fn taken(&self) -> usize {
        self.head
    }

    /// No slot is free.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() > self.mask
    }

    #[inline]
    fn slot(&mut self, number: usize) -> &mut Option<T> {
        let slot = number & self.mask;
        debug_assert!(slot < self.slots.len());
        // SAFETY: `mask` is one less than there are slots, which is a power of two.
        unsafe { self.slots.get_unchecked_mut(slot) }
    }

    /// Puts one behind the others. There is room: [`Ring::is_full`].
    #[inline]
    pub(crate) fn push(&mut self, thing: T) {
        debug_assert!(!self.is_full(), "the oldest would be lost");
        let tail = self.tail;
        *self.slot(tail) = Some(thing);
        self.tail = tail.wrapping_add(1);
    }

    /// Takes the oldest, if `may` says so.
    #[inline]
    pub(crate) fn pop_if(&mut self, may: impl FnOnce(&mut T) -> bool) -> Popped<T> {
        if self.is_empty() {
            return Popped::Empty;
        }
        let head = self.head;
        let slot = self.slot(head);
        let Some(thing) = slot else { return Popped::Empty };
        if !may(thing) {
            return Popped::Stays;
        }
        let thing = slot.take();
        self.head = head.wrapping_add(1);
        thing.map_or(Popped::Empty, Popped::Thing)
    }

    /// All, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len()).filter_map(|n| self.slots[self.head.wrapping_add(n) & self.mask].as_ref())
    }

    /// Lets `each` change all, the oldest first, with their numbers.
    pub(crate) fn for_each(&mut self, mut each: impl FnMut(usize, &mut T)) {
        for n in 0..self.len() {
            let number = self.head.wrapping_add(n);
            if let Some(thing) = self.slot(number) {
                each(number, thing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn things_come_out_as_they_went_in_over_many_laps() {
        let mut ring = Ring::new(5);
        let thing = Arc::new(());
        let (mut put, mut taken) = (0, 0);
        for round in 0..100 {
            while put < taken + 8 - round % 8 {
                ring.push((put, Arc::clone(&thing)));
                put += 1;
            }
            assert_eq!((ring.len(), ring.is_full()), (put - taken, round % 8 == 0));
            assert!(ring.iter().map(|thing| thing.0).eq(taken..put));
            assert_eq!(ring.iter().next_back().map(|thing| thing.0), put.checked_sub(1));
            let mut numbers = Vec::new();
            ring.for_each(|number, thing| numbers.push((number, thing.0)));
            assert!(numbers.into_iter().eq((taken..put).map(|n| (n, n))));
            while taken < put {
                assert_eq!(ring.pop_if(|_| false), Popped::Stays);
                let Popped::Thing((number, _)) = ring.pop_if(|thing| thing.0 == taken) else {
                    panic!("{taken}")
                };
                assert_eq!(number, taken);
                taken += 1;
                assert_eq!(ring.taken(), taken);
            }
            assert!(ring.is_empty() && ring.pop_if(|_| true) == Popped::Empty);
        }
        ring.push((put, Arc::clone(&thing)));
        assert_eq!(Arc::strong_count(&thing), 2, "what is taken is gone");
        drop(ring);
        assert_eq!(Arc::strong_count(&thing), 1);
    }
}
