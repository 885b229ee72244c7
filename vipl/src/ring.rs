//! A fixed ring of what is posted: it never grows, and what is at its head is taken first.

use std::{iter::from_fn, ptr::NonNull};

/// Room for a power of two of things.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    /// The first slot. Slots from the head to the tail have something in them, the others nothing.
    slots: NonNull<Option<T>>,
    /// One less than there are slots.
    mask: usize,
    /// The slot at the head: a look at the oldest is one at memory.
    oldest: NonNull<Option<T>>,
    /// How many were ever taken, and put: the low bits are slots.
    head: usize,
    tail: usize,
    /// [`Ring::is_open`] up to this tail: one lap from the head; 0 while it is closed.
    end: usize,
    /// What a take adds to that.
    step: usize,
}

// SAFETY: the slots are the ring's own.
unsafe impl<T: Send> Send for Ring<T> {}

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
        let mask = slots.len() - 1;
        let slots = NonNull::from(Box::leak(slots)).cast();
        Self { slots, mask, oldest: slots, head: 0, tail: 0, end: mask + 1, step: 1 }
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

    /// It is not closed, and a slot is free.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.tail < self.end
    }

    /// Closes it, or opens it again. Things are put into a closed one, too: it only is not [`Ring::is_open`].
    pub(crate) fn close(&mut self, is_closed: bool) {
        (self.end, self.step) = if is_closed { (0, 0) } else { (self.head + self.mask + 1, 1) };
    }

    /// The slot of the thing with this number.
    #[inline]
    fn slot(&self, number: usize) -> NonNull<Option<T>> {
        // SAFETY: `mask` is one less than there are slots, which is a power of two.
        unsafe { self.slots.add(number & self.mask) }
    }

    /// Puts one behind the others. There is room: [`Ring::is_full`].
    #[inline]
    pub(crate) fn push(&mut self, thing: T) {
        debug_assert!(!self.is_full(), "the oldest would be lost");
        // SAFETY: the slot is the ring's own, and nothing is in it.
        unsafe { self.slot(self.tail).write(Some(thing)) };
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the oldest, if `may` says so.
    #[inline]
    pub(crate) fn pop_if(&mut self, may: impl FnOnce(&mut T) -> bool) -> Popped<T> {
        // SAFETY: the slot is the ring's own.
        let oldest = unsafe { self.oldest.as_mut() };
        let Some(thing) = oldest else { return Popped::Empty };
        if !may(thing) {
            return Popped::Stays;
        }
        // SAFETY: there is one.
        let thing = unsafe { oldest.take().unwrap_unchecked() };
        self.head = self.head.wrapping_add(1);
        self.end = self.end.wrapping_add(self.step);
        self.oldest = self.slot(self.head);
        Popped::Thing(thing)
    }

    /// Takes all, which are dropped.
    pub(crate) fn clear(&mut self) {
        while let Popped::Thing(_) = self.pop_if(|_| true) {}
    }

    /// All, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        // SAFETY: the slots are the ring's own, which is borrowed.
        (0..self.len()).filter_map(|n| unsafe { self.slot(self.head.wrapping_add(n)).as_ref() }.as_ref())
    }

    /// Lets `each` change all, the oldest first, with their numbers.
    pub(crate) fn for_each(&mut self, mut each: impl FnMut(usize, &mut T)) {
        for number in (0..self.len()).map(|n| self.head.wrapping_add(n)) {
            // SAFETY: the slots are the ring's own, which is borrowed by itself.
            if let Some(thing) = unsafe { self.slot(number).as_mut() } {
                each(number, thing);
            }
        }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let slots = NonNull::slice_from_raw_parts(self.slots, self.mask + 1);
        // SAFETY: they are those of the box that `new` has taken apart.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
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
            // Closed for three rounds of five.
            ring.close(round % 5 > 1);
            assert_eq!(ring.is_open(), round % 8 != 0 && round % 5 < 2);
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
                assert_eq!(ring.is_open(), round % 5 < 2);
            }
            assert!(ring.is_empty() && ring.pop_if(|_| true) == Popped::Empty);
        }
        ring.push((put, Arc::clone(&thing)));
        assert_eq!(Arc::strong_count(&thing), 2, "what is taken is gone");
        ring.push((put + 1, Arc::clone(&thing)));
        ring.clear();
        assert_eq!((ring.len(), Arc::strong_count(&thing)), (0, 1));
        ring.push((put + 2, Arc::clone(&thing)));
        drop(ring);
        assert_eq!(Arc::strong_count(&thing), 1);
    }
}
