//! What an endpoint has posted: places for descriptors in memory of its own, and the operation of each.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vipl::{Descriptor, DescriptorBuilder, Direction, MemAttributes, Region, Vi};

use crate::via::{
    domain::Domain,
    error::Errno,
    link::Link,
    offer,
    operation::{Entry, Operation, Told},
};

/// Bytes of a descriptor: a control segment, an address, and as many pieces of memory as there may be.
const DESCRIPTOR: usize = (32 + 16 + 16 * offer::SEGMENTS).next_multiple_of(64);
/// From one place to the next: behind a send's descriptor there is room for what is injected.
const STRIDES: [usize; 2] = [DESCRIPTOR + offer::INJECT.next_multiple_of(64), DESCRIPTOR];

/// The operations of an endpoint.
#[derive(Debug)]
pub struct Work {
    /// The endpoint's number, which completions bring.
    pub number: u64,
    /// The endpoint's state: of a reliable VI an operation that fails is the end.
    link: Arc<Link>,
    memory: Region,
    /// Of sends, and of receives.
    places: [Mutex<Places>; 2],
}

/// The places of one direction. They are taken in turn: a VI completes what is posted in its order.
#[derive(Debug)]
struct Places {
    /// Where the first one is in the memory.
    start: usize,
    stride: usize,
    operations: Vec<Option<Operation>>,
    /// The place that is taken next.
    next: usize,
    /// A part of an operation has failed, which was told; the rest of its parts are to come.
    is_failing: bool,
}

/// Where in the endpoint's memory what is injected may be put.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// The memory.
    pub memory: &'a Region,
    /// The first byte of [`offer::INJECT`].
    pub offset: usize,
}

impl Work {
    /// Room for so many sends and receives.
    ///
    /// # Errors
    /// No memory; no row left in the NIC's tables.
    pub fn new(domain: &Domain, number: u64, link: &Arc<Link>, depths: [usize; 2]) -> Result<Self, Errno> {
        let middle = depths[0] * STRIDES[0];
        let bytes = middle + depths[1] * STRIDES[1];
        let memory = domain.card.nic.allocate(bytes.max(1), &MemAttributes::new(&domain.ptag))?;
        let places =
            [(0, STRIDES[0], depths[0]), (middle, STRIDES[1], depths[1])].map(|(start, stride, count)| {
                let operations = vec![None; count];
                Mutex::new(Places { start, stride, operations, next: 0, is_failing: false })
            });
        Ok(Self { number, link: Arc::clone(link), memory, places })
    }

    fn places(&self, direction: Direction) -> MutexGuard<'_, Places> {
        let places = match direction {
            Direction::Send => &self.places[0],
            Direction::Receive => &self.places[1],
        };
        // A panic leaves an operation too many or one too few there, and nothing that is half one.
        places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts an operation that takes `count` descriptors, with one doorbell. `make` is asked for each: what its completion says, and the descriptor.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]: so many places are not free. [`Errno::MESSAGE_SIZE`]: there are not so many. Those of `make`, and of the device. The operation is not posted then: the program hears no
    /// more of it.
    pub fn post(
        &self,
        vi: &Vi,
        direction: Direction,
        count: usize,
        mut make: impl FnMut(usize, Room<'_>) -> Result<(Operation, DescriptorBuilder), Errno>,
    ) -> Result<(), Errno> {
        let mut places = self.places(direction);
        places.room(count)?;
        let (mut descriptors, mut operations) = (VecDeque::with_capacity(count), Vec::with_capacity(count));
        for n in 0..count {
            let offset = places.offset(n);
            let room = Room { memory: &self.memory, offset: offset + DESCRIPTOR };
            let (operation, descriptor) = make(n, room)?;
            descriptors.push_back(descriptor.build(&self.memory, offset)?);
            operations.push(operation);
        }
        let posted = match direction {
            Direction::Send => vi.post_send_many(&mut descriptors),
            Direction::Receive => vi.post_recv_many(&mut descriptors),
        };
        // Those that are left are not posted; a device that is gone may have the others all the same, of which the error tells.
        operations.truncate(count - descriptors.len());
        let told = |operation: Operation| match posted {
            Ok(()) => operation,
            Err(_) => Operation { told: Told::Never, ..operation },
        };
        // They may complete as soon as the lock is let go of.
        operations.into_iter().for_each(|operation| places.take(told(operation)));
        Ok(posted?)
    }

    /// What is to be told of a descriptor that is complete, if anything is.
    pub fn complete(&self, direction: Direction, descriptor: &Descriptor) -> Option<Entry> {
        let mut places = self.places(direction);
        let operation = places.free(descriptor.offset())?;
        let entry = Entry::of(&operation, descriptor);
        if entry.error.is_some() {
            self.link.break_off();
        }
        places.judge(&operation, entry)
    }

    /// Everything that was posted, and will not complete: the VI is gone.
    pub fn rest(&self, direction: Direction) -> Vec<Entry> {
        let mut places = self.places(direction);
        let (next, count) = (places.next, places.operations.len());
        let mut rest = Vec::new();
        // The oldest one is behind the place that would be taken next.
        for place in (0..count).map(|n| (next + n) % count) {
            let Some(operation) = places.operations[place].take() else { continue };
            // Of an operation in parts the last one tells.
            if operation.goes_on {
                continue;
            }
            rest.extend(places.judge(&operation, Entry::canceled(&operation)));
        }
        rest
    }
}

impl Places {
    /// The next `count` places are free.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]: not all of them yet. [`Errno::MESSAGE_SIZE`]: there will never be so many.
    fn room(&self, count: usize) -> Result<(), Errno> {
        let all = self.operations.len();
        if count > all {
            return Err(Errno::MESSAGE_SIZE);
        }
        match (0..count).all(|n| self.operations[(self.next + n) % all].is_none()) {
            true => Ok(()),
            false => Err(Errno::AGAIN),
        }
    }

    /// Where the place is that is taken next, or the n-th behind it.
    fn offset(&self, n: usize) -> usize {
        self.start + (self.next + n) % self.operations.len() * self.stride
    }

    /// The next place has this operation.
    fn take(&mut self, operation: Operation) {
        self.operations[self.next] = Some(operation);
        self.next = (self.next + 1) % self.operations.len();
    }

    /// The operation of a descriptor at this place of the memory, which is free then.
    fn free(&mut self, offset: usize) -> Option<Operation> {
        let place = offset.checked_sub(self.start)? / self.stride;
        self.operations.get_mut(place)?.take()
    }

    /// Whether what has become of an operation is to be told: each is told of once, and of one in several parts the first that fails, or the last.
    fn judge(&mut self, operation: &Operation, entry: Entry) -> Option<Entry> {
        let was_failing = self.is_failing;
        let fails = entry.error.is_some();
        self.is_failing = operation.goes_on && (was_failing || fails);
        let is_told = match operation.told {
            Told::Always => fails || !operation.goes_on,
            Told::OnError => fails,
            Told::Never => false,
        };
        (is_told && !was_failing).then_some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::via::object::Word;

    fn places(count: usize) -> Places {
        Places { start: 1024, stride: 128, operations: vec![None; count], next: 0, is_failing: false }
    }

    fn operation(number: usize, told: Told, goes_on: bool) -> Operation {
        Operation { goes_on, ..Operation::send(Word(number as *mut _), 0, told) }
    }

    fn good(operation: &Operation) -> Entry {
        Entry { error: None, ..Entry::canceled(operation) }
    }

    #[test]
    fn places_are_taken_in_turn_and_are_free_again_when_their_descriptors_are_complete() {
        let mut places = places(3);
        for number in 0..30 {
            assert_eq!(places.room(2), Ok(()));
            let offset = places.offset(0);
            assert_eq!(offset, 1024 + number % 3 * 128);
            places.take(operation(number, Told::Always, false));
            places.take(operation(100, Told::Always, false));
            let room = [1, 2, 4].map(|count| places.room(count));
            assert_eq!(room, [Ok(()), Err(Errno::AGAIN), Err(Errno::MESSAGE_SIZE)]);
            assert_eq!(places.free(offset).expect("it is there").context, Word(number as *mut _));
            assert!(places.free(offset).is_none(), "once");
            // The other one, and then it is the next one's turn.
            assert!(places.free(1024 + (number + 1) % 3 * 128).is_some());
            places.next = (number + 1) % 3;
        }
        assert!(places.free(0).is_none() && places.free(1 << 20).is_none());
    }

    #[test]
    fn an_operation_in_parts_is_told_of_once() {
        let mut places = places(8);
        let [part, last] = [true, false].map(|goes_on| operation(1, Told::Always, goes_on));
        let told = |places: &mut Places, operation: &Operation, fails: bool| {
            let entry = if fails { Entry::canceled(operation) } else { good(operation) };
            places.judge(operation, entry).is_some()
        };
        // All goes well: the last one tells.
        assert_eq!([&part, &part, &last].map(|one| told(&mut places, one, false)), [false, false, true]);
        // One in the middle fails, and what is behind it is flushed.
        assert!(!told(&mut places, &part, false));
        assert!(told(&mut places, &part, true));
        assert!(!told(&mut places, &part, true));
        assert!(!told(&mut places, &last, true));
        // The next operation is another one.
        assert!(told(&mut places, &last, true));
    }

    #[test]
    fn who_asks_for_errors_alone_hears_of_errors_alone_and_nobody_of_what_was_injected() {
        let mut places = places(8);
        for (told, of_good, of_bad) in
            [(Told::Always, true, true), (Told::OnError, false, true), (Told::Never, false, false)]
        {
            let one = operation(1, told, false);
            assert_eq!(places.judge(&one, good(&one)).is_some(), of_good, "{told:?}");
            assert_eq!(places.judge(&one, Entry::canceled(&one)).is_some(), of_bad, "{told:?}");
        }
    }
}
